"use strict";
/* Which steps the list shows, and in what order. */
(function () {
  const SETTLED = new Set(["right", "part", "wrong"]);
  VLM.EMPTY = {
    q: "", split: "", site: "", op: "", lane: "", result: "", status: "", class: "", agree: "",
    label: "", sort: "", down: "",
  };

  function searched(step) {
    if (step.text === undefined) {
      const parts = [VLM.tasks[step.task].text, step.target, step.value, step.site, step.id, step.op];
      step.text = parts.join("\n").toLowerCase();
    }
    return step.text;
  }

  function agreement(step, wanted) {
    const settled = step.outs.filter((out) => out && SETTLED.has(out.result));
    const right = settled.filter((out) => out.result === "right").length;
    if (wanted === "right") return settled.length > 0 && right === settled.length;
    if (wanted === "wrong") return settled.length > 0 && right === 0;
    if (wanted === "differ") return right > 0 && right < settled.length;
    if (wanted === "choice") return new Set(settled.map((out) => out.choice)).size > 1;
    const [a, b, pattern] = wanted.split(".");
    const pair = [step.outs[a], step.outs[b]];
    if (!pair.every((out) => out && SETTLED.has(out.result))) return false;
    return pair.map((out) => (out.result === "right" ? "1" : "0")).join("") === pattern;
  }

  function labelled(step, wanted, lanes) {
    const own = lanes.map((lane) => VLM.labels.text(step, lane)).filter(Boolean);
    if (wanted === "any") return own.length > 0;
    if (wanted === "none") return own.length === 0;
    return own.includes(wanted.slice(1));
  }

  /* In "any run", one and the same run has to meet the conditions on the outcome. */
  VLM.filter = function (wanted) {
    const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
    const lanes = wanted.lane === "" ? VLM.lanes.map((_, n) => n) : [Number(wanted.lane)];
    const outcome = wanted.result || wanted.status || wanted.class;
    const fits = (out) =>
      out &&
      (!wanted.result || out.result === wanted.result) &&
      (!wanted.status || out.status === wanted.status) &&
      (!wanted.class || out.cls === wanted.class);
    const shown = VLM.steps.filter(
      (step) =>
        (!wanted.split || step.split === wanted.split) &&
        (!wanted.site || step.site === wanted.site) &&
        (!wanted.op || step.op === wanted.op) &&
        (outcome
          ? lanes.some((lane) => fits(step.outs[lane]))
          : wanted.lane === "" || step.outs[lanes[0]]) &&
        (!wanted.agree || agreement(step, wanted.agree)) &&
        (!wanted.label || labelled(step, wanted.label, lanes)) &&
        words.every((word) => searched(step).includes(word)),
    );
    return sorted(shown, wanted);
  };

  const RANK = { right: 0, part: 1, wrong: 2, open: 3, not_asked: 4 };
  const KEYS = {
    split: (step) => step.split,
    site: (step) => step.site,
    task: (step) => VLM.tasks[step.task].text,
    index: (step) => step.index,
    op: (step) => step.op,
    target: (step) => step.target,
  };

  function keyOf(name) {
    if (Object.hasOwn(KEYS, name)) return KEYS[name];
    const lane = Number(name.slice(4));
    return (step) => {
      const out = step.outs[lane];
      return out ? RANK[out.result] + (out.cls ? " " + VLM.classTitle(out.cls) : "") : "9";
    };
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
