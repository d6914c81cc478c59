"""docs/grounding.md: the table of families is what the code knows, and its figures are so."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from adapters.open_models import open_model
from harness.benchmarks import BENCHMARKS, benchmark
from harness.benchmarks.grounding.protocol import pack_of_model, read_pack
from harness.protocols.pointing import usual_form

PAGE = (Path(__file__).parents[4] / "docs" / "grounding.md").read_text("utf-8")


def _table(head: str) -> list[list[str]]:
    lines = PAGE.split(head)[1].splitlines()[2:]
    end = next(n for n, line in enumerate(lines) if not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]


FAMILIES = _table("| model | form | numbers | factor; pixels | pack |")[:-1]


@pytest.mark.parametrize(("model", "form", "numbers", "pixels", "pack"), FAMILIES)
def test_the_table_of_families_is_what_the_code_knows(
    model: str, form: str, numbers: str, pixels: str, pack: str
) -> None:
    known, chosen = open_model(model), pack_of_model(model)
    assert f"`{chosen.name}`" == pack
    assert f"`{chosen.form or usual_form(model)}`" == form
    assert ((known and known.coordinates) or "to declare") == numbers
    size = known and known.pixels
    assert (f"{size.factor}; {size.least:,} to {size.most:,}" if size else "–") == pixels


def test_every_set_is_in_the_table_with_its_rows_and_averages() -> None:
    listed = {row[0].strip("`"): row for row in _table("| `--benchmark` | rows / pictures |")}
    # The one that is named with the tasks that are meant is of live pages.
    names = (name for name in BENCHMARKS.names() if name != "browsergym")
    grounding = {name for name in names if benchmark(name).declared.kind == "grounding"}
    assert set(listed) == grounding
    for name, (_, rows, averages, *_) in listed.items():
        known = benchmark(name)
        assert averages.startswith(known.declared.main.averages[0])
        if size := next(iter(known.sizes), None):
            of_default = next(one for one in known.sizes if one.split == known.default_splits[0])
            assert rows.startswith(f"{of_default.rows:,}")
            assert size.tasks is None or f" / {of_default.tasks:,}" in rows


def test_a_family_of_ones_own_is_declared_as_shown(tmp_path: Path) -> None:
    text = PAGE.split("### A family of your own")[1].split("```toml\n")[1].split("```")[0]
    (path := tmp_path / "my-family.toml").write_text(text, "utf-8")
    pack = read_pack(path)
    assert (pack.name, pack.form, pack.coordinates) == ("my-family", "point-text", "per-999")
    assert sorted(pack.declines or ()) == ["minus-one", "words"]


def test_1272_rows_at_91_per_cent_tell_apart_no_less_than_1_6_points() -> None:
    half = 1.96 * math.sqrt(0.91 * 0.09 / 1272)
    assert round(100 * half, 1) == 1.6
    assert "± 1.6 points" in PAGE
