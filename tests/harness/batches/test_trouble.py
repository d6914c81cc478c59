"""What may befall a run in batches: deaths, other lanes, replies of no use, other people."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.batches.contract import PackLimits, RemoteBatch
from adapters.contract import Fatal, Fault
from harness.batches.log import BatchLog
from harness.batches.remote import Remote
from harness.engine import Job
from harness.session.session import Session
from tests.harness.batches.deferring import Nightly, Provider, refuses, session, to_the_end
from tests.harness.commands.tool import call, calls, steps


def test_steps_that_a_batch_does_not_hold_are_asked_at_once_while_it_is_open(place: Path) -> None:
    provider = Provider()
    provider.limits = PackLimits(requests=4, bytes=1_000_000, open=1)
    session(provider)
    [batch] = provider.open
    run = session(provider, tier="default")
    assert run.waiting is not None and run.waiting.packs == 1
    held = len(provider.batches[batch]["lines"])
    assert sum(line["settled"] and line["asked"] for line in steps("run")) == 12 - held
    provider.answer()
    assert session(provider, tier="default").complete
    assert provider.creates == 1


def test_a_session_that_died_after_its_last_step_leaves_no_batch_behind(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Provider()
    session(provider)
    provider.answer()
    session(provider)
    provider.answer()

    async def dies(self: Remote) -> None:
        raise Fatal("died")

    with monkeypatch.context() as patched, pytest.raises(Fatal, match="died"):
        patched.setattr(Remote, "drain", dies)
        session(provider)
    run = session(provider)
    assert run.complete and run.waiting is None
    assert list(Path("run/batches").iterdir()) == []
    assert run.manifest.unrecorded == pytest.approx(0.0, abs=1e-3)


def test_a_reply_that_no_step_asks_for_any_more_counts_as_spent(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider = Provider()
    session(provider)
    provider.answer()

    async def none(self: Session, *_: Any) -> AsyncIterator[Job]:
        nothing: list[Job] = []
        for job in nothing:
            yield job

    with monkeypatch.context() as patched:
        patched.setattr(Session, "jobs", none)
        run = session(provider)
    reserved = sum(pack.upper for pack in BatchLog.read(run.path).packs.values())
    assert run.manifest.unrecorded >= reserved > 0
    assert "12 replies came too late" in capsys.readouterr().err
    assert to_the_end(provider).complete


def test_a_reply_that_no_run_could_record_is_asked_for_again(place: Path) -> None:
    provider = Provider()
    spoilt: list[dict[str, Any]] = [{"text": "half a pair \ud800"}, {"tokens": 10**30}]

    def spoil(one: dict[str, Any]) -> list[dict[str, Any]]:
        return [{**one, **(spoilt.pop() if spoilt else {})}]

    provider.result = spoil
    run = to_the_end(provider)
    assert spoilt == []
    assert {line["reply"]["usage"]["input"] < 10**6 for line in calls(run.path)} == {True}
    assert len(provider.requests) == len(calls(run.path)) + 1


def test_what_others_do_in_the_folder_of_batches_is_borne(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Provider()
    session(provider)
    provider.answer()

    def dies(self: Remote, pack: object) -> bool:
        raise Fatal("died")

    with monkeypatch.context() as patched, pytest.raises(Fatal, match="died"):
        patched.setattr(Remote, "_take", dies)
        session(provider)
    [results] = Path("run/batches").glob("*.results.jsonl")
    results.unlink()
    kept = results.with_name("kept.requests.jsonl")
    kept.write_text("somebody's copy")
    run = to_the_end(provider)
    assert run.complete and provider.creates == 2
    assert [path.name for path in results.parent.iterdir()] == [kept.name]


def test_the_end_of_a_session_does_not_wait_for_a_provider_that_wants_hours(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider = Provider()
    session(provider)

    async def busy(self: Nightly, id: str) -> RemoteBatch:
        raise Fault("rate_limit", "come back tomorrow", retry_after_s=80_000.0)

    with monkeypatch.context() as patched:
        patched.setattr(Nightly, "poll", busy)
        run = session(provider)
    assert run.waiting is not None
    assert "come back tomorrow; it is looked at again later" in capsys.readouterr().err
    provider.answer()
    assert to_the_end(provider).complete


def test_the_limit_for_calls_at_once_leaves_a_run_waiting_whose_batch_is_open(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider = Provider()
    provider.limits = PackLimits(requests=4, bytes=1_000_000, open=1)
    session(provider, max_cost=0.05)
    run = session(provider, tier="default", max_cost=0.012)
    said = capsys.readouterr().err
    assert "cost limit reached" in said and "reserved for replies to come" in said
    assert run.waiting is not None and "waiting: 1 batch" in said
    provider.answer()
    assert session(provider, tier="default", max_cost=1.0).complete


@pytest.mark.parametrize("limit", [0.012, 0.02, 0.03])
def test_all_that_came_back_is_read_where_money_is_short(place: Path, limit: float) -> None:
    provider = Provider()
    session(provider, max_cost=limit)
    for _ in range(12):
        sent = len(provider.requests)
        provider.answer()
        run = session(provider, max_cost=limit)
        # The first call of a session, which comes before the next batch, must not end it before.
        assert len(calls("run")) == sent > 0
        if len(provider.requests) == sent:
            break
    spent = run.manifest.unrecorded + sum(line["cost"] or 0.0 for line in calls("run"))
    assert run.complete or limit / 2 < spent <= limit


def test_what_could_not_be_sent_is_told_so_and_may_be_withdrawn(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider = Provider()
    provider.on_create = refuses(2)
    session(provider)
    assert "not sent yet: 1 batch with 12 requests" in capsys.readouterr().err
    listed = call("batches", "run")
    assert "to send what is not sent" in " ".join(listed.out.split())
    assert session(provider, tier="default").complete
    assert "dropped" in call("batches", "run").out
