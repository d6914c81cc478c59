"""Runs that end in the middle and are started again."""

from __future__ import annotations

from collections.abc import Callable

from adapters.contract import Fatal, Request
from tests.harness.commands.tool import call, calls, steps

_LEFT = [0]
_MANY = 10_000


def until_pulled(answer: Callable[[Request], str]) -> Callable[[Request], str]:
    """The same answers, until there is an end to them."""

    def stopping(request: Request) -> str:
        _LEFT[0] -= 1
        if _LEFT[0] < 0:
            raise Fatal("the plug was pulled")
        return answer(request)

    return stopping


def goes_on_where_it_stopped(asked: tuple[str, ...], after: int) -> None:
    """A run whose plug is pulled after some calls ends as one that was not, no call asked twice.

    `asked` are the arguments of a run by a model of `until_pulled`.
    """
    _LEFT[0] = _MANY
    assert call(*asked, "--out", "whole").code == 0
    _LEFT[0] = after
    cut = call(*asked, "--out", "cut")
    assert cut.code == 2 and "the plug was pulled" in cut.err
    kept = len(calls("cut"))
    assert 0 < kept <= after
    _LEFT[0] = _MANY
    assert call(*asked, "--out", "cut").code == 0
    assert _LEFT[0] == _MANY - (len(calls("whole")) - kept)

    def told(run: str) -> list[tuple[object, ...]]:
        return sorted((s["step_id"], str(s["prediction"]), str(s["scores"])) for s in steps(run))

    assert told("cut") == told("whole")
    again = call("score", "whole")
    assert again.code == 0 and "0 of" in again.out.splitlines()[-1]
