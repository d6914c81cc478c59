// Numbers the nodes below `root` in document order and describes them, parents before children.
// Chromium's node ids differ between launches; a counter does not. Blank text gets no number: it is
// never a node of the data. No page can make this run for ever or overflow its stack.
// `shielded` is put before this (`shielded.js`).
//   heard: elements that are known to listen for clicks.
//   offset: added to all boxes, which are otherwise in pixels of the viewport.
//   most, deepest: limits for the number of nodes and of levels.
//   longest, room: limits for the characters of a text, and of all texts together.
//   view: width and height of the visible part; default: the window's.
//   left_out: a selector of elements to leave out.
//   colours: true to add colours and sizes of boxes and shapes.
//   shadows: true to describe the content of open shadow roots below their hosts, as composed.
//   before: number after which ids begin.
({ root, heard = new WeakSet(), offset = [0, 0], most = Infinity, deepest = Infinity, longest = Infinity, room = Infinity,
   view: [width, height] = [innerWidth, innerHeight], left_out = "", colours = false,
   shadows = false, before = 0 }) => {
  const NATIVE = "a[href], button, input:not([type=hidden]), select, textarea, summary, label, option, [onclick]";
  const DRAWN = "img, svg, canvas, video, audio, iframe, object, embed, hr, progress, meter";
  const ROLES = ["button", "link", "tab", "checkbox", "radio", "menuitem", "option", "switch"];
  const MOST_ATTRIBUTES = 200;
  const nodes = [];
  const ids = new Map();
  let cut = false;

  const short = (text) => {
    const length = Math.min(text.length, longest, room);
    room -= length;
    if (length < text.length) cut = true;
    // Half of a character, which scripts can write, cannot be stored.
    return text.slice(0, length).toWellFormed();
  };
  const shown = (element, rect) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && rect.width * rect.height > 1;
  const clickable = (element) =>
    shielded(element).matches(NATIVE) || ROLES.includes(shielded(element).getAttribute("role")) || heard.has(element);

  const isShape = (element) => element instanceof SVGGraphicsElement && element.tagName !== "svg";
  const isLeaf = (element) => !shielded(element).childElementCount && !shielded(element).textContent.trim();
  const isColour = (text) => text.startsWith("rgb(") || (text.startsWith("rgba(") && !text.endsWith(", 0)"));
  // Returns true for an empty element that paints nothing.
  const isBare = (element, style) =>
    isLeaf(element) &&
    !isShape(element) &&
    !shielded(element).matches(`${NATIVE}, ${DRAWN}`) &&
    !isColour(style.backgroundColor) &&
    style.backgroundImage === "none" &&
    style.content === "normal" &&
    style.borderStyle === "none" &&
    getComputedStyle(element, "::before").content === "none" &&
    getComputedStyle(element, "::after").content === "none";
  // Returns the colour and the size, in pixels of the page, of a coloured box or a shape.
  const painted = (given) => {
    const element = shielded(given);
    if (element.childElementCount || !(isShape(element) || (isLeaf(given) && !element.matches(NATIVE)))) return {};
    const style = getComputedStyle(given);
    const rgba = isShape(element) ? style.fill : style.backgroundColor;
    if (!isColour(rgba)) return {};
    const rect = element.getBoundingClientRect();
    const size = `${Math.round(rect.width)}x${Math.round(rect.height)}`;
    return { rgba, size, ...(element.hasAttribute("alt") ? {} : { alt: `${rgba} ${size}` }) };
  };

  // The visitor's input is in properties, not in attributes.
  const live = (element) => {
    const found = {};
    if (element.tagName === "INPUT" && ["checkbox", "radio"].includes(element.type)) {
      if (element.checked) found.input_checked = "true";
    } else if (element.tagName === "INPUT" && element.value) found.input_value = short(element.value);
    if (element.tagName === "TEXTAREA" && element.value) found.text_value = short(element.value);
    if (element.tagName === "OPTION" && element.selected) found.option_selected = "true";
    if (colours) Object.assign(found, painted(element));
    return found;
  };

  const attributes = (element) => {
    const found = {};
    for (let i = 0; i < element.attributes.length && i < MOST_ATTRIBUTES; i++)
      found[short(element.attributes[i].name)] = short(element.attributes[i].value);
    return found;
  };

  // Lists the drawn children of an element: of a host its shadow, of a slot the nodes assigned to it.
  const composed = (element) => {
    if (element.shadowRoot) return [...element.shadowRoot.childNodes];
    const put = element instanceof HTMLSlotElement ? element.assignedNodes() : [];
    return put.length ? put : [...element.childNodes];
  };

  // Intersects the part of the viewport that shows the content of an element with that of its parent.
  const within = (a, b) => [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])];
  const edges = (rect) => [rect.left, rect.top, rect.right, rect.bottom];
  const overlap = (rect, clip) => {
    const [left, top, right, bottom] = within(edges(rect), clip);
    return Math.min(right - left, rect.width) >= 1 && Math.min(bottom - top, rect.height) >= 1;
  };

  const view = [0, 0, width, height];
  const stack = [[root, null, 0, view]];
  while (stack.length) {
    const [given, parent, level, clip] = stack.pop();
    const node = shielded(given);
    if (node.nodeType === Node.TEXT_NODE ? !node.data.trim() : node.nodeType !== Node.ELEMENT_NODE) continue;
    if (nodes.length >= most || level >= deepest) {
      cut = true;
      continue;
    }
    if (left_out && node.nodeType === Node.ELEMENT_NODE && node.matches(left_out)) continue;
    const place = nodes.length;
    const id = String(before + place + 1);
    if (node.nodeType === Node.TEXT_NODE) {
      nodes.push({ id, parent, text: short(node.data) });
      continue;
    }
    ids.set(given, id);
    const rect = node.getBoundingClientRect();
    const visible = shown(node, rect);
    const style = getComputedStyle(given);
    const around = style.position === "fixed" ? view : clip;
    nodes.push({
      id,
      parent,
      tag: node.tagName.toLowerCase(),
      attributes: attributes(node),
      live: live(given),
      box: [rect.x + offset[0], rect.y + offset[1], rect.width, rect.height],
      visible,
      in_view: visible && overlap(rect, around),
      clickable: clickable(given),
      bare: isBare(given, style),
    });
    const clips = style.overflowX !== "visible" || style.overflowY !== "visible";
    const inside = clips && given !== root && given !== shielded(document).body ? within(edges(rect), around) : around;
    if (shadows) for (const child of composed(node).reverse()) stack.push([child, place, level + 1, inside]);
    else
      for (let child = node.lastChild; child; child = shielded(child).previousSibling)
        stack.push([child, place, level + 1, inside]);
  }
  return { nodes, ids, cut };
}
