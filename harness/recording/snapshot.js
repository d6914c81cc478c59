// Describes a page before an action on `target`, and its HTML with the ids of all elements.
// `shielded` and `describe` are put before this (`harness/live/*.js`); `options` are its own and these:
//   exact: true if the target is the element under the pointer; else the function looks for it.
//   limit: most characters of HTML.
//   hides: returns true for an element to hide with its content.
// The HTML comes in pieces of a kind and a text, whose texts can be changed in place:
// "markup", "text", "value" (of an attribute, which is named third), "verbatim", "frame" (the id of
// its element), "hide" and "show" (around hidden content).
({ root = shielded(document).documentElement, target, exact = false, shadows = false, limit = Infinity, hides = () => false, ...options }) => {
  const VOID = "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr".split(" ");
  const VERBATIM = "style script xmp iframe noembed noframes plaintext noscript".split(" ");
  const HTML = "http://www.w3.org/1999/xhtml";
  const described = describe({ root, shadows, ...options });
  const { ids } = described;

  const pieces = [];
  let left = limit;
  const add = (kind, given, ...more) => {
    const text = given.toWellFormed();
    left -= text.length;
    const last = pieces.at(-1);
    if (kind === "markup" && last?.[0] === "markup") last[1] += text;
    else pieces.push([kind, text, ...more]);
  };
  const open = (given) => {
    const element = shielded(given);
    const tag = element.namespaceURI === HTML ? element.localName : element.tagName;
    add("markup", `<${tag}`);
    const id = ids.get(given);
    for (const { name, value } of element.attributes) {
      if (id && name === "backend_node_id") continue;
      add("markup", ` ${name}="`);
      add("value", value, name);
      add("markup", '"');
    }
    add("markup", id ? ` backend_node_id="${id}">` : ">");
    return tag;
  };
  const stack = [root];
  while (stack.length && left > 0) {
    const given = stack.pop();
    const node = shielded(given);
    if (typeof node === "string") add("markup", node);
    else if (Array.isArray(node)) add(...node);
    else if (node.nodeType === Node.TEXT_NODE)
      add(VERBATIM.includes(shielded(node.parentNode).localName) ? "verbatim" : "text", node.data);
    else if (node.nodeType === Node.COMMENT_NODE) {
      add("markup", "<!--");
      add("verbatim", node.data);
      add("markup", "-->");
    } else if (node.nodeType === Node.ELEMENT_NODE) {
      if (hides(given)) {
        add("hide", "");
        stack.push(["show", ""]);
      }
      const tag = open(given);
      if (VOID.includes(node.localName)) continue;
      stack.push(`</${tag}>`);
      if (shadows && ids.has(given) && ["iframe", "frame"].includes(node.localName)) stack.push(["frame", ids.get(given)]);
      const inside = node.localName === "template" && node.content ? node.content : node;
      for (let child = inside.lastChild; child; child = shielded(child).previousSibling) stack.push(child);
      if (shadows && node.shadowRoot) {
        stack.push("</template>");
        for (let child = node.shadowRoot.lastChild; child; child = shielded(child).previousSibling) stack.push(child);
        stack.push('<template shadowrootmode="open">');
      }
    }
  }

  // The element under the pointer if it is the target or inside it; a drawing counts as one element.
  let labelled = target;
  if (target && !exact) {
    const rect = shielded(target).getBoundingClientRect();
    const hit = shielded(document).elementFromPoint(rect.x + rect.width / 2, rect.y + rect.height / 2);
    if (hit && shielded(target).contains(hit)) labelled = shielded(hit).closest("svg") ?? hit;
  } else if (target) labelled = shielded(target).closest("svg") ?? target;
  return { nodes: described.nodes, cut: described.cut || left <= 0, pieces, labelled: ids.get(labelled) ?? null, ids };
}
