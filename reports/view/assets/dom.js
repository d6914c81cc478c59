"use strict";
/* Building elements. Texts of others only ever become text nodes or attribute values. */
const VLM = {};

(function () {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, props, children) {
    for (const [name, value] of Object.entries(props || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return node;
  }

  /* Control characters and marks that turn the direction of a line are shown as signs. */
  const ODD = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

  VLM.el = (tag, props, ...children) => fill(document.createElement(tag), props, children);
  VLM.svg = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);
  VLM.byId = (id) => document.getElementById(id);
  VLM.plain = (text) =>
    String(text).replace(ODD, (sign) => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));
  VLM.number = (value, digits) => value.toFixed(digits === undefined ? 2 : digits);
  VLM.percent = (value) => (100 * value).toFixed(1) + " %";

  /* An element that holds nothing but these children. */
  VLM.put = function (node, ...children) {
    node.replaceChildren();
    return fill(node, null, children);
  };
})();
