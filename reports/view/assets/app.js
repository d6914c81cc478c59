"use strict";
/* Which view the address asks for: #/, #/compare, #/steps?..., #/step/ID?run=N, #/task/ID;
   `sheet=N` among what follows the question mark says of which sheet, if not of the first. */
(function () {
  const VIEWS = ["summary", "compare", "steps", "step", "task"];
  const TITLE = document.title;

  function parse(hash) {
    const [path, query] = hash.replace(/^#\/?/, "").split("?");
    const cut = path.indexOf("/");
    const name = (cut < 0 ? path : path.slice(0, cut)) || "summary";
    let id = "";
    try {
      id = cut < 0 ? "" : decodeURIComponent(path.slice(cut + 1));
    } catch (_) {
      /* an address that somebody typed */
    }
    return { name: VIEWS.includes(name) ? name : "summary", id, query: new URLSearchParams(query) };
  }

  function show() {
    const { name, id, query } = parse(location.hash);
    const entered = VLM.view !== name;
    if (["steps", "step", "task"].includes(name)) VLM.use(query.get("sheet") || 0);
    VLM.view = name;
    for (const view of VIEWS) VLM.byId("view-" + view).hidden = view !== name;
    for (const link of document.querySelectorAll("#top nav a")) {
      const on = link.dataset.view === name || (link.dataset.view === "steps" && ["step", "task"].includes(name));
      if (on) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      if (link.dataset.view === "steps") link.textContent = VLM.plain(VLM.title(VLM.terms.units));
    }
    document.body.dataset.view = name;
    if (name !== "steps") scrollTo(0, 0);
    let title = "";
    if (name === "steps") {
      const wanted = {};
      for (const field of Object.keys(VLM.empty())) wanted[field] = query.get(field) || "";
      if (!(Number(wanted.lane) in VLM.lanes)) wanted.lane = "";
      VLM.steplist.apply(wanted);
      if (VLM.searching) VLM.byId("f-q").focus();
      else if (entered) VLM.steplist.focus();
      VLM.searching = false;
      title = VLM.title(VLM.terms.units);
    } else if (name === "step") {
      title = VLM.stepview.show(id, Number(query.get("run")) || 0);
    } else if (name === "task") {
      title = VLM.taskview.show(id);
    } else if (entered) {
      const heading = VLM.byId("h-" + name);
      heading.focus({ preventScroll: true });
      title = heading.textContent;
    }
    document.title = (title ? VLM.plain(title) + " · " : "") + TITLE;
  }

  /* The list keeps its filters in the address, without a history entry per letter typed. */
  VLM.go = function (name, wanted) {
    const query = new URLSearchParams();
    for (const [field, value] of Object.entries(wanted)) if (value) query.set(field, value);
    const text = query.toString();
    const hash = "#/" + name + (text ? "?" + text : "");
    if (hash === location.hash) return;
    if (VLM.view === name) {
      history.replaceState(null, "", hash);
      show();
    } else {
      location.hash = hash;
    }
  };

  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    const view = document.querySelector(".view:not([hidden])");
    const first = view.querySelector("[tabindex], a, button, input");
    if (first) first.focus();
  });
  document.querySelector('#top nav a[data-view="steps"]').addEventListener("click", (event) => {
    event.preventDefault();
    VLM.go("steps", VLM.steplist.params());
  });
  addEventListener("hashchange", show);
  show();

  /* A served page of a run under way asks whether it has been written again, and offers to load it:
     loading by itself would take the step away that somebody is reading. */
  VLM.stamp = function (stamp) {
    if (stamp === VLM.list.stamp || document.querySelector(".news")) return;
    clearInterval(asking);
    const button = VLM.el("button", { type: "button" }, "Show it");
    button.addEventListener("click", () => location.reload());
    const said = VLM.el("p", { class: "news", role: "status" }, "The run has gone on. ", button);
    document.querySelector("#main").prepend(said);
  };
  function ask() {
    const script = VLM.el("script", { src: "data/stamp.js?" + Date.now() });
    for (const end of ["load", "error"]) script.addEventListener(end, () => script.remove());
    document.head.append(script);
  }
  const asking = VLM.list.stamp && location.protocol !== "file:" ? setInterval(ask, 5000) : 0;
})();
