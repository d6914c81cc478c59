"""Scores on AutoWebBench (Lai et al. 2024): those of the released script, as executed, and ours.

The script evaluates replies as Python; here they are only read. What it does:

- It reads the text after the last `A: ` from its first character: a word, an opening bracket, and
  everything up to the last closing bracket of the line as arguments. The label is the first
  argument of click, hover, select and type_string; the param is their second one, and the first one
  of the other functions. A text without a call has neither function nor label nor param.
- An argument that is missing, given by name, or no legal Python is an exception. The row, for this
  of its labels, is then left out rather than wrong.
- `type` and `label` are compared where the target has one, `all` is both where it has both, without
  the param. `param` is the ROUGE-1 of both params where it is not 0. A param that is blank or no
  string aborts the whole script if the target has one as well.

Answers are read as the script reads them where arguments are literals or containers of them
(`parsers.calls`). It would execute all others; they count as exceptions. Rows that abort it are
left out as well. So garbage raises these means, and the number of rows that were left out is
reported with them.

Our own scores are over all rows, and what cannot be read is wrong.

Words of texts that may hold Chinese, as the package jieba cuts them.

jieba comes with the extra `zh`. It is loaded for texts that it cuts in another way than at the end
of words: those with Chinese characters, and with one of the few other words of its dictionary.
"""

from __future__ import annotations

import importlib.util
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from parsers.actions import Action, Value, is_readable, mended
from parsers.autowebglm import FUNCTIONS, read
from parsers.calls import read_arguments
from parsers.records import Prediction, Scores, Status

if TYPE_CHECKING:
    import jieba


_CHINESE = re.compile("[\u4e00-\u9fd5]|AT&T|[cC]#|[cC]\\+\\+")
_MISSING = "words of Chinese texts need jieba ({}); install it with: pip install jieba"
# Everything except words is cut at spaces, and into single characters.
_PIECES = re.compile(r"(?P<block>[a-zA-Z0-9+#&._%\-]+)|(?P<blank>\r\n|\s)|(?P<other>.)", re.DOTALL)
_BLOCK = re.compile(r"[a-zA-Z0-9]+(?:\.[0-9]+)?%?|(?:(?![a-zA-Z0-9]).)+")


class WordsError(RuntimeError):
    """jieba is missing or cannot be loaded."""


def words(text: str) -> list[str]:
    """Return the words of a text with everything between them: joined, they are the text.

    >>> words("Scroll 3.5% down.\\n")
    ['Scroll', ' ', '3.5%', ' ', 'down', '.', '\\n']

    Raises `WordsError` for a Chinese text if jieba is not installed.
    """
    if _CHINESE.search(text):
        return list(_tokenizer().cut(text))
    found: list[str] = []
    for piece in _PIECES.finditer(text):
        found += _BLOCK.findall(piece[0]) if piece["block"] else [piece[0]]
    return found


def check_installed() -> None:
    """Raises `WordsError` if jieba is not installed; loads nothing.

    Any reply may be Chinese: callers that score words check before the first one.
    """
    if importlib.util.find_spec("jieba") is None:
        raise WordsError(_MISSING.format("it is not installed"))


@lru_cache(maxsize=1)
def _tokenizer() -> jieba.Tokenizer:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import jieba

            tokenizer = jieba.Tokenizer()
            # What `initialize` does, without a cache in the shared folder for temporary files, from
            # which anybody's would be read, and without messages.
            tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
            tokenizer.initialized = True
    except (ImportError, OSError, ValueError) as error:
        raise WordsError(_MISSING.format(error)) from error
    return tokenizer


_CALL = re.compile(r"(\w+)\((.*)\)")
_LABELLED = frozenset({"click", "hover", "select", "type_string"})
_TEXTS = {"user_input": "message", "finish": "answer"}
"""The arguments that hold what is said to the user."""
_PREFIX = "awb_ref."
# Where the script's ROUGE breaks lines within words that stand between blanks.
_SENTENCE = re.compile(r"([。！？?])([^”’])")
_DOTS = re.compile(r"(\.{6})([^”’])")


@dataclass(frozen=True, slots=True)
class Extracted:
    """The script's reading of a text: function, label and param; None for missing ones."""

    type: str | None = None
    label: Value = None
    param: Value = None


def extract(text: str) -> Extracted | None:
    """Return the script's reading of a text; None if it would raise, or execute the text.

    >>> extract("type_string('A', 'Ohio', False)  # state")
    Extracted(type='type_string', label='A', param='Ohio')
    >>> extract("click(A)"), extract("finish()"), extract("I click('A')")
    (None, None, Extracted(type=None, label=None, param=None))
    """
    call = _CALL.match(text)
    if call is None:
        return Extracted()
    name, inside = call.groups()
    given = read_arguments(inside)
    if given is None:
        return None
    labelled = name in _LABELLED
    if not labelled and name not in FUNCTIONS:
        return Extracted(name)
    needed = 2 if name in ("select", "type_string") else 1
    if len(given) < needed:
        return None
    return Extracted(
        name,
        given[0] if labelled else None,
        given[needed - 1] if needed == 2 or not labelled else None,
    )


def reference(reply: str) -> dict[str, Value]:
    """Return the script's reading of a whole reply, for `Prediction.parsed`.

    >>> reference("Q: what now? A: click('SD')")
    {'awb_ref.type': 'click', 'awb_ref.label': 'SD'}
    >>> reference("click(SD)")
    {'awb_ref.raises': True}
    """
    found = extract(reply.rpartition("A: ")[2].strip())
    if found is None:
        return {f"{_PREFIX}raises": True}
    values = {"type": found.type, "label": found.label, "param": found.param}
    return {_PREFIX + name: _kept(value) for name, value in values.items() if value is not None}


def _kept(value: Value) -> Value:
    """Return a value that a run can store: a mended text, or 0 for an unreadable value."""
    if isinstance(value, str):
        return mended(value)
    return value if is_readable(value) else 0


def reference_scores(parsed: Mapping[str, Value], target: str) -> Scores:
    """Return the script's scores of one row: `awb_ref.type`, `label`, `param` and `all`.

    A score is None for rows that the script leaves out. `awb_ref.raises` is 1 for rows left out
    because of an exception, `awb_ref.aborts` for those that end it; their other scores are None.

    Args:
        parsed: of `reference`; an empty mapping is an empty reply.
        target: the right call, or a JSON list of several.

    >>> reference_scores(reference("click('A')"), "click('B')")["awb_ref.type"]
    1.0
    """
    recorded: dict[str, float] = {}
    raised = False
    predicted = _predicted(parsed)
    for label in labels_of(target):
        gold = extract(label)
        if gold is None or predicted is None:
            raised = True
            continue
        typed, labelled = gold.type == predicted.type, gold.label == predicted.label
        if gold.type is not None:
            recorded["type"] = float(typed)
        if gold.label is not None:
            recorded["label"] = float(labelled)
        if gold.param is not None and predicted.param is not None:
            overlap = rouge_1(gold.param, predicted.param)
            if overlap is None:
                return _reference({}, aborts=True)
            if overlap:
                recorded["param"] = overlap
        if gold.type is not None and gold.label is not None:
            recorded["all"] = float(typed and labelled)
            if typed and labelled:
                break
    return _reference(recorded, raises=raised and not recorded)


def _reference(
    recorded: Mapping[str, float], *, raises: bool = False, aborts: bool = False
) -> Scores:
    scores = {_PREFIX + name: recorded.get(name) for name in ("type", "label", "param", "all")}
    return {**scores, f"{_PREFIX}raises": float(raises), f"{_PREFIX}aborts": float(aborts)}


def _predicted(parsed: Mapping[str, Value]) -> Extracted | None:
    if parsed.get(f"{_PREFIX}raises"):
        return None
    name = parsed.get(f"{_PREFIX}type")
    label, param = parsed.get(f"{_PREFIX}label"), parsed.get(f"{_PREFIX}param")
    return Extracted(name if isinstance(name, str) else None, label, param)


def labels_of(target: str) -> Sequence[str]:
    """Return the calls that a target holds: those of a JSON list of strings, else itself.

    >>> labels_of('["click(1)", "click(2)"]'), labels_of("click(1)")
    (['click(1)', 'click(2)'], ['click(1)'])
    """
    try:
        found = json.loads(target)
    except (ValueError, RecursionError):
        return [target]
    listed = isinstance(found, list) and all(isinstance(one, str) for one in found)
    return found if listed else [target]


def rouge_1(one: Value, other: Value) -> float | None:
    """Return the script's ROUGE-1 over the sets of words of both texts, at most 0.999999995.

    None where it aborts: for what is blank or no text.

    >>> round(rouge_1("New York", "York"), 6), rouge_1("a", " ")
    (0.666667, None)

    Raises `WordsError` for Chinese texts without jieba.
    """
    if not (isinstance(one, str) and isinstance(other, str) and one.strip() and other.strip()):
        return None
    first, second = _vocabulary(one), _vocabulary(other)
    shared = len(first & second)
    precision, recall = shared / len(first), shared / len(second)
    return 2 * ((precision * recall) / (precision + recall + 1e-8))


@lru_cache(maxsize=64)
def _vocabulary(text: str) -> frozenset[str]:
    """Return the words of a text as a set, with an empty one for every line that is blank."""
    broken = _DOTS.sub(r"\1\n\2", _SENTENCE.sub(r"\1\n\2", " ".join(words(text)))).rstrip()
    lines = [" ".join(line.split()) for line in broken.split("\n") if line]
    return frozenset(word for line in lines for word in line.split(" "))


def scores(prediction: Prediction, target: str) -> Scores:
    """Return all scores of one row: those of `reference_scores`, and our own.

    `awb.step_success`: the same function, id and argument, blanks folded; flags do not count, and
    of what is said to the user (in `finish` and `user_input`) only that something is said where the
    target does. `awb.element_step`: the same without the argument. `awb.text_overlap`: how much of
    what is said to the user is right, by words (`text_overlap`), where the target says something;
    None elsewhere. Of several targets, the best one counts.

    Raises `ValueError` for a target that cannot be read, `WordsError` as `text_overlap` does.
    """
    golds = [gold_action(label) for label in labels_of(target)]
    said = prediction.action if prediction.status is Status.ANSWERED else None
    placed = [said and (said.name, said.element) == (gold.name, gold.element) for gold in golds]
    same = [said and FUNCTIONS.same(said, gold) and _says(said) >= _says(gold) for gold in golds]
    overlaps = [_said_overlap(said, gold) for gold in golds]
    return {
        **reference_scores(prediction.parsed, target),
        "awb.step_success": float(any(same)),
        "awb.element_step": float(any(placed)),
        "awb.text_overlap": max((one for one in overlaps if one is not None), default=None),
    }


@lru_cache(maxsize=256)
def gold_action(target: str) -> Action:
    """Return the right action of a row, raw line breaks in its target repaired.

    Raises `ValueError` for a target that is not a call of one of the functions.
    """
    prediction = read(target)
    action = prediction.action
    if action is None or action.name not in FUNCTIONS or "multiple" in prediction.flags:
        raise ValueError(f"the target {target[:80]!r} is not a call of a function of AutoWebGLM")
    return action


def _says(action: Action) -> bool:
    """Return True if something is said to the user."""
    text = action.arguments.get(_TEXTS.get(action.name, ""))
    return isinstance(text, str) and bool(text.strip())


def _said_overlap(said: Action | None, gold: Action) -> float | None:
    argument = _TEXTS.get(gold.name, "")
    right = gold.arguments.get(argument)
    if not isinstance(right, str):
        return None
    found = said.arguments.get(argument) if said and said.name == gold.name else None
    return text_overlap(found, right) if isinstance(found, str) else 0.0


def text_overlap(one: str, other: str) -> float:
    """F1 over the sets of words of two texts, 0 if either is blank.

    >>> text_overlap("New York", "York"), text_overlap("Ohio", "Ohio"), text_overlap("", "Ohio")
    (0.6666666666666666, 1.0, 0.0)

    Raises `WordsError` for Chinese texts without jieba.
    """
    if not one.strip() or not other.strip():
        return 0.0
    first, second = _vocabulary(one) - {""}, _vocabulary(other) - {""}
    return 2 * len(first & second) / (len(first) + len(second))
