"use strict";
/* A task as a film strip: its pages in order, each with the action and how it went. */
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
    const box = detail && VLM.targetBox(detail);
    const middle = box ? ((box[1] + box[3] / 2) * WIDE) / page[0] : 0;
    const top = Math.max(0, Math.min(middle - TALL / 2, tall - TALL));
    const props = { src: "pictures/" + name, width: WIDE, height: Math.round(tall), loading: "lazy" };
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
    return VLM.el(
      "li",
      null,
      VLM.el(
        "a",
        { class: "frame-card", href: VLM.stepLink(step) },
        still(step, detail),
        VLM.el("b", null, step.index + 1 + ". " + VLM.action(step.op, step.value)),
        VLM.el("code", null, VLM.brief(step.target) || (step.invalid ? "not valid: " + step.invalid : "–")),
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
      const right = outs.filter((out) => out.result === "right").length;
      return VLM.plain(lane.label) + ": " + right + " of " + outs.length + " steps right";
    });
    return rows.join(" · ");
  }

  VLM.taskview = {
    show(id) {
      const task = VLM.tasks[VLM.taskNumbers.get(id)];
      if (!task) {
        const say = "This page has no task " + VLM.plain(id);
        VLM.put(root, VLM.el("h1", null, "No such task"), VLM.el("p", null, say));
        return "No such task";
      }
      const first = task.steps[0];
      const strip = VLM.el("ol", { class: "strip", "aria-label": "Steps of the task" });
      const missing = first.total - task.steps.length;
      VLM.put(
        root,
        VLM.el("h1", { tabindex: -1 }, VLM.plain(task.text)),
        VLM.el("p", { class: "quiet" }, VLM.plain([first.split, first.site, first.domain].join(" · "))),
        VLM.el("p", null, solved(task)),
        missing > 0
          ? VLM.el("p", { class: "quiet" }, missing + " of " + first.total + " steps are not on this page.")
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
