"use strict";
/* The list of units comes with the page; all of one unit is fetched when it is looked at. Runs of
   benchmarks that declare something else stand on a sheet of their own; one sheet is in use. */
(function () {
  const details = new Map();
  const waiting = new Map();
  const order = [];
  const KEPT = 200;
  const OPEN = new Set(["open", "not_asked", "void"]);
  VLM.sheets = [];

  VLM.load = function (list) {
    const word = (number) => (number === null ? null : list.words[number]);
    const n = VLM.sheets.length;
    const facts = list.terms.facts.map(([key, head, filter, tail, early, heading, shared, code]) => ({
      key, head, filter, tail, early, heading, shared, code,
    }));
    const measures = list.terms.measures.map(([name, head, meaning, binary]) => ({
      key: "m." + name, name, head, meaning, binary,
    }));
    const main = measures.findIndex((one) => one.name === list.terms.main[0]);
    const unit = (row, place) => {
      const rest = row.slice(5 + facts.length);
      const goal = list.terms.goals ? rest.shift() : null;
      return {
        n: place,
        sheet: n,
        id: row[0],
        task: row[1],
        index: row[2],
        total: row[3],
        split: word(row[4]),
        facts: new Map(facts.map((fact, k) => [fact.key, fact.shared ? word(row[5 + k]) : row[5 + k]])),
        goal,
        invalid: word(rest[0]),
        picture: rest[1],
        outs: rest[2].map(
          (out) =>
            out && {
              result: word(out[0]),
              status: word(out[1]),
              cls: word(out[2]),
              choice: word(out[3]),
              scores: OPEN.has(word(out[0])) ? [] : out.slice(4),
              main: main < 0 ? null : out[4 + main],
            },
        ),
        script: rest[3],
      };
    };
    const steps = list.steps.map(unit);
    const tasks = list.tasks.map(([id, text], k) => ({ n: k, sheet: n, id, text, steps: [] }));
    for (const step of steps) tasks[step.task].steps.push(step);
    for (const task of tasks) task.steps.sort((a, b) => a.index - b.index);
    VLM.sheets.push({
      list,
      steps,
      tasks,
      terms: list.terms,
      facts,
      measures,
      lanes: list.lanes,
      titles: new Map(list.classes),
      numbers: new Map(steps.map((step) => [step.id, step.n])),
      taskNumbers: new Map(tasks.map((task) => [task.id, task.n])),
    });
    if (!n) VLM.use(0);
  };

  /* Take a sheet into use; there is always a first one. */
  VLM.use = function (n) {
    VLM.sheet = n in VLM.sheets ? Number(n) : 0;
    Object.assign(VLM, VLM.sheets[VLM.sheet]);
  };

  VLM.pictured = (name) => "pictures/" + name;

  /* Called by the scripts of the units. */
  VLM.add = function (n, lane, detail) {
    if (!details.has(n)) details.set(n, []);
    details.get(n)[lane] = detail;
  };

  function forget(n) {
    order.push(n);
    while (order.length > KEPT) details.delete(order.shift());
  }

  /* The details of a unit, one per lane (missing where it is not on record). */
  VLM.detail = function (step) {
    const n = step.script;
    if (waiting.has(n)) return waiting.get(n);
    if (details.has(n)) return Promise.resolve(details.get(n));
    const loading = new Promise((resolve, reject) => {
      const script = VLM.el("script", { src: "data/step-" + n + ".js" });
      script.addEventListener("load", () => {
        script.remove();
        waiting.delete(n);
        forget(n);
        resolve(details.get(n) || []);
      });
      script.addEventListener("error", () => {
        script.remove();
        waiting.delete(n);
        reject(new Error("data/step-" + n + ".js cannot be read"));
      });
      document.head.append(script);
    });
    waiting.set(n, loading);
    return loading;
  };
})();
