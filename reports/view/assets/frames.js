"use strict";
/* A unit that took its time, as a film strip: what was seen, what was done about it, what came of it. */
(function () {
  const LONG = 240;
  /* Widths of a frame in pixels: of small or upright pictures, and of others. */
  const NARROW = 220;
  const WIDE = 384;
  const SMALL = 660;
  const LARGE = { [NARROW]: 560, [WIDE]: 840 };

  function size(frame) {
    return frame.size || (frame.picture.length ? frame.picture.slice(1) : null);
  }

  function sheet(frame, page, width) {
    const [name, w, h] = frame.picture;
    const told = frame.action ? "What was done: " + VLM.plain(frame.action) : "What was seen";
    const shown = name
      ? VLM.el("img", { src: VLM.pictured(name), width: w, height: h, loading: "lazy", alt: "", class: "shot" })
      : VLM.svg("svg", { class: "blank", viewBox: "0 0 " + page.join(" ") });
    /* Marks keep their size on the screen, however large the picture is shown. */
    const marks = (across) => VLM.marks(frame, page, (0.8 * page[0]) / across, told);
    return [VLM.el("div", { class: "sheet" }, shown, marks(width)), marks];
  }

  function picture(frame, width, card) {
    const page = size(frame);
    if (!page) return null;
    const [made, marks] = sheet(frame, page, width);
    if (!frame.picture.length) return made;
    const props = { type: "button", class: "enlarge", "aria-pressed": "false", title: "Enlarge" };
    const button = VLM.el("button", props, made);
    button.addEventListener("click", () => {
      const large = card.classList.toggle("enlarged");
      button.setAttribute("aria-pressed", String(large));
      button.style.width = large ? "min(100%, " + LARGE[width] + "px)" : "";
      made.lastElementChild.replaceWith(marks(large ? made.clientWidth : width));
    });
    return button;
  }

  function frame(one, width) {
    const card = VLM.el("li", { class: "frame-of" });
    return VLM.put(
      card,
      VLM.el("h3", null, VLM.plain(one.head)),
      one.goal ? VLM.el("p", { class: "goal" }, VLM.plain(one.goal)) : null,
      picture(one, width, card),
      one.action ? VLM.el("p", { class: "did" }, VLM.plain(one.action)) : null,
      one.said ? VLM.text(one.said, LONG) : null,
      one.after
        ? VLM.el("p", { class: one.failed ? "warn" : "came" }, VLM.plain(one.after))
        : null,
    );
  }

  /* The strip; null for units of one moment. */
  VLM.film = function (detail) {
    if (!detail.strip.length) return null;
    const sizes = detail.strip.map(size).filter(Boolean);
    const narrow = sizes.every(([w, h]) => w <= SMALL || w <= h);
    const width = narrow ? NARROW : WIDE;
    const strip = VLM.el("ol", { class: "episode", "aria-label": "Steps" });
    strip.style.setProperty("--frame", width + "px");
    const [first, ...others] = detail.strip;
    const gone = detail.strip.some((one) => one.size && !one.picture.length);
    return VLM.el(
      "section",
      { class: "panel" },
      VLM.el("h2", null, "Steps"),
      gone ? VLM.el("p", { class: "quiet" }, "Pictures that are not there are drawn as empty pages.") : null,
      first.goal ? VLM.el("p", { class: "goal" }, VLM.plain(first.goal)) : null,
      VLM.put(strip, [{ ...first, goal: "" }, ...others].map((one) => frame(one, width))),
    );
  };
})();
