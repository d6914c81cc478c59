// Numbers the nodes below `root` in document order and describes them, parents before children.
// Chromium's own node ids differ between launches; a counter does not. Blank text gets no number: it
// is never a node of the data. No page can make it run for ever or overflow its stack.
// `shielded` is put before this (`shielded.js`).
//   heard: elements that are known to listen for clicks.
//   offset: added to all boxes, which are otherwise in pixels of the viewport.
//   most, deepest: limits for the number of nodes and of levels.
//   longest, room: limits for the characters of a text, and of all texts together.
//   view: width and height of what can be seen; that of the window unless given.
//   left_out: a selector of elements that are no part of the page.
//   colours: whether to tell colours and sizes of what is drawn rather than written.
//   shadows: whether what stands in open shadow roots is told, below their hosts and as it is composed.
//   texts: whether texts have boxes, too.
//   before: what ids begin after.
({ root, heard = new WeakSet(), offset = [0, 0], most = Infinity, deepest = Infinity, longest = Infinity, room = Infinity,
   view: [width, height] = [innerWidth, innerHeight], left_out = "", colours = false,
   shadows = false, texts = false, before = 0 }) => {
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
    if (length === text.length) return text;
    cut = true;
    return text.slice(0, length);
  };
  const shown = (element, rect) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && rect.width * rect.height > 1;
  const clickable = (element) =>
    shielded(element).matches(NATIVE) || ROLES.includes(shielded(element).getAttribute("role")) || heard.has(element);

  const isShape = (element) => element instanceof SVGGraphicsElement && element.tagName !== "svg";
  const isLeaf = (element) => !shielded(element).childElementCount && !shielded(element).textContent.trim();
  const isColour = (text) => text.startsWith("rgb(") || (text.startsWith("rgba(") && !text.endsWith(", 0)"));
  // Whether there is anything to be seen of an element in which there is nothing.
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
  // A box of a colour, or a shape, with its size in pixels of the page.
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

  // What the visitor has entered lives in properties, not in attributes.
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

  const written = (text) => {
    const range = shielded(document).createRange();
    range.selectNodeContents(text);
    const rect = range.getBoundingClientRect();
    return [rect.x + offset[0], rect.y + offset[1], rect.width, rect.height];
  };
  // What is drawn in an element: of a host its shadow, and in the shadow's slots what was put there.
  const composed = (element) => {
    if (element.shadowRoot) return [...element.shadowRoot.childNodes];
    const put = element instanceof HTMLSlotElement ? element.assignedNodes() : [];
    return put.length ? put : [...element.childNodes];
  };

  // The part of the viewport in which what is inside an element can be seen.
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
      nodes.push({ id, parent, text: short(node.data), ...(texts && { box: written(node) }) });
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
