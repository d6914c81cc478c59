"""Settings of recorded steps, and what of their data, protocol and pictures goes together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.benchmarks.shows import Shows
from harness.errors import UserError, WithoutEffect
from harness.pictures import PicturePolicy
from harness.protocols import AskingProtocol, Source, text_first
from harness.settings import SETTINGS, Settings, written


def source_of(
    candidates: Source | None, protocol: AskingProtocol, sources: Sequence[Source] = ()
) -> Source:
    """Where the candidates come from; `sources` are other ones than those that the protocol names.

    Raises `UserError` for a source that cannot be used.
    """
    sources = sources or protocol.needs.sources
    source = candidates or sources[0]
    if source not in sources:
        raise UserError(
            f"--candidates {source}: '{protocol.name}' takes {' or '.join(sources)} only"
        )
    return source


def image_policy_of(policy: str | None, pixels: object, protocol: AskingProtocol) -> str:
    """Return the picture policy. Raises `UserError` for one that the protocol cannot use."""
    needs = protocol.needs
    if needs.pictures == "none":
        for option, value in (("--image-policy", policy), ("--pixels", pixels)):
            if value not in (None, "none"):
                raise UserError(f"{option}: '{protocol.name}' shows no pictures; leave it out")
        return "none"
    return policy or needs.picture_policy


def fixed(
    fixes: Collection[str], stored_settings: Callable[[Path | None], Any], settings: Settings
) -> Settings:
    """The settings of a run on data that fixes some, which are stored with it.

    Raises `UserError` if the user gave one of these, `DataError` if they cannot be read.
    """
    for name, setting in SETTINGS.items():
        if name in settings.given and setting.fixed_as in fixes:
            raise WithoutEffect(
                name,
                f"{written(name)} has no effect on {settings.benchmark}, whose data fixes it; "
                "leave it out",
            )
    # Missing data is reported when it is opened.
    data = Path(settings.data) if settings.data and Path(settings.data).exists() else None
    stored = stored_settings(data)
    known = {
        name: setting.read(stored[name])
        for name, setting in SETTINGS.items()
        # Prompt texts are part of the stored questions, whatever file they came from.
        if setting.fixed_as and name in stored and name != "prompts"
    }
    return replace(settings, **known)


def completed(
    settings: Settings, protocol: AskingProtocol, screenshots: bool | None, f1: str | None
) -> dict[str, Any]:
    """The settings that were left open. Raises `UserError`.

    screenshots, f1: `screenshots` and `f1_of_written` of the benchmark.
    """
    offered = source_of(settings.candidates, protocol)
    shown = image_policy_of(settings.image_policy, settings.pixels, protocol)
    _check_pictures(settings, protocol, PicturePolicy.parse(shown), screenshots)
    found: dict[str, Any] = {"candidates": offered, "image_policy": shown}
    if f1 is not None and protocol.written and "f1" not in settings.given:
        found["f1"] = f1
    if offered == "ranker":
        found |= {
            "top_k": settings.top_k or protocol.needs.top_k,
            "missed": settings.missed or "zero",
        }
        if settings.ranker is None:
            raise UserError(
                f"'{protocol.name}' asks about the first {found['top_k']} candidates of a "
                "ranker: name one with --ranker (lexical, or a file of ranks that vlm-eval "
                "rank has written)"
            )
    return found


def _check_pictures(
    settings: Settings, protocol: AskingProtocol, policy: PicturePolicy, screenshots: bool | None
) -> None:
    """Raise `UserError` for pictures that the benchmark or the protocol has no use for."""
    if settings.lost_rows and policy.name != "none":
        raise UserError("--lost-rows is for text-only runs; add --image-policy none")
    if screenshots:
        return
    if settings.lost_rows:
        raise WithoutEffect(
            "lost_rows",
            f"--lost-rows has no effect on {settings.benchmark}, which has no screenshots to lose: "
            "all of its rows are asked about; leave it out",
        )
    if screenshots is False:
        check_seen(settings.benchmark, protocol, policy)


def check_seen(name: str, protocol: AskingProtocol, policy: PicturePolicy, here: str = "") -> None:
    """Raise `UserError` if pictures would be shown of a benchmark that has none here.

    here: where there are none, in words.
    """
    if policy.name == "none":
        return
    blind = "" if protocol.needs.sees else "--image-policy none or "
    raise UserError(
        f"{name} has no screenshots{here}, and '{protocol.name}' would show them: ask with {blind}"
        "a protocol that shows none (vlm-eval protocols)"
    )


def check_stored(
    name: str, fixes: Collection[str], candidates: Source | None, protocol: AskingProtocol
) -> None:
    """Reject candidates and protocols that do not fit a data set that stores its questions."""
    if "prompts" in fixes and not protocol.can_be_stored:
        raise UserError(
            f"{name} stores its questions, in two rounds: '{protocol.name}' asks in another way "
            "and needs multimodal-mind2web"
        )
    if "choices" in fixes and candidates not in (None, "snapshot"):
        raise WithoutEffect(
            "candidates", f"--candidates has no effect on {name}, whose data fixes the choices"
        )


def check_history(fixes: Collection[str], shows: Shows) -> None:
    """Raise `UserError` for earlier steps that cannot be shown as `--history` asks."""
    protocol = shows.protocol
    history, given = protocol.history_shown, f"--history {shows.settings.history}"
    if history.thoughts and not history.turns and shows.replies is None:
        raise UserError(
            f"{given}: recorded steps have no thoughts; add --history-from RUN, a run that does"
        )
    pictured = history.turns or history.pictures[1] > 1
    if pictured and "none" in (shows.pictures.name, protocol.needs.pictures):
        raise UserError(f"{given}: no pictures are shown; leave out pictures:K and turns:K")
    if not history.plain and "prompts" in fixes:
        raise UserError(f"{given}: the questions of {shows.settings.benchmark} are stored")


def candidates_told(shows: Shows, roles: Mapping[str, str]) -> dict[str, Any]:
    """Return what a run records about its candidates and its None option.

    A ranker is identified by its own name and a digest, since the same scores may be stored in
    different files. `candidates_told` is matched with published rows.
    """
    settings, protocol, ranks = shows.settings, shows.protocol, shows.ranks
    needs = protocol.needs
    rule = settings.none or protocol.none_rule
    description = protocol.candidate_description(settings.candidates or "snapshot", settings.top_k)
    description += ", text first" if text_first(protocol) else ""
    description += "".join(f", {role} {name}" for role, name in roles.items())
    if settings.candidates != "snapshot":
        usual = (
            "none" if needs.pictures == "none" else PicturePolicy.parse(needs.picture_policy).text
        )
        if shows.pictures.text != usual:
            description += f", pictures {shows.pictures.text}"
        if settings.missed == "ask":
            description += ", asked about where the ranker misses"
    if ranks is None:
        return {"candidates_told": description, "none_rule": rule}
    from harness.rankers import PUBLISHED

    if ranks.name != PUBLISHED:
        description += f", by {ranks.name}"
    by = {"ranker": ranks.name, "ranker_sha256": ranks.digest}
    return {"candidates_told": description, "none_rule": rule, **by}


def check_letters(settings: Settings, protocol: AskingProtocol, count: int) -> None:
    """Raise `UserError` if the protocol has no letters for so many candidates."""
    if settings.candidates == "all":
        return
    option = f"--distractors {settings.distractors}"
    if settings.candidates == "ranker":
        option = f"--top-k {settings.top_k}"
    try:
        protocol.letters(count)
    except ValueError as error:
        raise UserError(f"{option} are too many: {error}") from error


def lacks_of(
    settings: Settings,
    protocol: AskingProtocol,
    *,
    is_policy: bool,
    sources: Sequence[Source] = (),
) -> dict[str, str]:
    """Return the features that settings may need and a way to offer elements lacks.

    See `Benchmark.lacks`: which candidates there are decides what has an effect.
    """
    source = source_of(settings.candidates, protocol, sources)
    name, needs = protocol.name, protocol.needs
    lacks: dict[str, str] = {}
    if source != "snapshot":
        offered = "the first of a ranker is" if source == "ranker" else "everything on the page is"
        where = f"where {offered} offered; leave it out, or add --candidates snapshot"
        lacks["drawn choices"] = where
        if not is_policy:  # A baseline draws by the seed, too.
            lacks["seed"] = where
    if source != "ranker":
        lacks["ranked choices"] = (
            "unless the first candidates of a ranker are offered; add --candidates ranker, or "
            "leave it out"
        )
    if not needs.point:
        lacks["points"] = f"on '{name}', which asks for no points; leave it out"
    if settings.no_element_zeroes_operation:
        lacks["operations without an element"] = (
            f"next to {written('no_element_zeroes_operation')}, which covers it; leave one out"
        )
    if settings.wrong_element_zeroes_operation:
        lacks["operations with a wrong element"] = (
            f"next to {written('wrong_element_zeroes_operation')}, which covers it; leave one out"
        )
    return lacks
