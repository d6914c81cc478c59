"use strict";
/* What units belong to, such as a task, as a film strip: its units in order, each with its picture
   and how it went. */
(function () {
  const root = VLM.byId("view-task");
  const WIDE = 260;
  const TALL = 190;

  function still(step, detail) {
    const [name, w, h] = step.picture;
    const page = (detail && detail.page) || (name && [w, h]);
    const frame = VLM.el("div", { class: "still" });
    if (!name || !page) {
      frame.append(VLM.el("p", { class: "quiet" }, "no picture"));
      return frame;
    }
    const tall = (WIDE * page[1]) / page[0];
    const box = detail && detail.focus;
    const middle = box ? ((box[1] + box[3] / 2) * WIDE) / page[0] : 0;
    const top = Math.max(0, Math.min(middle - TALL / 2, tall - TALL));
    const props = { src: VLM.pictured(name), width: WIDE, height: Math.round(tall), loading: "lazy" };
    const film = VLM.el("div", { class: "film" }, VLM.el("img", { ...props, alt: "" }));
    film.style.transform = "translateY(" + -top + "px)";
    if (box) {
      const [x, y, bw, bh] = box;
      const unit = page[0] / WIDE;
      film.append(
        VLM.svg(
          "svg",
          { class: "overlay", viewBox: "0 0 " + page.join(" "), "aria-hidden": "true" },
          VLM.svg("rect", {
            x: x - 3 * unit,
            y: y - 3 * unit,
            width: bw + 6 * unit,
            height: bh + 6 * unit,
            rx: 3 * unit,
            class: "frame",
          }),
        ),
      );
    }
    frame.append(film);
    return frame;
  }

  function card(step, detail) {
    const [line, code] = VLM.terms.card;
    const pictured = step.picture[0] || step.picture[1];
    const below = VLM.fact(step, code);
    const bad = step.invalid ? "not valid: " + VLM.plain(step.invalid) : "–";
    return VLM.el(
      "li",
      null,
      VLM.el(
        "a",
        { class: "frame-card", href: VLM.stepLink(step) },
        pictured ? still(step, detail) : null,
        VLM.el("b", null, (VLM.terms.places ? step.index + 1 + ". " : "") + (line ? VLM.fact(step, line) : VLM.plain(step.goal || step.id))),
        code || step.invalid ? VLM.el("code", null, !code || below === "–" ? bad : below) : null,
        VLM.lanes.map((lane, n) =>
          VLM.el(
            "span",
            { class: "lane-line" },
            VLM.lanes.length > 1 ? VLM.el("span", { class: "quiet" }, VLM.plain(lane.label)) : null,
            VLM.chip(step.outs[n]),
          ),
        ),
      ),
    );
  }

  function solved(task) {
    const rows = VLM.lanes.map((lane, n) => {
      const outs = task.steps.map((step) => step.outs[n]).filter((out) => out && out.status);
      const { main, units } = VLM.terms;
      const name = VLM.plain(lane.label) + ": ";
      if (main[2]) {
        const right = outs.filter((out) => out.result === "right").length;
        return name + right + " of " + outs.length + " " + VLM.plain(units) + " right";
      }
      const scored = outs.filter((out) => out.result === "scored");
      const sum = scored.reduce((total, out) => total + out.main, 0);
      const mean = scored.length ? VLM.number(sum / scored.length) : "–";
      return name + VLM.plain(main[1]) + " " + mean + " over " + scored.length + " " + VLM.plain(units);
    });
    return rows.join(" · ");
  }

  VLM.taskview = {
    show(id) {
      const task = VLM.tasks[VLM.taskNumbers.get(id)];
      if (!task) {
        const say = "This page has no " + VLM.terms.parent + " " + VLM.plain(id);
        VLM.put(root, VLM.el("h1", null, "No such " + VLM.terms.parent), VLM.el("p", null, say));
        return "No such " + VLM.terms.parent;
      }
      const first = task.steps[0];
      const strip = VLM.el("ol", { class: "strip", "aria-label": VLM.title(VLM.terms.units) + " of the " + VLM.terms.parent });
      const shared = VLM.facts
        .filter((fact) => first.facts.get(fact.key) !== task.text)
        .filter((fact) => task.steps.every((one) => one.facts.get(fact.key) === first.facts.get(fact.key)))
        .map((fact) => VLM.told(first, fact));
      const missing = first.total - task.steps.length;
      VLM.put(
        root,
        VLM.el("h1", { tabindex: -1 }, VLM.plain(task.text)),
        VLM.el("p", { class: "quiet" }, VLM.plain([first.split, ...shared].filter(Boolean).join(" · "))),
        VLM.el("p", null, solved(task)),
        missing > 0
          ? VLM.el("p", { class: "quiet" }, missing + " of " + first.total + " " + VLM.terms.units + " are not on this page.")
          : null,
        strip,
      );
      root.querySelector("h1").focus({ preventScroll: true });
      Promise.all(task.steps.map((step) => VLM.detail(step).catch(() => []))).then((all) =>
        VLM.put(strip, task.steps.map((step, n) => card(step, all[n].find(Boolean)))),
      );
      return task.text;
    },
  };
})();
