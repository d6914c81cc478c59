"""Decode the candidate columns of a row: JSON that contains JSON.

Multimodal-Mind2Web stores each candidate as a JSON object whose `attributes` are again JSON text;
the element's box on the page is one of those attributes, four numbers in a string.

A page has hundreds of them, so they are msgspec's structures: several times cheaper to make than
dataclasses, and of no concern to the garbage collector.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from adapters.decoding import decoder_of
from parsers.records import Box


class Candidate(msgspec.Struct, frozen=True, gc=False, eq=False):
    """A candidate of a row: one entry of `pos_candidates` or `neg_candidates`."""

    id: str
    tag: str
    place: Box | msgspec.Raw | None
    """Its box, or the JSON text of it, which is parsed on first use: most are never used."""
    original_target: bool
    """True if this is the recorded element; always False for negatives."""
    top_level_target: bool
    """True if it is the topmost of the positives that share a box; always False for negatives."""
    raw_attributes: str
    """The recorded attributes as JSON text."""

    @property
    def box(self) -> Box | None:
        """None if it is missing or not four finite numbers."""
        place = self.place
        return _box(place) if isinstance(place, msgspec.Raw) else place

    def __eq__(self, other: object) -> bool:
        """Return True if both have the same content, also with boxes in different forms."""
        return isinstance(other, Candidate) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((self.id, self.raw_attributes))

    def _content(self) -> tuple[object, ...]:
        targets = self.original_target, self.top_level_target
        return self.id, self.tag, self.box, *targets, self.raw_attributes

    @property
    def attributes(self) -> dict[str, str]:
        """The recorded attributes, decoded on each call.

        Raises:
            ValueError: `raw_attributes` is not a JSON object, which `decode_candidates` rules out.
        """
        try:
            stored = _ALL_ATTRIBUTES.decode(self.raw_attributes)
        except msgspec.MsgspecError as error:
            raise ValueError(f"attributes of candidate {self.id}: {error}") from error
        return {name: str(value) for name, value in stored.items()}


class _Stored(msgspec.Struct, gc=False):
    backend_node_id: str | int
    tag: str = ""
    attributes: str = "{}"
    is_original_target: bool | None = False
    is_top_level_target: bool | None = False


class _StoredAttributes(msgspec.Struct, gc=False):
    bounding_box_rect: msgspec.Raw = msgspec.Raw(b"")


_STORED = decoder_of(_Stored)
_STORED_ATTRIBUTES = decoder_of(_StoredAttributes)
_BOX = decoder_of(Box)
_ALL_ATTRIBUTES = decoder_of(dict[str, object])


def decode_candidates(encoded: Iterable[str | msgspec.Raw]) -> list[Candidate]:
    """Decode the entries of a candidate column, in order.

    Raises:
        ValueError: an entry or its attributes are not the expected JSON; the message gives the
            entry's position, from 0.
    """
    candidates: list[Candidate] = []
    decode, decode_attributes = _STORED.decode, _STORED_ATTRIBUTES.decode
    try:
        for text in encoded:
            stored = decode(text)
            attributes = stored.attributes
            candidates.append(
                Candidate(
                    str(stored.backend_node_id),
                    stored.tag,
                    decode_attributes(attributes).bounding_box_rect,
                    bool(stored.is_original_target),
                    bool(stored.is_top_level_target),
                    attributes,
                )
            )
    except (msgspec.MsgspecError, TypeError, UnicodeError, RecursionError) as error:
        raise ValueError(f"candidate {len(candidates)} cannot be decoded: {error}") from error
    return candidates


def _box(rect: msgspec.Raw) -> Box | None:
    """Read a box stored as `"x,y,width,height"`; None for anything but four finite numbers."""
    try:
        # Reading it as a JSON array is several times faster than splitting and converting.
        return _BOX.decode(b"[%b]" % bytes(rect)[1:-1])
    except msgspec.MsgspecError:
        return None
