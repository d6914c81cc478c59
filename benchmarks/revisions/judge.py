"""A method of judging, for both revisions: copied beside their entry points by `environments`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adapters import Conversation, Reply, user
from harness.dialogue import Ask, Dialogue
from harness.judging import JudgingProtocol, judged, seen
from parsers import Measure, Status


@dataclass(frozen=True)
class LooksDone(JudgingProtocol):
    """One call, with the last picture."""

    name = "looks-done"
    places = ("verdict",)
    measures = (Measure("done", "Done", "the judge says that the task is done", main=True),)

    def dialogue(self, view: Any) -> Dialogue:
        tried = view.content
        steps = "\n".join(step.action for step in tried.steps)
        text = f"Task: {tried.goal}\n{steps}\nAnswer: {tried.answer}\nEnd with YES or NO."
        pictures = [picture for step in tried.steps for picture in seen(view, step)]
        reply = yield Ask(Conversation((user(*pictures[-1:], text),)), "verdict")
        assert isinstance(reply, Reply)
        last = reply.text.strip().rpartition("\n")[2].strip(" .*").upper()
        if last not in ("YES", "NO"):
            return judged({}, {"said": last[:100]}, Status.PARSE_ERROR)
        return judged({"done": float(last == "YES")})
