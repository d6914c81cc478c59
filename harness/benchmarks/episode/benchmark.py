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
from harness.benchmarks.episode.options import EpisodeOptions
from harness.benchmarks.episode.step_by_step import EpisodeView, StepByStep
from harness.benchmarks.episode.task import STEPS, EpisodeDetail
from harness.benchmarks.shows import Ready, Shows
from harness.benchmarks.step.settings import image_policy_of, refuse_candidates, source_of
from harness.dialogue import Dialogue
from harness.engine import Environment
from harness.errors import UserError
from harness.live.contract import LivePage, Seen, element
from harness.live.pool import Foreign, TimeLimits, Worlds
from harness.page import MIND2WEB_ATTRIBUTES, Attributes
from harness.pictures import grey, show_answers
from harness.policies import Secret
from harness.protocols import AskingProtocol, Source
from harness.runs.records import Unit
from harness.settings import Settings
from harness.views import LiveView
from parsers.settling import settled

EpisodeRecord = Unit[EpisodeDetail]


@dataclass(frozen=True)
class EpisodeBenchmark(Benchmark):
    """A benchmark whose units are episodes: a live page and an agent taking turns.

    Attributes:
        seed: the run's seed, which decides how its episodes begin.
    """

    seed: int = 42

    View = LiveView
    Detail = EpisodeDetail
    Options = EpisodeOptions
    protocol = "coordinates"
    pictures = True

    @property
    @abstractmethod
    def world(self) -> str | Foreign:
        """Where its episodes take place: `package.module:Class` of a `harness.live.World`, or a
        program. Raises `UserError`."""

    @property
    def limits(self) -> TimeLimits:
        """Return the time limits of an action and an episode."""
        return TimeLimits()

    @property
    def viewport(self) -> tuple[int, int]:
        """Width and height of screenshots in pixels, for estimates."""
        return 1280, 720

    @property
    def attributes(self) -> Attributes:
        """What AutoWebGLM's form of its pages shows of elements."""
        return MIND2WEB_ATTRIBUTES

    def of_run(self, settings: Settings) -> Self:
        options = self.options
        return replace(
            self,
            seed=settings.seed,
            first=options.episodes,
            rounds=options.max_steps or STEPS,
        )

    def opening(self) -> Mapping[str, Any]:
        """Return the values that its world is opened with. Raises `UserError`."""
        return {}

    def dialogue(self, view: EpisodeView, shows: Shows) -> Dialogue:
        """Act until the episode is over; the protocol is asked about each observation."""
        steps = StepByStep(shows, super().dialogue, self.attributes)
        return settled((yield from steps.dialogue(view)), self.declared.actions)

    def fitted(self, protocol: AskingProtocol, settings: Settings, *, is_policy: bool) -> Self:
        """Its pages have elements, which are offered in view or by a ranker."""
        if settings.tier == "batch":
            raise UserError(
                "--tier batch: a live page does not wait a day for an answer; leave it out"
            )
        if (settings.samples or 1) > 1 and protocol.View is LiveView:
            raise UserError(
                f"--samples: '{protocol.name}' holds one conversation about an episode, of which "
                "there are no samples; leave it out"
            )
        given, fitted = self.options, self
        offered = source_of(given.candidates, protocol, _sources(protocol))
        # Episodes are drawn by the seed, whatever is offered in them.
        refuse_candidates(self, offered, protocol, settings, draws=True)
        if self.pictures:
            shown = image_policy_of(given.image_policy, protocol)
            if show_answers(shown):
                raise UserError(
                    f"--image-policy {shown}: the right answer on a live page is unknown; "
                    "leave it out"
                )
        else:
            fitted = super().fitted(protocol, settings, is_policy=is_policy)
            shown = fitted.options.image_policy
        found: dict[str, Any] = {"candidates": offered, "image_policy": shown}
        if offered == "ranker":
            found["top_k"] = given.top_k or protocol.needs.top_k
            if given.ranker is None:
                raise UserError(
                    f"'{protocol.name}' asks about the first {found['top_k']} elements of a "
                    "ranker: name one that ranks any page with --ranker (lexical)"
                )
        return replace(self, options=replace(given, **found))

    @property
    def usual_count(self) -> int:
        """Elements of a page according to the options; 100 if it depends on the page."""
        count: int = self.options.top_k or 100
        return count

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
        if self.options.candidates == "ranker":
            return f"the first {self.options.top_k} of ranker {self.options.ranker}"
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
            count = self.options.environments or available_cpus()
            opened = Worlds(self.world, self.opening(), count=count, limits=self.limits)
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
