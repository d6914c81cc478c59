"use strict";
/* One unit: its picture, what was asked and answered, what it is worth. */
(function () {
  const root = VLM.byId("view-step");
  let step = null;
  let lane = 0;
  let focused = "";

  const section = (title, ...children) =>
    VLM.el("section", { class: "panel" }, VLM.el("h2", null, title), children);

  const folded = (title, ...children) =>
    VLM.el("details", { class: "panel" }, VLM.el("summary", null, title), children);

  function nav() {
    const [place, all] = VLM.steplist.place(step);
    const button = (text, name, key, act) => {
      const props = { type: "button", id: "go-" + key, title: name + " (" + key + ")" };
      const made = VLM.el("button", props, text);
      made.setAttribute("aria-label", name);
      made.addEventListener("click", act);
      return made;
    };
    return VLM.el(
      "div",
      { class: "stepnav" },
      button("←", "Previous " + VLM.terms.unit, "k", () => VLM.stepview.beside(-1)),
      VLM.el("span", { class: "quiet" }, place < 0 ? "not in the list" : place + 1 + " of " + all),
      button("→", "Next " + VLM.terms.unit, "j", () => VLM.stepview.beside(1)),
      VLM.tasks[step.task].id
        ? VLM.el("a", { class: "button", href: VLM.taskLink(VLM.tasks[step.task]) }, "Whole " + VLM.plain(VLM.terms.parent))
        : null,
      VLM.el("a", { class: "button", href: VLM.stepLink(step, lane) }, "Link to this " + VLM.plain(VLM.terms.unit)),
    );
  }

  function header() {
    const told = VLM.facts.map((fact) => VLM.told(step, fact));
    const where = [step.split, ...told, VLM.terms.places ? VLM.place(step) : step.id].filter(Boolean);
    return VLM.el(
      "header",
      { class: "stephead" },
      nav(),
      VLM.el("h1", { tabindex: -1, id: "h-step" }, VLM.plain(VLM.goal(step))),
      VLM.el("p", { class: "quiet" }, VLM.plain(where.join(" · "))),
    );
  }

  function tabs() {
    if (VLM.lanes.length < 2) return null;
    return VLM.el(
      "nav",
      { class: "tabs", "aria-label": "Runs" },
      VLM.lanes.map((one, n) =>
        VLM.el(
          "a",
          { href: VLM.stepLink(step, n), "aria-current": n === lane ? "true" : null },
          VLM.plain(one.label) + " ",
          VLM.chip(step.outs[n], true),
        ),
      ),
    );
  }

  function verdict(out, detail) {
    const said = detail.prediction;
    const listed = detail.lines.some(([name]) => name === "point");
    return VLM.el(
      "section",
      { class: "panel verdict" },
      VLM.el("h2", null, "Outcome ", VLM.chip(out, false, true)),
      detail.invalid
        ? VLM.el("p", { class: "warn" }, "Not a valid row: " + VLM.plain(detail.invalid))
        : null,
      detail.error ? VLM.el("p", { class: "warn" }, VLM.plain(detail.error)) : null,
      detail.trial ? VLM.el("p", { class: "quiet" }, "Attempt " + (detail.trial + 1)) : null,
      VLM.duel(detail),
      VLM.scores(detail.scores),
      said
        ? VLM.el(
            "p",
            { class: "quiet" },
            "status: " + said.status,
            said.flags.length ? " · parser: " + VLM.plain(said.flags.join(", ")) : "",
            detail.point && !listed ? " · point: " + detail.point.join(", ") : "",
            detail.tokens ? " · tokens: " + detail.tokens.join(" in, ") + " out" : "",
            detail.cost !== null ? " · $" + VLM.number(detail.cost, 5) : "",
          )
        : null,
      roles(detail.roles),
    );
  }

  /* What was asked of whom, where a dialogue asks others than the model under test. */
  function roles(rows) {
    if (!rows.length) return null;
    const heads = ["asked", "calls", "tokens in", "tokens out", "cost"];
    const cost = (dollars) => (dollars === null ? "unknown" : "$" + VLM.number(dollars, 5));
    return VLM.el(
      "table",
      { class: "plain roles" },
      VLM.el("thead", null, VLM.el("tr", null, heads.map((head, n) => VLM.el("th", { scope: "col", class: n ? "n" : null }, head)))),
      VLM.el(
        "tbody",
        null,
        rows.map(([role, calls, into, out, dollars]) =>
          VLM.el(
            "tr",
            null,
            VLM.el("th", { scope: "row" }, VLM.plain(role || "the model under test")),
            [calls, into, out, cost(dollars)].map((one) => VLM.el("td", { class: "n" }, String(one))),
          ),
        ),
      ),
    );
  }

  function labels() {
    const entry = VLM.labels.entry(step, lane);
    const buttons = VLM.list.defaults.map((label, n) => {
      const on = entry.label === label;
      const id = "label-" + n;
      const props = { id, type: "button", "aria-pressed": on ? "true" : "false", class: "toggle" };
      const button = VLM.el("button", props, on ? "✓ " : "", label, VLM.el("kbd", null, n + 1));
      button.addEventListener("click", () => VLM.stepview.label(label));
      return button;
    });
    const other = VLM.el("input", { type: "text", maxlength: 100, id: "label-other" });
    other.value = VLM.list.defaults.includes(entry.label) ? "" : entry.label;
    other.addEventListener("change", () => {
      const label = other.value.trim();
      if (label !== entry.label) VLM.labels.toggle(step, lane, label || entry.label);
      setTimeout(draw); /* when the focus has moved on */
    });
    const note = VLM.el("textarea", { rows: 2, maxlength: 4000, id: "label-note" });
    note.value = entry.note;
    note.addEventListener("change", () => VLM.labels.note(step, lane, note.value.trim()));
    const given = VLM.labels.given(step, lane).map((one) => {
      const by = one.who ? " (" + one.who + ")" : "";
      return VLM.el("li", null, VLM.plain(one.label + by + (one.note ? ": " + one.note : "")));
    });
    return section(
      "Label",
      VLM.el("div", { class: "toggles", role: "group", "aria-label": "Label" }, buttons),
      VLM.el("div", { class: "fields" },
        VLM.el("label", { for: "label-other" }, "Another label"), other,
        VLM.el("label", { for: "label-note" }, "Note"), note),
      given.length ? [VLM.el("h3", null, "Beside the run"), VLM.el("ul", null, given)] : null,
    );
  }

  function settings(detail) {
    const rows = [["data", detail.source], [VLM.terms.unit, step.id], ...detail.told, ...VLM.lanes[lane].settings];
    return VLM.el(
      "details",
      { class: "panel" },
      VLM.el("summary", null, "Settings of the run"),
      VLM.el(
        "table",
        { class: "plain" },
        VLM.el(
          "tbody",
          null,
          rows.map(([name, value]) =>
            VLM.el(
              "tr",
              null,
              VLM.el("th", { scope: "row" }, VLM.plain(name)),
              VLM.el("td", null, VLM.plain(value)),
            ),
          ),
        ),
      ),
    );
  }

  function fill(details) {
    const detail = details[lane];
    if (!detail) {
      VLM.put(root, header(), tabs(), VLM.el("p", { class: "warn" }, "This " + VLM.terms.unit + " is not on record in this run."));
      return;
    }
    const film = VLM.film(detail);
    const picture = film ? null : VLM.picture(step, detail);
    const calls = VLM.conversation(detail.rounds, step.picture);
    const first = [verdict(step.outs[lane], detail), labels()];
    const reply = film ? null : VLM.decided(detail.rounds);
    const rest = [
      reply ? section("Reply", reply) : null,
      VLM.lists(detail, true),
      film ? folded("All calls", calls) : section("Conversation", calls),
      VLM.lists(detail, false),
      VLM.raw(detail),
      settings(detail),
    ];
    const shown = film
      ? VLM.el("div", { class: "stacked" }, VLM.el("div", { class: "columns" }, first), film, rest)
      : VLM.el(
          "div",
          { class: picture ? "columns" : "columns alone" },
          picture,
          VLM.el("div", { class: "beside" }, first, rest),
        );
    VLM.put(root, header(), tabs(), shown);
  }

  /* What had the focus has it again after the step is drawn anew, else the heading. */
  function refocus() {
    const again = (focused && VLM.byId(focused)) || VLM.byId("h-step");
    if (document.activeElement === document.body) again.focus({ preventScroll: true });
  }

  function draw() {
    const [asked, run] = [step, lane];
    focused = document.activeElement.id || focused;
    const at = scrollY;
    VLM.detail(step).then(
      (details) => {
        if (VLM.view !== "step" || step !== asked || lane !== run) return;
        fill(details);
        refocus();
        scrollTo(0, at);
      },
      (error) => VLM.put(root, header(), VLM.el("p", { class: "warn" }, error.message)),
    );
  }

  const open = (other) => other && (location.hash = VLM.stepLink(other, lane));

  VLM.stepview = {
    show(id, run) {
      const n = VLM.numbers.get(id);
      if (n === undefined) {
        const say = "This page has no " + VLM.terms.unit + " " + VLM.plain(id);
        VLM.put(root, VLM.el("h1", null, "No such " + VLM.terms.unit), VLM.el("p", null, say));
        return "No such " + VLM.terms.unit;
      }
      VLM.steplist.prepare();
      const same = step === VLM.steps[n];
      step = VLM.steps[n];
      lane = run in VLM.lanes ? run : 0;
      focused = root.contains(document.activeElement) ? document.activeElement.id : "";
      if (!same) VLM.put(root, header());
      draw();
      return VLM.goal(step) + " (" + (VLM.terms.places ? step.index + 1 : step.id) + ")";
    },
    beside: (by) => open(VLM.steplist.beside(step, by)),
    inTask(by) {
      const own = VLM.tasks[step.task].steps;
      open(own[own.indexOf(step) + by]);
    },
    task: () => (location.hash = VLM.taskLink(VLM.tasks[step.task])),
    nextLane: () => (location.hash = VLM.stepLink(step, (lane + 1) % VLM.lanes.length)),
    label(label) {
      VLM.labels.toggle(step, lane, label);
      draw();
    },
  };
})();
