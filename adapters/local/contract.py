"""Records and interfaces of local inference. Imports nothing heavy.

A `Family` knows one kind of model: how a conversation becomes token ids, what its pictures become,
which positions its tokens have, and when kept keys and values may be built on. Everything else
(batches, cohorts, memory, workers) is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from adapters.contract import Coordinates, Dialogue, Fault, Generation, ImageRule
from adapters.conversation import Conversation, Finish

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

    @property
    def sizes(self) -> dict[str, int]:
        """Length of each picture tensor, by name."""
        return {name: int(tensor.shape[0]) for name, tensor in self.pictures.items()}

    @property
    def picture_bytes(self) -> int:
        return sum(tensor.numel() * tensor.element_size() for tensor in self.pictures.values())


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
    notices: Sequence[str] = ()
    """Lines for the user about how it was loaded."""


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


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """One reply to generate."""

    unit_id: str
    repeat: int
    place: str
    """The call's place in the dialogue (`round-1`, ...)."""
    encoded: Encoded
    generation: Generation
    continues: bool = False
    """True if a later call of the dialogue will build on the reply."""
    shown: tuple[tuple[str, str], ...] = ()
    """(digest, recipe) of the prompt's pictures, which its ids do not tell apart."""

    sample: int = 0
    """The number of the reply among those of the dialogue at this place, from 0."""

    @property
    def dialogue(self) -> Dialogue:
        return self.unit_id, self.repeat


@dataclass(frozen=True, slots=True)
class Generated:
    """One generated reply."""

    ids: tuple[int, ...]
    """Token ids, the stop id included."""
    finish: Finish
    prompt: int
    """Tokens of the prompt."""
    cached: int
    """Tokens of the prompt whose keys and values were kept from an earlier round."""
    seconds: float
    """Duration of the batch."""


@dataclass(frozen=True, slots=True)
class WorkerStats:
    """Counts since a worker was made."""

    batches: int = 0
    rows: int = 0
    reused: int = 0
    """Rows continued from kept keys and values."""
    recomputed: int = 0
    """Rows that could have gone on from an earlier round but were computed in full."""
    dropped: int = 0
    """Cohorts dropped for lack of memory."""
    halved: int = 0
    """Times that a batch did not fit into memory and was split."""
    prompt_tokens: int = 0
    """Prompt tokens computed, those reused not included."""
    cached_tokens: int = 0
    """Prompt tokens reused."""
    generated_tokens: int = 0
    peak_bytes: int = 0
    """Peak memory of the device, weights included; 0 on a CPU."""
    busy_s: float = 0.0
    starved_s: float = 0.0
    """Seconds that the device was idle between two batches because none was waiting."""

    def plus(self, **more: float) -> WorkerStats:
        """Return a copy with the named counts increased."""
        # Every field is a number, and stays what it was: int plus int, float plus float.
        return replace(self, **{name: getattr(self, name) + more[name] for name in more})

    def __add__(self, other: WorkerStats) -> WorkerStats:
        return self.plus(**{name: getattr(other, name) for name in other.__slots__})


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows per batch, and the most dialogues that may be open."""

    rows: int
    open_dialogues: int


class Ignored:
    """Reports every generation parameter that models on this machine lack, once each."""

    def __init__(self, name: str) -> None:
        """`name` is the model's."""
        self._name = name
        self._told: set[str] = set()

    def of(self, generation: Generation) -> list[str]:
        """Notices about parameters that are set here for the first time."""
        names = [
            name
            for name in ("effort", "thinking_budget")
            if getattr(generation, name) is not None and name not in self._told
        ]
        self._told.update(names)
        return [f"{self._name} has no {name.replace('_', ' ')}: ignored" for name in names]


class Worker(Protocol):
    """One device with one copy of the model: a thread of this process, or a process.

    Batches are worked on in the order of submission. The state of a dialogue is
    kept by the worker that had it.
    """

    @property
    def device(self) -> str: ...

    @property
    def plan(self) -> Plan: ...

    @property
    def ended(self) -> str | None:
        """One line on why it accepts no more batches; None while it does."""
        ...

    def submit(self, batch: Sequence[Work]) -> Future[list[Generated | Fault]]:
        """Return a result per work, in order; the future raises `Fatal`. Returns at once."""
        ...

    def release(self, unit_id: str) -> None:
        """Drop the state of a finished step. Returns at once."""
        ...

    def stats(self) -> WorkerStats: ...

    def notices(self) -> list[str]:
        """Notices for the user since the last call."""
        ...

    def close(self) -> None:
        """Cancel all batches and free the device. May be called twice."""
        ...
