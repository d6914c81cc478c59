"""What the parts of local inference hand to each other.

A `Family` knows one kind of model: how a conversation becomes token ids, what its pictures become,
which positions its tokens have, and when kept keys and values may be built on. Everything else
(batches, cohorts, memory, workers) is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from adapters.contract import Coordinates, ImageRule
from adapters.conversation import Conversation

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A conversation as a model takes it, on the CPU and unpadded.

    `ids` [length] are all token ids of the prompt, the generated ids of earlier replies included as
    they were generated. `token_types` [length] marks picture tokens (transformers'
    `mm_token_type_ids`), None where a family has none. `pictures` are the family's tensors, by the
    names its model takes (`pixel_values`, `image_grid_thw`, ...), concatenated over the pictures of
    the conversation in order; empty without pictures. `built_on` counts the ids up to and including
    the last generated reply in the prompt: what a kept cache may cover. 0 in a first round.
    """

    ids: torch.Tensor
    token_types: torch.Tensor | None
    pictures: Mapping[str, torch.Tensor] = field(default_factory=dict)
    built_on: int = 0

    @property
    def length(self) -> int:
        return int(self.ids.shape[0])


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """A batch, left-padded. `ids`, `mask` and `token_types` are [rows, columns]; mask is 1 for ids
    that count. `pictures` are those of all rows, concatenated in row order."""

    ids: torch.Tensor
    mask: torch.Tensor
    token_types: torch.Tensor | None
    pictures: Mapping[str, torch.Tensor] = field(default_factory=dict)


class Family(Protocol):
    """One kind of model: its tokenizer and its rules, without state; used from several threads."""

    @property
    def name(self) -> str: ...

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """Generation ends with any of these."""
        ...

    @property
    def pad_id(self) -> int: ...

    @property
    def image_rule(self) -> ImageRule | None:
        """How the processor sizes pictures, for the harness to send them in that size."""
        ...

    @property
    def coordinates(self) -> Coordinates | None: ...

    def encode(self, conversation: Conversation, images: Sequence[Image]) -> Encoded:
        """The prompt, with `images` (RGB) for the conversation's pictures in order.

        An assistant message whose `native` is `{"ids": [...], "text": ...}` with its own text is
        put in by ids, never tokenized again. Raises `Fatal` for what the model cannot take.
        """
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of generated ids, special tokens left out."""
        ...

    def text_tokens(self, text: str) -> int:
        """The number of tokens of a plain text."""
        ...

    def inputs(self, model: Any, padded: Padded) -> dict[str, Any]:
        """What `model.generate` takes beside `input_ids` and `attention_mask` for these rows in
        full, pictures included: explicit position ids, grids, token types. Nothing may rely on
        state that an earlier call left in the model."""
        ...

    def continued_inputs(self, model: Any, padded: Padded, cached: int) -> dict[str, Any]:
        """The same when `cached` columns are kept: no pixels, but positions for all columns."""
        ...

    def reusable(self, before: int, now: int) -> bool:
        """Whether keys made for a prompt of `before` tokens hold in a prompt of `now` tokens."""
        ...

    def cache_bytes_per_token(self, model: Any) -> int:
        """Bytes of keys and values that a token keeps, over all layers."""
        ...


@runtime_checkable
class Recalling(Protocol):
    """A family that can write a prompt with pictures that it has prepared before."""

    def encode_again(
        self, conversation: Conversation, pictures: Mapping[str, torch.Tensor]
    ) -> Encoded:
        """As `Family.encode`, with the tensors that an earlier round of the conversation had."""
        ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model with its family, ready on its device. `facts` go into the run's record (dtype,
    attention, device name, versions of torch and transformers, digest of the configuration)."""

    model: Any
    family: Family
    device: str
    context_tokens: int | None
    facts: Mapping[str, object] = field(default_factory=dict)


class Unloaded(Protocol):
    """A model of which everything but the weights has been read, for one device."""

    @property
    def family(self) -> Family: ...

    @property
    def identity(self) -> str:
        """The hub's commit, or the digest of a folder's files."""
        ...

    @property
    def context_tokens(self) -> int | None: ...

    @property
    def settings(self) -> Mapping[str, object]:
        """What changes replies, for the run's record."""
        ...

    def check(self) -> None:
        """Raise `Fatal` for weights that are damaged, or that do not fit on the device."""
        ...

    def fetch(self) -> None:
        """Download weights that come from the hub. Raises `Fatal`."""
        ...

    def load(self) -> Loaded:
        """The model, ready on its device.

        Raises `Fatal` with one line for what is missing, damaged, too large or not to be had here.
        """
        ...
