"""Options of recorded steps that fit their data, their protocol and the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adapters.secrets import masked
from harness.benchmarks.options import refuse_given
from harness.benchmarks.shows import Shows
from harness.errors import UserError
from harness.pictures import PicturePolicy
from harness.protocols import AskingProtocol, Source, lettering, text_first
from harness.settings import Settings, written

if TYPE_CHECKING:
    from harness.benchmarks.contract import Benchmark

DRAWN = ("distractors", "shown", "exclude_related", "exclude_same_text", "order")
RANKED = ("ranker", "top_k", "missed")
"""Options that have an effect where candidates are drawn, and where they are ranked."""
FIXED = (
    *("candidates", "ranker", "top_k", "positives", "image_policy", "lost_rows", "history_from"),
    *DRAWN,
)
"""Options that stored questions fix."""
FREE = ("first_of_many", "value_style")
"""Options of protocols that they do not fix: how replies are read."""


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
            f"{written('candidates', 'benchmark')}={source}: '{protocol.name}' takes "
            f"{' or '.join(sources)} only"
        )
    return source


def image_policy_of(policy: str | None, protocol: AskingProtocol) -> str:
    """Return the picture policy. Raises `UserError` for one that the protocol cannot use."""
    needs = protocol.needs
    if needs.pictures == "none":
        if policy not in (None, "none"):
            raise UserError(f"--image-policy: '{protocol.name}' shows no pictures; leave it out")
        return "none"
    return policy or needs.picture_policy


def refuse_candidates(
    source: Benchmark, offered: Source, protocol: AskingProtocol, settings: Settings, *, draws: bool
) -> None:
    """Raise `UserError` for options that have none where these candidates are offered.

    draws: whether something else is drawn by the run's seed.
    """
    if offered != "snapshot":
        first = "the first of a ranker is" if offered == "ranker" else "everything on the page is"
        where = (
            f"where {first} offered; leave it out, or add {written('candidates', 'benchmark')}"
            "=snapshot"
        )
        refuse_given(source.given, DRAWN, where)
        if "seed" in settings.given and not draws:
            raise UserError(f"--seed has no effect {where}")
    if offered != "ranker":
        refuse_given(
            source.given,
            RANKED,
            f"unless the first candidates of a ranker are offered; add "
            f"{written('candidates', 'benchmark')}=ranker, or leave it out",
        )
    if not protocol.needs.point:
        why = f"on '{protocol.name}', which asks for no points; leave it out"
        refuse_given(source.given, ("point_rule",), why)


def check_pictures(
    source: Benchmark, protocol: AskingProtocol, policy: PicturePolicy, screenshots: bool | None
) -> None:
    """Raise `UserError` for pictures that the benchmark or the protocol has no use for."""
    lost = written("lost_rows", "benchmark")
    if source.options.lost_rows and policy.name != "none":
        raise UserError(f"{lost} is for text-only runs; add --image-policy none")
    if screenshots:
        return
    if source.options.lost_rows:
        raise UserError(
            f"{lost} has no effect on {source.name}, which has no screenshots to lose: "
            "all of its rows are asked about; leave it out",
            "lost_rows",
        )
    if screenshots is False:
        check_seen(source.name, protocol, policy)


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


def check_stored(source: Benchmark, protocol: AskingProtocol) -> None:
    """Reject candidates and protocols that do not fit a data set that stores its questions."""
    if not protocol.can_be_stored:
        raise UserError(
            f"{source.name} stores its questions, in two rounds: '{protocol.name}' asks in another "
            "way and needs multimodal-mind2web"
        )
    if source.options.candidates not in (None, "snapshot"):
        refuse_given(
            source.given, ("candidates",), f"on {source.name}, whose data fixes the choices"
        )


def refuse_fixed(source: Benchmark, settings: Settings) -> None:
    """Raise `UserError` for what the user gave and stored questions fix."""
    why = f"on {source.name}, whose data fixes it; leave it out"
    refuse_given(source.given, FIXED, why)
    if "seed" in settings.given:
        raise UserError(f"--seed has no effect {why}")
    for name in dict(settings.protocol_option).keys() - FREE:
        if "protocol_option" in settings.given:
            message = f"{written(name, 'protocol')} has no effect {why}"
            raise UserError(message)


def check_history(stores: bool, shows: Shows) -> None:
    """Raise `UserError` for earlier steps that cannot be shown as `--history` asks."""
    protocol = shows.protocol
    history = protocol.history_shown
    given = f"--history {history}"
    if history.thoughts and not history.turns and shows.replies is None:
        raise UserError(
            f"{given}: recorded steps have no thoughts; add --benchmark-option history_from=RUN, "
            "a run that does"
        )
    pictured = history.turns or history.pictures[1] > 1
    if pictured and "none" in (shows.pictures.name, protocol.needs.pictures):
        raise UserError(f"{given}: no pictures are shown; leave out pictures:K and turns:K")
    if not history.plain and stores:
        raise UserError(f"{given}: the questions of {shows.settings.benchmark} are stored")


def candidates_told(shows: Shows, roles: Mapping[str, str]) -> dict[str, Any]:
    """Return what a run records about its candidates and its None option.

    A ranker is identified by its own name and a digest, since the same scores may be stored in
    different files. `candidates_told` is matched with published rows.
    """
    options, protocol, ranks = shows.options, shows.protocol, shows.ranks
    needs, rule = protocol.needs, protocol.none_rule
    description = protocol.candidate_description(options.candidates or "snapshot", options.top_k)
    description += ", text first" if text_first(protocol) else ""
    description += "".join(f", {role} {name}" for role, name in roles.items())
    if options.candidates != "snapshot":
        usual = (
            "none" if needs.pictures == "none" else PicturePolicy.parse(needs.picture_policy).text
        )
        if shows.pictures.text != usual:
            description += f", pictures {shows.pictures.text}"
        if options.missed == "ask":
            description += ", asked about where the ranker misses"
    if ranks is None:
        return {"candidates_told": description, "none_rule": rule}
    from harness.rankers import PUBLISHED

    if ranks.name != PUBLISHED:
        description += f", by {ranks.name}"
    named = masked({**dict(shows.settings.benchmark_option), "ranker": ranks.name})
    by = {"benchmark_option": named, "ranker_sha256": ranks.digest}
    return {"candidates_told": description, "none_rule": rule, **by}


def check_letters(source: Benchmark, protocol: AskingProtocol) -> None:
    """Raise `UserError` if the protocol has no letters for so many candidates."""
    options = source.options
    if options.candidates == "all":
        return
    option = f"--distractors {options.distractors}"
    if options.candidates == "ranker":
        option = f"{written('top_k', 'benchmark')}={options.top_k}"
    try:
        lettering(protocol, source.usual_count)
    except ValueError as error:
        raise UserError(f"{option} are too many: {error}") from error
