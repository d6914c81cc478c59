"use strict";
/* Which units the list shows, and in what order. */
(function () {
  const SETTLED = new Set(["right", "part", "wrong", "scored"]);

  /* What the address of the list can say on the sheet in use. */
  VLM.fields = function () {
    const facts = VLM.facts.filter((fact) => fact.filter).map((fact) => fact.key);
    const shown = VLM.measures.map((measure) => measure.key);
    return ["q", "split", ...facts, "lane", "result", "status", "class", "agree", "label", ...shown];
  };
  VLM.empty = function () {
    const fields = Object.fromEntries(VLM.fields().map((field) => [field, ""]));
    return { ...fields, sort: "", down: "", sheet: VLM.sheet ? String(VLM.sheet) : "" };
  };

  function searched(step) {
    if (step.text === undefined) {
      const tails = new Set(VLM.facts.map((fact) => fact.tail));
      const listed = VLM.facts.filter((fact) => fact.head || tails.has(fact.key));
      const parts = listed.map((fact) => step.facts.get(fact.key) || "");
      if (VLM.terms.answers) parts.push(...step.outs.map((out) => (out && out.choice) || ""));
      parts.push(VLM.tasks[step.task].text, step.goal || "", step.id);
      step.text = parts.join("\n").toLowerCase();
    }
    return step.text;
  }

  /* Of two outcomes, which is right, or at least as good as the other. */
  function beside(pair) {
    if (pair.some((out) => out.result === "scored")) {
      const [a, b] = pair.map((out) => out.main || 0);
      return [a >= b, b >= a];
    }
    return pair.map((out) => out.result === "right");
  }

  function agreement(step, wanted) {
    const settled = step.outs.filter((out) => out && SETTLED.has(out.result));
    const right = settled.filter((out) => out.result === "right" || out.main === 1).length;
    const none = settled.filter((out) => out.result !== "right" && !out.main).length;
    if (wanted === "right") return settled.length > 0 && right === settled.length;
    if (wanted === "wrong") return settled.length > 0 && none === settled.length;
    if (wanted === "differ")
      return new Set(settled.map((out) => (out.result === "scored" ? out.main : out.result === "right"))).size > 1;
    if (wanted === "choice") return new Set(settled.map((out) => out.choice)).size > 1;
    const [a, b, pattern] = wanted.split(".");
    const pair = [step.outs[a], step.outs[b]];
    if (!pair.every((out) => out && SETTLED.has(out.result))) return false;
    return beside(pair).map((good) => (good ? "1" : "0")).join("") === pattern;
  }

  function labelled(step, wanted, lanes) {
    const own = lanes.map((lane) => VLM.labels.text(step, lane)).filter(Boolean);
    if (wanted === "any") return own.length > 0;
    if (wanted === "none") return own.length === 0;
    return own.includes(wanted.slice(1));
  }

  /* A condition on a score: `ge0.5`, `lt0.5`, `eq1`, or `none` for what was not measured. */
  VLM.scoreFits = function (value, wanted) {
    if (wanted === "none") return value === null;
    const bound = Number(wanted.slice(2));
    if (value === null) return false;
    if (wanted.startsWith("ge")) return value >= bound;
    if (wanted.startsWith("lt")) return value < bound;
    return value === bound;
  };

  /* In "any run", one and the same run has to meet the conditions on the outcome. */
  VLM.filter = function (wanted) {
    const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
    const lanes = wanted.lane === "" ? VLM.lanes.map((_, n) => n) : [Number(wanted.lane)];
    const scores = VLM.measures.map((one, n) => [n, wanted[one.key]]).filter(([, value]) => value);
    const facts = VLM.facts.filter((fact) => fact.filter && wanted[fact.key]);
    const outcome = wanted.result || wanted.status || wanted.class || scores.length;
    const fits = (out) =>
      out &&
      (!wanted.result || out.result === wanted.result) &&
      (!wanted.status || out.status === wanted.status) &&
      (!wanted.class || out.cls === wanted.class) &&
      scores.every(([n, value]) => out.scores.length && VLM.scoreFits(out.scores[n], value));
    const shown = VLM.steps.filter(
      (step) =>
        (!wanted.split || step.split === wanted.split) &&
        facts.every((fact) => step.facts.get(fact.key) === wanted[fact.key]) &&
        (outcome
          ? lanes.some((lane) => fits(step.outs[lane]))
          : wanted.lane === "" || step.outs[lanes[0]]) &&
        (!wanted.agree || agreement(step, wanted.agree)) &&
        (!wanted.label || labelled(step, wanted.label, lanes)) &&
        words.every((word) => searched(step).includes(word)),
    );
    return sorted(shown, wanted);
  };

  const RANK = { right: 0, part: 1, wrong: 2, unmeasured: 3, open: 4, not_asked: 5, void: 6 };

  function outcomeOf(out) {
    if (!out) return "9";
    if (out.result === "scored") return "0 " + out.main.toFixed(9);
    return RANK[out.result] + (out.cls ? " " + VLM.classTitle(out.cls) : "");
  }

  function keyOf(name) {
    if (name === "split") return (step) => step.split;
    if (name === "task") return VLM.goal;
    if (name === "index") return (step) => (VLM.terms.places ? step.index : step.id);
    if (name === "answer") return (step) => (step.outs[0] && step.outs[0].choice) || "";
    if (VLM.facts.some((fact) => fact.key === name)) return (step) => step.facts.get(name) || "";
    const place = VLM.measures.findIndex((measure) => measure.key === name);
    if (place >= 0)
      return (step) => {
        const score = step.outs[0] && step.outs[0].scores[place];
        return typeof score === "number" ? score : -1;
      };
    const lane = Number(name.slice(4));
    return (step) => outcomeOf(step.outs[lane]);
  }

  function sorted(steps, wanted) {
    if (!wanted.sort) return steps;
    const key = keyOf(wanted.sort);
    const sign = wanted.down ? -1 : 1;
    const keyed = steps.map((step) => [key(step), step]);
    keyed.sort(([a, one], [b, other]) => (a < b ? -sign : a > b ? sign : one.n - other.n));
    return keyed.map(([, step]) => step);
  }
})();
