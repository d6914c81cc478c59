"""Models that think before they reply, by name.

Tokens of thought count towards the limit of a reply: a limit that is ample for an answer can leave
such a model without any. The names are those of providers and of checkpoints on the hub,
also behind a gateway (`openai/gpt-5.4`). Read in November 2026 from the vendors' reasoning guides
and the model cards. A wrong row makes a limit too high or too low, and changes nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Switch = Literal["effort", "thinking_budget"]


@dataclass(frozen=True, slots=True)
class Thinking:
    """When a model thinks.

    Attributes:
        by_default: whether it does if nothing is said about it.
        switches: the generation parameters that turn it on or off; the model ignores the other one.
    """

    by_default: bool = False
    switches: tuple[Switch, ...] = ()

    def happens(self, effort: str | None, thinking_budget: int | None) -> bool:
        """Return whether the model thinks with these parameters (None: not given).

        Examples:
            >>> Thinking(True, ("effort",)).happens("none", None)
            False
        """
        said = {"effort": effort, "thinking_budget": thinking_budget}
        values = [said[name] for name in self.switches if said[name] is not None]
        return all(value not in ("none", 0) for value in values) if values else self.by_default


NEVER = Thinking()
ALWAYS = Thinking(True)
BY_EFFORT = Thinking(False, ("effort",))

_ROWS: tuple[tuple[str, Thinking], ...] = (
    # Whatever says so in its name.
    (r"no[nt]?[-_]?(thinking|reasoning)", NEVER),
    (r"thinking|thinker|reason(?!able)|\br1(v\d*)?\b|\bcot\b", ALWAYS),
    # OpenAI. From 5.1 on an effort of "none" turns it off.
    (r"\bo[1-9]\b", ALWAYS),
    (r"\bgpt-5-chat", NEVER),
    (r"\bgpt-5(?!\.)", ALWAYS),
    (r"\bgpt-([5-9]|\d\d)", Thinking(True, ("effort",))),
    (r"\bgpt-oss", ALWAYS),
    (r"\b(chat)?gpt-", NEVER),
    # Anthropic. Before 4.6 by a budget only, since 5 unless it is turned off.
    (r"\bclaude-([a-z]+-)?(3-7|4(-[0-5])?(?!-?\d\b))", Thinking(False, ("thinking_budget",))),
    (r"\bclaude-([a-z]+-)?4-\d\b", Thinking(False, ("effort", "thinking_budget"))),
    (r"\bclaude-([a-z]+-)?[1-3]\b", NEVER),
    (r"\bclaude-", Thinking(True, ("effort", "thinking_budget"))),
    # Google. Pro models always, flash unless the budget is 0, 2.5's lite only with a budget.
    (r"\bgemini-(1|2\.0)", NEVER),
    (r"\bgemini-2\.5-flash-lite", Thinking(False, ("thinking_budget",))),
    (r"\bgemini-([\d.]+-)?flash", Thinking(True, ("thinking_budget",))),
    (r"\bgemini-", ALWAYS),
    # Open weights, and others behind OpenAI's protocol.
    (r"\bqwen(3\.[5-9]|[4-9])|\bqvq|\bqwq", Thinking(True, ("effort",))),
    (r"\bglm-?(4\.[1-9]|[5-9][\d.]*)v", ALWAYS),
    (r"\bkimi-k(2\.[5-9]|[3-9])", ALWAYS),
    (r"\b(mimo-vl|keye-vl|intern-s|magistral|minimax-m|step-?3|grok-[3-9])", ALWAYS),
    (r"\b(seed-?(oss|1\.[5-9]|[2-9])|ernie-(5|x)|hunyuan-t)", ALWAYS),
    (r"\b(llava-o1|mulberry|virgo|insight-v)\b", ALWAYS),
)


def thinking_of(model: str, extra_body: Mapping[str, object] | None = None) -> Thinking:
    """Return when a model of this name thinks; an unknown one thinks only if asked for an effort.

    `extra_body` has the further fields of every request: `chat_template_kwargs` there switches
    thinking on servers of open models.

    Examples:
        >>> thinking_of("Qwen/Qwen3-VL-8B-Thinking").by_default, thinking_of("gpt-4o").by_default
        (True, False)
    """
    told = _told(extra_body or {})
    if told is not None:
        return Thinking(told)
    # The folder or organisation says nothing: only the model's own name counts.
    name = re.sub(r"[_\s]", "-", model.lower().rstrip("/").rpartition("/")[2])
    return next((known for pattern, known in _ROWS if re.search(pattern, name)), BY_EFFORT)


def _told(body: Mapping[str, object]) -> bool | None:
    """Return the thinking switch in a request's additions, in the words of several servers."""
    template = body.get("chat_template_kwargs")
    places = [body, template if isinstance(template, Mapping) else {}]
    for place in places:
        for key in ("enable_thinking", "thinking"):
            value = place.get(key)
            if isinstance(value, Mapping):
                value = value.get("type") != "disabled"
            if isinstance(value, bool):
                return value
    return None
