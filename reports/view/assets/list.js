"use strict";
/* The list of units. Only the rows in sight are in the document. */
(function () {
  const body = VLM.byId("grid-body");
  const space = VLM.byId("grid-space");
  const head = VLM.byId("grid-head");
  const AROUND = 8;
  const WIDE = { site: 120, op: 160, target: 112 };
  const BOUNDS = ["eq1", "ge0.75", "ge0.5", "lt0.5", "lt0.25", "eq0", "none"];
  const BOUND_TEXT = { ge: "≥ ", lt: "< ", eq: "= " };
  let sheet = null;
  let fields = [];
  let columns = [];
  let wanted = {};
  let shown = [];
  let active = 0;

  /* The columns of the sheet in use; with a single run, its answers and scores are among them. */
  function columnsOf() {
    const one = VLM.lanes.length === 1;
    const { terms, facts } = VLM;
    const column = (fact) => ({
      key: fact.key,
      name: fact.head,
      text: (step) => VLM.factText(step, fact),
      kind: "c-" + fact.key + " c-fact" + (fact.code ? " c-code" : ""),
      wide: WIDE[fact.key] || 130,
    });
    const early = facts.filter((fact) => fact.head && fact.early).map(column);
    if (early.length) early[0].kind += " lead";
    const late = facts.filter((fact) => fact.head && !fact.early).map(column);
    const place = (step) =>
      terms.places ? step.index + 1 + (step.total ? "/" + step.total : "") : step.id;
    const answer = (step) => (step.outs[0] && step.outs[0].choice) || "–";
    const score = (n, binary) => (step) => {
      const value = step.outs[0] ? step.outs[0].scores[n] : undefined;
      return value === undefined ? "–" : VLM.scoreText(value, binary);
    };
    const goal = { key: "task", name: VLM.title(terms.goals ? "goal" : terms.parent), text: VLM.goal, wide: 180 };
    const listed = [
      { key: "split", name: "Split", text: (step) => step.split, wide: 104 },
      ...early,
      ...(terms.goal ? [goal] : []),
      {
        key: "index",
        name: VLM.title(terms.unit),
        text: place,
        kind: terms.places ? "c-index" : "c-index c-id",
        wide: terms.places ? 64 : 170,
      },
      ...late,
    ];
    if (one && terms.answers)
      listed.push({ key: "answer", name: "Answer", text: answer, wide: 130 });
    if (one && terms.answers)
      VLM.measures.forEach((measure, n) => {
        if (measure.name === terms.main[0]) return;
        const text = score(n, measure.binary);
        listed.push({ key: measure.key, name: measure.head, text, kind: "c-score", wide: 104 });
      });
    return listed.map((made) => ({ kind: "c-" + made.key, ...made }));
  }

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

  /* A filter for every fact and every score, before and behind those that every sheet has. */
  function controls() {
    const select = (id, name, kind) =>
      VLM.el("label", { class: kind }, VLM.plain(name), VLM.el("select", { id: "f-" + id }));
    const facts = VLM.facts.filter((fact) => fact.filter);
    const scores = VLM.terms.answers ? VLM.measures : [];
    for (const old of document.querySelectorAll(".selects .own")) old.remove();
    VLM.byId("f-lane").parentElement.before(...facts.map((fact) => select(fact.key, fact.filter, "own")));
    VLM.byId("f-agree").parentElement.before(...scores.map((one) => select(one.key, one.head, "own")));
    fields = VLM.fields().filter((field) => VLM.byId("f-" + field));
  }

  function offer() {
    controls();
    choose("split", counted(VLM.steps.map((step) => step.split)));
    for (const fact of VLM.facts)
      if (fact.filter) choose(fact.key, counted(VLM.steps.map((step) => step.facts.get(fact.key))));
    choose("lane", [["", "any"], ...VLM.lanes.map((lane, n) => [n, lane.label])]);
    const pairs = [];
    const binary = VLM.terms.main[2];
    VLM.lanes.forEach((one, a) =>
      VLM.lanes.forEach((other, b) => {
        if (a < b && VLM.lanes.length <= 6) {
          const [, head] = VLM.terms.main;
          const said = binary
            ? [
                "right: " + one.label + " and " + other.label,
                "right: " + one.label + ", not " + other.label,
                "right: " + other.label + ", not " + one.label,
              ]
            : [
                "equal: " + one.label + " and " + other.label,
                "more " + head + ": " + one.label + " than " + other.label,
                "more " + head + ": " + other.label + " than " + one.label,
              ];
          ["11", "10", "01"].forEach((pattern, n) => pairs.push([a + "." + b + "." + pattern, said[n]]));
          if (binary) pairs.push([a + "." + b + ".00", "neither " + one.label + " nor " + other.label]);
        }
      }),
    );
    const all = [["", "any"], ["differ", "runs disagree"], ["right", "all right"]];
    const answers = VLM.terms.answers ? "different answers" : "different elements";
    choose("agree", [...all, ["wrong", "none right"], ["choice", answers], ...pairs]);
    const labels = VLM.list.defaults.map((label) => ["=" + label, label]);
    choose("label", [["", "any"], ["any", "with a label"], ["none", "without"], ...labels]);
    const sorts = [["", "their order"], ...columns.map((c) => [c.key, c.name.toLowerCase()])];
    choose("sort", [...sorts, ...VLM.lanes.map((lane, n) => ["lane" + n, "outcome: " + lane.label])]);
    VLM.byId("f-q").placeholder = "Search " + VLM.terms.searched + " ( / )";
    document.body.classList.toggle("one-lane", VLM.lanes.length === 1);
    VLM.byId("grid").setAttribute("aria-label", VLM.title(VLM.terms.units));
    if (!VLM.byId("sheets")) return;
    const tab = (one, n) => {
      const current = n === VLM.sheet ? "true" : null;
      const href = "#/steps" + (n ? "?sheet=" + n : "");
      return VLM.el("a", { href, "aria-current": current }, VLM.plain(one.list.name));
    };
    VLM.put(VLM.byId("sheets"), VLM.sheets.map(tab));
  }

  function bounds(values) {
    const text = (bound) =>
      bound === "none" ? "not measured" : BOUND_TEXT[bound.slice(0, 2)] + bound.slice(2);
    const count = (bound) => values.filter((value) => VLM.scoreFits(value, bound)).length;
    return BOUNDS.map((bound) => [bound, text(bound), count(bound)]);
  }

  function offerOutcomes() {
    choose("result", counted(outcomes((out) => out.result), VLM.resultText));
    choose("status", counted(outcomes((out) => out.status)));
    choose("class", counted(outcomes((out) => out.cls), VLM.classTitle));
    if (!VLM.terms.answers) return;
    VLM.measures.forEach((measure, n) => {
      const own = outcomes((out) => (out.scores.length ? [out.scores[n]] : [])).flat();
      const words = { eq1: "yes", eq0: "no" };
      const offered = bounds(own).filter(([bound, , count]) =>
        count ? !measure.binary || bound === "none" || words[bound] : bound === wanted[measure.key],
      );
      const named = ([bound, text, count]) =>
        [bound, ((measure.binary && words[bound]) || text) + " (" + count + ")"];
      const typed = wanted[measure.key];
      const known = !typed || offered.some(([bound]) => bound === typed);
      choose(measure.key, [["", "any"], ...offered.map(named), ...(known ? [] : [[typed, typed]])]);
    });
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
    const only = VLM.terms.main[2] ? "Outcome" : VLM.plain(VLM.terms.main[1]);
    const lane = (one) => (VLM.lanes.length > 1 ? VLM.plain(one.label) : only);
    const cells = VLM.el(
      "div",
      { role: "presentation", class: "heads-row" },
      columns.map((column) => header(column.key, VLM.plain(column.name), column.kind)),
      VLM.lanes.map((one, n) => header("lane" + n, lane(one), "c-lane")),
    );
    VLM.put(head, cells);
  }

  function row(step, place, height) {
    const cells = columns.map((column) => {
      const text = VLM.plain(column.text(step));
      return VLM.el("div", { role: "gridcell", class: "cell " + column.kind, title: text }, text);
    });
    const outs = VLM.lanes.map((lane, n) =>
      VLM.el(
        "div",
        { role: "gridcell", class: "cell c-lane " + (n < 2 ? "l" + n : "more") },
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
    const least = columns.reduce((sum, column) => sum + column.wide, 158 * VLM.lanes.length);
    space.style.minWidth = head.clientHeight ? "max(100%, " + least + "px)" : "";
    space.style.height = shown.length * height + "px";
    const rows = [];
    for (let place = first; place < last; place++) rows.push(row(shown[place], place, height));
    VLM.put(space, rows.length ? rows : VLM.el("p", { class: "nothing" }, "No " + VLM.terms.unit + " fits."));
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

  /* What depends on the sheet, where another one has come into use. */
  function take() {
    if (sheet === VLM.sheet) return;
    sheet = VLM.sheet;
    columns = columnsOf();
    offer();
  }

  function apply(params) {
    const changed = JSON.stringify(params) !== JSON.stringify(wanted);
    const current = shown[active];
    wanted = params;
    take();
    offerOutcomes();
    shown = VLM.filter(wanted);
    for (const field of [...fields, "sort"]) {
      const control = VLM.byId("f-" + field);
      if (control !== document.activeElement || control.tagName === "SELECT")
        control.value = wanted[field];
    }
    const again = shown.indexOf(current);
    active = again >= 0 ? again : 0;
    const all = VLM.steps.length;
    VLM.byId("f-count").textContent =
      shown.length.toLocaleString("en") + " of " + all.toLocaleString("en") + " " + VLM.plain(VLM.terms.units);
    VLM.byId("grid").setAttribute("aria-rowcount", shown.length + 1);
    VLM.byId("f-clear").disabled = fields.every((field) => !wanted[field]);
    heads();
    if (changed) body.scrollTop = 0;
    move(active);
  }

  VLM.steplist = {
    apply,
    move: (by) => move(active + by),
    page: () => Math.max(1, Math.floor(body.clientHeight / rowHeight()) - 1),
    open: () => shown[active] && (location.hash = VLM.stepLink(shown[active], wanted.lane)),
    params: () => (sheet === VLM.sheet ? wanted : VLM.empty()),
    /* The step before or after one in the list as it is filtered. */
    beside(step, by) {
      const place = shown.indexOf(step);
      if (place < 0) return null;
      const next = shown[place + by];
      if (next) active = place + by;
      return next || null;
    },
    place: (step) => [shown.indexOf(step), shown.length],
    prepare: take,
    focus: () => body.focus({ preventScroll: true }),
  };

  function changed() {
    const next = { ...wanted };
    for (const field of fields) next[field] = VLM.byId("f-" + field).value;
    if (next.sort !== VLM.byId("f-sort").value) {
      next.sort = VLM.byId("f-sort").value;
      next.down = "";
    }
    VLM.go("steps", next);
  }

  wanted = VLM.empty();
  shown = VLM.steps;
  take();
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
    VLM.go("steps", { ...VLM.empty(), sort: wanted.sort, down: wanted.down });
  });
  if (window.matchMedia("(max-width: 720px)").matches) VLM.byId("more-filters").open = false;
  addEventListener("resize", () => VLM.byId("view-steps").hidden || draw());
})();
