"use strict";
/* The list of steps. Only the rows in sight are in the document. */
(function () {
  const body = VLM.byId("grid-body");
  const space = VLM.byId("grid-space");
  const head = VLM.byId("grid-head");
  const FIELDS = ["q", "split", "site", "op", "lane", "result", "status", "class", "agree", "label"];
  const AROUND = 8;
  let wanted = { ...VLM.EMPTY };
  let shown = VLM.steps;
  let active = 0;

  const columns = [
    { key: "split", name: "Split", text: (step) => step.split },
    { key: "site", name: "Site", text: (step) => step.site },
    { key: "task", name: "Task", text: (step) => VLM.tasks[step.task].text },
    { key: "index", name: "Step", text: (step) => step.index + 1 + "/" + step.total },
    { key: "op", name: "Action", text: (step) => VLM.action(step.op, step.value) },
    { key: "target", name: "Target", text: (step) => VLM.brief(step.target) || "–" },
  ];

  const rowHeight = () => parseFloat(getComputedStyle(body).getPropertyValue("--row")) || 40;

  function choose(id, entries) {
    VLM.put(
      VLM.byId("f-" + id),
      entries.map(([value, text]) => VLM.el("option", { value }, VLM.plain(text))),
    );
  }

  /* The values that occur, each with how often. */
  function counted(values, name) {
    const counts = new Map();
    for (const value of values) if (value) counts.set(value, (counts.get(value) || 0) + 1);
    const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
    return [["", "any"], ...sorted.map(([v, n]) => [v, (name ? name(v) : v) + " (" + n + ")"])];
  }

  function outcomes(get) {
    const lanes = wanted.lane === "" ? VLM.lanes.map((_, n) => n) : [Number(wanted.lane)];
    return VLM.steps.flatMap((step) => [
      ...new Set(lanes.map((lane) => step.outs[lane] && get(step.outs[lane]))),
    ]);
  }

  function offer() {
    choose("split", counted(VLM.steps.map((step) => step.split)));
    choose("site", counted(VLM.steps.map((step) => step.site)));
    choose("op", counted(VLM.steps.map((step) => step.op)));
    choose("lane", [["", "any"], ...VLM.lanes.map((lane, n) => [n, lane.label])]);
    const pairs = [];
    VLM.lanes.forEach((one, a) =>
      VLM.lanes.forEach((other, b) => {
        if (a < b && VLM.lanes.length <= 6) {
          pairs.push([a + "." + b + ".11", "right: " + one.label + " and " + other.label]);
          pairs.push([a + "." + b + ".10", "right: " + one.label + ", not " + other.label]);
          pairs.push([a + "." + b + ".01", "right: " + other.label + ", not " + one.label]);
          pairs.push([a + "." + b + ".00", "neither " + one.label + " nor " + other.label]);
        }
      }),
    );
    const all = [["", "any"], ["differ", "runs disagree"], ["right", "all right"]];
    choose("agree", [...all, ["wrong", "none right"], ["choice", "different elements"], ...pairs]);
    const labels = VLM.list.defaults.map((label) => ["=" + label, label]);
    choose("label", [["", "any"], ["any", "with a label"], ["none", "without"], ...labels]);
    const sorts = [["", "their order"], ...columns.map((c) => [c.key, c.name.toLowerCase()])];
    choose("sort", [...sorts, ...VLM.lanes.map((lane, n) => ["lane" + n, "outcome: " + lane.label])]);
    document.body.classList.toggle("one-lane", VLM.lanes.length === 1);
  }

  function offerOutcomes() {
    choose("result", counted(outcomes((out) => out.result), (id) => VLM.RESULTS[id].text));
    choose("status", counted(outcomes((out) => out.status)));
    choose("class", counted(outcomes((out) => out.cls), VLM.classTitle));
  }

  function header(key, name, kind) {
    const on = wanted.sort === key;
    const arrow = on ? (wanted.down ? " ↓" : " ↑") : "";
    const button = VLM.el("button", { type: "button", title: "Sort by " + name }, name + arrow);
    button.addEventListener("click", () =>
      VLM.go("steps", { ...wanted, sort: on && wanted.down ? "" : key, down: on ? "1" : "" }),
    );
    const order = on ? (wanted.down ? "descending" : "ascending") : "none";
    return VLM.el(
      "div",
      { role: "columnheader", class: "cell " + kind, "aria-sort": order },
      button,
    );
  }

  function heads() {
    const lane = (one) => (VLM.lanes.length > 1 ? VLM.plain(one.label) : "Outcome");
    const cells = VLM.el(
      "div",
      { role: "presentation", class: "heads-row" },
      columns.map((column) => header(column.key, column.name, "c-" + column.key)),
      VLM.lanes.map((one, n) => header("lane" + n, lane(one), "c-lane")),
    );
    VLM.put(head, cells);
  }

  function row(step, place, height) {
    const cells = columns.map((column) => {
      const text = VLM.plain(column.text(step));
      return VLM.el("div", { role: "gridcell", class: "cell c-" + column.key, title: text }, text);
    });
    const outs = VLM.lanes.map((lane, n) =>
      VLM.el(
        "div",
        { role: "gridcell", class: "cell c-lane" },
        VLM.chip(step.outs[n]),
        VLM.labels.text(step, n) ? VLM.el("span", { class: "flag", title: "has a label" }, "⚑") : null,
      ),
    );
    const link = VLM.el(
      "a",
      {
        id: "row-" + place,
        role: "row",
        tabindex: -1,
        class: "row" + (place === active ? " active" : ""),
        href: VLM.stepLink(step, wanted.lane),
        "aria-rowindex": place + 2,
        "aria-selected": place === active ? "true" : "false",
      },
      cells,
      outs,
    );
    link.style.transform = "translateY(" + place * height + "px)";
    link.addEventListener("click", () => (active = place));
    return link;
  }

  function draw() {
    const height = rowHeight();
    const first = Math.max(0, Math.floor(body.scrollTop / height) - AROUND);
    const last = Math.min(
      shown.length,
      Math.ceil((body.scrollTop + body.clientHeight) / height) + AROUND,
    );
    /* Wider than the window with many runs; on a phone a row is a card. */
    const least = 740 + 158 * VLM.lanes.length;
    space.style.minWidth = head.clientHeight ? "max(100%, " + least + "px)" : "";
    space.style.height = shown.length * height + "px";
    const rows = [];
    for (let place = first; place < last; place++) rows.push(row(shown[place], place, height));
    VLM.put(space, rows.length ? rows : VLM.el("p", { class: "nothing" }, "No step fits."));
    if (rows.length) body.setAttribute("aria-activedescendant", "row-" + active);
    else body.removeAttribute("aria-activedescendant");
    /* The header is as wide as the rows and moves with them. */
    head.firstElementChild.style.width = space.offsetWidth + "px";
    head.scrollLeft = body.scrollLeft;
  }

  function move(to) {
    active = Math.max(0, Math.min(shown.length - 1, to));
    const height = rowHeight();
    const top = active * height;
    if (top < body.scrollTop) body.scrollTop = top;
    else if (top + height > body.scrollTop + body.clientHeight)
      body.scrollTop = top + height - body.clientHeight;
    draw();
  }

  function apply(params) {
    const changed = JSON.stringify(params) !== JSON.stringify(wanted);
    const current = shown[active];
    wanted = params;
    offerOutcomes();
    shown = VLM.filter(wanted);
    for (const field of [...FIELDS, "sort"]) {
      const control = VLM.byId("f-" + field);
      if (control !== document.activeElement || control.tagName === "SELECT")
        control.value = wanted[field];
    }
    const again = shown.indexOf(current);
    active = again >= 0 ? again : 0;
    const all = VLM.steps.length;
    VLM.byId("f-count").textContent =
      shown.length.toLocaleString("en") + " of " + all.toLocaleString("en") + " steps";
    VLM.byId("grid").setAttribute("aria-rowcount", shown.length + 1);
    VLM.byId("f-clear").disabled = FIELDS.every((field) => !wanted[field]);
    heads();
    if (changed) body.scrollTop = 0;
    move(active);
  }

  VLM.steplist = {
    apply,
    move: (by) => move(active + by),
    page: () => Math.max(1, Math.floor(body.clientHeight / rowHeight()) - 1),
    open: () => shown[active] && (location.hash = VLM.stepLink(shown[active], wanted.lane)),
    params: () => wanted,
    /* The step before or after one in the list as it is filtered. */
    beside(step, by) {
      const place = shown.indexOf(step);
      if (place < 0) return null;
      const next = shown[place + by];
      if (next) active = place + by;
      return next || null;
    },
    place: (step) => [shown.indexOf(step), shown.length],
    focus: () => body.focus({ preventScroll: true }),
  };

  function changed() {
    const next = { ...wanted };
    for (const field of FIELDS) next[field] = VLM.byId("f-" + field).value;
    if (next.sort !== VLM.byId("f-sort").value) {
      next.sort = VLM.byId("f-sort").value;
      next.down = "";
    }
    VLM.go("steps", next);
  }

  offer();
  heads();
  let ticking = false;
  body.addEventListener("scroll", () => {
    if (ticking) return;
    ticking = true;
    requestAnimationFrame(() => {
      ticking = false;
      draw();
    });
  });
  VLM.byId("filters").addEventListener("input", changed);
  VLM.byId("filters").addEventListener("submit", (event) => event.preventDefault());
  VLM.byId("f-clear").addEventListener("click", () => {
    VLM.byId("f-q").value = "";
    VLM.go("steps", { ...VLM.EMPTY, sort: wanted.sort, down: wanted.down });
  });
  if (window.matchMedia("(max-width: 720px)").matches) VLM.byId("more-filters").open = false;
  addEventListener("resize", () => VLM.byId("view-steps").hidden || draw());
})();
