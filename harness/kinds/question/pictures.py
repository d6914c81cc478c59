"""The pictures of one's own questions: files of the folder, or bytes of the rows."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.pictures import PictureError, read_size

_LARGEST = 256 * 2**20


class Bad(Exception):
    """A problem of a row: its kind, and what is wrong."""


@dataclass
class Pictures:
    """The pictures of a set: files in its folder, or bytes of its rows."""

    root: Path
    _held: dict[str, bytes] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)

    def add(self, value: object) -> tuple[str, str]:
        """Return the name of a picture and its digest. Raises `Bad`."""
        if isinstance(value, Mapping):
            value = value.get("bytes") or value.get("path")
        if isinstance(value, str) and not value.startswith("data:"):
            return value, self._of_file(value)
        data = _decoded(value) if isinstance(value, str) else value
        if not isinstance(data, bytes):
            raise Bad("picture", "a picture is a path, a data URL or bytes")
        digest = _digest(data, "a picture")
        self._held[digest] = data
        return digest, digest

    def read(self, name: str) -> bytes:
        """Return the bytes of a picture."""
        return self._held[name] if name in self._held else self._path(name).read_bytes()

    def _of_file(self, name: str) -> str:
        if name not in self._known:
            try:
                data = self._path(name).read_bytes()
            except OSError:
                raise Bad("picture", f"{name} is not in {self.root}") from None
            self._known[name] = _digest(data, name)
        return self._known[name]

    def _path(self, name: str) -> Path:
        path = (self.root / name).resolve() if "\0" not in name else self.root.parent
        if not path.is_relative_to(self.root.resolve()):
            raise Bad("picture", f"{name} lies outside of {self.root}")
        return path


def _decoded(url: str) -> bytes:
    _, comma, text = url.partition(",")
    try:
        return base64.b64decode(text if comma else "?", validate=True)
    except (ValueError, binascii.Error):
        raise Bad("picture", "its data URL is not base64") from None


def _digest(data: bytes, name: str) -> str:
    if len(data) > _LARGEST:
        raise Bad("picture", f"{name} has {len(data):,} bytes")
    try:
        return read_size(data, name).digest
    except PictureError:
        raise Bad("picture", f"{name} cannot be decoded") from None
