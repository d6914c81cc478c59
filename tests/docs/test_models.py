"""The documents name hosted models that will still answer in three months."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import click

from harness.commands.main import cli
from tests.docs.documents import ROOT, documents

NOTICE = timedelta(days=90)
TABLE = ROOT / "docs" / "cost.md"
HEADING = "## Hosted models in these documents"
NAME = re.compile(
    r"\b(?:gpt-\d[\w.-]*\w|chatgpt-[\w.-]*\w|o\d(?:-\w+)*|claude-(?!computer)\w[\w.-]*\w"
    r"|gemini-\d[\w.-]*\w|text-embedding-[\w.-]*\w)\b"
)
OF_BENCHMARKS = {"gpt-4-1106-preview"}
"""Models that somebody else's evaluator asks."""
PAGES = [
    page
    for page in documents()
    if page.parts[len(ROOT.parts)] not in ("tests", "benchmarks")
    # What was true of an older version; the models of published figures.
    and page.name not in ("CHANGELOG.md", "reproductions.md")
]


def rows() -> dict[str, str]:
    """The announced end of every model of the table."""
    _, _, section = TABLE.read_text("utf-8").partition(f"{HEADING}\n")
    return dict(re.findall(r"^\| ([a-z][\w.-]+) \| (\w[\w-]*) \|$", section, re.MULTILINE))


def named(text: str) -> set[str]:
    return set(NAME.findall(text)) - OF_BENCHMARKS


def test_no_model_of_the_table_ends_soon() -> None:
    assert 5 <= len(rows()) <= 8
    today = datetime.now(UTC).date()
    ends = {name: date.fromisoformat(end) for name, end in rows().items() if end != "none"}
    soon = [name for name, end in ends.items() if end - today < NOTICE]
    assert not soon, f"{soon}: name another model in the documents and in {TABLE.name}"


def test_the_table_has_the_ends_that_the_packages_announce() -> None:
    from anthropic.resources.messages.messages import DEPRECATED_MODELS
    from openai.types.shared import chat_model

    announced = Path(chat_model.__file__).read_text("utf-8").partition("Deprecated values")[2]
    assert '"gpt-4o"' in announced and "claude-sonnet-4-5" in DEPRECATED_MODELS
    ending = {name for name in rows() if f'"{name}"' in announced or name in DEPRECATED_MODELS}
    assert all(rows()[name] != "none" for name in ending), ending


def test_documents_name_models_of_the_table() -> None:
    found = {
        page.relative_to(ROOT).as_posix(): named(
            page.read_text("utf-8").partition(f"{HEADING}\n")[0]
        )
        for page in PAGES
    }
    assert not {page: names for page, names in found.items() if names - rows().keys()}


def test_help_names_models_of_the_table() -> None:
    def texts(command: click.Command) -> str:
        options = " ".join(getattr(one, "help", None) or "" for one in command.params)
        below = command.commands.values() if isinstance(command, click.Group) else ()
        return " ".join((command.help or "", options, *map(texts, below)))

    assert named(texts(cli)) <= rows().keys()


def test_names_are_found() -> None:
    text = "-m gpt-4o, openai:gpt-5.4-mini. o4-mini; `claude-sonnet-5-5`, gemini-3.8-flash and 2o3"
    found = {"gpt-4o", "gpt-5.4-mini", "o4-mini", "claude-sonnet-5-5", "gemini-3.8-flash"}
    assert named(text) == found
