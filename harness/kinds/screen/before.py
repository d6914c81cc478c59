"""The screens before a step, for forms that show them or another run's replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from adapters.contract import ImageRule
from harness.benchmarks import Dataset
from harness.benchmarks.items import Items
from harness.errors import DataError
from harness.kinds.contract import Question
from harness.kinds.replies import PastReplies
from harness.pictures import PictureError, PicturePolicy, plan, read_size
from harness.records import Earlier
from harness.runs import Unit
from harness.settings import History
from parsers.screen import ScreenDetail

Steps = Mapping[int, Unit[ScreenDetail]]


def with_before(
    questions: Iterable[Question],
    whole: Dataset[ScreenDetail],
    history: History,
    policy: PicturePolicy,
    rule: ImageRule | None,
    replies: PastReplies | None,
) -> Iterator[Question]:
    """Yield questions with the earlier steps of their episodes.

    Args:
        whole: all steps of the episodes, selected or not.
        policy: which pictures a screenshot gives.
        replies: what another run replied; None for what was recorded.

    Raises `DataError` for a picture that cannot be read.
    """
    if not isinstance(whole, Items):
        raise TypeError("steps on screens come ready from their set")
    episodes: dict[tuple[str, ...], dict[int, Unit[ScreenDetail]]] = {}
    for unit in whole.entries:
        episodes.setdefault((unit.split, *unit.parents.values()), {})[unit.position] = unit
    units = {unit.unit_id: unit for unit in whole.entries}

    @lru_cache(maxsize=history.pictures[1])
    def screenshot(unit_id: str) -> bytes:
        (data,) = whole.pictures(units[unit_id])
        return data

    for question in questions:
        unit = question.record
        steps = episodes[unit.split, *unit.parents.values()]
        earlier = [steps[place] for place in sorted(steps) if place < unit.position]
        _, pictured = history.of(len(earlier))
        before, sources = list[Earlier](), dict(question.sources)
        for left, one in zip(range(len(earlier), 0, -1), earlier, strict=True):
            record = Earlier(index=one.position, page_size=one.detail.size)
            if left <= pictured:
                try:
                    shown = read_size(screenshot(one.unit_id))
                    record = replace(record, pictures=plan(policy, shown, (), rule))
                except PictureError as error:
                    raise DataError(f"{one.source or one.unit_id}: {error}") from error
                sources[shown.digest] = screenshot(one.unit_id)
            before.append(record if replies is None else replies.instead(one.unit_id, record))
        (item,) = question.asked
        yield replace(question, asked=(replace(item, before=tuple(before)),), sources=sources)
