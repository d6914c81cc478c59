"use strict";
/* Labels that a person gives to units: kept in the browser where it lets us, saved as files. */
(function () {
  const PLACE = "vlm-eval-labels-" + VLM.sheets.map((sheet) => sheet.list.key).join("-");
  const own = new Map();
  const given = new Map();
  let who = "";

  const named = (sheet, lane, id) => (sheet ? sheet + "/" : "") + lane + " " + id;
  const keyOf = (step, lane) => named(step.sheet, lane, step.id);
  VLM.sheets.forEach((sheet, n) => {
    for (const [lane, id, label, note, person, when] of sheet.list.labels) {
      const key = named(n, lane, id);
      if (!given.has(key)) given.set(key, []);
      given.get(key).push({ label, note, who: person, when });
    }
  });

  try {
    const kept = JSON.parse(localStorage.getItem(PLACE) || "null");
    if (kept) {
      who = String(kept.who || "");
      for (const [key, entry] of kept.own) {
        const { label, note, when } = entry;
        own.set(String(key), {
          label: String(label || ""),
          note: String(note || ""),
          when: String(when || ""),
        });
      }
    }
  } catch (_) {
    /* Without storage, labels last as long as the page is open. */
  }

  function keep() {
    try {
      localStorage.setItem(PLACE, JSON.stringify({ who, own: [...own] }));
    } catch (_) {
      /* see above */
    }
    count();
  }

  function count() {
    const labelled = [...own.values()].filter((entry) => entry.label || entry.note).length;
    VLM.byId("label-count").textContent = String(labelled);
  }

  function entryOf(step, lane) {
    return own.get(keyOf(step, lane)) || { label: "", note: "" };
  }

  function set(step, lane, change) {
    const entry = { ...entryOf(step, lane), ...change, when: new Date().toISOString() };
    own.set(keyOf(step, lane), entry);
    keep();
  }

  /* The file that `vlm-eval errors RUN --import-labels FILE` reads, one for each run. */
  function file(run) {
    const labels = [];
    for (const [key, entry] of own) {
      const cut = key.indexOf(" ");
      const [place, sheet] = key.slice(0, cut).split("/").reverse();
      const known = VLM.sheets[sheet || 0];
      const lane = known && known.lanes[place];
      if (!lane || lane.run !== run) continue;
      labels.push({
        run: lane.name,
        step_id: key.slice(cut + 1),
        repeat: lane.repeat,
        label: entry.label,
        note: entry.note || "",
        who,
        when: entry.when,
      });
    }
    const text = { format: "vlm-eval labels", schema: 1, note: VLM.list.note, labels };
    return { count: labels.length, text: JSON.stringify(text, null, 2) + "\n" };
  }

  function open() {
    const lanes = VLM.sheets.flatMap((sheet) => sheet.lanes);
    const runs = [...new Set(lanes.map((lane) => lane.run))];
    const files = runs.map((run) => [run, file(run)]).filter(([, made]) => made.count);
    VLM.put(
      VLM.byId("labels-say"),
      files.length
        ? "Save the labels of a run, then put them beside it: vlm-eval errors RUN --import-labels FILE"
        : "There are no labels yet. Open a " + VLM.terms.unit + " to give it one.",
    );
    const name = VLM.el("input", { type: "text", maxlength: 100, value: who, id: "labels-who" });
    name.addEventListener("change", () => {
      who = name.value.trim();
      keep();
      open();
    });
    const links = files.map(([run, made]) => {
      const href = "data:application/json;charset=utf-8," + encodeURIComponent(made.text);
      const safe = run.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[.-]+/, "") || "run";
      const link = VLM.el(
        "a",
        { href, download: "labels-" + safe + ".json", class: "button" },
        "Save " + made.count + " of " + VLM.plain(run),
      );
      return VLM.el("li", null, link);
    });
    VLM.put(
      VLM.byId("labels-files"),
      VLM.el("li", null, VLM.el("label", { for: "labels-who" }, "Your name (may be empty) "), name),
      links,
    );
    const dialog = VLM.byId("labels-dialog");
    if (!dialog.open) dialog.showModal();
  }

  VLM.labels = {
    entry: entryOf,
    given: (step, lane) => given.get(keyOf(step, lane)) || [],
    text(step, lane) {
      const said = own.get(keyOf(step, lane));
      if (said) return said.label;
      const others = given.get(keyOf(step, lane));
      return others ? others[0].label : "";
    },
    toggle: (step, lane, label) =>
      set(step, lane, { label: entryOf(step, lane).label === label ? "" : label }),
    note: (step, lane, note) => set(step, lane, { note }),
    file,
    open,
  };
  VLM.byId("export").addEventListener("click", open);
  count();
})();
