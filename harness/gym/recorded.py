"""The environment of recorded tasks: a task is an episode, its observations are the recorded pages.

The effect of a wrong action was not recorded: the next page is always the recorded one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import gymnasium
from gymnasium.error import ResetNeeded

from adapters.contract import AdapterInfo
from harness.benchmarks import StoredStep, recorded_steps, step_benchmark
from harness.benchmarks.ready import Ready
from harness.benchmarks.scoring import scored, scorer_of
from harness.benchmarks.shows import Shows
from harness.errors import UserError
from harness.gym.actions import PLACE, ActionStrings, read_action
from harness.gym.episode import Episode, OnInvalid, Rules, Transition, check_one_of, completed
from harness.gym.observing import Pixels, Unicode, observation_space, observe, screenshot_of
from harness.planning.data import open_data
from harness.policies import Oracle
from harness.protocols.asking import written_as
from harness.records import Row
from harness.runs import StepUnit
from harness.views import StepView
from parsers.records import Prediction


class RecordedEnv(gymnasium.Env[dict[str, Any], str]):
    """Recorded tasks or conversations, one after the other; see docs/environment.md.

    Args:
        transition: `teacher` continues with the next recorded page after any answer, like the
            benchmarks' evaluations; `strict` ends the episode at the first wrong step.
        on_invalid: steps without a right answer have no question. `skip` leaves them out,
            `score_zero` counts them as failed.
        episode: the level whose members are episodes (`task`); default: the level that the
            benchmark never splits.
        reveal_gold: True to give the right answer in infos, as `oracle`.
        render_mode: `rgb_array`, or None.
        settings: the settings of `vlm-eval run` in `options.TAKEN`, with the same names and
            defaults (`benchmark`, `split`, `data`, `candidates`, `distractors`, `seed`, ...),
            except `point_rule`: a click on a point counts for the smallest candidate under it.

    Attributes:
        episodes: ids of the episodes, in the order of the data.
        settings: the completed settings.
        declared: the benchmark's declaration of results.
        task_rows: see `harness.planning.plan.Selected`.
        rules: the rules of counting and scoring.

    Raises `UserError` for settings that exclude each other, `DataError` for unreadable data: at
    once, or when an episode reaches it.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        *,
        transition: Transition = "teacher",
        on_invalid: OnInvalid = "skip",
        episode: str | None = None,
        reveal_gold: bool = False,
        render_mode: str | None = None,
        **settings: object,
    ) -> None:
        check_one_of("transition", transition, get_args(Transition))
        check_one_of("on_invalid", on_invalid, get_args(OnInvalid))
        check_one_of("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        zero = on_invalid == "score_zero"
        self.settings = completed(settings, zero=zero)
        self.protocol = ActionStrings()
        source = step_benchmark(self.settings.benchmark).of_run(self.settings)
        model = AdapterInfo(
            name="environment", model="environment", provider="environment", stand_in="policy"
        )
        shows = Shows.opened(self.settings, self.protocol, model, blind=True)
        selected = open_data(self.settings)
        source.check(selected.part, shows)
        self._data = recorded_steps(selected.part)
        self.declared = source.declared
        self.task_rows = selected.task_rows
        level = self._data.whole if episode is None else episode
        names = [one.name for one in self.declared.levels]
        check_one_of("episode", level, names[: names.index(self._data.whole) + 1])
        self._turn = self.declared.innermost.name
        self._groups = _grouped(self._data.entries, level, self._turn)
        self._several = level != self._turn
        self.episodes = tuple(group[0].parents[level] for group in self._groups)
        success = self.declared.main_of_units.score(self.settings.f1)
        self.rules = Rules(
            prepare=source.lister(selected.tasks, shows),
            scored=partial(scored, score=scorer_of(self.settings, self.declared)),
            succeeds=lambda scores: scores[success] == 1,
            strict=transition == "strict",
            zero=zero,
        )
        self._reveals = reveal_gold
        self.render_mode = render_mode
        self.observation_space = observation_space()
        self.action_space = Unicode()
        self._episode: Episode | None = None
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode: the one named in `options` by `task_id` or `index`, else a random one.

        `seed` only affects the episodes drawn from now on. Raises `UserError` for other options,
        `DataError` for unreadable data.
        """
        super().reset(seed=seed)
        place = self._chosen(options or {})
        self._name = self.episodes[place]
        self._episode = Episode(self._rows(self._groups[place]), self.rules)
        self._over = False
        return self._observation(), self._info()

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Answer the shown step. No action raises an exception.

        An episode without questions ends with the first action.

        Raises `ResetNeeded` when the episode is over, `DataError` for unreadable data.
        """
        if self._episode is None or self._over:
            raise ResetNeeded("the episode is over: call reset() to begin another one")
        episode, question = self._episode, self._episode.question
        if question is None:
            self._over = True
            return self._observation(), 0.0, True, False, self._info()
        text = action if isinstance(action, str) else ""
        parsed = read_action(text, question.view, episode.row, episode.page, self.declared.actions)
        turn, record = episode.turn, episode.answer(parsed)
        self._over = episode.question is None
        observation = self._observation(text, parsed.error)
        return observation, self._reward(record), self._over, False, self._info(turn, record)

    def render(self) -> Pixels | None:
        """Return the full screenshot of the shown step; None without a `render_mode`."""
        if self.render_mode is None or self._episode is None:
            return None
        return screenshot_of(self._episode.row)

    @property
    def question(self) -> Ready[StepView] | None:
        """The current question with its right answer, for policies; None after the last."""
        return self._episode.question if self._episode else None

    @property
    def records(self) -> list[StepUnit]:
        """The finished steps of this episode, in the form of a run's."""
        return self._episode.behind if self._episode else []

    def action_of(self, prediction: Prediction) -> str:
        """Write the action of a prediction about `question`; ValueError without a question."""
        if self.question is None:
            raise ValueError("there is no question")
        view = self.question.view
        return written_as(self.protocol, view, prediction, self.declared.actions)[PLACE]

    def _chosen(self, options: Mapping[str, Any]) -> int:
        """Return the position of the episode to begin."""
        chosen = {name: value for name, value in options.items() if value is not None}
        if not chosen:
            return int(self.np_random.integers(len(self.episodes)))
        if len(chosen) > 1 or not chosen.keys() <= {"task_id", "index"}:
            raise UserError(f"reset takes task_id or index as options, not {', '.join(chosen)}")
        ((name, value),) = chosen.items()
        if name == "task_id":
            check_one_of(name, value, self.episodes)
            return self.episodes.index(value)
        if not isinstance(value, int) or not 0 <= value < len(self.episodes):
            raise UserError(f"index={value!r}: there are episodes 0 to {len(self.episodes) - 1}")
        return value

    def _rows(self, entries: Sequence[StoredStep]) -> Iterable[tuple[str, Row]]:
        """Read the rows of an episode with their turns, in order. Raises `DataError`."""
        part = replace(self._data, entries=tuple(sorted(entries, key=_stored)))
        rows = {row.unit_id: row for row in part.rows()}
        return [(entry.parents[self._turn], rows[entry.unit_id]) for entry in entries]

    def _observation(self, action: str = "", error: str = "") -> dict[str, Any]:
        assert self._episode is not None
        return observe(
            self._episode.row,
            self._episode.shown,
            self._episode.page,
            instructions=tuple(self._episode.instructions.values()),
            last_action=action,
            last_action_error=error,
        )

    def _reward(self, record: StepUnit) -> float:
        assert self._episode is not None
        if self.rules.strict:
            return float(self._over and self._episode.succeeded() is True)
        return float(not self.rules.failed(record))

    def _info(self, turn: str = "", record: StepUnit | None = None) -> dict[str, Any]:
        """Describe the shown step, with the scores of the `record` before it."""
        episode = self._episode
        assert episode is not None
        row = episode.row
        info: dict[str, Any] = {
            "task_id": self._name,
            "action_uid": row.detail.action_uid,
            "website": row.parents["website"],
            "domain": row.labels["domain"],
            "subdomain": row.labels["subdomain"],
            "is_valid": episode.shown.unit.invalid is None,
            "skipped_steps": sum(record.scores is None for record in episode.behind),
        }
        if self._several:
            info["turn_index"] = list(episode.instructions).index(episode.turn)
            before = episode.records.get(episode.turn, ())
            info["turn_start"] = not any(record.asked for record in before)
        if self._reveals and episode.question is not None:
            info["oracle"] = self._oracle(episode.question)
        if record is not None and record.scores is not None:
            f1 = self.declared["operation_f1"].score(self.settings.f1)
            info["last_action_uid"] = record.detail.action_uid
            info["element_acc"] = record.scores["element"]
            info["op_f1"] = record.scores[f1]
            info["step_success"] = not self.rules.failed(record)
        turns = episode.turns()
        if self._several and turn and (self._over or turn != episode.turn):
            info["turn_success"] = turns[turn]
        if self._over and (success := episode.succeeded()) is not None:
            info["task_success"] = success
            if self._several:
                counted = [won for won in turns.values() if won is not None]
                info["turn_success_rate"] = sum(counted) / len(counted)
        return info

    def _oracle(self, question: Ready[StepView]) -> dict[str, Any]:
        gold = question.secret.gold
        prediction = Oracle().predict(question.view, None, question.secret)
        return {
            "elements": list(gold.elements),
            "operation": gold.operation,
            "value": gold.value,
            "action": self.action_of(prediction),
        }


def _stored(entry: StoredStep) -> tuple[str, int, int]:
    at = entry.detail
    return str(at.file), at.row_group, at.offset


def _grouped(entries: Iterable[StoredStep], level: str, turn: str) -> list[list[StoredStep]]:
    """Group the steps by episode, turn by turn, in their order in the turn.

    The same name in two splits is two episodes.
    """
    groups: dict[tuple[str, str], list[StoredStep]] = {}
    turns: dict[tuple[str, str], int] = {}
    for entry in entries:
        groups.setdefault((entry.split, entry.parents[level]), []).append(entry)
        turns.setdefault((entry.split, entry.parents[turn]), len(turns))
    for group in groups.values():
        group.sort(key=lambda entry: (turns[entry.split, entry.parents[turn]], entry.place))
    return list(groups.values())
