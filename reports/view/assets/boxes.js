"use strict";
/* A screenshot with the boxes that the kind of unit has, in pixels of the page. */
(function () {
  const kinds = [
    { id: "target", text: "target", on: true },
    { id: "chosen", text: "chosen", on: true },
    { id: "distractor", text: "distractors", on: false },
  ];
  const on = Object.fromEntries(kinds.map((kind) => [kind.id, kind.on]));

  function size(step, detail) {
    if (detail.page) return detail.page;
    return step.picture[0] ? step.picture.slice(1) : null;
  }

  function rect(box, kind, text, width, unit, corners) {
    const [x, y, w, h] = box;
    const pad = kind === "chosen" ? 3 * unit : 0;
    const group = VLM.svg("g", { class: "box " + kind });
    const corner = { rx: 3 * unit, "vector-effect": "non-scaling-stroke" };
    const frame = { x: x - pad, y: y - pad, width: w + 2 * pad, height: h + 2 * pad };
    const polygon = corners && { points: corners.map((at) => at.join(",")).join(" ") };
    for (const line of ["halo", "line"]) {
      const props = polygon ? { ...polygon, class: line } : { ...frame, ...corner, class: line };
      group.append(VLM.svg(polygon ? "polygon" : "rect", props));
    }
    if (!text) return group;
    const font = (kind === "distractor" ? 12 : 15) * unit;
    const wide = (text.length * 0.62 + 0.7) * font;
    const below = kind === "chosen";
    /* The target's name leaves room for the frame of the choice around it. */
    const gap = kind === "target" ? 6 * unit : 0;
    const top = below ? y + h + pad : y - gap - font * 1.35;
    const at = Math.max(0, Math.min(x - pad, width - wide));
    const clear = top < 0 ? y + h + pad : top;
    group.append(
      VLM.svg("rect", { x: at, y: clear, width: wide, height: font * 1.35, class: "tag" }),
      VLM.svg("text", { x: at + 0.35 * font, y: clear + font, "font-size": font }, text),
    );
    return group;
  }

  /* Beside a point, inside of the picture. */
  function tag([x, y], r, text, [width, height], unit) {
    const font = 15 * unit;
    const wide = (text.length * 0.62 + 0.7) * font;
    const left = Math.max(0, Math.min(x - wide / 2, width - wide));
    const under = y + r + font * 1.6 <= height || y - r < font * 1.6;
    const top = under ? y + r + font * 0.25 : y - r - font * 1.6;
    return [
      VLM.svg("rect", { x: left, y: top, width: wide, height: font * 1.35, class: "tag" }),
      VLM.svg("text", { x: left + 0.35 * font, y: top + font, "font-size": font }, text),
    ];
  }

  /* Boxes, and a point with what stands beside it and where something was dragged to. Marks are as
     large as they look on a page of 800 pixels; `unit` is one of those. */
  VLM.marks = function (drawn, [width, height], unit, label) {
    const svg = VLM.svg("svg", {
      class: "overlay",
      viewBox: "0 0 " + width + " " + height,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": label,
    });
    for (const [kind, box, text, corners] of drawn.boxes || []) {
      svg.append(rect(box, kind, VLM.plain(text), width, unit, corners));
    }
    const { point, to, mark } = drawn;
    if (point) {
      const r = (unit * 40) / 3;
      const [x, y] = point;
      svg.append(
        VLM.svg(
          "g",
          { class: "box chosen" },
          VLM.svg("circle", { cx: x, cy: y, r, class: "halo" }),
          VLM.svg("circle", { cx: x, cy: y, r, class: "line" }),
          VLM.svg("path", {
            d: `M${x - r} ${y}H${x + r}M${x} ${y - r}V${y + r}`,
            class: "line",
          }),
          to && [
            VLM.svg("path", { d: `M${x} ${y}L${to[0]} ${to[1]}`, class: "line" }),
            VLM.svg("circle", { cx: to[0], cy: to[1], r: r / 2, class: "line" }),
          ],
          mark && tag(point, r, VLM.plain(mark), [width, height], unit),
        ),
      );
    }
    return svg;
  };

  function classes(node) {
    for (const kind of kinds) node.classList.toggle("no-" + kind.id, !on[kind.id]);
  }

  function zoom(stage, resize) {
    const button = VLM.el("button", { type: "button", id: "zoom", "aria-pressed": "false" }, "Zoom");
    button.addEventListener("click", () => {
      const large = stage.classList.toggle("large");
      button.setAttribute("aria-pressed", String(large));
      resize(large);
      centre(stage);
    });
    return button;
  }

  function centre(stage) {
    const sheet = stage.firstElementChild;
    const middle = sheet.dataset.middle.split(" ").map(Number);
    stage.scrollLeft = middle[0] * sheet.clientWidth - stage.clientWidth / 2;
    stage.scrollTop = middle[1] * sheet.clientHeight - stage.clientHeight / 2;
  }

  function legend(stage, detail, resize) {
    const drawn = new Set((detail.boxes || []).map((one) => one[0]));
    const shown = kinds.filter((kind) => kind.id !== "distractor" || drawn.has(kind.id));
    return VLM.el(
      "fieldset",
      { class: "legend" },
      VLM.el("legend", { class: "unseen" }, "Boxes"),
      (detail.boxes ? shown : []).map((kind) => {
        const box = VLM.el("input", { type: "checkbox", id: "show-" + kind.id });
        box.checked = on[kind.id];
        box.addEventListener("change", () => {
          on[kind.id] = box.checked;
          classes(stage);
        });
        return VLM.el(
          "label",
          { class: "key " + kind.id },
          box,
          VLM.el("span", { class: "swatch", "aria-hidden": "true" }),
          kind.text,
        );
      }),
      zoom(stage, resize),
    );
  }

  function image(step, [width, height]) {
    const [name, w, h] = step.picture;
    if (!name) {
      const blank = "Boxes are drawn on an empty page.";
      return [
        VLM.el("p", { class: "warn gone" }, "No picture: " + VLM.plain(w) + ". " + blank),
        VLM.svg("svg", { class: "blank", viewBox: "0 0 " + width + " " + height }),
      ];
    }
    const props = { src: VLM.pictured(name), width: w, height: h, loading: "lazy" };
    const picture = VLM.el("img", { ...props, alt: "Screenshot of the page", class: "shot" });
    picture.addEventListener("error", () => {
      const say = "The file of the picture is missing: pictures/" + name;
      picture.replaceWith(VLM.el("p", { class: "warn gone" }, say));
    });
    return [picture];
  }

  /* What the model was sent of the page, in its own resolution: laid over the screenshot where it is
     enlarged, and loaded only then. */
  function sent(step, detail, [width, height]) {
    if (!step.picture[0]) return [];
    return detail.sent.filter(([name]) => name !== step.picture[0]).map(([name, part]) => {
      const [left, top, right, bottom] = part;
      const picture = VLM.el("img", { src: VLM.pictured(name), loading: "lazy", alt: "", class: "sent" });
      picture.style.left = (100 * left) / width + "%";
      picture.style.top = (100 * top) / height + "%";
      picture.style.width = (100 * (right - left)) / width + "%";
      picture.style.height = (100 * (bottom - top)) / height + "%";
      picture.addEventListener("error", () => picture.remove());
      return picture;
    });
  }

  /* The picture panel: legend and stage, scrolled to the target (or the chosen element). */
  VLM.picture = function (step, detail) {
    const page = size(step, detail);
    /* A unit that has none is no unit that lacks one. */
    if (!step.picture[0] && !step.picture[1]) return null;
    if (!page) {
      const why = step.picture[0] ? "its size is not known" : step.picture[1];
      return VLM.el("div", { class: "panel" }, VLM.el("p", { class: "warn" }, "No picture: " + VLM.plain(why)));
    }
    const shot = image(step, page);
    const note = shot.length > 1 ? shot.shift() : null;
    const told = "Boxes of the target, the chosen element and the distractors";
    const marks = (unit) => VLM.marks(detail, page, unit, told);
    const sheet = VLM.el("div", { class: "sheet" }, [shot, sent(step, detail, page), marks(page[0] / 800)]);
    /* In its own resolution, marks keep the size that they have on the screen. */
    const resize = (large) => {
      if (!detail.actual) return;
      sheet.style.width = large ? page[0] + "px" : "";
      sheet.lastElementChild.replaceWith(marks(large ? 1 : page[0] / 800));
    };
    const stage = VLM.el(
      "div",
      { class: "stage", tabindex: 0, role: "region", "aria-label": "Screenshot" },
      sheet,
    );
    classes(stage);
    const [x, y, w, h] = detail.focus || [0, 0, 0, 0];
    sheet.dataset.middle = (x + w / 2) / page[0] + " " + (y + h / 2) / page[1];
    requestAnimationFrame(() => centre(stage));
    return VLM.el("div", { class: "panel picture" }, legend(stage, detail, resize), note, stage);
  };

  VLM.toggleBoxes = function () {
    const show = !kinds.every((kind) => on[kind.id]);
    for (const kind of kinds) {
      on[kind.id] = show;
      const box = VLM.byId("show-" + kind.id);
      if (box) box.checked = show;
    }
    for (const stage of document.querySelectorAll(".stage")) classes(stage);
  };
})();
