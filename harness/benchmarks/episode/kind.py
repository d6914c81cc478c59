"""Episodes as a run asks about them: a live page in a worker process, and an agent taking turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NoReturn

from adapters.contract import AdapterInfo, ImageRule
from adapters.processes import available_cpus
from harness.benchmarks import Benchmark, Dataset, benchmark, benchmark_of
from harness.benchmarks.episode import EpisodeSettings
from harness.benchmarks.episode.benchmark import STEPS, EpisodeBenchmark, EpisodeDetail
from harness.benchmarks.episode.step_by_step import EpisodeView, StepByStep
from harness.benchmarks.items import Items
from harness.benchmarks.step.settings import image_policy_of, lacks_of, source_of
from harness.benchmarks.unit_kind import Question, UnitKind
from harness.dialogue import Dialogue
from harness.engine import Environment
from harness.errors import UserError
from harness.live.contract import LivePage, Seen, element
from harness.live.pool import Worlds
from harness.pictures import grey, show_answers
from harness.policies import Secret
from harness.protocols import AskingProtocol, Source
from harness.rankers import Ranks, open_ranks
from harness.runs import Unit
from harness.settings import ELEMENTS, EPISODES, Settings
from parsers.settling import settled

EpisodeRecord = Unit[EpisodeDetail]


class EpisodeQuestion(Question):
    """An episode before it begins."""

    view: EpisodeView

    def repeated(self) -> EpisodeQuestion:
        """Return the same with its own pictures."""
        return replace(self, view=replace(self.view, shown=[]))

    def looked_up(self) -> tuple[Any, ...]:
        """The pictures that were shown, each once."""
        return tuple(dict.fromkeys(self.view.shown))


class Episodes(UnitKind):
    """Episodes on live pages."""

    def __init__(self, settings: Settings, protocol: AskingProtocol) -> None:
        super().__init__(settings, protocol)
        self._ranks: Ranks | None = None
        self._worlds: Worlds | None = None

    def dialogue(self, view: EpisodeView) -> Dialogue:
        """Act until the episode is over; the protocol is asked about each observation."""
        steps = StepByStep(self.settings, self.protocol, super().dialogue, self._ranks)
        return settled((yield from steps.dialogue(view)), self.space)

    def calls(self, count: int) -> dict[str, tuple[int, int]]:
        """Those of one step, and of as many as there may be."""
        steps = EpisodeSettings.of(self.settings).max_steps or STEPS
        calls = super().calls(count).items()
        return {role: (least, most * steps) for role, (least, most) in calls}

    @classmethod
    def never_has(cls, source: Benchmark) -> frozenset[str]:
        """Its pages have elements."""
        return super().never_has(source) - {ELEMENTS}

    @classmethod
    def lacks(
        cls, settings: Settings, protocol: AskingProtocol, *, is_policy: bool
    ) -> dict[str, str]:
        lacks = super().lacks(settings, protocol, is_policy=is_policy)
        for feature in (ELEMENTS, EPISODES):
            del lacks[feature]
        sources = _sources(protocol)
        lacks |= lacks_of(settings, protocol, is_policy=is_policy, sources=sources)
        lacks.pop("seed", None)  # Episodes are drawn by it, whatever is offered in them.
        return lacks

    @classmethod
    def predictions(cls, settings: Settings) -> NoReturn:
        """Raise `UserError`: what an action leads to is known once it is played."""
        raise UserError(f"--predictions: {settings.benchmark} is played live")

    @classmethod
    def completed(cls, settings: Settings, protocol: AskingProtocol) -> dict[str, Any]:
        source = source_of(settings.candidates, protocol, _sources(protocol))
        completed: dict[str, Any] = {"candidates": source}
        if benchmark(settings.benchmark).pictures:
            shown = image_policy_of(settings.image_policy, settings.pixels, protocol)
            completed["image_policy"] = shown
            if show_answers(shown):
                raise UserError(
                    f"--image-policy {shown}: the right answer on a live page is unknown; "
                    "leave it out"
                )
        else:
            completed |= super().completed(settings, protocol)
        if source == "ranker":
            completed["top_k"] = settings.top_k or protocol.needs.top_k
            if settings.ranker is None:
                raise UserError(
                    f"'{protocol.name}' asks about the first {completed['top_k']} elements of a "
                    "ranker: name one that ranks any page with --ranker (lexical)"
                )
        return completed

    @classmethod
    def usual_count(cls, settings: Settings) -> int:
        """Elements of a page according to the settings; 100 if it depends on the page."""
        return settings.top_k or 100

    def open(self) -> None:
        """Open the ranker of elements. Raises `UserError`."""
        if self.settings.ranker is not None:
            self._ranks = open_ranks(self.settings.ranker)

    async def close(self) -> None:
        """End the processes that episodes run in."""
        if self._worlds is not None:
            await self._worlds.close()

    @classmethod
    def right(cls, record: EpisodeRecord) -> str:
        """Return what the world is given; nothing is right before it has been tried."""
        given = record.detail.asked.parameters.items()
        text = ", ".join(f"{name}={value}" for name, value in given)
        return f"{text} ({record.invalid})" if record.invalid else text

    @classmethod
    def ended(cls, record: EpisodeRecord) -> str:
        """Return why the episode ended, with its reward."""
        said = record.prediction
        if said is None:
            return record.invalid or "not answered"
        end, steps, reward = (said.parsed.get(name) for name in ("end", "steps", "reward"))
        after = f"{steps} step{'s' * (steps != 1)}"
        return f"{said.status}: {end} after {after}, reward {reward}"

    @classmethod
    def answer(cls, record: EpisodeRecord) -> str:
        return f"episode: {cls.right(record)}"

    def offered(self) -> str:
        if self.settings.candidates == "ranker":
            return f"the first {self.settings.top_k} of ranker {self.settings.ranker}"
        return "every element in view"

    def questions(
        self, dataset: Dataset[Any], whole: Dataset[Any], info: AdapterInfo, *, is_blind: bool
    ) -> Iterator[Question]:
        """Nothing is opened before a dialogue acts."""
        assert isinstance(dataset, Items)
        for unit in dataset.entries:
            question = _question(unit, None, info.image_rule)
            opens = partial(self._open, unit)
            yield replace(question, environment=opens, glimpse=self._blank)

    @classmethod
    def of_record(cls, record: EpisodeRecord, *, scene: bool = True) -> Question:
        """Observations and pictures are those on record."""
        return _question(record, record.pictures, None)

    async def _open(self, unit: EpisodeRecord) -> Environment:
        if self._worlds is None:
            source = self._source
            count = EpisodeSettings.of(self.settings).environments or available_cpus()
            self._worlds = Worlds(source.world, source.options(), count=count, limits=source.limits)
        return await self._worlds.open(unit.detail.asked.parameters)

    @property
    def _source(self) -> EpisodeBenchmark:
        source = benchmark_of(self.settings)
        if not isinstance(source, EpisodeBenchmark):
            raise TypeError(f"{source.name} has episodes and no world for them")
        return source

    @cached_property
    def _blank(self) -> Any:
        """An empty page, for estimates: no browser is started for them."""
        width, height = self._source.viewport
        body = element("2", "body", (0, 0, width, height))
        html = '<html backend_node_id="1"><body backend_node_id="2"></body></html>'
        page = LivePage(html, (body,), frozenset({"2"}))
        return Seen(viewport=(width, height)).observation(grey(width, height), page)


def _sources(protocol: AskingProtocol) -> tuple[Source, ...]:
    """Where the elements come from: none are drawn around a right answer.

    Those in view are few: all can be offered where a whole page's could not.
    """
    sources = protocol.needs.sources
    return sources if sources == ("ranker",) else ("all", "ranker")


def _question(
    record: EpisodeRecord, recorded: tuple[Any, ...] | None, rule: ImageRule | None
) -> EpisodeQuestion:
    detail = record.detail
    if isinstance(detail, dict):
        raise UserError(f"a benchmark of kind '{record.kind}' cannot be asked about here")
    episode = EpisodeView(
        record.unit_id,
        record.benchmark,
        record.split,
        detail.asked,
        record.parents,
        recorded,
        rule,
    )
    return EpisodeQuestion(record, episode, Secret(detail.gold))
