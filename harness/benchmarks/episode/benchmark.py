"""Benchmarks of episodes on live pages.

@dataclass(frozen=True)
class Counting(EpisodeBenchmark):
    world = "package.module:CountingWorld"      # a harness.live.World
    def open(self, *, splits=None, data=None):
        return Items.of([self.unit("count-3", EpisodeDetail(EpisodeTask({"to": 3})))])
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NoReturn, Self

from adapters.processes import available_cpus
from harness.benchmarks.contract import Benchmark
from harness.benchmarks.dataset import Dataset
from harness.benchmarks.episode import EpisodeSettings
from harness.benchmarks.episode.step_by_step import EpisodeView, StepByStep
from harness.benchmarks.episode.task import STEPS, EpisodeDetail
from harness.benchmarks.ready import Ready
from harness.benchmarks.shows import Shows
from harness.benchmarks.step.settings import image_policy_of, lacks_of, source_of
from harness.dialogue import Dialogue
from harness.engine import Environment
from harness.errors import UserError
from harness.live.contract import LivePage, Seen, element
from harness.live.pool import Foreign, Limits, Worlds
from harness.page import MIND2WEB_ATTRIBUTES, Attributes
from harness.pictures import grey, show_answers
from harness.policies import Secret
from harness.protocols import AskingProtocol, Source
from harness.runs.records import Unit
from harness.settings import ELEMENTS, EPISODES, Settings
from harness.views import LiveView
from parsers.settling import settled

EpisodeRecord = Unit[EpisodeDetail]


@dataclass(frozen=True)
class EpisodeBenchmark(Benchmark):
    """A benchmark whose units are episodes: a live page and an agent taking turns.

    Attributes:
        seed: the run's seed, which decides how its episodes begin.
        first: number of episodes of a task that a run plays; None: all.
    """

    seed: int = 42
    first: int | None = None

    View = LiveView
    Detail = EpisodeDetail
    protocol = "coordinates"
    pictures = True

    @property
    @abstractmethod
    def world(self) -> str | Foreign:
        """Where its episodes take place: `package.module:Class` of a `harness.live.World`, or a
        program. Raises `UserError`."""

    @property
    def limits(self) -> Limits:
        """Return the time limits of an action and an episode."""
        return Limits()

    @property
    def viewport(self) -> tuple[int, int]:
        """Width and height of screenshots in pixels, for estimates."""
        return 1280, 720

    @property
    def attributes(self) -> Attributes:
        """What AutoWebGLM's form of its pages shows of elements."""
        return MIND2WEB_ATTRIBUTES

    def of_run(self, settings: Settings) -> Self:
        episodes = EpisodeSettings.of(settings).episodes
        return replace(self, seed=settings.seed, first=episodes)

    def options(self) -> Mapping[str, Any]:
        """Return the values that its world is opened with. Raises `UserError`."""
        return {}

    def dialogue(self, view: EpisodeView, shows: Shows) -> Dialogue:
        """Act until the episode is over; the protocol is asked about each observation."""
        steps = StepByStep(shows, super().dialogue, self.attributes)
        return settled((yield from steps.dialogue(view)), self.declared.actions)

    def calls(self, count: int, shows: Shows) -> dict[str, tuple[int, int]]:
        """Those of one step, and of as many as there may be."""
        steps = EpisodeSettings.of(shows.settings).max_steps or STEPS
        calls = super().calls(count, shows).items()
        return {role: (least, most * steps) for role, (least, most) in calls}

    def never_has(self) -> frozenset[str]:
        """Its pages have elements."""
        return super().never_has() - {ELEMENTS}

    def lacks(
        self, settings: Settings, protocol: AskingProtocol, *, is_policy: bool
    ) -> dict[str, str]:
        lacks = super().lacks(settings, protocol, is_policy=is_policy)
        for feature in (ELEMENTS, EPISODES):
            del lacks[feature]
        sources = _sources(protocol)
        lacks |= lacks_of(settings, protocol, is_policy=is_policy, sources=sources)
        lacks.pop("seed", None)  # Episodes are drawn by it, whatever is offered in them.
        return lacks

    def completed(self, settings: Settings, protocol: AskingProtocol) -> dict[str, Any]:
        source = source_of(settings.candidates, protocol, _sources(protocol))
        completed: dict[str, Any] = {"candidates": source}
        if self.pictures:
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

    def usual_count(self, settings: Settings) -> int:
        """Elements of a page according to the settings; 100 if it depends on the page."""
        return settings.top_k or 100

    def predictions(self, settings: Settings) -> NoReturn:
        """Raise `UserError`: what an action leads to is known once it is played."""
        raise UserError(f"--predictions: {self.name} is played live")

    async def close(self) -> None:
        """End the processes that episodes run in."""
        for worlds in self._worlds:
            await worlds.close()

    def words(self, unit: EpisodeRecord) -> str:
        """Return what the world is given; nothing is right before it has been tried."""
        given = unit.detail.asked.parameters.items()
        text = ", ".join(f"{name}={value}" for name, value in given)
        return f"{text} ({unit.invalid})" if unit.invalid else text

    def offered(self, shows: Shows) -> str:
        if shows.settings.candidates == "ranker":
            return f"the first {shows.settings.top_k} of ranker {shows.settings.ranker}"
        return "every element in view"

    def ready(self, part: Dataset[Any], whole: Dataset[Any], shows: Shows) -> Iterator[Ready[Any]]:
        """Nothing is opened before a dialogue acts."""
        for unit in part.entries:
            question = _question(unit, None)
            opens = partial(self._open, unit, shows)
            yield replace(question, opens=opens, glimpse=self._blank)

    def recall(self, unit: EpisodeRecord, *, scene: bool = True) -> Ready[Any]:
        """Observations and pictures are those on record."""
        return _question(unit, unit.pictures)

    @cached_property
    def _worlds(self) -> list[Worlds]:
        """The worlds of this run, which are opened with the first episode."""
        return []

    async def _open(self, unit: EpisodeRecord, shows: Shows) -> Environment:
        if not self._worlds:
            count = EpisodeSettings.of(shows.settings).environments or available_cpus()
            opened = Worlds(self.world, self.options(), count=count, limits=self.limits)
            self._worlds.append(opened)
        return await self._worlds[0].open(unit.detail.asked.parameters)

    @cached_property
    def _blank(self) -> Any:
        """An empty page, for estimates: no browser is started for them."""
        width, height = self.viewport
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


def _question(record: EpisodeRecord, past: tuple[Any, ...] | None) -> Ready[EpisodeView]:
    detail = record.detail
    if isinstance(detail, dict):
        raise UserError(f"a benchmark of kind '{record.kind}' cannot be asked about here")
    episode = EpisodeView(
        record.unit_id, record.benchmark, record.split, detail.asked, record.parents, past
    )
    return Ready(record, episode, Secret(detail.gold))
