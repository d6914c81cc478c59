"""Records and interfaces of local inference.

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
    """A conversation as model input, on the CPU and unpadded."""

    ids: torch.Tensor
    """Token ids of the prompt, [length]; earlier replies by the ids that were generated."""
    token_types: torch.Tensor | None
    """Marks picture tokens, [length] (transformers' `mm_token_type_ids`); None if a family has
    no such input."""
    pictures: Mapping[str, torch.Tensor] = field(default_factory=dict)
    """The family's picture tensors by the model's names for them (`pixel_values`,
    `image_grid_thw`, ...), concatenated over the conversation's pictures in order."""
    built_on: int = 0
    """Ids up to and including the last generated reply, which a kept cache may cover; 0 in a
    first round."""

    @property
    def length(self) -> int:
        return int(self.ids.shape[0])


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """A left-padded batch; `ids`, `mask` and `token_types` are [rows, columns]."""

    ids: torch.Tensor
    mask: torch.Tensor
    """1 for ids that count, 0 for padding."""
    token_types: torch.Tensor | None
    pictures: Mapping[str, torch.Tensor] = field(default_factory=dict)
    """The picture tensors of all rows, concatenated in row order."""


class Family(Protocol):
    """One kind of model: its tokenizer and its rules, without state; used from several threads."""

    @property
    def name(self) -> str: ...

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """Ids that end a reply."""
        ...

    @property
    def pad_id(self) -> int: ...

    @property
    def image_rule(self) -> ImageRule | None:
        """The processor's rule for resizing pictures; the harness sends them in that size."""
        ...

    @property
    def coordinates(self) -> Coordinates | None: ...

    @property
    def opens_thought(self) -> bool:
        """True if the chat template ends a prompt in an open thought, for the model to go on."""
        ...

    @property
    def together(self) -> bool:
        """True if conversations with pictures may share a batch."""
        ...

    def encode(self, conversation: Conversation, images: Sequence[Image]) -> Encoded:
        """Encode the prompt, with `images` (RGB) for the conversation's pictures in order.

        An assistant message whose `native` is `{"ids": [...], "text": ...}` with its own text is
        inserted by its ids, never tokenized again. Raises `Fatal` for unsupported input.
        """
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Decode generated ids, special tokens left out."""
        ...

    def text_tokens(self, text: str) -> int:
        """Count the tokens of a plain text."""
        ...

    def inputs(self, model: Any, padded: Padded) -> dict[str, Any]:
        """Return arguments of `model.generate` except `input_ids` and `attention_mask` for these
        rows in full, pictures included: explicit position ids, grids, token types. Must not rely
        on state that an earlier call left in the model."""
        ...

    def continued_inputs(self, model: Any, padded: Padded, cached: int) -> dict[str, Any]:
        """Return the same if `cached` columns are kept: no pixels, but positions for all
        columns."""
        ...

    def reusable(self, before: int, now: int) -> bool:
        """Return whether keys of a prompt of `before` tokens are valid in one of `now` tokens."""
        ...

    def cache_bytes_per_token(self, model: Any) -> int:
        """Return the bytes of a token's keys and values, over all layers."""
        ...


@runtime_checkable
class Recalling(Protocol):
    """A family that can encode a prompt from pictures that it has already prepared."""

    def encode_again(
        self, conversation: Conversation, pictures: Mapping[str, torch.Tensor]
    ) -> Encoded:
        """Encode as `Family.encode` does, with the picture tensors of an earlier round."""
        ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model with its family, ready on its device."""

    model: Any
    family: Family
    device: str
    context_tokens: int | None
    facts: Mapping[str, object] = field(default_factory=dict)
    """For the run's record: dtype, attention, device name, versions of torch and transformers,
    digest of the configuration."""


class Unloaded(Protocol):
    """A model on one device, read except for its weights."""

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
        """Settings that change replies, for the run's record."""
        ...

    def check(self) -> None:
        """Raise `Fatal` for weights that are damaged, or that do not fit on the device."""
        ...

    def fetch(self) -> None:
        """Download weights that come from the hub. Raises `Fatal`."""
        ...

    def load(self) -> Loaded:
        """Load the model, ready on its device.

        Raises `Fatal` with one line for what is missing, damaged, too large or not to be had here.
        """
        ...
