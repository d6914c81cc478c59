"""Records and interfaces of local inference. Imports nothing heavy.

A `ModelFamily` knows one kind of model: how a conversation becomes token ids, what its pictures
become, and which positions its tokens have. Everything else is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from adapters.contract import Coordinates, Generation, ImageRule, Request
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
    notices: Sequence[str] = ()
    """Lines for the user about what was left out."""

    @property
    def length(self) -> int:
        return int(self.ids.shape[0])

    def lean(self, dtype: torch.dtype) -> Encoded:
        """Return it with pixels in the model's own type: half the memory and half the way to the
        device."""
        if not dtype.is_floating_point:
            return self
        pictures = {
            name: tensor.to(dtype) if tensor.is_floating_point() else tensor
            for name, tensor in self.pictures.items()
        }
        return replace(self, pictures=pictures)


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """A left-padded batch; `ids`, `mask` and `token_types` are [rows, columns]."""

    ids: torch.Tensor
    mask: torch.Tensor
    """1 for ids that count, 0 for padding."""
    token_types: torch.Tensor | None
    pictures: Mapping[str, torch.Tensor] = field(default_factory=dict)
    """The picture tensors of all rows, concatenated in row order."""


class ModelFamily(Protocol):
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
    def takes_pictures(self) -> bool: ...

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
        """Return arguments of `model.generate` except `input_ids` and `attention_mask`: pictures,
        token types, and position ids where the model does not work them out itself."""
        ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model with its family, ready on its device."""

    model: Any
    family: ModelFamily
    device: str
    context_tokens: int | None
    facts: Mapping[str, object] = field(default_factory=dict)
    """For the run's record: dtype, attention, device name, versions of torch and transformers,
    digest of the configuration."""
    notices: Sequence[str] = ()
    """Lines for the user about how it was loaded."""


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """One reply to generate: a request and its prompt.

    `request.generation.max_tokens` is what the model's context leaves room for, at most.
    """

    request: Request
    encoded: Encoded

    @property
    def length(self) -> int:
        """Tokens of the prompt."""
        return self.encoded.length

    @property
    def max_tokens(self) -> int:
        return self.request.generation.max_tokens


@dataclass(frozen=True, slots=True)
class Generated:
    """One generated reply."""

    ids: tuple[int, ...]
    """Token ids, the stop id included."""
    finish: Finish
    seconds: float
    """Duration of the batch."""


class Notices:
    """Lines for the user, each said once."""

    def __init__(self, *lines: str) -> None:
        self._new = list(lines)
        self._said = set(lines)

    def say(self, *lines: str) -> None:
        for line in lines:
            if line not in self._said:
                self._said.add(line)
                self._new.append(line)

    def take(self) -> list[str]:
        """Return the lines since the last call."""
        lines, self._new = self._new, []
        return lines


def ignored(name: str, generation: Generation) -> list[str]:
    """Return a line for every parameter that is set and that models on this machine lack."""
    return [
        f"{name} has no {parameter.replace('_', ' ')}: ignored"
        for parameter in ("effort", "thinking_budget")
        if getattr(generation, parameter) is not None
    ]
