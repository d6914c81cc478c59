"""The tokenizer of the Qwen-VL family, from a checkpoint's own `qwen.tiktoken`, and its files."""

from __future__ import annotations

import base64
import binascii
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tiktoken

from adapters.contract import Fatal
from adapters.hub import downloaded, hub_error
from adapters.local.checkpoint import QWEN_VL, digest_of, is_qwen_vl
from adapters.local.options import HUB, LocalOptions
from adapters.local.qwen_vl.weights import WANTED, shards
from adapters.local.tensors import ADAPTERS, refuse_adapters

FILE: Final = "qwen.tiktoken"
END_OF_TEXT, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
REF, REF_END = "<ref>", "</ref>"
BOX, BOX_END = "<box>", "</box>"
QUAD, QUAD_END = "<quad>", "</quad>"
IMAGE, IMAGE_END, IMAGE_PAD = "<img>", "</img>", "<imgpad>"
MARKUP: Final = frozenset({REF, REF_END, BOX, BOX_END, QUAD, QUAD_END})
# Their ids follow the ranks in this order (151643 and on in the published vocabulary).
SPECIALS: Final = (
    END_OF_TEXT,
    IM_START,
    IM_END,
    *(f"<|extra_{number}|>" for number in range(205)),
    *(REF, REF_END, BOX, BOX_END, QUAD, QUAD_END, IMAGE, IMAGE_END, IMAGE_PAD),
)
# Where a text is cut before bytes are merged. Unlike in later Qwen, digits are never joined.
CUT: Final = "|".join(
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"\p{N}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


class Tokenizer:
    """Converts texts to ids and back. Stateless after loading; used from several threads."""

    def __init__(self, ranks: dict[bytes, int], queries: int = 256) -> None:
        """Build it from merge ranks (0, 1, 2, ...) and the number of ids per picture."""
        specials = {name: len(ranks) + place for place, name in enumerate(SPECIALS)}
        self.specials = specials
        self.queries = queries
        self._encoding = tiktoken.Encoding(
            "qwen", pat_str=CUT, mergeable_ranks=ranks, special_tokens=specials
        )
        self._hidden = {specials[name] for name in SPECIALS if name not in MARKUP}

    @classmethod
    def read(cls, path: Path, queries: int = 256) -> Tokenizer:
        """Read a `qwen.tiktoken`: a line for each token, its bytes in base64 and its rank.

        Raises `Fatal` for a file of another format.
        """
        ranks: dict[bytes, int] = {}
        number = 0
        try:
            for line in path.read_bytes().splitlines():
                number += 1
                if not line:
                    continue
                token, rank = line.split()
                ranks[base64.b64decode(token, validate=True)] = int(rank)
        except OSError as error:
            raise Fatal(f"{path}: cannot be read ({error.strerror})") from error
        except (ValueError, binascii.Error) as error:
            raise Fatal(f"{path}: line {number} is not a token in base64 and its rank") from error
        if sorted(ranks.values()) != list(range(len(ranks))) or len(ranks) < 256:
            raise Fatal(f"{path}: the ranks are not 0, 1, 2, ... without a gap, 256 or more")
        if any(bytes([byte]) not in ranks for byte in range(256)):
            raise Fatal(f"{path}: not every single byte is a token")
        return cls(ranks, queries)

    @property
    def size(self) -> int:
        """Ids in use, special ones included."""
        return self._encoding.n_vocab

    def encode(self, text: str) -> list[int]:
        """Encode a text, composed first (NFC). Special tokens in it are plain text."""
        return self._encoding.encode_ordinary(unicodedata.normalize("NFC", text))

    def image_span(self) -> list[int]:
        """Return a picture's ids: start, `queries` places, end.

        The original writes the picture's path into the places, byte by byte, and opens the file
        that they name. Here pictures travel separately from the ids, and the places are padding.
        """
        padding = [self.specials[IMAGE_PAD]] * self.queries
        return [self.specials[IMAGE], *padding, self.specials[IMAGE_END]]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids. Special tokens and ids beyond the vocabulary are left out, but for `<ref>`,
        `<box>`, `<quad>` and their ends."""
        shown = [number for number in ids if number not in self._hidden and 0 <= number < self.size]
        return self._encoding.decode(shown, errors="replace")


def foreign_kind(config: Mapping[str, object]) -> str | None:
    """Name a checkpoint's kind, with advice, unless it is an original Qwen-VL (None)."""
    if is_qwen_vl(config):
        return None
    kind = str(config.get("model_type") or "")
    listed = config.get("architectures")
    named = str(listed[0]) if isinstance(listed, list) and listed else ""
    if kind == QWEN_VL:
        if "audio" in config:
            return "Qwen-Audio, which takes sound and no pictures"
        return "a text-only Qwen (no vision tower in its configuration)"
    from adapters.local.families import QWEN

    if not kind and not named:
        return "of an unknown architecture (config.json has neither model_type nor architectures)"
    return f"{named or kind}; name it with --model {QWEN.get(kind, 'hf')}"


CHAT: Final = HUB["qwen-vl"]
SEECLICK: Final = HUB["seeclick"]
WEIGHTS: Final = {
    "safetensors": ["*.safetensors", "*.safetensors.index.json"],
    "bin": ["pytorch_model*.bin", "pytorch_model.bin.index.json"],
}


@dataclass(frozen=True, slots=True)
class QwenVLFiles:
    """A folder with weights and `config.json`, its parsed configuration, its vocabulary.

    `source` is the hub id or folder that was asked for, `commit` the hub's commit if it came from
    there. `seeclick` says that it was fine-tuned to point (coordinates from 0 to 1).
    """

    folder: Path
    config: dict[str, Any]
    vocabulary: Path
    source: str
    commit: str | None
    seeclick: bool

    @property
    def identity(self) -> str:
        """The hub's commit, or the digest of a folder's content."""
        if self.commit is not None:
            return self.commit
        read = [self.folder / "config.json", self.vocabulary, *shards(self.folder)]
        return "sha256:" + digest_of(self.folder, read)


def find(options: LocalOptions) -> QwenVLFiles:
    """Return the files of the model that the options name; from the hub, all but the weights.

    Raises `Fatal` for missing files, or a checkpoint of another kind.
    """
    source = HUB.get(options.model, options.model)
    local = source.startswith((".", "/", "~")) or Path(source).is_dir()
    local_folder = options.model_path or (source if local else None)
    commit = None
    if local_folder:
        folder = Path(local_folder).expanduser()
        if not folder.is_dir():
            raise Fatal(f"{folder}: no such folder; it should hold {_needed(source)}")
        if options.revision is not None:
            raise Fatal("--adapter-option revision is for models of the hub; a folder has none")
    else:
        folder = downloaded(
            source, options.revision, ["config.json", FILE, *ADAPTERS[:1]], _otherwise(source)
        )
        commit = folder.name
    refuse_adapters(folder)
    config = _configuration(folder, source)
    if kind := foreign_kind(config):
        raise Fatal(f"{folder} is not an original Qwen-VL checkpoint: it is {kind}")
    names = (options.name, options.model, folder.name, str(config.get("_name_or_path", "")))
    seeclick = any("seeclick" in name.lower() for name in names)
    return QwenVLFiles(
        folder,
        config,
        _vocabulary(folder, bool(local_folder), seeclick),
        str(folder) if local_folder else source,
        commit,
        seeclick,
    )


def fetch_weights(checkpoint: QwenVLFiles) -> None:
    """Download the weights of a checkpoint of the hub. Raises `Fatal`."""
    if checkpoint.commit is not None:
        source, commit = checkpoint.source, checkpoint.commit
        downloaded(source, commit, WEIGHTS[_format(source, commit)], _otherwise(source))


def _format(repository: str, revision: str | None) -> str:
    """Return the weight format to download from a repository that may hold both."""
    from huggingface_hub import HfApi

    try:
        info = HfApi().model_info(repository, revision=revision, timeout=20)
    except Exception:
        return "bin"  # The download itself reports what is wrong, or finds them in its cache.
    names = [entry.rfilename for entry in info.siblings or ()]
    return "safetensors" if any(name.endswith(".safetensors") for name in names) else "bin"


def _vocabulary(folder: Path, local: bool, seeclick: bool) -> Path:
    path = folder / FILE
    if path.is_file():
        return path
    if local:
        why = " (SeeClick was published without one)" if seeclick else ""
        raise Fatal(f"{folder}: no {FILE}{why}; copy {FILE} of {CHAT} into this folder")
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(CHAT, FILE))
    except Exception as error:
        otherwise = (
            f"put its {FILE} next to the other files and give --adapter-option model_path=FOLDER"
        )
        raise Fatal(hub_error(error, CHAT, "model", None, otherwise)) from error


def _configuration(folder: Path, source: str) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise Fatal(f"{folder}: no config.json; wanted: {_needed(source)}") from None
    except (OSError, ValueError) as error:
        raise Fatal(f"{path}: not readable as JSON ({error})") from error
    if not isinstance(config, dict):
        raise Fatal(f"{path}: not a JSON object")
    return config


def _otherwise(source: str) -> str:
    return f"put {_needed(source)} into a folder and give --adapter-option model_path=FOLDER"


def _needed(source: str) -> str:
    vocabulary = f"{FILE} (that of {CHAT})" if source == SEECLICK else FILE
    return f"config.json, {vocabulary} and {WANTED}"
