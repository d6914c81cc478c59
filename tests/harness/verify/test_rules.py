"""The rules of judgement, over the worked cases and over examples of every kind here."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.picture_tokens import FAMILIES
from harness.verify import replies, sight
from harness.verify.declared import Declared
from harness.verify.record import digest
from harness.verify.report import remedies
from harness.verify.sizes import judge_sizes
from harness.verify.words import BROKEN, CANNOT_TELL, OK, SUSPICIOUS, Check, Found, Verdict, overall
from tests.harness.verify.test_scenes import _cases
from tests.servers.families import FAMILIES as SERVED


def _pair(value: Any) -> Any:
    return None if value is None else tuple(value)


def _judged(kind: str, given: dict[str, Any]) -> Found:
    match kind:
        case "sizes":
            counted = [(_pair(size), count) for size, count in given["picture_tokens"]]
            return judge_sizes(
                counted,
                given["declared"],
                limit=given.get("max_pixels"),
                absolute=given.get("coordinates") == "absolute",
            )
        case "seen":
            return sight.judge_seen(given["read"], given["picture_tokens"])
        case "corners":
            truth, said = ([_pair(one) for one in given[name]] for name in ("truth", "said"))
            return sight.judge_corners(truth, said)
        case "coverage":
            return sight.judge_coverage(given["codes"], given["text"])
        case "order":
            return sight.judge_order(given["sent"], given["said"])
        case "points":
            items = [(_pair(a), _pair(b), _pair(c)) for a, b, c in given["items"]]
            return sight.judge_points(items, given["declared"])
        case "repeats":
            return replies.judge_repeats(
                given["alone"], given["at_once"], given["likeliest"], greedy=given["greedy"]
            )
        case "system text":
            counts = given["tokens_with"], given["tokens_without"], given["expected"]
            return replies.judge_system(given["said"], *counts)
        case "context":
            names = ("keys", "said", "counted", "expected", "error")
            return replies.judge_context(*(given[name] for name in names))
        case "output":
            names = ("max_tokens", "reached", "finish", "output_tokens", "goal")
            return replies.judge_output(*(given[name] for name in names))
        case "thinking":
            rows = [replies.Thought(*row) for row in given["replies"]]
            return replies.judge_thinking(rows, given["declared"], given["told"])
        case "usage":
            plain = [row[1] for row in given["rows"] if not row[3]]
            return replies.judge_usage(plain, [row[1] for row in given["rows"] if row[3]])
        case "bytes":
            return replies.judge_bytes(given["few_bytes"], given["many_bytes"])
        case _:
            return replies.judge_template(given["expected"], given["counted"])


KINDS = (
    *("sizes", "seen", "corners", "coverage", "order", "points", "repeats", "system text"),
    *("context", "output", "thinking", "usage", "bytes", "template"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_rules_say_what_the_cases_say(kind: str) -> None:
    for case in _cases(kind):
        if case.get("scope") == "later":
            continue
        found = _judged(kind, case["input"])
        assert found.verdict == case["expect"]["verdict"], case["id"]
        assert case["expect"].get("detail", found.detail) == found.detail, case["id"]


def test_ladder_of_the_cases() -> None:
    for case in _cases("ladder"):
        given, expect = case["input"], case["expect"]
        found = sight.judge_ladder(given["small"], given["large"], given["expected_scale"])
        scale = found.measured.get("ladder")
        assert (found.verdict, scale) == (expect["verdict"], expect["scale"]), case["id"]


def test_families_count_as_the_cases() -> None:
    for case in _cases("tokens"):
        given, family = case["input"], FAMILIES[case["input"]["family"]]
        name, _, number = given.get("option", "").partition(" ")
        rule = family.rule
        if name:
            assert family.limited is not None
            rule = family.limited(int(number) * (48**2 if name == "max_soft_tokens" else 1))
        seen = rule(given["width"], given["height"])
        assert [seen.tokens, list(seen.size)] == list(case["expect"].values()), case["id"]


def test_verdict_and_digest_of_the_cases() -> None:
    for case in _cases("overall"):
        if case.get("scope") != "later":
            checks = [Check(name, Found(word)) for name, word in case["input"]["checks"].items()]
            verdict, code = overall(checks, strict=case["input"]["strict"])
            assert {"verdict": verdict, "exit": code} == case["expect"], case["id"]
    for case in _cases("digest"):
        assert digest(case["input"]["texts"], case["input"]["pictures"]) == case["expect"]["digest"]


SIZES = ((448, 448), (1000, 620), (2688, 1792), (560, 2240), (1920, 1080))


@pytest.mark.parametrize("served", list(SERVED))
@pytest.mark.parametrize("marks", [0, 2, 12])
def test_a_family_served_as_published_is_ok_and_no_other(served: str, marks: int) -> None:
    counted = [(size, SERVED[served](size).tokens + marks) for size in SIZES]
    for declared in SERVED:
        found = judge_sizes(counted, declared)
        assert (found.verdict == OK) == (declared == served), (declared, found)


@pytest.mark.parametrize("name", ["", "my-model"])
def test_an_unknown_name_is_never_accused(name: str) -> None:
    for counts in ([198, 591, 4706, 1262, 2042], [7, 9000, 13, 2, 400], [0] * 5, [None] * 5):
        found = judge_sizes(list(zip(SIZES, counts, strict=True)), name)
        assert found.verdict in (OK, CANNOT_TELL)


@pytest.mark.parametrize(
    ("numbers", "verdict"),
    [
        (lambda x, y: (x, y), OK),
        (lambda x, y: (x + 0.01, y + 0.01), SUSPICIOUS),
        (lambda x, y: (y, x), BROKEN),
        (lambda x, y: (x / 1000, y / 1000), BROKEN),
        (lambda x, y: (500.0, 500.0), CANNOT_TELL),
        (lambda x, y: None, CANNOT_TELL),
    ],
)
def test_points_are_judged_against_the_declared_numbers(numbers: Any, verdict: Verdict) -> None:
    shares = ((150, 780), (830, 270), (380, 880), (700, 120))
    items = []
    for x, y in (*shares, *((1000 - y, x) for x, y in shares)):
        said = numbers(float(x), float(y))
        if verdict == SUSPICIOUS:
            said = float(x), y + 20.0
        items.append(((1000, 1000), (x, y), said))
    assert sight.judge_points(items, "per-mille").verdict == verdict


def test_points_and_ladder_are_capped_until_they_are_proven() -> None:
    for name in ("points", "ladder"):
        assert Check(name, Found(BROKEN)).verdict == SUSPICIOUS
    assert Check("sizes", Found(BROKEN)).verdict == BROKEN


def test_digits_are_counted_row_by_row_even_if_a_row_is_left_out() -> None:
    rows = ["123456", "654321", "111222"]
    assert sight.rows_read(rows, "123456\n654321\n111222") == [6, 6, 6]
    assert sight.rows_read(rows, "123456\n111222") == [6, 0, 6]
    assert sight.rows_read(rows, "12 34 57\n\n654321") == [5, 6, 0]
    assert sight.rows_read(rows, "") == [0, 0, 0]
    assert sum(sight.rows_read(rows, "9\n" * 10_000)) == 0


LIMITED = ["qwen2.5-vl", "pixels", 989_408, 1_012_143]


@pytest.mark.parametrize(
    ("name", "detail", "family", "software", "remedy"),
    [
        ("sizes", LIMITED, "qwen2.5-vl", "vllm", '{"max_pixels": 12845056}'),
        ("sizes", LIMITED, "qwen2.5-vl", "vllm", "--adapter-option max_pixels=1003520"),
        ("sizes", LIMITED, "qwen2.5-vl", "sglang", "SGLANG_IMAGE_MAX_PIXELS=12845056 python"),
        ("sizes", ["qwen3-vl", *LIMITED[1:]], "qwen3-vl", "vllm", '"longest_edge": 12845056}}'),
        ("sizes", ["qwen2.5-vl", "published", 0, 0], "qwen3-vl", "", "family=qwen2.5-vl"),
        ("points", ["unit", False], "qwen3-vl", "", "--protocol-option coordinates=unit"),
        ("repeats", "sampled", "qwen3-vl", "vllm", "--generation-config vllm"),
        ("repeats", "not repeatable", "qwen3-vl", "vllm", "VLLM_BATCH_INVARIANT=1"),
        ("thinking", "thinks", "qwen3-vl", "llama.cpp", "--reasoning-budget 0"),
        ("context", "cuts", "qwen3-vl", "ollama", "OLLAMA_CONTEXT_LENGTH"),
        ("picture cache", "", "qwen3-vl", "sglang", "--disable-radix-cache"),
        ("order", "lost", "qwen3-vl", "vllm", "--limit-mm-per-prompt"),
    ],
)
def test_a_finding_has_the_flag_that_mends_it(
    name: str, detail: Any, family: str, software: str, remedy: str
) -> None:
    declared = Declared(family, "per-mille", limit=12_845_056)
    found = [*remedies(Check(name, Found(BROKEN, detail)), declared, software)]
    assert any(remedy in one for one in found), found
    assert not [*remedies(Check(name, Found(OK, detail)), declared, software)]


def test_the_limit_of_another_family_is_no_remedy() -> None:
    check = Check("sizes", Found(SUSPICIOUS, ["gemma3", "published", 0, 0]))
    assert not [*remedies(check, Declared("qwen3-vl", "per-mille"), "vllm")]
