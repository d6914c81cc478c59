"use strict";
/* How outcomes, facts and units are called and marked: a sign and a word, never colour alone. */
(function () {
  const RESULTS = {
    right: { sign: "✓", text: "right" },
    part: { sign: "◐", text: "in part" },
    wrong: { sign: "✗", text: "wrong" },
    open: { sign: "…", text: "not answered" },
    not_asked: { sign: "–", text: "not asked" },
    scored: { sign: "", text: "with a score" },
    unmeasured: { sign: "?", text: "not measured" },
    void: { sign: "–", text: "does not count" },
  };
  const CLASSED = new Set(["part", "wrong", "void"]);
  VLM.title = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
  VLM.resultText = (id) => (id === "part" ? VLM.terms.part : RESULTS[id].text);

  VLM.classTitle = (id) => VLM.titles.get(id) || id;
  VLM.shortTitle = (id) =>
    VLM.classTitle(id).replace(/^(wrong element|right element( and operation)?), /, "");
  /* The numbers that a rendering gives to elements say nothing in the list. */
  VLM.brief = (text) => VLM.plain(text).replace(/^(<[a-z0-9-]+) id=\d+/, "$1");

  /* In the list, a failed unit says how it failed, and one that does not count why. */
  VLM.outcomeText = function (out) {
    if (!out) return "not in this run";
    if (out.result === "scored") return VLM.number(out.main);
    if (CLASSED.has(out.result) && out.cls) return VLM.shortTitle(out.cls);
    return VLM.resultText(out.result);
  };

  /* A score looks like what it comes to: all, some or nothing. */
  function look(out) {
    if (out.result !== "scored") return out.result;
    return out.main === 1 ? "right" : out.main > 0 ? "part" : "wrong";
  }

  VLM.chip = function (out, short, whole) {
    const result = out ? look(out) : "absent";
    const sign = out ? RESULTS[result].sign : "";
    const text = VLM.outcomeText(out);
    const scored = out && out.result === "scored";
    const full = scored ? VLM.terms.main[1] + " " + text : out && out.cls ? VLM.classTitle(out.cls) : text;
    return VLM.el(
      "span",
      { class: "chip " + result, title: full },
      VLM.el("span", { class: "sign", "aria-hidden": "true" }, sign),
      VLM.el("span", { class: short ? "unseen" : "chip-text" }, whole ? full : text),
    );
  };

  VLM.scoreText = (value, binary) =>
    value === null ? "not measured" : binary ? (value ? "✓ yes" : "✗ no") : VLM.number(value);

  /* A fact in the list, with the one that follows it. */
  VLM.factText = function (step, fact) {
    const text = step.facts.get(fact.key);
    if (fact.code) return VLM.brief(text || "") || "–";
    const tail = fact.tail && step.facts.get(fact.tail);
    return text ? text + (tail ? ": " + VLM.plain(tail) : "") : "–";
  };
  VLM.fact = (step, key) => {
    const fact = VLM.facts.find((one) => one.key === key);
    return fact ? VLM.factText(step, fact) : "";
  };
  VLM.told = (step, fact) => {
    const text = step.facts.get(fact.key);
    return fact.heading && text ? (fact.heading === "named" ? fact.head + ": " : "") + text : "";
  };

  VLM.place = (step) =>
    VLM.terms.unit + " " + (step.index + 1) + (step.total ? " of " + step.total : "");
  VLM.goal = (step) => {
    if (!VLM.terms.goal) return VLM.title(VLM.terms.unit) + " " + step.id;
    return step.goal === null ? VLM.tasks[step.task].text : step.goal || step.id;
  };

  function query(lane, sheet) {
    const said = [lane ? "run=" + lane : "", sheet ? "sheet=" + sheet : ""].filter(Boolean);
    return said.length ? "?" + said.join("&") : "";
  }
  VLM.stepLink = (step, lane) =>
    "#/step/" + encodeURIComponent(step.id) + query(Number(lane), step.sheet);
  VLM.taskLink = (task) => "#/task/" + encodeURIComponent(task.id) + query(0, task.sheet);
})();
