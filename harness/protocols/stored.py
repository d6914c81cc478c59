"""Conversations from the questions that a snapshot stores, unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from adapters.conversation import Message, Part, Picture, Role, Text

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}


def to_messages(
    stored: Iterable[Mapping[str, object]], pictures: Iterable[Picture]
) -> tuple[Message, ...]:
    """Return the stored messages, whose image parts are replaced by the pictures in order.

    Raises ValueError for an unknown role or kind of part, and if there are too few pictures.
    """
    left = iter(pictures)
    return tuple(_message(message, left) for message in stored)


def _message(stored: Mapping[str, object], left: Iterator[Picture]) -> Message:
    role = ROLES.get(str(stored.get("role")))
    if role is None:
        raise ValueError(f"stored message has role {stored.get('role')!r}")
    content = stored.get("content")
    if isinstance(content, str):
        return Message(role, (Text(content),))
    if not isinstance(content, (list, tuple)):
        raise ValueError("stored message has no content")
    return Message(role, tuple(_part(part, left) for part in content))


def _part(part: object, left: Iterator[Picture]) -> Part:
    if isinstance(part, Mapping):
        kind = part.get("type")
        if kind == "text" or (kind is None and isinstance(part.get("text"), str)):
            return Text(str(part.get("text", "")))
        if kind in ("image_url", "image"):
            picture = next(left, None)
            if picture is not None:
                return picture
            raise ValueError("stored message shows a picture that the row does not have")
    raise ValueError("stored message has a part that is neither text nor picture")
