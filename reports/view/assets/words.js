"use strict";
/* How outcomes are called and marked: a sign and a word, never colour alone. */
(function () {
  VLM.RESULTS = {
    right: { sign: "✓", text: "right" },
    part: { sign: "◐", text: "element only" },
    wrong: { sign: "✗", text: "wrong" },
    open: { sign: "…", text: "not settled" },
    not_asked: { sign: "–", text: "not asked" },
  };

  const titles = new Map(VLM.list.classes.map(([id, title]) => [id, title]));
  const FAILED = new Set(["part", "wrong"]);
  VLM.classTitle = (id) => titles.get(id) || id;

  VLM.shortTitle = (id) =>
    VLM.classTitle(id).replace(/^(wrong element|right element( and operation)?), /, "");
  /* The numbers that a rendering gives to elements say nothing in the list. */
  VLM.brief = (text) => VLM.plain(text).replace(/^(<[a-z0-9-]+) id=\d+/, "$1");

  /* In the list, a failed step says how it failed. */
  VLM.outcomeText = function (out) {
    if (!out) return "not in this run";
    if (FAILED.has(out.result) && out.cls) return VLM.shortTitle(out.cls);
    return VLM.RESULTS[out.result].text;
  };

  VLM.chip = function (out, short, whole) {
    const result = out ? out.result : "absent";
    const sign = out ? VLM.RESULTS[out.result].sign : "";
    const text = VLM.outcomeText(out);
    const full = out && out.cls ? VLM.classTitle(out.cls) : text;
    return VLM.el(
      "span",
      { class: "chip " + result, title: full },
      VLM.el("span", { class: "sign", "aria-hidden": "true" }, sign),
      VLM.el("span", { class: short ? "unseen" : "chip-text" }, whole ? full : text),
    );
  };

  VLM.action = (op, value) => (op ? op + (value ? ": " + VLM.plain(value) : "") : "no operation");
  VLM.stepLink = (step, lane) =>
    "#/step/" + encodeURIComponent(step.id) + (lane ? "?run=" + lane : "");
  VLM.taskLink = (task) => "#/task/" + encodeURIComponent(task.id);
})();
