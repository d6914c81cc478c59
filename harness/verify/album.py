"""The pictures of a verification as files, each drawn once."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING

from adapters.contract import AdapterInfo
from adapters.conversation import Picture
from harness.pictures import PicturePolicy, PictureStore, plan, read_size, stored_picture
from harness.verify import scenes

if TYPE_CHECKING:
    from PIL import Image


class Album:
    """Draws each picture once, and hands it over as a run hands over a stored one."""

    def __init__(self, store: PictureStore, seed: int) -> None:
        self._store, self._seed = store, seed
        self._kept: dict[str, tuple[Picture, bytes]] = {}
        self.digests: dict[str, str] = {}
        """Of the pixels, by the digest of the picture in a conversation."""

    def stored(self, name: str) -> Picture:
        """Return a picture that is sent as it is."""
        return self._drawn(name)[0]

    def as_in_a_run(self, name: str, policy: PicturePolicy, info: AdapterInfo) -> Picture:
        """Return a picture as the run's protocol shows it, resized by the model's rule."""
        (shown,) = plan(policy, read_size(self._drawn(name)[1]), rule=info.image_rule)
        return shown

    def _drawn(self, name: str) -> tuple[Picture, bytes]:
        if name not in self._kept:
            data, digest = _packed(name, self._seed)
            picture = stored_picture(data)
            self._store.add(picture.digest, data, name)
            self.digests[picture.digest] = digest
            self._kept[name] = picture, data
        return self._kept[name]


@lru_cache(maxsize=64)
def _packed(name: str, seed: int) -> tuple[bytes, str]:
    """A picture as PNG, and the digest of its pixels."""
    image, packed = draw(name, seed), io.BytesIO()
    image.save(packed, "PNG")
    return packed.getvalue(), scenes.picture_digest(image)


def draw(name: str, seed: int) -> Image.Image:
    """Draw a picture by its name, such as "ladder 1920x1080 large"."""
    kind, _, rest = name.partition(" ")
    size, _, own = rest.partition(" ")
    width, height = map(int, size.split("x"))
    if kind == "code":
        return scenes.code(width, height, own, seed)
    if kind == "noisy":
        return scenes.noisy(scenes.code(width, height, own, seed), "n", seed)
    if kind == "marks":
        return scenes.marks(width, height, mirrored=own == "mirrored")
    if kind == "ladder":
        return scenes.ladder(width, height, own, seed)
    return {"corners": scenes.corners, "grid": scenes.grid}[kind](own, seed)
