"""The families of models that transformers supports: their prompts, inputs and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adapters.contract import Coordinates, Fatal, ImageRule
from adapters.conversation import Conversation, Message
from adapters.local.chat import Guard
from adapters.local.contract import Encoded, Padded
from adapters.local.prompts import Prompter
from adapters.open_models import OPEN_MODELS, OpenModel, pixels, qwen_exact

if TYPE_CHECKING:
    from PIL.Image import Image

QWEN: Mapping[str, str] = {
    "qwen2_vl": "qwen2-vl",
    "qwen2_5_vl": "qwen2.5-vl",
    "qwen3_vl": "qwen3-vl",
    "qwen3_vl_moe": "qwen3-vl",
}
"""Model types of the Qwen families, with our names."""
_TYPES = ("mm_token_type_ids", "token_type_ids")
_NOT_PASSED_ON = ("attention_mask", "labels")
"""Further outputs of processors: a row alone is not masked, nor trained on."""


class HuggingFaceFamily:
    """Any image-text-to-text model with a chat template, with its processor's tensors unchanged.

    Earlier replies are put in as the published template writes them, which may leave thoughts out.
    """

    takes_pictures = True
    keeps_replies = False
    """True if earlier replies are inserted as the ids that were generated."""

    def __init__(
        self,
        config: Any,
        processor: Any,
        stop_ids: Sequence[int],
        max_pixels: int | None,
        known: OpenModel | None,
    ) -> None:
        """`known` is what is known of the model by its name.

        Raises `Fatal` for a processor that cannot be limited to `max_pixels`.
        """
        tokenizer = processor.tokenizer
        self._known = known or OpenModel(None)
        self._config = config
        self._processor = processor
        self._tokenizer = tokenizer
        self._stop_ids = tuple(stop_ids)
        self._guard = Guard(tokenizer, stop_ids)
        self._max_pixels = max_pixels
        self._size(max_pixels)
        # Models have more ids than their tokenizers have tokens, to a rounder number.
        size = getattr(config.get_text_config(), "vocab_size", None) or 0
        vocabulary = max(len(tokenizer), size) if self.keeps_replies else 0
        self._prompter = Prompter(processor, self._guard, vocabulary, frozenset(self._reserved()))
        self.together = self.keeps_replies or self._prompter.together()

    @property
    def name(self) -> str:
        return str(self._config.model_type)

    @property
    def stop_ids(self) -> tuple[int, ...]:
        return self._stop_ids

    @property
    def pad_id(self) -> int:
        pad = self._tokenizer.pad_token_id
        return int(pad) if pad is not None else (self._stop_ids or (0,))[0]

    @property
    def config(self) -> Any:
        """The configuration as transformers has it."""
        return self._config

    @property
    def image_processor(self) -> str:
        """The class that prepares pictures."""
        return type(self._processor.image_processor).__name__

    @property
    def settings(self) -> Mapping[str, object]:
        special = {"special_tokens": True} if self._known.special_tokens else {}
        return {"image_processor": self.image_processor, **special}

    @property
    def image_rule(self) -> ImageRule | None:
        limits = self.pixel_limits
        if limits is None:
            rule = pixels(
                self._max_pixels, self._prompter.picture_tokens, "the checkpoint's processor"
            )
        else:
            rule = qwen_exact(self._factor, *limits)
        return replace(rule, seen=self._prompter.seen)

    @property
    def coordinates(self) -> Coordinates | None:
        """The meaning of its numbers; None for pixels of a picture whose size is not known."""
        meant = self._known.coordinates
        return None if meant == "absolute" and not self._smart else meant

    @property
    def opens_thought(self) -> bool:
        return self._prompter.opens_thought

    def encode(self, conversation: Conversation, images: Sequence[Image]) -> Encoded:
        tensors = dict(self._prompter.encode(conversation, images))
        ids = tensors.pop("input_ids")[0]
        for name in _NOT_PASSED_ON:
            tensors.pop(name, None)
        types = [tensors.pop(name)[0] for name in _TYPES if name in tensors]
        return Encoded(ids, types[0] if types else None, tensors)

    def collapsed(self, conversation: Conversation) -> list[int]:
        """Return the prompt's ids before pictures are put in, as engines take them that do so
        themselves: a picture is what the template marks it by. Raises `Fatal`."""
        return self._prompter.collapsed(conversation)

    def growth(self, width: int, height: int) -> int:
        """Count the ids that a picture of this size adds to a collapsed prompt."""
        return self._prompter.growth(width, height)

    def without_system(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages as the chat template takes them, with or without a system's."""
        return self._prompter.without_system(messages)

    def broken_up(self, text: str) -> tuple[str, int]:
        """Return a text without control tokens, and how many there were; see `Guard`."""
        return self._guard.broken_up(text)

    @property
    def pixel_limits(self) -> tuple[int, int] | None:
        """The fewest and the most pixels of a picture that is not resized; None without limits."""
        if not self._smart:
            return None
        size = self._processor.image_processor.size
        return int(size["shortest_edge"]), int(size["longest_edge"])

    def decode(self, ids: Sequence[int]) -> str:
        kept = [token for token in ids if token not in self._stop_ids]
        return str(
            self._tokenizer.decode(
                kept,
                skip_special_tokens=not self._known.special_tokens,
                clean_up_tokenization_spaces=False,
            )
        )

    def text_tokens(self, text: str) -> int:
        return len(self._guard.of_text(text))

    def inputs(self, model: Any, padded: Padded) -> dict[str, Any]:
        """Positions are left to transformers, which derives them from the mask and the grids."""
        kwargs = dict(padded.pictures)
        if padded.token_types is not None:
            kwargs[self._type_name(model)] = padded.token_types
        return kwargs

    def _reserved(self) -> set[int]:
        """Return ids that the model replaces by pictures, videos or audio."""
        names = ("image", "video", "audio")
        keys = [f"{name}_token_{end}" for name in names for end in ("id", "index")]
        token_ids = (getattr(self._config, key, None) for key in keys)
        return {int(value) for value in token_ids if isinstance(value, int)}

    @property
    def _smart(self) -> bool:
        """True if pictures are resized by Qwen's rule, which other families use as well."""
        return self.image_processor.startswith("Qwen2VLImageProcessor")

    @property
    def _merge(self) -> int:
        return int(self._processor.image_processor.merge_size)

    @property
    def _factor(self) -> int:
        return int(self._processor.image_processor.patch_size) * self._merge

    def _size(self, max_pixels: int | None) -> None:
        """Limit the processor to `max_pixels`. Other models are sent pictures of that size."""
        if not self._smart:
            return
        processor = self._processor.image_processor
        least, most = processor.size["shortest_edge"], processor.size["longest_edge"]
        if max_pixels is not None:
            if max_pixels < self._factor**2:
                raise Fatal(
                    f"max-pixels {max_pixels} is less than the {self._factor**2} pixels of one "
                    f"{self.name} picture token"
                )
            most = max_pixels
        processor.size = {"shortest_edge": min(least, most), "longest_edge": most}

    def _type_name(self, model: Any) -> str:
        import inspect

        parameters = inspect.signature(model.forward).parameters
        return next((name for name in _TYPES if name in parameters), _TYPES[0])


class QwenFamily(HuggingFaceFamily):
    """Qwen2-VL, Qwen2.5-VL and Qwen3-VL, whose replies are put in by their ids."""

    keeps_replies = True

    @property
    def name(self) -> str:
        return QWEN[self._config.model_type]

    def encode(self, conversation: Conversation, images: Sequence[Image]) -> Encoded:
        encoded = super().encode(conversation, images)
        grids = encoded.pictures.get("image_grid_thw")
        expected = 0 if grids is None else int(grids.prod(-1).sum()) // self._merge**2
        written = int((encoded.ids == self._config.image_token_id).sum())
        if written != expected:
            raise Fatal(f"the chat template wrote {written} picture tokens instead of {expected}")
        return encoded

    def growth(self, width: int, height: int) -> int:
        """Count a picture's ids without the one that the template writes."""
        return self._prompter.picture_tokens(width, height) - 1


def family_of(
    config: Any,
    processor: Any,
    stop_ids: Sequence[int],
    max_pixels: int | None,
    known: OpenModel | None = None,
) -> HuggingFaceFamily:
    """Return the family of a checkpoint; `known` is the model's entry in the catalogue, if any.

    Raises `Fatal`.
    """
    if config.model_type not in QWEN:
        return HuggingFaceFamily(config, processor, stop_ids, max_pixels, known)
    known = known or OPEN_MODELS[QWEN[config.model_type]]
    return QwenFamily(config, processor, stop_ids, max_pixels, known)
