"""Settings of recorded steps, and what of their data, protocol and pictures goes together."""

from __future__ import annotations

from collections.abc import Sequence

from harness.benchmarks import step_benchmark
from harness.benchmarks.unit_kind import picture_policy
from harness.errors import UserError, WithoutEffect
from harness.pictures import PicturePolicy
from harness.protocols import AskingProtocol, Source
from harness.settings import Settings, written


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


def pictures_of(settings: Settings, protocol: AskingProtocol) -> PicturePolicy:
    """The screenshot policy of completed settings.

    Raises `UserError` for pictures that the benchmark or the protocol has no use for.
    """
    policy = picture_policy(settings, "full")
    if settings.lost_rows and policy.name != "none":
        raise UserError("--lost-rows is for text-only runs; add --image-policy none")
    _check_pictures(settings, protocol, policy)
    return policy


def _check_pictures(settings: Settings, protocol: AskingProtocol, policy: PicturePolicy) -> None:
    name = settings.benchmark
    has = step_benchmark(name).screenshots
    if has:
        return
    if settings.lost_rows:
        raise WithoutEffect(
            "lost_rows",
            f"--lost-rows has no effect on {name}, which has no screenshots to lose: all of its "
            "rows are asked about; leave it out",
        )
    if has is False:
        check_seen(name, protocol, policy)


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


def check_stored(name: str, candidates: Source | None, protocol: AskingProtocol) -> None:
    """Reject candidates and protocols that do not fit a data set that stores its questions."""
    fixes = step_benchmark(name).fixes
    if "prompts" in fixes and not protocol.can_be_stored:
        raise UserError(
            f"{name} stores its questions, in two rounds: '{protocol.name}' asks in another way "
            "and needs multimodal-mind2web"
        )
    if "choices" in fixes and candidates not in (None, "snapshot"):
        raise WithoutEffect(
            "candidates", f"--candidates has no effect on {name}, whose data fixes the choices"
        )


def check_history(
    settings: Settings, protocol: AskingProtocol, pictures: PicturePolicy, *, replied: bool
) -> None:
    """Raise `UserError` for earlier steps that cannot be shown as `--history` asks.

    `replied` says whether another run's replies are shown.
    """
    history, given = protocol.history_shown, f"--history {settings.history}"
    if history.thoughts and not history.turns and not replied:
        raise UserError(
            f"{given}: recorded steps have no thoughts; add --history-from RUN, a run that does"
        )
    shows = history.turns or history.pictures[1] > 1
    if shows and "none" in (pictures.name, protocol.needs.pictures):
        raise UserError(f"{given}: no pictures are shown; leave out pictures:K and turns:K")
    if not history.plain and "prompts" in step_benchmark(settings.benchmark).fixes:
        raise UserError(f"{given}: the questions of {settings.benchmark} are stored")


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

    See `UnitKind.lacks`: which candidates there are decides what has an effect.
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
