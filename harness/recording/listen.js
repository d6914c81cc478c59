// The recorder's functions in a document, in a separate script world: the page shares its DOM, but
// can neither see nor call nor change them. Only a person's actions count (`isTrusted`). They are
// held back; the page receives them when the recorder repeats them.
// `shielded` and `snapshot` are put before this; `vlmEvalTell` sends a text to the recorder.
globalThis.vlmEval ??= (() => {
  const NOT_TEXT = ["button", "checkbox", "file", "hidden", "image", "radio", "reset", "submit"];
  const SET = ["color", "date", "datetime-local", "month", "number", "range", "time", "week"];
  const PRESSABLE = "button, summary, a[href], input, [role=button], [role=checkbox], [role=option], [role=switch], [role=tab], [role=radio], [role=menuitem], [tabindex]";
  const MOVES = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"];
  const SILENT = ["Tab", "Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "NumLock", "Dead"];
  const NEAR = 2;
  const FAR = 8;
  const MOST_POINTS = 50;
  const LONGEST = 10_000;
  const MOST_ROOTS = 1000;

  const tell = (message) => vlmEvalTell(JSON.stringify(message));
  const gestures = new Map();
  const numbers = new WeakMap();
  const marked = new Set();
  const muted = new Set();
  let held = [];
  // Numbers are unique, also across documents.
  let count = 1000 * Math.floor(Math.random() * 2 ** 40);
  let open = null;
  let keyed = false;
  let expected = null;
  let through = true;
  let pressed = null;
  let ids = new Map();

  const page = shielded(document);
  const number = (element) => numbers.get(element) ?? (numbers.set(element, ++count), count);
  const first = (event) => event.composedPath().find((one) => one instanceof Element) ?? page.documentElement;
  const active = () => {
    let found = page.activeElement;
    while (found && shielded(found).shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
    return found;
  };
  // Returns the field that an element is or belongs to, and the kind of its input.
  const field = (given) => {
    const element = given && shielded(given);
    const list = element?.closest("select");
    if (list) return [list, "select"];
    if (element?.matches("textarea")) return [given, "text"];
    if (element?.matches("input") && !NOT_TEXT.includes(element.type)) return [given, SET.includes(element.type) ? "set" : "text"];
    let host = element?.isContentEditable ? given : null;
    while (host && shielded(host).parentElement?.isContentEditable) host = shielded(host).parentElement;
    return host ? [host, "text"] : [null, ""];
  };
  const value = (element) => {
    if (element.matches("select")) return (element.selectedOptions[0]?.label ?? "").toWellFormed();
    return String(element.value ?? element.innerText).slice(0, LONGEST).toWellFormed();
  };
  const above = (one) => shielded(one).assignedSlot ?? shielded(one).parentNode ?? one.host;
  const about = (given) => {
    const [into, kind] = field(given);
    const element = shielded(given);
    return {
      tag: element.localName,
      field: into && number(into),
      kind,
      secret: Boolean(into && (marked.has(into) || into.matches("input[type=password]"))),
      lines: Boolean(into && (into.matches("textarea") || into.isContentEditable)),
      several: Boolean(into?.matches("select[multiple]")),
      file: element.matches("input[type=file]"),
      pressable: element.matches(PRESSABLE),
    };
  };
  const modifiers = (event) => event.altKey + 2 * event.ctrlKey + 4 * event.metaKey + 8 * event.shiftKey;
  const stop = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const hold = (event, what, element, more) => {
    stop(event);
    const [into] = field(element);
    const own = ++count;
    // A press targets the element under the pointer, also in a field; an option is part of its list.
    gestures.set(own, into && (what !== "press" || into.matches("select")) ? into : element);
    held.push(own);
    tell({ what, number: own, about: about(element), modifiers: modifiers(event), ...more });
    return own;
  };
  const inOpen = (element) => Boolean(open && element) && (open === element || open.contains(element));
  const onScrollbar = (event, given) => {
    const element = shielded(given);
    if (given === page.documentElement || given === page.body)
      return event.clientX >= page.documentElement.clientWidth || event.clientY >= page.documentElement.clientHeight;
    if (element.clientWidth === 0 || getComputedStyle(given).display === "inline") return false;
    const box = element.getBoundingClientRect();
    const across = element.offsetWidth - element.clientWidth > 5 + 2 * element.clientLeft;
    const down = element.offsetHeight - element.clientHeight > 5 + 2 * element.clientTop;
    return (across && event.clientX >= box.left + element.clientLeft + element.clientWidth) ||
      (down && event.clientY >= box.top + element.clientTop + element.clientHeight);
  };
  const related = (one, other) => one === other || shielded(one).contains(other) || shielded(other).contains(one);

  const listeners = {
    pointerdown(event) {
      const element = first(event);
      if (expected?.what === "press" && Math.abs(event.clientX - expected.x) <= NEAR && Math.abs(event.clientY - expected.y) <= NEAR) {
        const meant = gestures.get(expected.number);
        const { isConnected, localName } = shielded(meant);
        // The page may have drawn the same element again; another element must not be pressed.
        through = isConnected ? related(meant, element) : localName === shielded(element).localName;
        if (!through) {
          stop(event);
          tell({ what: "moved", number: expected.number });
        }
        return;
      }
      through = event.button !== 0 || onScrollbar(event, element) ||
        (!held.length && open !== null && inOpen(element) && field(open)[1] === "text");
      if (!through) {
        const point = [event.clientX, event.clientY];
        pressed = { number: hold(event, "press", element, { point }), path: [point] };
      } else if (event.button !== 0) tell({ what: "other", name: "a press of another mouse button" });
    },
    pointermove(event) {
      if (pressed && pressed.path.length < MOST_POINTS) pressed.path.push([event.clientX, event.clientY]);
    },
    pointerup(event) {
      if (through) return;
      stop(event);
      if (!pressed) return;
      const end = [event.clientX, event.clientY];
      const [x, y] = pressed.path[0];
      const dragged = Math.hypot(end[0] - x, end[1] - y) > FAR;
      tell({ what: "release", number: pressed.number, path: dragged ? [...pressed.path, end] : [] });
      pressed = null;
    },
    pointercancel() {
      if (pressed) tell({ what: "release", number: pressed.number, path: [] });
      pressed = null;
    },
    keydown(event) {
      const key = event.key;
      keyed ||= inOpen(active());
      if (expected?.what === "key" && key === expected.key && event.code === expected.code) {
        expected = null;
        return;
      }
      const element = active() ?? page.documentElement;
      const [into, kind] = field(element);
      const more = { key, code: event.code, keyCode: event.keyCode, location: event.location, repeat: event.repeat };
      const keep = () => {
        muted.add(event.code);
        hold(event, "key", into ?? element, more);
      };
      const command = (event.ctrlKey || event.altKey || event.metaKey) && !event.getModifierState("AltGraph");
      if (event.isComposing || key === "Process") {
        if (into && !inOpen(into)) {
          gestures.set(++count, into);
          tell({ what: "composed", number: count, about: about(into) });
          [open, keyed] = [into, true];
        }
      } else if (held.length && !SILENT.includes(key)) keep();
      else if (command || SILENT.includes(key)) {
        if (command && !into && !SILENT.includes(key)) tell({ what: "other", name: "a key combination" });
      } else if (key === "Enter") {
        if (element !== page.body && element !== page.documentElement) keep();
      } else if (kind === "text" || kind === "set") {
        const edits = key.length === 1 || key === "Backspace" || key === "Delete" || (kind === "set" && MOVES.includes(key));
        if (edits && !inOpen(into)) keep();
        else if (!edits && kind === "text" && (key === "Escape" || key === "ArrowUp" || key === "ArrowDown")) tell({ what: "other", name: `the key ${key}` });
      } else if (kind === "select") {
        if ((key.length === 1 || MOVES.includes(key)) && !inOpen(into)) keep();
      } else if (key === " " && shielded(element).matches(PRESSABLE)) keep();
      else if (!["PageUp", "PageDown", "Home", "End", "F5", "F11", "F12"].includes(key)) tell({ what: "other", name: key.length === 1 ? "a key outside of fields" : `the key ${key}` });
    },
    keyup(event) {
      if (expected?.what === "keyup" && event.code === expected.code) expected = null;
      else if (muted.delete(event.code)) stop(event);
    },
    paste(event) {
      const element = first(event);
      const [into, kind] = field(element);
      const text = event.clipboardData?.getData("text/plain") ?? "";
      keyed ||= inOpen(into);
      if (kind !== "text" || !text || (inOpen(into) && !held.length)) return;
      hold(event, "paste", into, { text: text.slice(0, LONGEST).toWellFormed() });
    },
    input(event) {
      const element = first(event);
      const [into, kind] = field(element);
      if (!into) return;
      // A page can insert text by itself, but not choose a value.
      if (inOpen(into)) tell({ what: "input", value: value(into), own: kind === "select" || keyed || !event.inputType });
      else tell({ what: "other", name: "a change of a field without keys" });
    },
  };
  const swallow = (event) => {
    if (event.isTrusted && !through && event.detail !== 0) stop(event);
  };
  const SWALLOWED = ["mousedown", "mouseup", "click", "dblclick", "touchstart", "touchend"];
  // While it is recorded, the page must not notice the recording, such as a resize for the picture or
  // another place of the pointer.
  const quiet = (event) => {
    if (event.isTrusted && held.length && !expected) event.stopImmediatePropagation();
  };
  const QUIET = ["pointer", "mouse"].flatMap((kind) => ["move", "over", "out", "enter", "leave"].map((way) => kind + way));
  const listen = () => {
    for (const name of Object.keys(listeners)) addEventListener(name, trusted[name], { capture: true, passive: false });
    for (const name of SWALLOWED) addEventListener(name, swallow, { capture: true, passive: false });
    for (const name of [...QUIET, "resize"]) addEventListener(name, quiet, true);
    addEventListener("dragstart", undragged, true);
  };
  const undragged = (event) => {
    if (event.isTrusted && pressed) stop(event);
  };
  const trusted = Object.fromEntries(
    Object.entries(listeners).map(([name, heard]) => [name, (event) => event.isTrusted && heard(event)]));
  listen();
  // `document.open` removes all listeners.
  new MutationObserver(listen).observe(document, { childList: true });

  return {
    // Describes the current page; `listening` are elements that listen for clicks.
    look(options, target, ...listening) {
      const offset = options.main ? [scrollX, scrollY] : [0, 0];
      const element = gestures.get(target) ?? null;
      const hides = (one) => marked.has(one) || shielded(one).matches("input[type=password]");
      const heard = new WeakSet(listening);
      const seen = snapshot({ target: element, exact: true, heard, hides, offset, shadows: true, ...options });
      ids = seen.ids;
      const hidden = [...ids].filter(([one]) => hides(one)).map(([, id]) => id);
      const { nodes, cut, pieces, labelled } = seen;
      return { nodes, cut, pieces, labelled, hidden, tag: element ? shielded(element).localName : "" };
    },
    // Returns the place of a frame's page in this document, and the id of the frame's element.
    placed(element) {
      const box = element.getBoundingClientRect();
      const style = getComputedStyle(element);
      const across = element.offsetWidth ? box.width / element.offsetWidth : 1;
      const down = element.offsetHeight ? box.height / element.offsetHeight : 1;
      const x = box.x + across * (element.clientLeft + parseFloat(style.paddingLeft));
      const y = box.y + down * (element.clientTop + parseFloat(style.paddingTop));
      return { id: ids.get(element) ?? "", place: [x, y, across, down] };
    },
    scrolled: () => [scrollX, scrollY],
    view: () => [scrollX, scrollY, innerWidth, innerHeight],
    // Describes the target of a key again, after the gestures before it.
    again(target) {
      const element = active() ?? page.documentElement;
      const [into] = field(element);
      gestures.set(target, into ?? element);
      return about(element);
    },
    // Waits until a page that was resized for a picture has its old size.
    async restored([x, y, width, height]) {
      for (let i = 0; i < 10 && (innerWidth !== width || innerHeight !== height || scrollX !== x || scrollY !== y); i++) {
        const late = new Promise((resolve) => setTimeout(resolve, 50));
        await Promise.race([late, new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))]);
      }
      if (scrollX !== x || scrollY !== y) scrollTo({ left: x, top: y, behavior: "instant" });
    },
    marked: () => [...marked],
    // Lists the document and the shadow roots in it.
    roots() {
      const found = [document];
      for (const root of found)
        for (const one of found.length < MOST_ROOTS ? shielded(root).querySelectorAll("*") : [])
          if (shielded(one).shadowRoot) found.push(shielded(one).shadowRoot);
      return found;
    },
    // Lists the element of a gesture and its ancestors, from the inside out.
    around(target) {
      const found = [];
      for (let one = gestures.get(target); one; one = above(one))
        if (one instanceof Element) found.push(one);
      return found;
    },
    // From now on, input in the field of a gesture reaches the page, and its values are sent.
    open(target, edited) {
      [open] = field(gestures.get(target));
      keyed = edited;
    },
    close() {
      open = null;
    },
    value(target) {
      const [into] = field(gestures.get(target));
      return into?.isConnected ? value(into) : null;
    },
    expect(what) {
      expected = what;
    },
    done(target) {
      held = held.filter((one) => one !== target);
      expected = null;
      for (const old of [...gestures.keys()].slice(0, -20)) gestures.delete(old);
    },
    // Marks the element of a gesture as secret; returns its text.
    mark(target) {
      const element = gestures.get(target);
      const [into] = field(element);
      marked.add(into ?? element);
      return into ? value(into) : (shielded(element).innerText ?? "").toWellFormed();
    },
  };
})();
