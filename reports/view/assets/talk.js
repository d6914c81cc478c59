"use strict";
/* The calls of a unit: what was added in every round, and what came back. */
(function () {
  const LONG = 900;

  function text(content, longest = LONG) {
    const shown = VLM.plain(content);
    const long = shown.length > longest;
    const block = VLM.el("pre", { class: "text", tabindex: long ? 0 : null }, shown);
    if (!long) return block;
    block.classList.add("folded");
    const button = VLM.el("button", { type: "button", class: "link" }, "Show all");
    button.addEventListener("click", () => {
      const folded = block.classList.toggle("folded");
      button.textContent = folded ? "Show all" : "Show less";
    });
    return VLM.el("div", null, block, button);
  }

  const opened = (href) => ({ href, target: "_blank", rel: "noopener" });

  /* A picture as it was sent, in a tab of its own. */
  function picture(size, name) {
    const shown = "[screenshot, " + size + "]";
    if (!name) return VLM.el("p", { class: "quiet" }, shown);
    return VLM.el("p", { class: "quiet" }, VLM.el("a", opened(VLM.pictured(name)), shown));
  }

  /* The part of the screenshot that a zoom has shown. */
  function zoomed(size, name) {
    if (!name) return picture(size, name);
    const href = VLM.pictured(name);
    const shown = { src: href, alt: "part of the screenshot", class: "seen zoomed" };
    return VLM.el("p", null, VLM.el("a", opened(href), VLM.el("img", shown)));
  }

  function message([role, parts], pictures) {
    const shown = parts.map(([kind, content, name]) => {
      if (kind === "text") return text(content);
      return (kind === "part" ? zoomed : picture)(content, pictures && name);
    });
    return VLM.el(
      "div",
      { class: "message " + (role === "assistant" ? "model" : "user") },
      VLM.el("h4", null, VLM.plain(role)),
      shown,
    );
  }

  function facts(round) {
    const said = [VLM.plain(round.model), round.embed ? "" : "finished: " + round.finish];
    if (round.tokens) said.push(round.tokens[0] + " tokens in, " + round.tokens[1] + " out");
    if (round.latency) said.push(VLM.number(round.latency) + " s");
    if (round.cost !== null) said.push("$" + VLM.number(round.cost, 5));
    if (round.attempts > 1) said.push(round.attempts + " attempts");
    if (round.cached) said.push("from the cache");
    return said.filter(Boolean).join(" · ");
  }

  /* Whose call it is, beside its place in the dialogue. */
  function place(round) {
    const said = [VLM.plain(round.place)];
    if (round.role) said.push("asked of the " + VLM.plain(round.role));
    if (round.shared) said.push("shared, asked by " + VLM.plain(round.shared));
    if (round.trial) said.push("attempt " + (round.trial + 1));
    return said.join(" · ");
  }

  function shot([name, file, width, height], pictures) {
    if (!file || !pictures) return VLM.el("p", { class: "quiet" }, "[" + VLM.plain(name) + ", not shown]");
    const href = VLM.pictured(file);
    const picture = { src: href, width, height, loading: "lazy", alt: VLM.plain(name), class: "seen" };
    return VLM.el("p", null, VLM.el("a", opened(href), VLM.el("img", picture)));
  }

  function acted(round) {
    const [action, observation, seen] = round.act;
    return [
      VLM.el("div", { class: "message model" }, VLM.el("h4", null, "action"), text(action)),
      VLM.el(
        "div",
        { class: "message user" },
        VLM.el("h4", null, "observation"),
        text(observation),
        seen.map((one) => shot(one, true)),
        round.latency ? VLM.el("p", { class: "quiet" }, VLM.number(round.latency) + " s") : null,
      ),
    ];
  }

  const said = (round) => [
    round.reply ? text(round.reply) : VLM.el("p", { class: "quiet" }, "(no text)"),
    VLM.el("p", { class: "quiet" }, facts(round)),
  ];

  /* The picture, with a mark where each call points: a spot, or a frame from corner to corner. */
  function marked(round, [name, width, height]) {
    if (!round.marks || !name) return null;
    const marks = round.marks.map(([title, x, y, right, bottom]) => {
      const drawn = VLM.el("i", { title: VLM.plain(title) }, VLM.plain(title).split(" ")[0]);
      const share = (one) => 100 * one + "%";
      drawn.style.left = share(right === undefined ? x : Math.min(x, right));
      drawn.style.top = share(bottom === undefined ? y : Math.min(y, bottom));
      if (right === undefined) return drawn;
      drawn.className = "frame";
      drawn.style.width = share(Math.abs(right - x));
      drawn.style.height = share(Math.abs(bottom - y));
      return drawn;
    });
    const picture = { src: VLM.pictured(name), width, height, loading: "lazy", alt: "", class: "seen" };
    return VLM.el("div", { class: "marks" }, VLM.el("img", picture), marks);
  }

  function answered(round, shown) {
    return VLM.el(
      "div",
      { class: "message model" },
      round.reasoning &&
        VLM.el("details", null, VLM.el("summary", null, "reasoning"), text(round.reasoning)),
      VLM.el("h4", null, round.embed ? "vectors" : "reply"),
      said(round),
      marked(round, shown),
    );
  }

  /* A later round begins by repeating the reply before it: that is shown once. */
  function added(round, before) {
    const [first, ...rest] = round.messages;
    const again = before && first && first[0] === "assistant";
    const same = again && first[1].every(([, content]) => before.reply.startsWith(content));
    return same && first[1].length < 2 ? rest : round.messages;
  }

  VLM.text = text;
  /* The reply that decided, before everything that was asked. */
  VLM.decided = function (rounds) {
    const last = rounds[rounds.length - 1];
    return last && !last.act && !last.embed ? said(last) : null;
  };
  VLM.conversation = function (rounds, shown) {
    const pictures = Boolean(shown[0]);
    if (!rounds.length) return VLM.el("p", { class: "quiet" }, "No call is on record.");
    return rounds.map((round, n) =>
      VLM.el(
        "section",
        { class: "round" },
        VLM.el("h3", null, "Round " + (n + 1), VLM.el("small", null, " " + place(round))),
        added(round, rounds[n - 1]).map((one) => message(one, pictures)),
        round.act ? acted(round) : answered(round, shown),
      ),
    );
  };
})();
