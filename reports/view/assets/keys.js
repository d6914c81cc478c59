"use strict";
/* The keyboard. Nothing is taken from fields or together with Ctrl, Alt or Meta. */
(function () {
  const help = VLM.byId("help");
  const openHelp = () => help.open || help.showModal();
  VLM.byId("help-open").addEventListener("click", openHelp);

  const list = {
    j: () => VLM.steplist.move(1),
    ArrowDown: () => VLM.steplist.move(1),
    k: () => VLM.steplist.move(-1),
    ArrowUp: () => VLM.steplist.move(-1),
    PageDown: () => VLM.steplist.move(VLM.steplist.page()),
    PageUp: () => VLM.steplist.move(-VLM.steplist.page()),
    Home: () => VLM.steplist.move(-Infinity),
    End: () => VLM.steplist.move(Infinity),
    Enter: () => VLM.steplist.open(),
  };
  const step = {
    j: () => VLM.stepview.beside(1),
    ArrowRight: () => VLM.stepview.beside(1),
    k: () => VLM.stepview.beside(-1),
    ArrowLeft: () => VLM.stepview.beside(-1),
    "[": () => VLM.stepview.inTask(-1),
    "]": () => VLM.stepview.inTask(1),
    t: () => VLM.stepview.task(),
    r: () => VLM.stepview.nextLane(),
    b: () => VLM.toggleBoxes(),
    Escape: () => VLM.go("steps", VLM.steplist.params()),
  };
  VLM.list.defaults.slice(0, 9).forEach((label, n) => {
    step[n + 1] = () => VLM.stepview.label(label);
  });
  const task = { Escape: () => VLM.go("steps", VLM.steplist.params()) };
  const anywhere = {
    s: () => (location.hash = "#/"),
    c: () => (location.hash = "#/compare"),
    l: () => VLM.go("steps", VLM.steplist.params()),
    "?": openHelp,
    "/": () => {
      if (VLM.view === "steps") {
        VLM.byId("f-q").focus();
      } else {
        VLM.searching = true;
        VLM.go("steps", VLM.steplist.params());
      }
    },
  };

  function field(node) {
    return node.matches("input:not([type=checkbox]), textarea, select");
  }

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (document.querySelector("dialog[open]")) return;
    const target = event.target;
    if (field(target)) {
      if (event.key === "Escape" || (event.key === "Enter" && target.id === "f-q")) {
        target.blur();
        if (VLM.view === "steps") VLM.steplist.focus();
        event.preventDefault();
      }
      return;
    }
    const own = { steps: list, step, task }[VLM.view] || {};
    if (event.key === "Enter" && target.matches("a, button, summary")) return;
    if (/^(Arrow|Page|Home|End)/.test(event.key) && target.matches(".stage, pre")) return;
    const act = own[event.key] || anywhere[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
})();
