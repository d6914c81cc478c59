"""Environments of gymnasium over recorded steps (extra `gym`).

    import gymnasium

    env = gymnasium.make("harness.gym:vlm_eval/Mind2Web-v0", benchmark="sample")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step('click("12")')

Importing this module registers `MIND2WEB`; it opens no data. A task is an episode, its observations
are the recorded pages (docs/environment.md). The effect of a wrong action was not recorded: the
next page is always the recorded one. `vlm-eval environments play --model lexical --benchmark
sample` plays one with a baseline.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from math import fsum
from typing import Any

import click

from adapters.contract import AdapterInfo
from adapters.registry import install
from harness.benchmarks import StepBenchmark, StoredStep, recorded_steps, step_benchmark
from harness.benchmarks.opening import check_asks
from harness.benchmarks.scoring import scored, scorer_of
from harness.benchmarks.shows import Ready, Shows
from harness.benchmarks.step.predictions import under
from harness.benchmarks.step.scene import PageScene
from harness.commands.options import SettingsCommand, given_settings, setting_options
from harness.errors import UserError, suggestion
from harness.page import Page
from harness.pictures import PictureError, decode
from harness.planning.data import open_data
from harness.policies import (
    Oracle,
    Policy,
    answers,
    chance_for,
    is_policy,
    policies_for,
    policy_named,
)
from harness.printing import say, terminal
from harness.protocols import Needs
from harness.protocols.action_strings import ON_RECORDED_PAGES, ActionStrings
from harness.records import Row
from harness.runs import StepUnit
from harness.settings import SETTINGS, Settings, allow_code, field_of, read_settings
from harness.views import StepView
from parsers import browsergym
from parsers.actions import ActionSpace
from parsers.browsergym import HIGH_LEVEL, STOPS
from parsers.records import Prediction, Status
from parsers.settling import settled
from parsers.token_scores import count_tokens

try:
    import gymnasium
    import numpy as np
    import numpy.typing as npt
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
except ImportError as error:  # pragma: no cover
    raise UserError(f"environments need gymnasium: {install('gym')}") from error

MIND2WEB = "vlm_eval/Mind2Web-v0"
"""A task or conversation is an episode; by default of Multimodal-Mind2Web."""

if MIND2WEB not in gymnasium.registry:
    gymnasium.register(MIND2WEB, "harness.gym:RecordedEnv")

OBSERVED = (
    *("goal", "chat_messages", "screenshot", "candidates", "pruned_html", "cleaned_html"),
    *("previous_actions", "step_index", "last_action", "last_action_error"),
)
"""The keys of an observation."""
HTML_TOKENS = 400
"""Longest HTML of a candidate, in tokens; a cut is marked."""


class Anything(spaces.Space[Any]):
    """Values of any size: gymnasium's own spaces want limits for texts and pictures."""

    def contains(self, x: Any) -> bool:
        return True

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Return an action without effect."""
        return "noop()"

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Anything)

    def __hash__(self) -> int:
        return hash(Anything)


class Played(ActionStrings):
    """Action strings without a question, which is the caller's."""

    @property
    def needs(self) -> Needs:
        return Needs(pictures="none", picture_policy="none", point=True)


def read_action(
    text: str, row: Row, page: Page, space: ActionSpace | None
) -> tuple[Prediction, str, bool]:
    """Read an action on a step's page into the `space` of its benchmark. No text raises.

    Returns the prediction, why it cannot be done ("" if it can), and whether it ends the episode.
    """
    parsed = browsergym.read(browsergym.answer_in(text), HIGH_LEVEL)
    action, quoted = parsed.action, json.dumps(text[:60], ensure_ascii=False)
    if action is not None and action.element is not None and action.element not in page:
        left = replace(action, element=None)
        parsed = replace(parsed, status=Status.OUT_OF_RANGE, action=left)
    found = settled(parsed, space, HIGH_LEVEL, ON_RECORDED_PAGES)
    if found.status is Status.ANSWERED and found.element is None and found.point is not None:
        found = replace(found, under=under(row, page, found.point))
    error = {
        Status.OUT_OF_RANGE: "not on this page",
        Status.AMBIGUOUS: "several different calls, and only one can be done",
    }.get(parsed.status, "" if action else 'write one call, such as click("12")')
    if action and not error and action.name not in {*ON_RECORDED_PAGES, "noop", *STOPS}:
        error = "not an action on recorded pages"
    elif action and not error:
        takes = HIGH_LEVEL[action.name]
        nowhere = takes.places and action.element is None and action.point is None
        if nowhere or {"wrong_argument", "missing_argument"} & set(found.flags):
            error = f"{action.name} takes ({', '.join(one.name for one in takes.arguments)})"
    stops = action is not None and action.name in STOPS
    return found, f"{error}: {quoted}" if error else "", stops


_ELSEWHERE = {
    # The player decides on prompts, the number of calls and when to stop.
    *("protocol", "protocol_option", "history", "image_policy", "rule"),
    *("repeats", "samples", "vote", "shuffles", "unattempted", "exclude_status"),
}
TAKEN = tuple(
    name
    for name, setting in SETTINGS.items()
    if setting.group in ("Data", "Question", "Scoring") and name not in _ELSEWHERE
)
"""The settings that an environment takes."""


class RecordedEnv(gymnasium.Env[dict[str, Any], str]):
    """Recorded tasks or conversations, one after the other; see docs/environment.md.

    Args:
        reveal_gold: True to give the right answer in infos, as `oracle`.
        render_mode: `rgb_array`, or None.
        settings: the settings of `vlm-eval run` in `TAKEN`, with the same names and defaults,
            but the option `point_rule`: a click counts for the smallest candidate under it. Steps
            without a right answer have no question; `invalid="fail"` counts them as failed.

    Attributes:
        episodes: ids of the episodes, in the order of the data.
        settings: the completed settings.
        source: the benchmark.
        declared: its declaration of results.
        records: the finished steps of this episode, in the form of a run's.
        task_rows: see `harness.planning.data.Selected`.
        question: the current question with its right answer, for policies; None after the last.

    Raises `UserError` for settings that exclude each other, `DataError` for unreadable data: at
    once, or when an episode reaches it.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self, *, reveal_gold: bool = False, render_mode: str | None = None, **settings: object
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise UserError(f"{render_mode=}: {suggestion(str(render_mode), ['rgb_array'])}")
        self._reveals, self.render_mode = reveal_gold, render_mode
        self.protocol = Played()
        self.settings, source = _completed(settings, self.protocol)
        model = AdapterInfo("environment", "environment", "environment", stand_in="policy")
        shows = Shows.opened(self.settings, source.options, self.protocol, model, blind=True)
        selected = open_data(self.settings, source)
        source.check(selected.part, shows)
        self._data = recorded_steps(selected.part)
        self.source, self.declared = source, source.declared
        self._score = scorer_of(source, self.declared)
        self.task_rows = selected.task_rows
        self._turn_level, level = self.declared.innermost.name, self._data.whole
        self._groups = _grouped(self._data.entries, level, self._turn_level)
        self.episodes = tuple(group[0].parents[level] for group in self._groups)
        self._listed = source.lister(selected.tasks, shows)
        self._success = self.declared.main_of_units.name
        self.observation_space = spaces.Dict({name: Anything() for name in OBSERVED})
        self.action_space = Anything()
        self._begun, self._over = False, True
        self.question: Ready[StepView] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode: the one named in `options` by `task_id` or `index`, else a random one.

        `seed` only affects the episodes drawn from now on. Raises `UserError` for other options,
        `DataError` for unreadable data.
        """
        super().reset(seed=seed)
        place = self._chosen(options or {})
        self._name, group = self.episodes[place], self._groups[place]
        part = replace(self._data, entries=tuple(sorted(group, key=_stored)))
        rows = {row.unit_id: row for row in part.rows()}
        self._left = deque((one.parents[self._turn_level], rows[one.unit_id]) for one in group)
        self.records: list[StepUnit] = []
        self._instructions: dict[str, str] = {}
        self._begun, self._over = True, False
        self._advance()
        return self._observation(), self._info()

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Answer the shown step. No action raises an exception.

        An episode without questions ends with the first action. Raises `ResetNeeded` when the
        episode is over, `DataError` for unreadable data.
        """
        if self._over:
            raise ResetNeeded("the episode is over: call reset() to begin another one")
        if self.question is None:
            self._over = True
            return self._observation(), 0.0, True, False, self._info()
        text = action if isinstance(action, str) else ""
        found, error, stops = read_action(text, self._row, self._page, self.declared.actions)
        record = self.answer(found, stops=stops)
        reward = float(not self.failed(record))
        return self._observation(text, error), reward, self._over, False, self._info(record)

    def answer(self, prediction: Prediction, *, stops: bool = False) -> StepUnit:
        """Score a prediction about the question, in the benchmark's actions, and go on.

        `stops` ends the episode. Returns the step in the form of a run's.
        """
        if self.question is None:
            raise ValueError("there is no question")
        asked = replace(self.question.unit, prediction=prediction, settled=True, asked=True)
        record = scored(asked, self._score)
        self.records.append(record)
        if stops:
            self._left.clear()
        self._advance()
        self._over = self.question is None
        return record

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Return the full screenshot of the shown step; None without a `render_mode`."""
        return _screenshot(self._row) if self.render_mode and self._begun else None

    def counts(self, record: StepUnit) -> bool:
        """Return True if a step counts, answered or not."""
        return record.scores is not None or self.settings.invalid == "fail"

    def failed(self, record: StepUnit) -> bool:
        """Return True if a step counts as failed."""
        won = record.scores is not None and record.scores[self._success] == 1
        return self.counts(record) and not won

    def _advance(self) -> None:
        """Show the next step with a question, and finish the steps before it."""
        self.question = None
        while self._left and self.question is None:
            turn, self._row = self._left.popleft()
            self._shown = self._listed(self._row)
            record = self._shown.unit
            self._instructions[turn] = record.goal
            if record.invalid is None and self._shown.known is None:
                self.question = self._shown
            else:
                passed = replace(record, prediction=self._shown.known, settled=True)
                self.records.append(scored(passed, self._score))

    @property
    def _page(self) -> Page:
        scene = self._shown.view.step.scene
        assert isinstance(scene, PageScene)
        return scene.page

    def _chosen(self, options: Mapping[str, Any]) -> int:
        if not options:
            return int(self.np_random.integers(len(self.episodes)))
        if len(options) > 1 or not options.keys() <= {"task_id", "index"}:
            raise UserError(f"reset takes task_id or index as options, not {', '.join(options)}")
        ((name, value),) = options.items()
        known = self.episodes if name == "task_id" else range(len(self.episodes))
        if value not in known:
            raise UserError(f"{name}={value!r}: {suggestion(str(value), map(str, known))}")
        return known.index(value)

    def _observation(self, action: str = "", error: str = "") -> dict[str, Any]:
        """Describe the shown step, after an `action` with its `error`; nothing reveals the right
        element.

        Raises `DataError` if the screenshot does not decode.
        """
        row, page, choices = self._row, self._page, self._shown.view.choices
        candidates = (
            {
                "bid": one.id,
                "tag": one.tag,
                "text": one.text,
                "html": page.compact(one.id, max_tokens=HTML_TOKENS, count=count_tokens),
                "bbox": one.box and [one.box.x, one.box.y, one.box.width, one.box.height],
            }
            for one in choices
        )
        said = self._instructions.values()
        return {
            "goal": row.goal,
            "chat_messages": tuple({"role": "user", "message": text} for text in said),
            "screenshot": _screenshot(row),
            "candidates": tuple(candidates),
            "pruned_html": page.refined({one.id: one.id for one in choices}, style="xml"),
            "cleaned_html": row.detail.html,
            "previous_actions": row.detail.history,
            "step_index": row.position,
            "last_action": action,
            "last_action_error": error,
        }

    def _info(self, record: StepUnit | None = None) -> dict[str, Any]:
        """Describe the shown step, with the scores of the `record` before it."""
        row = self._row
        info: dict[str, Any] = {
            "task_id": self._name,
            "action_uid": row.detail.action_uid,
            "website": row.parents["website"],
            "domain": row.labels["domain"],
            "subdomain": row.labels["subdomain"],
            "is_valid": self._shown.unit.invalid is None,
            "skipped_steps": sum(record.scores is None for record in self.records),
        }
        if self._reveals and self.question is not None:
            info["oracle"] = _right_answer(self.question)
        if record is not None and record.scores is not None:
            scores = record.scores
            info["last_action_uid"] = record.detail.action_uid
            info["element_acc"], info["op_f1"] = scores["element"], scores["operation_f1"]
            info["step_success"] = not self.failed(record)
        counted = [one for one in self.records if self.counts(one)]
        if self._over and counted:
            info["task_success"] = not any(map(self.failed, counted))
        return info


def _right_answer(question: Ready[StepView]) -> dict[str, Any]:
    """Return the right answer of a step, and an action that gives it."""
    gold = question.secret.gold
    said = Oracle().predict(question.view, None, question.secret)
    call = {"TYPE": "fill", "SELECT": "select_option"}.get(gold.operation, "click")
    given = [said.element, gold.value] if call != "click" else [said.element]
    arguments = ", ".join(json.dumps(one, ensure_ascii=False) for one in given)
    known = {"elements": list(gold.elements), "operation": gold.operation, "value": gold.value}
    return {**known, "action": f"{call}({arguments})"}


def _completed(chosen: Mapping[str, object], protocol: Played) -> tuple[Settings, StepBenchmark]:
    """Complete the settings of an environment by their defaults, and open its benchmark.

    Raises `UserError` for settings that an environment does not take, or that exclude each other.
    """
    try:
        allow_code(chosen)
        read = read_settings(chosen)
    except ValueError as error:
        raise UserError(str(error)) from error
    options = {"point_rule": "smallest", **dict(read.benchmark_option)}
    others = sorted(name for name in chosen if field_of(name) not in TAKEN)
    others += sorted(read.given.difference(TAKEN))
    others += [name for name in options if name in _ELSEWHERE]
    if others:
        raise UserError(f"{others[0]} has no effect on an environment; leave it out")
    source = step_benchmark(read.benchmark).with_options(options.items(), is_given=True)
    source = source.of_run(read)
    check_asks(source, protocol)
    source = source.fitted(protocol, read, is_policy=True)
    completed = tuple(source.options.recorded.items())
    return replace(read, benchmark_option=completed), source


def _screenshot(row: Row) -> npt.NDArray[np.uint8] | None:
    """Return the recorded picture of the page, height x width x 3. Raises `DataError`."""
    if row.detail.screenshot is None:
        return None
    try:
        picture = decode(row.detail.screenshot)
    except PictureError as error:
        raise PictureError(f"{row.source or row.unit_id}: {error}") from error
    pixels = np.frombuffer(picture.data, np.uint8)
    return pixels.reshape(picture.height, picture.width, 3).copy()


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


@click.command(cls=SettingsCommand)
@setting_options(["model"], model={"required": True, "help": "Baseline that plays."})
@setting_options(TAKEN)
def play(**_: Any) -> int:
    """Play the environment of recorded tasks with a baseline.

    \b
    vlm-eval environments play --model lexical --benchmark sample --split dev

    The scores equal those of `vlm-eval run --protocol action-strings` with the same settings; a
    point counts for the smallest candidate under it (--benchmark-option point_rule=smallest). Your
    own agent plays in Python: docs/environment.md. Needs the extra gym.
    """
    from harness.session.brief import print_result
    from harness.session.report import result_grid
    from harness.session.summary import results_of

    settings = given_settings()
    name = settings.pop("model")
    policy = policy_named(name, StepView) if is_policy(name) else None
    if policy is None or not answers(policy, StepView):
        known = policies_for(StepView)
        raise UserError(
            f"'{name}' is not a baseline for recorded steps ({', '.join(known)}); evaluate a model "
            "with vlm-eval run, or let it play in Python: docs/environment.md"
        )
    env = RecordedEnv(**settings)
    episodes = list(episodes_of(env, policy))
    records = [record for episode in episodes for record in episode]
    rest = (records, env.settings, env.source)
    found = results_of(*rest, env.task_rows)
    print_result(terminal(), result_grid(*rest, found, env.task_rows))
    won = [[not env.failed(one) for one in episode if env.counts(one)] for episode in episodes]
    counted = [one for one in won if one]
    before = [sum(takewhile(bool, one)) for one in counted]
    mean = fsum(before) / (len(counted) or 1)
    say(
        f"{sum(map(all, counted))} of {len(counted)} episodes successful; "
        f"mean number of steps before the first failure: {mean:.2f}"
    )
    return 0


def episodes_of(env: RecordedEnv, policy: Policy) -> Iterator[list[StepUnit]]:
    """Play every episode, in the order of the data, and yield its steps in the form of a run's.

    A policy gets the same input as in a run with the same settings, and draws the same choices.
    """
    for index in range(len(env.episodes)):
        env.reset(options={"index": index})
        while (question := env.question) is not None:
            secret = question.secret if policy.needs_gold else None
            chance = chance_for(env.settings.seed, 0, question.unit_id, "policy")
            view = question.view.latest(env.protocol.history_shown.actions)
            env.answer(policy.predict(view, chance, secret))
        yield env.records
