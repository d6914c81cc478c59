"""Every command line of every page is one that this version takes, and no page is too long."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from harness.commands.main import ALLOW, cli
from tests.docs.documents import ROOT, code, documents, tokens

PAGES = [page for page in documents() if page.parts[len(ROOT.parts)] in ("README.md", "docs")]
LONGEST = 2_500
"""Words of a page, without blocks of code."""
_END = re.compile(r"\s(?:[12]?>{1,2}|[|;&]{1,2}|#)(?:\s|$)")
"""What ends a command in a shell: redirections, pipes, further commands, comments."""


OF_EXAMPLES = ("--heading", "statuses")
"""Options and commands that docs/extending.md shows how to write."""


def commands(page: Path) -> Iterator[str]:
    """The commands of a page's blocks of code, a line each."""
    for token in tokens(page):
        if token.type != "fence":
            continue
        text = re.sub(r"\\\n\s*", " ", token.content)
        for line in re.findall(r"^(?:\$ |!)?(vlm-eval(?: .*)?)$", text, re.MULTILINE):
            if "$" not in line and not any(option in line for option in OF_EXAMPLES):
                yield line


def check(line: str, *, form: bool = False) -> None:
    """Parse a command as the program does. Raises click's errors.

    `form`: the line stands within text, where values are words for them and some are left out.
    """
    words = shlex.split(_END.split(line)[0])[1:]
    if ALLOW in words:  # It may stand anywhere.
        at = words.index(ALLOW)
        del words[at : at + 2]
    if "..." in words:  # Something is left out, or a value.
        form = True
        words = [
            word
            for word, after in zip(words, [*words[1:], ""], strict=True)
            if word != "..." and not (after == "..." and word.startswith("-"))
        ]
    if words and words[0].startswith("-") and words[0] not in ("--help", "-h", "--version"):
        words = ["run", *words]
    command: click.Command = cli
    context = click.Context(cli, info_name="vlm-eval")
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            raise click.UsageError(f"no command {words[0]}")
        command, words = found, words[1:]
        context = click.Context(command, parent=context, info_name=command.name)
    try:
        command.make_context(str(command.name), words, parent=context.parent)
    except click.exceptions.Exit:
        pass  # --help
    except (click.MissingParameter, click.BadParameter) as error:
        # Files of an example lie elsewhere.
        if not (form or "does not exist" in error.format_message()):
            raise
    except click.exceptions.NoArgsIsHelpError:
        if not form:
            raise


@pytest.fixture(autouse=True)
def without_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any) -> dict[str, Any]:
        return {}

    monkeypatch.setattr("harness.commands.options.read_toml", nothing)


@pytest.mark.skipif(not PAGES, reason="the documents are in a checkout only")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_are_taken(page: Path) -> None:
    wrong = []
    lines = [(line, False) for line in commands(page)]
    lines += [(text, True) for text in code(page) if re.match(r"vlm-eval\s+\S", text)]
    for line, form in lines:
        try:
            check(line, form=form)
        except (click.ClickException, ValueError) as error:
            told = error.format_message() if isinstance(error, click.ClickException) else error
            wrong.append(f"{line}: {told}")
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_short(page: Path) -> None:
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert len(text.split()) <= LONGEST


@pytest.mark.skipif(not PAGES, reason="the documents are in a checkout only")
def test_the_readme_is_read_in_three_minutes_and_its_comments_are_not_cut_off() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.split()) <= 600
    (first, *_) = [token.content for token in tokens(ROOT / "README.md") if token.type == "fence"]
    assert [line for line in first.splitlines() if "#" in line and not line.startswith("#")] == []
    assert max(map(len, first.splitlines())) <= 100
