// Which element is at a point, and which text field typing goes to. One rule for our own pages and
// for those of BrowserGym.
({
  // The innermost element at a point, also inside shadow trees.
  at(page, x, y) {
    let element = page.elementFromPoint(x, y);
    for (let inner; (inner = element?.shadowRoot?.elementFromPoint(x, y)) && inner !== element; ) element = inner;
    return element;
  },

  // The text field of an element: itself, or that of its label. The reason, as a text, if there is none.
  of(given) {
    const fills = (element) => element.matches("input, textarea") || element.isContentEditable;
    const set = ["date", "time", "datetime-local", "month", "week", "color", "range"];
    const typed = ["text", "search", "url", "tel", "email", "password", "number"];
    if (given.matches("select")) return "a list takes no text: select one of its options";
    const field = fills(given) ? given : given.closest("label")?.control;
    if (!field || !fills(field)) return "the element takes no text";
    if (field.matches(":disabled")) return "the field is disabled";
    if (field.readOnly) return "the field is read-only";
    const takes = !field.matches("input") || [...set, ...typed].includes(field.type);
    return takes ? field : "the field takes no text";
  },
})
