"""Reports on questions about pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.runs import CallRecord, Run, Unit
from parsers.question import LETTERS, Asked, QuestionDetail, text_of
from reports.kind import KindReports
from reports.view.parts import ComparedCell, ComparedLine, UnitPage, UnitPart


class QuestionPage(UnitPage):
    """Questions with their pictures, and the right answer next to what was said."""

    measures = ()
    searched = "question, answer, id"

    def answer(self, record: Unit[QuestionDetail]) -> str | None:
        """Return what was said, or why that is nothing."""
        said = record.prediction
        if said is None:
            return None
        text = text_of(said)
        return str(said.status) if text is None else _worded(text, record.detail.asked)

    def part(self, record: Unit[QuestionDetail], calls: Sequence[CallRecord]) -> UnitPart:
        """Return the right answers against what was said."""
        asked, gold = record.detail.asked, record.detail.gold
        right = [_worded(one, asked) for one in gold.answers]
        right += [gold.no_answer] if gold.unanswerable else []
        return UnitPart(
            heads=("right", "answered"),
            lines=[
                ComparedLine(
                    "answer",
                    (ComparedCell(" or ".join(right)), ComparedCell(self.answer(record) or "–")),
                )
            ],
        )


def _worded(text: str, asked: Asked) -> str:
    """Return an answer with the option that it names as a letter."""
    place = LETTERS.find(text) if asked.metric == "choice" and len(text) == 1 else -1
    return f"{text}. {asked.options[place]}" if 0 <= place < len(asked.options) else text


def question_keys(run: Run, values: Mapping[str, object]) -> dict[str, str]:
    """Return what a published result must share: the measure of its headline, how options are
    listed, how replies are read and which words around answers are removed."""
    options = run.manifest.options_of("protocol")
    declared = run.manifest.declaration
    main = declared.main.name
    return {
        "metric": next(iter(declared.variants(main)), main),
        "options": str(options.get("options") or "lettered"),
        "reader": str(options.get("reader") or "strict"),
        "frames": str(options.get("frames") or "known"),
        "input": "pictures",
    }


QUESTION_REPORTS = KindReports(
    published_keys=question_keys,
    page=QuestionPage(),
    status_note="What cannot be read, is refused or is beyond the options is 0 and stays in.",
)
