"""AutoWebBench's scores: the released script's, line by line as it was executed, and our own."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from parsers import Prediction, Scores, Status
from parsers.actions import is_readable
from parsers.autowebbench import (
    extract,
    gold_action,
    labels_of,
    reference,
    reference_scores,
    rouge_1,
    scores,
    text_overlap,
)
from parsers.autowebglm import FUNCTIONS, read
from parsers.settling import settled
from tests.harness.benchmarks._files import shared_data
from tests.parsers.call_texts import python_arguments, replies

CLICK, TYPE, SCROLL = "click('A')", "type_string('A', 'Ohio', False)", "scroll_page('down')"
FULL = 0.999999995
Row = tuple[float | None, ...]
"""Type, label, param and all, then whether the script raises and whether it aborts."""
OUT: Row = (None, None, None, None, 1, 0)
ABORTED: Row = (None, None, None, None, 0, 1)
NAMES = ("type", "label", "param", "all", "raises", "aborts")


def listed(found: Scores) -> Row:
    return tuple(found[f"awb_ref.{name}"] for name in NAMES)


def predicted(reply: str) -> Prediction:
    return settled(replace(read(reply), parsed=reference(reply)), FUNCTIONS)


@pytest.mark.parametrize(
    ("target", "reply", "row"),
    [
        (CLICK, "click('A')", (1, 1, None, 1, 0, 0)),
        (CLICK, 'click("A") # (see B)', (1, 1, None, 1, 0, 0)),
        (CLICK, "  click( 'A' , )\nclick('B')", (1, 1, None, 1, 0, 0)),
        (CLICK, "click('A', 'B')", (1, 1, None, 1, 0, 0)),
        (CLICK, "Q: x A: click('B') A: click('A')", (1, 1, None, 1, 0, 0)),
        (CLICK, "click('B')", (1, 0, None, 0, 0, 0)),
        (CLICK, "click(5)", (1, 0, None, 0, 0, 0)),
        (CLICK, "hover('A')", (0, 1, None, 0, 0, 0)),
        (CLICK, "select('A', 1)", (0, 1, None, 0, 0, 0)),
        (CLICK, "tap('A')", (0, 0, None, 0, 0, 0)),
        # No call from the first character on: all that it has is empty.
        (CLICK, "", (0, 0, None, 0, 0, 0)),
        (CLICK, "I click('A')", (0, 0, None, 0, 0, 0)),
        (CLICK, "(click('A'))", (0, 0, None, 0, 0, 0)),
        (CLICK, "click('A'", (0, 0, None, 0, 0, 0)),
        (CLICK, "click('A'\n)", (0, 0, None, 0, 0, 0)),
        # Texts of which nothing is compared do not abort it.
        (CLICK, "finish(10)", (0, 0, None, 0, 0, 0)),
        (CLICK, "finish('')", (0, 0, None, 0, 0, 0)),
        # What raises is left out, not wrong.
        (CLICK, "click(A)", OUT),
        (CLICK, "click()", OUT),
        (CLICK, "click(id='A')", OUT),
        (CLICK, "tap(id='A')", OUT),
        (CLICK, "type_string('A')", OUT),
        (CLICK, "click('A') and (B)", OUT),
        (CLICK, "print('x')('A')", OUT),
        (CLICK, "finish('It's done')", OUT),
        (CLICK, "finish()", OUT),
        (CLICK, "click(__import__('os').system('x'))", OUT),
        # A container is a value: not the target's, and no text.
        (CLICK, "click(['A'])", (1, 0, None, 0, 0, 0)),
        (CLICK, "click(('A'))", (1, 1, None, 1, 0, 0)),
        (CLICK, "click(('A',))", (1, 0, None, 0, 0, 0)),
        (CLICK, "click({'id': 'A'})", (1, 0, None, 0, 0, 0)),
        (CLICK, "click({'A'}, [()])", (1, 0, None, 0, 0, 0)),
        (TYPE, "type_string('A', ['Ohio'], False)", ABORTED),
        (TYPE, "type_string(['A'], 'Ohio')", (1, 0, FULL, 0, 0, 0)),
        (SCROLL, "scroll_page({'direction': 'down'})", ABORTED),
        # Not where Python raises.
        (CLICK, "click([A])", OUT),
        (CLICK, "click({['A']})", OUT),
        (CLICK, "click({([],): 1})", OUT),
        (CLICK, "click({'A', 'B': 1})", OUT),
        (CLICK, "click(-['A'])", OUT),
        (CLICK, "click(['A')", OUT),
        # It would execute this and go on; for us it is no literal.
        (CLICK, "click('A'.upper())", OUT),
        (TYPE, TYPE, (1, 1, FULL, 1, 0, 0)),
        (TYPE, "type_string('A', 'Ohio')", (1, 1, FULL, 1, 0, 0)),
        (TYPE, "type_string('A', 'Iowa', False)", (1, 1, None, 1, 0, 0)),
        (TYPE, "type_string('B', 'Ohio', True)", (1, 0, FULL, 0, 0, 0)),
        (TYPE, "type_string('A', None, True)", (1, 1, None, 1, 0, 0)),
        (TYPE, "click('A')", (0, 1, None, 0, 0, 0)),
        (TYPE, "go('Ohio')", (0, 0, FULL, 0, 0, 0)),
        (TYPE, "type_string('A', '', False)", ABORTED),
        (TYPE, "type_string('A', ' \\n ', False)", ABORTED),
        (TYPE, "type_string('A', 5, False)", ABORTED),
        (TYPE, f"finish({'9' * 500})", ABORTED),
        (TYPE, "finish(False)", ABORTED),
        (TYPE, "finish(1e999)", ABORTED),
        (SCROLL, SCROLL, (1, None, FULL, None, 0, 0)),
        (SCROLL, "scroll_page('up')", (1, None, None, None, 0, 0)),
        (SCROLL, "click('A')", (0, None, None, None, 0, 0)),
        ("finish()", "finish()", OUT),
        ("finish('a b')", "finish('b')", (1, None, 2 / 3, None, 0, 0)),
        # The arguments of a target that goes over lines are not found, or no Python.
        ("finish('a\nb')", "finish('a')", (None, None, None, None, 0, 0)),
        ("finish('a (b)\nc')", "finish('a')", OUT),
        ("finish('a')", "finish('a\nb')", (0, None, None, None, 0, 0)),
    ],
)
def test_a_row_as_the_released_script_scores_it(target: str, reply: str, row: Row) -> None:
    found = listed(reference_scores(reference(reply), target))
    assert found == pytest.approx(row, abs=1e-7)
    assert found == by_the_rules([target], reply)
    assert all(map(is_readable, reference(reply).values()))


@pytest.mark.parametrize(
    ("targets", "reply", "row"),
    [
        ([CLICK, "click('B')"], "click('B')", (1, 1, None, 1, 0, 0)),
        # It stops at the first one that is right, and else the last one overwrites the others.
        (["click('B')", CLICK, "hover('C')"], "click('A')", (1, 1, None, 1, 0, 0)),
        (["click('B')", "hover('C')"], "click('D')", (0, 0, None, 0, 0, 0)),
        (["hover('C')", "click('B')"], "click('D')", (1, 0, None, 0, 0, 0)),
        (["type_string('A', 'Ohio')", "click('B')"], "go('Ohio')", (0, 0, FULL, 0, 0, 0)),
        # One that raises is passed over.
        (["finish()", CLICK], "click('A')", (1, 1, None, 1, 0, 0)),
        ([CLICK, "finish()"], "click('B')", (1, 0, None, 0, 0, 0)),
        (["finish()", "click(A)"], "click('A')", OUT),
        ([CLICK, TYPE], "finish(1)", ABORTED),
        # Which is never reached.
        ([CLICK, TYPE], "click('A', 1)", (1, 1, None, 1, 0, 0)),
        ([], "click('A')", (None, None, None, None, 0, 0)),
    ],
)
def test_several_labels(targets: list[str], reply: str, row: Row) -> None:
    found = listed(reference_scores(reference(reply), json.dumps(targets)))
    assert found == pytest.approx(row, abs=1e-7)
    assert found == by_the_rules(targets, reply)


def by_the_rules(labels: Sequence[str], reply: str) -> Row:
    """The same from the rules and Python's own parser, one label after the other."""
    kept: dict[str, float] = {}
    raises = 0
    for label in labels:
        gold, said = by_python(label), by_python(reply.split("A: ")[-1].strip())
        if not gold or not said:
            raises = 1
            continue
        same = {name: gold[name] == said[name] for name in ("type", "label")}
        kept |= {name: float(value) for name, value in same.items() if gold[name] is not None}
        if gold["param"] is not None and said["param"] is not None:
            texts = [gold["param"], said["param"]]
            if not all(isinstance(text, str) and text.strip() for text in texts):
                return ABORTED
            kept |= {"param": found} if (found := rouge_1(*texts)) else {}
        if gold["type"] is not None and gold["label"] is not None:
            kept["all"] = float(all(same.values()))
            if kept["all"]:
                break
    return (*(kept.get(name) for name in NAMES[:4]), 0 if kept else raises, 0)


def by_python(text: str) -> dict[str, Any]:
    found = re.compile(r"(\w+)\((.*)\)").match(text)
    if not found:
        return dict.fromkeys(NAMES[:3])
    inside = python_arguments(found[2])
    if inside is None:
        return {}
    both = {"select": 2, "type_string": 2, "click": 1, "hover": 1}
    place = both.get(found[1], 1)
    known = {kind.name for kind in FUNCTIONS.actions}
    if found[1] not in known:
        return {"type": found[1], "label": None, "param": None}
    if len(inside) < place:
        return {}
    label = inside[0] if found[1] in both else None
    param = None if found[1] in ("click", "hover") else inside[place - 1]
    return {"type": found[1], "label": label, "param": param}


@pytest.mark.parametrize(
    ("one", "other", "score"),
    # As the package rouge-chinese 1.0.3 scores words of jieba 0.42.1.
    [
        ("New York City", "york New", 0.39999999520000007),
        ("a b c d", "b", 0.39999999680000003),
        ("请登录您的账户", "请您登录", 0.7499999953125),
        ("one\n\ntwo", "one two", 0.7999999952000001),
        ("Really?\nYes", "Really? Yes", 0.8571428522448981),
        ("\n\none", "one\n\n", 0.6666666622222223),
        ("a ? b", "b ?", 0.7999999952000001),
        ("wait.......now", "wait now", 0.6666666622222223),
        ("C++ and c#", "c++ and C#", 0.3333333283333334),
        ("state-of-the-art 3.5%", "art 3.5 %", 0.22222221777777784),
        ("北京\n\n上海", "北京上海", 0.7999999952000001),
        ("café naïve", "caf na", 0.5714285673469389),
        ("One. One.", "One", 0.6666666622222223),
        ("他说：“好！”\n然后走了", "他走了", 0.4615384579881657),
    ],
)
def test_rouge_is_that_of_the_package(one: str, other: str, score: float) -> None:
    assert rouge_1(one, other) == rouge_1(other, one) == score
    if "\n" not in one + other:
        assert text_overlap(one, other) == pytest.approx(score, abs=1e-7)


def test_blank_lines_are_no_word_that_two_texts_share() -> None:
    assert text_overlap("one\n\ntwo", "three\n\nfour") == 0
    assert text_overlap("one\n\ntwo", "two\n\none") == 1
    assert text_overlap("Really?\nYes", "Really? Yes") == 1


@pytest.mark.parametrize(
    ("target", "reply", "success", "element", "overlap"),
    [
        (CLICK, "A: click('A')", 1, 1, None),
        (CLICK, "I open it: click('A')", 1, 1, None),
        (CLICK, "click(id='A')", 1, 1, None),
        (CLICK, "click('B')", 0, 0, None),
        (CLICK, "hover('A')", 0, 0, None),
        (CLICK, "click(A)", 0, 0, None),
        (CLICK, "", 0, 0, None),
        (TYPE, "type_string('A', ' Ohio ', True)", 1, 1, None),
        (TYPE, "type_string('A', 'ohio', False)", 0, 1, None),
        (TYPE, "type_string('A', '', False)", 0, 1, None),
        (TYPE, "type_string('B', 'Ohio', False)", 0, 0, None),
        (SCROLL, "scroll_page('up')", 0, 1, None),
        (SCROLL, "scroll_page('DOWN')", 0, 1, None),
        ("finish()", "finish('Done.')", 1, 1, None),
        ("finish()", "click('A')", 0, 0, None),
        ("finish('a b')", "finish('b')", 1, 1, 2 / 3),
        ("finish('a\nb')", "finish('a\\nb')", 1, 1, 1),
        # Whether anything is said at all is part of the action, what is said is not.
        ("finish('a b')", "finish()", 0, 1, 0),
        ("finish('a b')", "finish('c')", 1, 1, 0),
        ("finish('a b')", "user_input('a b')", 0, 0, 0),
        ("finish('a b')", "I don't know.", 0, 0, 0),
        ("user_input('Log in.')", "user_input('Log in')", 1, 1, 0.8),
        ("[\"click('A')\", \"hover('B')\"]", "hover('B')", 1, 1, None),
    ],
)
def test_our_scores_are_of_every_row(
    target: str, reply: str, success: float, element: float, overlap: float | None
) -> None:
    found = scores(predicted(reply), target)
    assert found["awb.step_success"] == success
    assert found["awb.element_step"] == element
    assert found["awb.text_overlap"] == pytest.approx(overlap)


def test_a_row_that_was_not_answered_is_an_empty_reply() -> None:
    for status in (Status.TOO_LONG, Status.CONTENT_FILTER, Status.EMPTY):
        found = scores(Prediction(status), CLICK)
        assert listed(found) == (0, 0, None, 0, 0, 0)
        assert found["awb.step_success"] == 0


@pytest.mark.parametrize("target", ["", "clock('A')", "click(A)", "click('A') click('B')"])
def test_a_target_that_is_no_call_is_refused(target: str) -> None:
    with pytest.raises(ValueError, match="is not a call of a function of AutoWebGLM"):
        gold_action(target)


def test_a_list_of_labels_is_one_of_strings() -> None:
    assert labels_of('["a", "b"]') == ["a", "b"]
    for other in ("[1]", "5", '"a"', "{}", "null", "[" * 100_000, "click('A')"):
        assert labels_of(other) == [other]


SPLITS = ("en/ind", "en/ood", "zh/ind", "zh/ood")
FUNCTION_COUNTS = {
    "click": (183, 183, 221, 221),
    "hover": (16, 13, 3, 2),
    "type_string": (11, 12, 14, 17),
    "scroll_page": (38, 50, 42, 35),
    "go": (16, 4, 34, 15),
    "user_input": (6, 2, 6, 2),
    "finish": (79, 74, 72, 80),
}
MULTI_LINE = {
    "en/ind": [4, 318],
    "en/ood": [305, 314],
    "zh/ind": [38, 111, 125],
    "zh/ood": [47, 52, 74, 83, 130, 133, 321],
}


def targets_of(split: str) -> list[str]:
    path = shared_data(f"autowebbench/{split}/test.json")
    return [row["target"] for row in json.loads(path.read_text("utf-8"))]


@pytest.mark.parametrize("split", SPLITS)
def test_every_released_target_is_read(split: str) -> None:
    targets = targets_of(split)
    place = SPLITS.index(split)
    found = [predicted(target) for target in targets]
    assert all(one.status is Status.ANSWERED for one in found)
    counted = Counter(one.action.name for one in found if one.action)
    assert counted == {name: counts[place] for name, counts in FUNCTION_COUNTS.items()}
    bare = sum(one.action is not None and one.action.arguments == {} for one in found)
    assert bare - counted["click"] - counted["hover"] == (71, 62, 55, 69)[place]
    repaired = [number for number, one in enumerate(found) if one.flags]
    assert repaired == MULTI_LINE[split]
    assert repaired == [number for number, target in enumerate(targets) if "\n" in target]
    assert all(found[number].flags == ("repaired",) for number in repaired)
    ids = {one.element for one in found if one.element is not None}
    assert all(re.fullmatch("[A-Z]{1,4}", name) for name in ids)


@pytest.mark.parametrize("split", SPLITS)
def test_the_released_targets_as_predictions(split: str) -> None:
    targets = targets_of(split)
    place = SPLITS.index(split)
    found = [scores(predicted(target), target) for target in targets]
    assert all(one["awb.step_success"] == one["awb.element_step"] == 1 for one in found)
    overlaps = [one["awb.text_overlap"] for one in found if one["awb.text_overlap"] is not None]
    assert set(overlaps) == {1.0} and len(overlaps) == (14, 14, 23, 13)[place]
    counted = {name: sum(one[f"awb_ref.{name}"] is not None for one in found) for name in NAMES[:4]}
    assert counted["type"] == (276, 274, 334, 296)[place]
    assert counted["label"] == counted["all"] == (210, 208, 237, 240)[place]
    for name in ("type", "label", "all"):
        assert {one[f"awb_ref.{name}"] for one in found} == {1.0, None}
    params = {one["awb_ref.param"] for one in found} - {None}
    assert all(one == pytest.approx(FULL, abs=1e-9) for one in params)
    assert sum(one["awb_ref.raises"] or 0 for one in found) == (71, 62, 55, 69)[place]
    assert not any(one["awb_ref.aborts"] for one in found)
    assert all(one["awb_ref.type"] is None for n, one in enumerate(found) if n in MULTI_LINE[split])
    for target in targets:
        assert extract(target) == extract(f"{target}  # (a comment)") or "\n" in target


@pytest.mark.parametrize("split", SPLITS)
def test_any_reply_to_a_released_row_is_scored_by_the_rules(split: str) -> None:
    targets = targets_of(split)
    texts = list(replies(SPLITS.index(split), 4 * len(targets)))
    replied = [text for text in texts if "\ud800" not in text and "\0" not in text]
    for number, reply in enumerate(replied):
        target = targets[number % len(targets)]
        found = scores(predicted(reply), target)
        assert listed(found) == by_the_rules([target], reply), (target, reply)
        assert all(score is None or 0 <= score <= 1 for score in found.values())
