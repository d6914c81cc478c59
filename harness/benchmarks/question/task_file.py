"""Tasks of lm-evaluation-harness and lmms-eval, as their YAML files declare them.

Nothing of a file is run. Code, and every key that would change what is asked or scored and has no
counterpart here, is a problem, and all problems are reported together. Keys mean what both
projects' `api/task.py` of August 2026 makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from adapters.input_files import file_text
from harness.benchmarks.question.folder import Bad
from harness.benchmarks.question.task_templates import check_template
from harness.errors import DataError, suggestion

_LARGEST, _DEEPEST, _LONGEST_LINE = 2**17, 50, 300
_NAME = re.compile(r"[\w.-]+")
TEXTS: dict[str, Any] = {
    "doc_to_text": str,
    "doc_to_target": (str, int, list),
    "doc_to_choice": (str, list, dict),
    "description": str,
}
"""Keys that name a column, or hold a template or a constant of these types."""
_PICTURES = ("doc_to_visual", "doc_to_image")
_READ = {
    *("task", "dataset_path", "dataset_kwargs", "test_split", "validation_split", "output_type"),
    *("metric_list", "generation_kwargs", "filter_list", "num_fewshot", *TEXTS, *_PICTURES),
}
# Without examples, functions and several replies, these change nothing, or name things only.
_UNUSED = {
    *("task_alias", "tag", "group", "group_alias", "metadata", "dataset_name", "training_split"),
    *("fewshot_split", "fewshot_config", "fewshot_delimiter", "target_delimiter", "repeats"),
    *("batch_size", "should_decontaminate", "doc_to_decontamination_query", "unsafe_code"),
    *("lmms_eval_specific_kwargs", "model_specific_generation_kwargs", "full_docs", "score_key"),
    *("process_results_use_image", "reasoning_tags", "auto_strip_thinking", "cluster_key"),
}
_GROUP = "a group of tasks is not read; import each, and set average in its questions.toml"
_REFUSED = {
    "include": "other files are not read; write their keys into this one",
    "process_docs": "rows are not changed; save them as the function returns them",
    "process_results": "answers are scored by metric_list alone",
    "custom_dataset": "rows come from dataset_kwargs.data_files",
    "use_prompt": "write the prompt as doc_to_text",
    "gen_prefix": "a reply cannot be begun for the model; ask for its form in doc_to_text",
    "doc_to_messages": "a question is doc_to_text with the pictures of doc_to_visual",
    "doc_to_audio": "sound cannot be shown",
    "class": "a task in Python cannot be read",
    "aggregate_metric_list": _GROUP,
    "weight_by_size": _GROUP,
}
_METRICS = {"exact_match": "exact", "acc": "exact", "anls": "anls", "f1": "f1"}
_SETTLED = {"exact_match": {"ignore_case", "ignore_punctuation", "hf_evaluate"}}
_OF_VALUES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_DIFFERS = {
    "exact": "case, punctuation and articles do not count",
    "choice": "a letter, or the text of an option",
    "anls": "under a half is 0",
    "f1": "words as SQuAD counts them",
}


@dataclass(frozen=True)
class Code:
    """A value with its own tag, such as `!function utils.target`."""

    text: str


@dataclass
class TaskFile:
    """A task.

    Attributes:
        name: what it is called.
        root: the folder of the file, which holds its data and pictures.
        texts: a column's name, a template or a constant by key.
        pictures: columns that hold pictures.
        files: the data files of `split`.
        metric: the metric of every question.
        ranked: whether the task ranks its options by likelihood instead of asking for an answer.
        options: options of `vlm-eval run` that decode as the task does.
        notes: what differs from the task.
    """

    name: str
    root: Path
    texts: dict[str, Any] = field(default_factory=dict)
    pictures: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    split: str = ""
    metric: str = ""
    ranked: bool = False
    options: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class UnreadableTask(DataError):
    """A task that cannot be read."""

    def __init__(self, problems: Iterable[str]) -> None:
        lines = [" ".join(one.split())[:_LONGEST_LINE] for one in dict.fromkeys(problems)]
        super().__init__("; ".join(lines), lines)


def is_name(text: str) -> bool:
    """Return whether a text looks like the name of a column, and not like words or a template."""
    return _NAME.fullmatch(text) is not None


def read_task(path: Path) -> TaskFile:
    """Read a task. Raises `UnreadableTask`, and `DataError` for a file that is not a task."""
    reading = _Reading(_keys(path), path.resolve().parent)
    task = reading.task(path.stem)
    if reading.problems:
        raise UnreadableTask(reading.problems)
    return task


def _keys(path: Path) -> dict[str, Any]:
    loader: Any = type("_Loader", (yaml.SafeLoader,), {})
    loader.add_multi_constructor("", _mark)
    try:
        if path.stat().st_size > _LARGEST:
            raise DataError(f"{path} is larger than any task")
        text = file_text(path)
        depth = 0
        for event in yaml.parse(text, loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            # An alias can represent a billion values.
            if isinstance(event, yaml.AliasEvent):
                raise yaml.YAMLError("aliases (*name) are not read; write their values out")
            if depth > _DEEPEST:
                raise yaml.YAMLError("it is nested too deeply")
        found = yaml.load(text, loader)
        str(found)  # Raises for a number of more digits than can be written.
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, *_OF_VALUES) as error:
        raise DataError(
            f"{path.name} is no YAML of a task: {' '.join(str(error).split())}"
        ) from None
    if not isinstance(found, dict):
        raise DataError(f"{path.name} is no YAML of a task: it has no keys")
    return {str(key): value for key, value in found.items() if value is not None}


def _mark(loader: Any, suffix: str, node: Any) -> Code:
    tag = suffix.replace("tag:yaml.org,2002:", "!!", 1)
    return Code(f"{tag} {node.value}" if isinstance(node.value, str) else tag)


def _code(value: Any, path: str) -> Iterator[tuple[str, Code]]:
    """Yield every piece of code in a value, with its place."""
    if isinstance(value, Code):
        yield path, value
    for name, one in value.items() if isinstance(value, dict) else ():
        yield from _code(one, f"{path}.{name}")
    for one in value if isinstance(value, (list, tuple)) else ():
        yield from _code(one, path)


class _Reading:
    """The keys of a file, and what is wrong with them."""

    def __init__(self, keys: dict[str, Any], root: Path) -> None:
        self.keys, self.root, self.problems = keys, root, list[str]()

    def take(self, name: str, kind: Any, default: Any = None) -> Any:
        """Return the value of a key; note one of another type, and return the default for it."""
        value = self.keys.get(name, default)
        if value is None or isinstance(value, kind):
            return value
        if not isinstance(value, Code):
            self.problems.append(f"{name}: '{value!s:.60}' is not what it takes")
        return default

    def task(self, name: str) -> TaskFile:
        task = TaskFile(name, self.root)
        for key, value in self.keys.items():
            code = list(_code(value, key))
            self.problems += [f"{place}: {one.text} is code, and is not run" for place, one in code]
            if key in _REFUSED and not code:
                self.problems.append(f"{key}: {_REFUSED[key]}")
            elif key not in (known := {*_READ, *_UNUSED, *_REFUSED}):
                self.problems.append(f"{key}: unknown key; {suggestion(key, known)}")
        if isinstance(self.keys.get("task"), list):
            self.problems.append(f"task: {_GROUP}")
        else:
            task.name = self.take("task", str, name)
        self._texts(task)
        self._files(task)
        kind = self.take("output_type", str, "generate_until")
        task.ranked = kind == "multiple_choice"
        if kind not in ("generate_until", "multiple_choice"):
            self.problems.append(
                f"output_type: {kind} is not read; generate_until and multiple_choice are"
            )
        if self.take("num_fewshot", int, 0) > 0:
            self.problems.append("num_fewshot: questions are asked without examples; set it to 0")
        for one in self.take("filter_list", list, []):
            steps = one.get("filter") if isinstance(one, dict) else None
            for step in steps if isinstance(steps, list) else [one]:
                called = step.get("function") if isinstance(step, dict) else step
                if called != "take_first" and not isinstance(called, Code):
                    self.problems.append(
                        f"filter_list: {called!s:.60} is not read; answer_after in questions.toml "
                        "reads what follows a phrase"
                    )
        self._metric(task)
        self._decoding(task)
        if unused := [key for key in self.keys if key in _UNUSED]:
            task.notes.append(f"not used: {', '.join(unused)}")
        return task

    def _texts(self, task: TaskFile) -> None:
        needed = ["doc_to_text", "doc_to_target"]
        if self.keys.get("output_type") == "multiple_choice":
            needed.append("doc_to_choice")
        missing = [key for key in needed if key not in self.keys and "include" not in self.keys]
        self.problems += [f"{key}: missing" for key in missing]
        for key, kind in TEXTS.items():
            value = self.take(key, kind)
            if value is None or isinstance(value, Code):
                continue
            task.texts[key] = list(value.values()) if isinstance(value, dict) else value
            if isinstance(value, str) and not is_name(value):
                try:
                    check_template(value)
                except Bad as bad:
                    self.problems.append(f"{key}: {bad.args[1]}")
        for key in _PICTURES:
            names = self.take(key, (str, list), [])
            for one in [names] if isinstance(names, str) else names:
                task.pictures.append(str(one))

    def _files(self, task: TaskFile) -> None:
        task.split = self.take("test_split", str) or self.take("validation_split", str, "")
        kwargs = self.take("dataset_kwargs", dict, {})
        found, builder = kwargs.get("data_files"), self.take("dataset_path", str, "")
        if found is None and "include" in self.keys:
            return
        if found is None or builder not in ("json", "csv", "parquet"):
            self.problems.append(
                f"dataset_path: '{builder:.60}' is not read; json, csv and parquet are, from local "
                "files in dataset_kwargs.data_files"
            )
            return
        for name in kwargs.keys() - {"data_files", "trust_remote_code", "token", "cache_dir"}:
            self.problems.append(f"dataset_kwargs: {name!s:.60} is not read, only data_files")
        if isinstance(found, dict):
            found = found.get(task.split, [])
            if not found:
                self.problems.append(f"test_split: data_files has no files of '{task.split:.60}'")
        for one in found if isinstance(found, list) else [found]:
            path = (self.root / str(one)).resolve() if "\0" not in str(one) else self.root.parent
            if isinstance(one, Code):
                continue
            if "://" in str(one):
                self.problems.append(f"data_files: {one!s:.200} is not local; download it")
            elif not path.is_relative_to(self.root):
                self.problems.append(f"data_files: {one!s:.200} lies outside of {self.root}")
            elif not path.is_file():
                self.problems.append(f"data_files: {one!s:.200} is not a file in {self.root}")
            else:
                task.files.append(path)

    def _metric(self, task: TaskFile) -> None:
        """Find the metric of ours that all of theirs are, by question and without their options."""
        ours: dict[str, str] = {}
        usual = [{"metric": "acc" if task.ranked else "exact_match"}]
        for one in self.take("metric_list", list, usual):
            name = one.get("metric") if isinstance(one, dict) else one
            if isinstance(name, Code):
                continue
            if name not in _METRICS or not isinstance(one, dict):
                known = ", ".join(_METRICS)
                self.problems.append(f"metric_list: {name!s:.60} is not read; {known} are")
                continue
            # Their F1 is one of all predictions unless it is asked for otherwise.
            mean = one.get("aggregation", "" if name == "f1" else "mean")
            if not isinstance(mean, Code) and mean != "mean":
                self.problems.append(f"metric_list: {name} is not a mean over questions")
            if task.ranked and _METRICS[name] != "exact":
                self.problems.append(f"metric_list: {name} does not score multiple_choice")
            settled = {"metric", "aggregation", "higher_is_better", *_SETTLED.get(name, ())}
            for option, value in one.items():
                if option not in settled and (option, value) != ("thresh_hold", 0.5):
                    self.problems.append(f"metric_list: {option!s:.60} of {name} is not read")
            is_choice = _METRICS[name] == "exact" and "doc_to_choice" in self.keys
            ours["choice" if is_choice else _METRICS[name]] = name
        if len(ours) > 1:
            names = " and ".join(ours.values())
            self.problems.append(f"metric_list: a question has one metric; keep one of {names}")
        for task.metric, name in ours.items():
            task.notes.append(f"{name} is scored as {task.metric}: {_DIFFERS[task.metric]}")
        if task.ranked:
            task.notes.append(
                "the task compares likelihoods of its options; here a model sees them and replies "
                "with a letter, so scores are not comparable"
            )

    def _decoding(self, task: TaskFile) -> None:
        given = dict(self.take("generation_kwargs", dict, {}))
        for name in ("max_new_tokens", "max_gen_toks", "max_tokens"):
            limit = given.pop(name, None)
            if isinstance(limit, int) and limit > 0:
                task.options = ["--max-tokens", str(limit)]
                task.notes.append(f"--max-tokens {limit} is {name}, and holds for thoughts, too")
        heat, sampled = given.pop("temperature", 0), given.pop("do_sample", True)
        if sampled and isinstance(heat, (int, float)) and 0 < heat < 100:
            task.options += ["--temperature", f"{heat:g}"]
        if until := given.pop("until", None):
            task.notes.append(f"replies are read whole, and not cut at {until!s:.60}")
        if rest := [str(name) for name, value in given.items() if value is not None]:
            task.notes.append(f"not used of generation_kwargs: {', '.join(rest):.120}")
