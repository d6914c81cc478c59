// Numbers the nodes of the page in document order and describes them. Chromium's own node ids differ
// between launches; a counter does not. Blank text gets no number: it is never a node of the data.
(target) => {
  const NATIVE = "a[href], button, input:not([type=hidden]), select, textarea, summary, label, option, [onclick]";
  const ROLES = ["button", "link", "tab", "checkbox", "radio", "menuitem", "option", "switch"];
  const heard = window.__clickListeners ?? new WeakSet();
  let counter = 0;
  const ids = new Map();

  const box = (element) => {
    const rect = element.getBoundingClientRect();
    return [rect.x + window.scrollX, rect.y + window.scrollY, rect.width, rect.height];
  };
  const shown = (element, rect) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && rect[2] * rect[3] > 1;
  const clickable = (element) =>
    element.matches(NATIVE) || ROLES.includes(element.getAttribute("role")) || heard.has(element);

  // What the visitor has entered lives in properties, not in attributes.
  const live = (element) => {
    const found = {};
    if (element.tagName === "INPUT" && ["checkbox", "radio"].includes(element.type)) {
      if (element.checked) found.input_checked = "true";
    } else if (element.tagName === "INPUT" && element.value) found.input_value = element.value;
    if (element.tagName === "TEXTAREA" && element.value) found.text_value = element.value;
    if (element.tagName === "OPTION" && element.selected) found.option_selected = "true";
    return found;
  };

  const describe = (node) => {
    if (node.nodeType === Node.TEXT_NODE)
      return node.data.trim() ? { id: String(++counter), text: node.data } : null;
    if (node.nodeType !== Node.ELEMENT_NODE) return null;
    const id = String(++counter);
    ids.set(node, id);
    const rect = box(node);
    return {
      id,
      tag: node.tagName.toLowerCase(),
      attributes: Object.fromEntries([...node.attributes].map((found) => [found.name, found.value])),
      live: live(node),
      box: rect,
      visible: shown(node, rect),
      clickable: clickable(node),
      children: [...node.childNodes].map(describe).filter((child) => child !== null),
    };
  };
  const root = describe(document.documentElement);

  // The element under the pointer, when that is the chosen one or inside it; a drawing counts as one.
  let labelled = target;
  const rect = target.getBoundingClientRect();
  const hit = document.elementFromPoint(rect.x + rect.width / 2, rect.y + rect.height / 2);
  if (hit && target.contains(hit)) labelled = hit.closest("svg") ?? hit;

  for (const [element, id] of ids) element.setAttribute("backend_node_id", id);
  const raw = `<!DOCTYPE html>\n${document.documentElement.outerHTML}`;
  for (const element of ids.keys()) element.removeAttribute("backend_node_id");
  return { root, raw, labelled: ids.get(labelled) };
}
