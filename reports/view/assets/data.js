"use strict";
/* The list of steps comes with the page; all of one step is fetched when it is looked at. */
(function () {
  const details = new Map();
  const waiting = new Map();
  const order = [];
  const KEPT = 200;

  VLM.load = function (list) {
    const word = (number) => (number === null ? null : list.words[number]);
    VLM.list = list;
    VLM.steps = list.steps.map((row, n) => ({
      n,
      id: row[0],
      task: row[1],
      index: row[2],
      total: row[3],
      split: word(row[4]),
      site: word(row[5]),
      domain: word(row[6]),
      op: word(row[7]),
      value: row[8],
      target: row[9],
      invalid: word(row[10]),
      picture: row[11],
      outs: row[12].map(
        (out) =>
          out && {
            result: word(out[0]),
            status: word(out[1]),
            cls: word(out[2]),
            choice: word(out[3]),
            f1: out[4],
          },
      ),
      script: row[13],
    }));
    VLM.numbers = new Map(VLM.steps.map((step) => [step.id, step.n]));
    VLM.tasks = list.tasks.map(([id, text], n) => ({ n, id, text, steps: [] }));
    for (const step of VLM.steps) VLM.tasks[step.task].steps.push(step);
    for (const task of VLM.tasks) task.steps.sort((a, b) => a.index - b.index);
    VLM.taskNumbers = new Map(VLM.tasks.map((task) => [task.id, task.n]));
    VLM.lanes = list.lanes;
  };

  /* Called by the scripts of the steps. */
  VLM.add = function (n, lane, detail) {
    if (!details.has(n)) details.set(n, []);
    details.get(n)[lane] = detail;
  };

  function forget(n) {
    order.push(n);
    while (order.length > KEPT) details.delete(order.shift());
  }

  /* The details of a step, one per lane (missing where the step is not on record). */
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
