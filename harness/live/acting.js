// A world's functions on a page, in a separate script world: the page shares its DOM, but can
// neither see these functions nor change what they call. `shielded`, `describe` and `fields` are put
// before this (`harness/live/*.js`). A function that fails returns the reason as a text.
(() => {
  const SET = ["date", "time", "datetime-local", "month", "week", "color", "range"];
  // Points to try for a click, in shares of the element's box, the middle first.
  const SHARES = [0.5, 0.15, 0.85, 0.03, 0.97];
  const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable]";
  const MOST_FRAMES = 10;
  const style = new CSSStyleSheet();
  // A blinking caret would make equal pages look different.
  style.replaceSync("* { caret-color: transparent !important; }");
  const page = shielded(document);
  page.adoptedStyleSheets.push(style);
  let elements = new Map();
  let field = null;
  let under = null;

  const at = (point) => fields.at(page, ...point);
  const found = (id, point) => {
    const given = id === null ? at(point) : elements.get(id);
    const element = given && shielded(given);
    if (id === null) return element ?? "there is nothing at this point";
    if (!element) return "there is no such element";
    return element.isConnected ? element : "the element is no longer on the page";
  };
  const place = (element) => {
    element.scrollIntoViewIfNeeded();
    const boxes = [element.getBoundingClientRect(), ...element.getClientRects()].slice(0, 10).filter((box) => box.width * box.height > 0);
    if (!boxes.length) return "the element is not visible";
    const spots = boxes.flatMap((box) =>
      SHARES.flatMap((down) => SHARES.map((across) => [box.x + box.width * across, box.y + box.height * down])));
    // The middle of a link of two lines can lie outside of it, and another element can cover it.
    return spots.find((spot) => element.contains(at(spot))) ?? spots[0];
  };
  const fills = (element) => element.matches("input, textarea") || element.isContentEditable;
  const focused = () => {
    let active = page.activeElement;
    while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
    return active;
  };
  const tell = (element, ...kinds) => {
    for (const kind of kinds) element.dispatchEvent(new Event(kind, { bubbles: true, composed: true }));
  };
  const drawn = () => {
    const late = new Promise((resolve) => setTimeout(resolve, 250));
    return Promise.race([late, new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))]);
  };
  const folded = (text) => text.trim().replace(/\s+/g, " ");
  const bare = (text) => text.replace(/\s/g, "");

  return {
    look(limits) {
      const root = page.documentElement;
      const { nodes, ids, cut } = root ? describe({ root, ...limits }) : { nodes: [], ids: new Map(), cut: false };
      elements = new Map([...ids].map(([element, id]) => [id, element]));
      return { nodes, cut };
    },

    about() {
      return { url: location.href.slice(0, 10_000), title: String(page.title).slice(0, 10_000) };
    },

    // Returns the point to click for an element.
    place(id) {
      const element = found(id, null);
      if (typeof element === "string") return element;
      if (!element.matches("option") || element.getClientRects().length) return place(element);
      return "the options of a closed list are not visible: select one instead";
    },

    // Returns the point to click before typing; null if the value is set without typing. Nothing is
    // clicked that takes no text.
    field(id, point) {
      const given = found(id, point);
      if (typeof given === "string") return given;
      const asked = fields.of(given);
      if (typeof asked === "string") return asked;
      field = asked;
      if (field.matches("input") && SET.includes(field.type)) return null;
      const spot = id === null && field === given ? point : place(field);
      if (typeof spot === "string") return spot;
      const hit = at(spot);
      const takes = field.contains(hit) || hit?.closest("label")?.control === field;
      return takes ? spot : "another element covers the field";
    },

    // Sets the value of a field whose control opens no picture, such as a date.
    set(value) {
      const before = field.value;
      field.focus();
      field.value = value;
      if (field.value !== value) {
        field.value = before;
        const forms = { date: "YYYY-MM-DD", time: "HH:MM", "datetime-local": "YYYY-MM-DDTHH:MM", month: "YYYY-MM", week: "YYYY-Www", color: "#rrggbb" };
        return `the field takes ${forms[field.type] ?? `a number from ${field.min || 0} to ${field.max || 100}`}`;
      }
      tell(field, "input", "change");
      return null;
    },

    // Selects the text of the field that has the focus, so that typing replaces it.
    replace() {
      const active = focused();
      if (!active || !fills(active)) return "no text field takes the focus there";
      if (active.readOnly) return "the field is read-only";
      if (active.select) active.select();
      else getSelection().selectAllChildren(active);
      field = active;
      return null;
    },

    // Returns what the field holds, unless it is this text or the page went on to another field.
    other(value) {
      if (!field?.isConnected || focused() !== field) return null;
      const held = field.isContentEditable ? field.innerText : field.value;
      return bare(held) === bare(value) ? null : held.slice(0, 100);
    },

    choose(id, point, value) {
      const given = found(id, point);
      if (typeof given === "string") return given;
      const list = given.closest("select") ?? given.closest("label")?.control ?? given.querySelector("select");
      if (!list?.matches("select")) return "the element is no list of options";
      if (list.disabled) return "the list is disabled";
      const options = [...list.options];
      const wanted = folded(value);
      const option =
        options.find((one) => folded(one.label) === wanted) ??
        options.find((one) => one.value === value) ??
        options.find((one) => folded(one.label).toLowerCase() === wanted.toLowerCase());
      if (!option) return "the list has no such option";
      if (option.disabled || option.parentElement.disabled) return "the option is disabled";
      list.focus();
      if (list.multiple) option.selected = true;
      else list.selectedIndex = option.index;
      tell(list, "input", "change");
      return null;
    },

    // Notes what is at a point before the mouse comes there.
    aim(x, y) {
      under = at([x, y]);
    },

    // Waits until that is at the point again: a picture for hovering may have to be loaded first.
    async steady(x, y) {
      for (let left = MOST_FRAMES; under?.isConnected && at([x, y]) !== under && left; left--) await drawn();
    },

    // Returns the value of an option in a closed list, null for any other element.
    option(id) {
      const element = elements.get(id);
      return element?.matches("option") && !element.getClientRects().length ? element.label : null;
    },

    focus(id, point) {
      const given = found(id, point);
      if (typeof given === "string") return given;
      const element = given.closest(FOCUSABLE) ?? given;
      element.focus();
      return page.activeElement === element ? null : "the element does not take the focus";
    },

    // Waits until the page has drawn the effect of an action.
    frames() {
      return drawn().then(() => null);
    },
  };
})()
