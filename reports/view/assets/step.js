"use strict";
/* One step: the page, what was asked and answered, what it is worth. */
(function () {
  const root = VLM.byId("view-step");
  let step = null;
  let lane = 0;
  let focused = "";

  const yes = (value) => (value ? "✓ yes" : "✗ no");
  const section = (title, ...children) =>
    VLM.el("section", { class: "panel" }, VLM.el("h2", null, title), children);

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
      button("←", "Previous step", "k", () => VLM.stepview.beside(-1)),
      VLM.el("span", { class: "quiet" }, place < 0 ? "not in the list" : place + 1 + " of " + all),
      button("→", "Next step", "j", () => VLM.stepview.beside(1)),
      VLM.el("a", { class: "button", href: VLM.taskLink(VLM.tasks[step.task]) }, "Whole task"),
      VLM.el("a", { class: "button", href: VLM.stepLink(step, lane) }, "Link to this step"),
    );
  }

  function header() {
    const where = [step.split, step.site, step.domain, "step " + (step.index + 1) + " of " + step.total];
    return VLM.el(
      "header",
      { class: "stephead" },
      nav(),
      VLM.el("h1", { tabindex: -1, id: "h-step" }, VLM.plain(VLM.tasks[step.task].text)),
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

  function choice([letter, tag, text, box, positive, id], detail) {
    const picked = id === detail.chosen;
    return VLM.el(
      "li",
      { class: (positive ? "right " : "") + (picked ? "picked" : "") },
      VLM.el("b", { class: "letter" }, letter),
      VLM.el(
        "span",
        { class: "what" },
        VLM.el("code", null, VLM.plain(text)),
        positive ? VLM.el("span", { class: "mark target" }, "◎ target") : null,
        picked ? VLM.el("span", { class: "mark chosen" }, "➤ chosen") : null,
        box ? null : VLM.el("span", { class: "mark" }, "no box"),
      ),
    );
  }

  function choices(detail) {
    const none = detail.none
      ? [detail.none, "", "none of these", [0], 0, null]
      : null;
    const picked = detail.prediction && detail.none && detail.prediction.letter === detail.none;
    const rows = detail.choices.map((one) => choice(one, detail));
    if (none) {
      const row = choice(none, { chosen: picked ? null : undefined });
      if (detail.choices.length && detail.none === "A") rows.unshift(row);
      else rows.push(row);
    }
    return section(
      "Choices",
      VLM.el("ol", { class: "choices" }, rows),
      VLM.el(
        "p",
        { class: "quiet" },
        detail.positives + " acceptable and " + detail.negatives + " other candidates on the page",
      ),
    );
  }

  function verdict(out, detail) {
    const said = detail.prediction;
    const right = detail.choices.find((one) => one[4]);
    const row = (name, gold, got, ok) =>
      VLM.el(
        "tr",
        null,
        VLM.el("th", { scope: "row" }, name),
        VLM.el("td", null, gold),
        VLM.el("td", null, got, ok === null ? null : VLM.el("span", { class: ok ? "yes" : "no" }, ok ? " ✓" : " ✗")),
      );
    const scores = detail.scores;
    const picked = detail.choices.find((one) => one[5] === detail.chosen);
    const named = (one) => [one[0] + " ", VLM.el("code", null, VLM.brief(one[2]))];
    const none = said && detail.none && said.letter === detail.none;
    const chosen = said && (said.letter ? said.letter + (none ? " (none of these)" : "") : said.status);
    const same = (a, b) => (scores ? a === b : null);
    return VLM.el(
      "section",
      { class: "panel verdict" },
      VLM.el("h2", null, "Outcome ", VLM.chip(out, false, true)),
      detail.invalid
        ? VLM.el("p", { class: "warn" }, "Not a valid row: " + VLM.plain(detail.invalid))
        : null,
      detail.error ? VLM.el("p", { class: "warn" }, VLM.plain(detail.error)) : null,
      VLM.el(
        "table",
        { class: "plain duel" },
        VLM.el(
          "thead",
          null,
          VLM.el(
            "tr",
            null,
            VLM.el("td"),
            VLM.el("th", { scope: "col" }, "recorded"),
            VLM.el("th", { scope: "col" }, "answered"),
          ),
        ),
        VLM.el(
          "tbody",
          null,
          row("element", right ? named(right) : "not offered", picked ? named(picked) : chosen || "–", scores ? scores.element : null),
          row(
            "operation",
            detail.gold.operation,
            (said && said.operation) || "–",
            same(detail.gold.operation, said && said.operation),
          ),
          row(
            "value",
            VLM.plain(detail.gold.value) || "–",
            VLM.plain((said && said.value) || "") || "–",
            null,
          ),
        ),
      ),
      scores ? scoresOf(scores) : null,
      said
        ? VLM.el(
            "p",
            { class: "quiet" },
            "status: " + said.status,
            said.flags.length ? " · parser: " + VLM.plain(said.flags.join(", ")) : "",
            said.point ? " · point: " + said.point.join(", ") : "",
            detail.tokens ? " · tokens: " + detail.tokens.join(" in, ") + " out" : "",
            detail.cost !== null ? " · $" + VLM.number(detail.cost, 5) : "",
          )
        : null,
    );
  }

  function scoresOf(scores) {
    const entry = (name, value) =>
      VLM.el("div", null, VLM.el("dt", null, name), VLM.el("dd", null, value));
    return VLM.el(
      "dl",
      { class: "scores" },
      entry("step success", yes(scores.success)),
      entry("element", yes(scores.element)),
      entry("operation and value exact", yes(scores.exact)),
      scores.f1.map(([name, value]) => entry("Op. F1 " + VLM.plain(name), VLM.number(value))),
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
    const rows = [["data", detail.source], ["step", step.id], ...VLM.lanes[lane].settings];
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

  function history(detail) {
    if (!detail.history.length) return VLM.el("p", { class: "quiet" }, "None: this is the first.");
    return VLM.el("ol", { class: "history" }, detail.history.map((line) => VLM.el("li", null, VLM.plain(line))));
  }

  function fill(details) {
    const detail = details[lane];
    if (!detail) {
      VLM.put(root, header(), tabs(), VLM.el("p", { class: "warn" }, "This step is not on record in this run."));
      return;
    }
    VLM.put(
      root,
      header(),
      tabs(),
      VLM.el(
        "div",
        { class: "columns" },
        VLM.picture(step, detail),
        VLM.el(
          "div",
          { class: "beside" },
          verdict(step.outs[lane], detail),
          labels(),
          choices(detail),
          section("Conversation", VLM.conversation(detail.rounds, Boolean(step.picture[0]))),
          section("Actions before", history(detail)),
          settings(detail),
        ),
      ),
    );
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
        const say = "This page has no step " + VLM.plain(id);
        VLM.put(root, VLM.el("h1", null, "No such step"), VLM.el("p", null, say));
        return "No such step";
      }
      const same = step === VLM.steps[n];
      step = VLM.steps[n];
      lane = run in VLM.lanes ? run : 0;
      focused = root.contains(document.activeElement) ? document.activeElement.id : "";
      if (!same) VLM.put(root, header());
      draw();
      return VLM.tasks[step.task].text + " (" + (step.index + 1) + ")";
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
