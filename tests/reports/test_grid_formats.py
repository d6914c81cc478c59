"""HTML and parquet of all tables, and every format of described tables, hostile names included."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pandas as pd
import pytest

from reports.formats import render
from reports.grid import Field, described, interval

HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(1)>-->=1+1 \x1b[2J | & $x$"
FIELDS = (
    Field("name", "text", "name"),
    Field("n", "count", "n"),
    Field("share", "percent", "share"),
    *interval("share"),
    Field("inner", kind="str"),
)


@pytest.fixture
def table() -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {"name": HOSTILE, "n": 1234, "share": 0.5, "share_low": 0.25, "share_high": 0.75},
        {"name": "plain", "n": None, "share": None, "inner": HOSTILE},
    ]
    return described(rows, FIELDS, title="A table", about=["above"], notes=["below"])


def test_readers_see_rounded_values_with_intervals(table: pd.DataFrame) -> None:
    lines = render(table, "text").splitlines()
    assert next(x for x in lines if "1,234" in x).endswith("1,234  50.0 [25.0, 75.0]")
    assert "| plain |  |  |" in render(table, "markdown")
    assert "inner" not in render(table, "text")


def test_csv_and_json_hold_every_column(table: pd.DataFrame) -> None:
    text = render(table, "csv")
    rows = list(
        csv.DictReader(
            io.StringIO(
                "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
            )
        )
    )
    assert [row["share_high"] for row in rows] == ["0.75", ""]
    content = json.loads(render(table, "json"))
    assert content["rows"][0]["share_low"] == 0.25
    assert content["rows"][1]["n"] is None
    assert content["title"] == "A table"


def test_the_policy_allows_the_style_of_the_page(table: pd.DataFrame) -> None:
    import base64
    import hashlib

    page = render(table, "html")
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page
