"""Chat messages as snapshots store them: nested columns of roles, parts, texts and pictures.

Arrow gives every part the keys of all parts, so a text part comes with a null `image_url`. Such
keys are removed again, because servers that validate requests reject them.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

from harness.errors import DataError

Messages = tuple[Mapping[str, object], ...]


def without_nulls(value: Any) -> Any:
    """Return a nested value without the keys whose value is null."""
    if isinstance(value, Mapping):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, (list, tuple)):
        return [without_nulls(inner) for inner in value]
    return value


def stored_messages(stored: object, column: str, where: str) -> tuple[Messages, tuple[bytes, ...]]:
    """Return the messages of a column without their pictures, and the bytes of those pictures.

    Raises:
        DataError: the column does not hold chat messages, or refers to a picture elsewhere.
    """
    if isinstance(stored, str):
        try:
            stored = json.loads(stored)
        except ValueError as error:
            raise DataError(f"{where}: column '{column}' is not valid JSON: {error}") from error
    pictures: list[bytes] = []
    messages = []
    for message in stored if isinstance(stored, Sequence) else [None]:
        plain = without_nulls(message)
        content = plain.get("content") if isinstance(plain, Mapping) else None
        if not isinstance(content, str | list) or not isinstance(plain.get("role"), str):
            raise DataError(f"{where}: column '{column}' does not hold chat messages")
        if isinstance(content, list):
            plain["content"] = [_extract_picture(part, pictures, column, where) for part in content]
        messages.append(plain)
    return tuple(messages), tuple(pictures)


def as_stored(message: Mapping[str, object], column: str) -> dict[str, object]:
    """Convert a message to the form of the column: a role, and parts that are texts or image URLs.

    Raises:
        ValueError: the message has keys or parts that the column cannot hold.
    """
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, Sequence) or set(message) != {"role", "content"}:
        raise ValueError(f"{column}: a message must have a role and content, nothing else")
    return {"role": message["role"], "content": [_part(part, column) for part in parts]}


def _part(part: object, column: str) -> dict[str, object]:
    if isinstance(part, Mapping):
        if set(part) == {"type", "text"}:
            return {"type": part["type"], "text": part["text"], "image_url": None}
        url: Any = part.get("image_url")
        fits = set(part) == {"type", "image_url"} and isinstance(url, Mapping)
        if fits and "url" in url and set(url) <= {"url", "detail"}:
            place = {"url": url["url"], "detail": url.get("detail")}
            return {"type": part["type"], "text": None, "image_url": place}
    raise ValueError(f"{column}: a part must be a text or a picture by URL")


def _extract_picture(part: Any, pictures: list[bytes], column: str, where: str) -> Any:
    """Move a picture's bytes to `pictures` and keep its type and detail; other parts stay."""
    if not isinstance(part, Mapping) or "image_url" not in part:
        return part
    image = part["image_url"]
    url = image.get("url") if isinstance(image, Mapping) else image
    pictures.append(_decoded(url, column, where))
    detail = {"detail": image["detail"]} if isinstance(image, Mapping) and "detail" in image else {}
    return {"type": part.get("type", "image_url"), "image_url": detail}


def _decoded(url: object, column: str, where: str) -> bytes:
    if isinstance(url, str) and url.startswith("data:"):
        head, _, encoded = url.partition(",")
        if head.endswith(";base64"):
            try:
                return base64.b64decode(encoded, validate=True)
            except binascii.Error as error:
                raise DataError(f"{where}: column '{column}': picture: {error}") from error
    raise DataError(f"{where}: column '{column}' has a picture that is not in the file")
