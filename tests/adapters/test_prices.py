from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters import Fatal, Usage, describe
from adapters.prices import PriceSheet
from adapters.scripted import scripted


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("gpt-4o", Usage(1_000_000), 2.50),
        ("gpt-4o", Usage(1_000_000, cached=1_000_000), 1.25),
        ("gpt-4o", Usage(output=100_000), 1.0),
        ("gpt-5.6-sol", Usage(100_000, cache_write=100_000), 0.5),
        ("claude-sonnet-4-5", Usage(100_000, 50_000, 50_000, 1000), 0.015 + 0.1875 + 0.015),
        ("gemini-3.8-flash", Usage(100_000, output=10_000), 0.075 + 0.0375),
    ],
)
def test_the_packages_prices(model: str, usage: Usage, dollars: float) -> None:
    when = datetime(2026, 11, 20, tzinfo=UTC)
    assert PriceSheet().price_of(describe(model).info, usage, when) == pytest.approx(dollars)


def test_what_is_not_billed_is_free_and_what_is_not_listed_is_unknown() -> None:
    assert PriceSheet().price_of(scripted(lines=[]).info, Usage(9, output=9)) == 0.0
    assert (
        PriceSheet().price_of(describe("m", base_url="http://localhost/v1").info, Usage(9)) == 0.0
    )
    assert PriceSheet().price_of(describe("openai:not-listed").info, Usage(9)) is None
    assert PriceSheet().has_price(describe("gpt-4o").info)
    assert not PriceSheet().has_price(describe("openai:not-listed").info)


def test_a_file_of_ones_own_wins(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(
        '["openai:gpt-4o"]\ninput = 1\ncached = 0.5\noutput = 2\n[m]\ninput=3\noutput=4'
    )
    sheet = PriceSheet.read(path)
    assert sheet.price_of(describe("gpt-4o").info, Usage(2_000_000, 1_000_000, 0, 1_000_000)) == 3.5
    served = describe("m", base_url="http://localhost/v1").info
    assert sheet.price_of(served, Usage(1_000_000)) == 3.0
    path = tmp_path / "prices.json"
    path.write_text('{"m": {"input": 1, "output": 1, "cache_write": 2}}')
    assert PriceSheet.read(path).upper_bound(served, 1_000_000, 1_000_000) == 3.0


def test_the_upper_bound_pays_for_writing_the_whole_prompt() -> None:
    sheet = PriceSheet()
    info = describe("claude-sonnet-5-5").info
    plain = sheet.price_of(info, Usage(10_000, output=100))
    bound = sheet.upper_bound(info, 10_000, 100)
    assert plain is not None
    assert bound is not None
    assert bound > plain
    assert sheet.upper_bound(describe("openai:not-listed").info, 1, 1) is None


@pytest.mark.parametrize(
    ("url", "free"),
    [
        ("http://localhost:8000/v1", True),
        ("http://gpu-node:8000/v1", True),
        ("http://192.168.1.20/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://node.cluster.local/v1", True),
        ("https://api.example.com/v1", False),
        ("http://8.8.8.8/v1", False),
    ],
)
def test_servers_of_ones_own_are_free_and_prices_of_others_unknown(url: str, free: bool) -> None:
    info = describe("openai:some-model", base_url=url).info
    assert PriceSheet().price_of(info, Usage(input=10, output=10)) == (0.0 if free else None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("input = 3", "'input' must be a table of"),
        ('["m"]\ninput = 3', "'m' has no output price"),
        ('["m"]\ninput = "3"\noutput = 1', "'m': input must be dollars"),
        ('["m"]\ninput = -3\noutput = 1', "'m': input must be dollars"),
        ("[", "neither TOML nor JSON"),
    ],
)
def test_a_wrong_price_file_is_explained(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(Fatal, match=said):
        PriceSheet.read(path)


@pytest.mark.parametrize("price", ["nan", "inf", "-1.0", "true", "1e999"])
def test_a_price_is_a_finite_number(price: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(f'["openai:m"]\ninput = {price}\noutput = 1.0\n')
    with pytest.raises(Fatal, match="must be dollars per million tokens"):
        PriceSheet.read(path)
