"""What `run` says before it starts, asks before it spends, and takes from a file."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from harness.commands.main import cli
from tests.harness.commands.tool import DEV, ONE_TASK, TEXT_ONLY, at, call, replying, summary
from tests.numbers import counts
from tests.servers import WireServer, refusing

PRICES = '["openai:m"]\ninput = 1.0\noutput = 1.0\n'


def defaults_of(command: str) -> dict[str, object]:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    return {str(option.name): option.default for option in found.params}


def test_the_defaults_of_a_run_are_those_that_are_promised() -> None:
    defaults = defaults_of("run")
    assert defaults["benchmark"] == ["multimodal-mind2web"]
    assert (defaults["distractors"], defaults["seed"]) == (20, 42)
    assert defaults["protocol"] == "seeact-two-rounds"


def test_what_is_going_to_be_run_is_printed_before_the_first_call(place: Path) -> None:
    with WireServer(replying()) as server:
        called = call(*at(server, *ONE_TASK, *TEXT_ONLY, "--out", "a"))
    heading = called.err.splitlines()[:5]
    assert heading == [
        "model:    openai:m",
        "data:     sample (dev): 7 steps, 1 task",
        "choices:  20 distractors, seed 42, none: last",
        "asked:    seeact-two-rounds, picture: none, history: all",
        "run:      a",
    ]


def test_a_run_has_a_folder_that_is_named_after_its_settings(place: Path) -> None:
    for seed in ("1", "2"):
        assert call("--model", "lexical", *ONE_TASK, "--seed", seed).code == 0
    names = sorted(folder.name for folder in (place / "runs").iterdir())
    assert len(names) == 2
    assert all(name.startswith("lexical-sample-") for name in names)


def test_more_than_a_hundred_calls_that_cost_money_need_a_word(place: Path) -> None:
    (place / "prices.toml").write_text(PRICES)
    with WireServer(replying()) as server:
        asks = (server, *DEV, *TEXT_ONLY, "--prices", "prices.toml")
        line = at(*asks)
        refused = call(*line, "--out", "a")
        assert refused.code == 2
        assert "expected: " in refused.err
        assert "--yes or --max-cost" in refused.err.splitlines()[-1]
        assert server.count == 0
        assert not (place / "a").exists()
        assert call(*line, "--out", "a", "--yes").code == 0
        asked = server.count
        more = "--max-cost", "1", "--cache"
        assert call(*at(*asks, "--out", "b", *more, preflight=True)).code == 0
        assert server.count == asked + 1  # replies come from the cache
        assert call(*at(server, *ONE_TASK, *TEXT_ONLY, "--prices", "prices.toml")).code == 0


def test_a_model_of_unknown_price_counts_as_one_that_costs_money(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-no-such-key")
    refused = call("--model", "openai:of-unknown-price", *DEV, *TEXT_ONLY, "--out", "a")
    assert refused.code == 2
    assert refused.err.count("price unknown") == 3
    assert refused.err.splitlines()[-1].endswith("say --yes or --prices FILE with --max-cost")


def test_saying_no_to_the_estimate_asks_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "prices.toml").write_text(PRICES)
    monkeypatch.setattr("harness.commands.run.sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.confirm", lambda *_, **__: False)
    with WireServer(replying()) as server:
        called = call(*at(server, *DEV, *TEXT_ONLY, "--prices", "prices.toml", "--out", "a"))
        assert (called.code, server.count) == (1, 0)
    assert called.err.splitlines()[-1] == "not started"
    assert not (place / "a").exists()


def test_options_come_from_a_file_and_the_command_line_wins(place: Path) -> None:
    (place / "run.toml").write_text(
        'model = "lexical"\nbenchmark = "sample"\nsplit = "dev"\nlimit = 2\n'
        "distractors = 5\nhistory = 2\nmax-tokens = [200, 100]\n"
        "benchmark-option = {exclude_related = true}\n"
    )
    called = call("--config", "run.toml", "--out", "a", "--limit", "1")
    assert called.code == 0
    assert "sample (dev): 7 steps, 1 task" in called.err
    assert "5 distractors" in called.err
    assert "history: 2" in called.err
    same = call(
        *("--model", "lexical", *ONE_TASK, "-k", "5", "--history", "2", "--max-tokens", "200,100"),
        *("--benchmark-option", "exclude_related=yes", "--out", "a"),
    )
    assert (same.code, same.out) == (0, called.out)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('modle = "x"', "unknown key 'modle'; did you mean 'model'?"),
        ("limit = true", "limit: expected a whole number of at least 1, not 'True'"),
        ('dry-run = "yes"', "dry-run: expected true or false, not 'yes'"),
        ('limit = "many"', "limit: expected a whole number of at least 1, not 'many'"),
        ("seed = 1.5", "seed: expected a whole number, not '1.5'"),
        ("limit = 2.9", "limit: expected a whole number of at least 1, not '2.9'"),
        ("limit = []", "limit: an empty list leaves nothing to run"),
        ("[limit]\na = 1", "limit: expected a whole number of at least 1, not a table"),
        ('model = "x', "not TOML"),
        ('config = "other.toml"', "unknown key 'config'"),
    ],
)
def test_a_file_that_holds_anything_else_is_refused(place: Path, text: str, told: str) -> None:
    (place / "run.toml").write_text(text + "\n")
    called = call("--config", "run.toml", "--model", "lexical", *DEV)
    assert called.code == 2
    assert told in called.complaint


def test_a_refused_default_is_told_once_and_the_run_goes_on(place: Path) -> None:
    with WireServer(refusing("temperature", then=replying())) as server:
        called = call(*at(server, *ONE_TASK, *TEXT_ONLY, "--out", "a"))
    assert called.code == 0
    assert called.err.count("temperature") == 1
    assert counts(summary("a"))["n_settled"] == 7


def test_a_refused_parameter_that_the_user_gave_ends_the_run(place: Path) -> None:
    with WireServer(refusing("temperature", then=replying())) as server:
        called = call(*at(server, *ONE_TASK, *TEXT_ONLY, "--temperature", "0.5", "--out", "a"))
    assert called.code == 2
    assert called.err.splitlines()[-1].endswith("leave out what you asked for: temperature")


def test_pictures_that_show_the_answer_are_flagged_wherever_the_numbers_stand() -> None:
    flag = "an upper bound, not a result"
    line = ("--model", "lexical", *ONE_TASK, "--image-policy", "oracle-target")
    called = call(*line, "--out", "a")
    assert flag in called.out
    assert "warning: " in called.err
    assert summary("a")["oracle_pictures"] is True
    assert flag in call("score", "a").out
    plain = call("--model", "lexical", *ONE_TASK, "--out", "c")
    assert flag not in plain.out
    assert summary("c")["oracle_pictures"] is False


def test_the_table_says_when_a_step_succeeds() -> None:
    line = ("--model", "lexical", *ONE_TASK)
    by_exact = ("--benchmark-option", "step_rule=exact")

    def told(*words: str) -> str:
        return " ".join(call(*words).out.split())

    assert "right element and Op. F1 = 1." in told(*line, "--details", "--out", "a")
    exact = "right element and exactly the recorded operation and value."
    assert exact in told(*line, *by_exact, "--details", "--out", "b")
    assert exact in told("score", "a", *by_exact)
