"use strict";
/* What only units of one kind have: a table, lists, and what is shown as it is on record. */
(function () {
  const section = (title, ...children) =>
    VLM.el("section", { class: "panel" }, VLM.el("h2", null, title), children);

  function cell([text, code], mark) {
    const shown = code ? VLM.el("code", null, VLM.brief(code)) : null;
    return VLM.el("td", null, text ? VLM.plain(text) : null, shown, mark);
  }

  /* What is right and what was answered, a line each. */
  VLM.duel = function (detail) {
    if (!detail.lines.length) return null;
    const mark = (right) =>
      right === null ? null : VLM.el("span", { class: right ? "yes" : "no" }, right ? " ✓" : " ✗");
    const row = ([name, cells, right]) =>
      VLM.el(
        "tr",
        null,
        VLM.el("th", { scope: "row" }, VLM.plain(name)),
        cells.map((one, n) => cell(one, n === cells.length - 1 ? mark(right) : null)),
      );
    const heads = detail.heads.map((head) => VLM.el("th", { scope: "col" }, VLM.plain(head)));
    return VLM.el(
      "table",
      { class: "plain duel" },
      VLM.el("thead", null, VLM.el("tr", null, VLM.el("td"), heads)),
      VLM.el("tbody", null, detail.lines.map(row)),
    );
  };

  VLM.scores = function (scores) {
    if (!scores.length) return null;
    const entry = ([name, value, binary, meaning]) =>
      VLM.el(
        "div",
        { title: meaning ? VLM.plain(meaning) : null },
        VLM.el("dt", null, VLM.plain(name)),
        VLM.el("dd", null, VLM.scoreText(value, binary)),
      );
    return VLM.el("dl", { class: "scores" }, scores.map(entry));
  };

  function item([text, letter, target, chosen, remark]) {
    return VLM.el(
      "li",
      { class: (target ? "right " : "") + (chosen ? "picked" : "") },
      VLM.el("b", { class: "letter" }, VLM.plain(letter)),
      VLM.el(
        "span",
        { class: "what" },
        VLM.el("code", null, VLM.plain(text)),
        target ? VLM.el("span", { class: "mark target" }, "◎ target") : null,
        chosen ? VLM.el("span", { class: "mark chosen" }, "➤ chosen") : null,
        remark ? VLM.el("span", { class: "mark" }, VLM.plain(remark)) : null,
      ),
    );
  }

  function list([title, items, note, empty]) {
    const lettered = items.some((one) => one[1] !== null);
    const plain = ([text]) => VLM.el("li", null, VLM.plain(text));
    const none = VLM.el("p", { class: "quiet" }, VLM.plain(empty));
    const shown = lettered
      ? VLM.el("ol", { class: "choices" }, items.map(item))
      : VLM.el("ol", { class: "history" }, items.map(plain));
    return section(
      VLM.plain(title),
      items.length || !empty ? shown : none,
      note ? VLM.el("p", { class: "quiet" }, VLM.plain(note)) : null,
    );
  }

  /* The lists before the conversation, or those behind it. */
  VLM.lists = (detail, early) => detail.lists.filter((one) => one[4] === early).map(list);

  VLM.raw = (detail) => (detail.raw ? section("On record", VLM.text(detail.raw)) : null);
})();
