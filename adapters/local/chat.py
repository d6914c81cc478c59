"""Tokenizes conversations and keeps any text in them from being read as a control token.

A chat template writes control tokens (turn ends, picture marks) into the same string as page
text, and a tokenizer cannot see who wrote `<|im_end|>`. So every visible character of every
message is written as lone surrogates while templates and processors handle the string:
surrogates occur in no valid text and cannot be forged, and nothing that a template looks for
can be found in them. Only then are the control tokens looked up, and the text is restored and
tokenized by a copy of the tokenizer that knows the control tokens by other names. For text without
control tokens the ids are exactly those of the tokenizer itself.

Ids of an earlier reply travel in the same string, as surrogates of another kind.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from adapters.contract import Fatal

MARK = "\ufdd0"
"""Begins and ends a name. Unicode keeps this code point and the 31 after it out of interchange."""
_TRIES = 8
"""How often a text is broken up again, since its pieces may be control tokens as well."""
_BYTE = re.compile("<0x[0-9A-F]{2}>")
"""What SentencePiece writes characters with that it does not know: made by it, never by a text."""
_HTML = re.compile(
    "</?(?:a|b|blockquote|br|caption|code|div|em|h[1-6]|hr|i|li|ol|p|pre|s|span|strong|sub|sup|"
    "table|tbody|td|tfoot|th|thead|tr|u|ul)>"
)


def controls(token: Mapping[str, Any]) -> bool:
    """Return whether an added token is one that text must not become.

    White space and HTML tags that are not special are text in some vocabularies, and pages are full
    of them.
    """
    content = str(token["content"])
    if _BYTE.fullmatch(content):
        return False
    if token["special"]:
        return True
    return not content.isspace() and _HTML.fullmatch(content) is None


def name(number: int) -> str:
    """Return the name with this number.

    >>> ascii(name(1))
    "'\\\\ufdd0\\\\ufdd1\\\\ufdd1\\\\ufdd1\\\\ufdd2\\\\ufdd0'"
    """
    digits = (chr(0xFDD1 + int(digit, 16)) for digit in f"{number:04x}")
    return f"{MARK}{''.join(digits)}{MARK}"


def renamed(spec: Mapping[str, Any], names: Mapping[str, str], start: str) -> Any:
    """Build a tokenizer from a parsed specification (`Tokenizer.to_str`) with renamed tokens.

    Its vocabulary has the names, too: its rules cannot build such a token from letters.
    `start` is one more token, for the place before a string. Ids of added tokens change.
    """
    from tokenizers import Tokenizer

    model = dict(spec["model"])
    merges = model.get("merges", [])
    merged = {"".join(m) if isinstance(m, list) else m.replace(" ", "") for m in merges}
    # A token that is made by merging must keep its name there; `Guard` refuses such a vocabulary.
    within = {old: new for old, new in names.items() if old not in merged}
    if isinstance(model["vocab"], dict):
        model["vocab"] = {within.get(piece, piece): i for piece, i in model["vocab"].items()}
    else:
        model["vocab"] = [[within.get(piece, piece), score] for piece, score in model["vocab"]]
    if isinstance(model.get("unk_token"), str):
        model["unk_token"] = within.get(model["unk_token"], model["unk_token"])
    return Tokenizer.from_str(
        json.dumps(
            {
                **spec,
                "model": model,
                "added_tokens": _added(spec["added_tokens"], names, start, len(model["vocab"])),
                "post_processor": None,
                "truncation": None,
                "padding": None,
            }
        )
    )


def _added(
    tokens: Sequence[Mapping[str, Any]], names: Mapping[str, str], start: str, first: int
) -> list[dict[str, Any]]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [
        {**token, "content": names[token["content"]], "normalized": False}
        if token["content"] in names
        else dict(token)
        for token in tokens
        if not _BYTE.fullmatch(token["content"])
    ]
    added.append({"content": start, "special": True, **plain})
    return [{**token, "id": number} for number, token in enumerate(added, start=first)]


_TEXT = re.compile("[\ud800-\ud87f][\ud880-\ud8ff][\ud900-\ud97f]")
_REPLY = re.compile("(?:[\uda00-\udaff][\udb00-\udbff][\udc00-\udcff])+")
_UNUSABLE = re.compile("[\ud800-\udfff\ufdd0-\ufdef]")


def _written(code: int) -> str:
    """Write a code point as three surrogates of seven bits each, in separate ranges."""
    return chr(0xD800 + (code >> 14)) + chr(0xD880 + (code >> 7 & 127)) + chr(0xD900 + (code & 127))


class _Signs(dict[int, str]):
    """A table for `str.translate`: surrogates for a visible character; white space is kept."""

    def __missing__(self, code: int) -> str:
        mark = chr(code)
        self[code] = mark if mark.isspace() else _written(code)
        return self[code]


_SIGNS = _Signs()


def escaped(text: str) -> str:
    """Return the text in a form where templates recognise only white space.

    Characters that no tokenizer takes (lone surrogates), and the 32 code points that Unicode
    keeps out of interchange for uses like ours, become U+FFFD.
    """
    return _UNUSABLE.sub("\ufffd", text).translate(_SIGNS)


def _restored(text: str) -> str:
    def back(match: re.Match[str]) -> str:
        high, middle, low = map(ord, match[0])
        return chr((high - 0xD800) << 14 | (middle - 0xD880) << 7 | low - 0xD900)

    return _TEXT.sub(back, text)


def reply_ids(ids: Sequence[int]) -> str:
    """Return ids of a reply (below 2**24) as characters, for a string that will be tokenized."""
    return "".join(
        chr(0xDA00 + (token >> 16)) + chr(0xDB00 + (token >> 8 & 255)) + chr(0xDC00 + (token & 255))
        for token in ids
    )


def _ids_of(group: str) -> list[int]:
    return [
        (ord(high) - 0xDA00) << 16 | (ord(middle) - 0xDB00) << 8 | ord(low) - 0xDC00
        for high, middle, low in zip(group[::3], group[1::3], group[2::3], strict=True)
    ]


class Guard:
    """The tokenizer of escaped strings. `control` are the ids that no text can become."""

    def __init__(self, tokenizer: Any, stop_ids: Collection[int] = ()) -> None:
        """Raises `Fatal` for a tokenizer without a fast implementation, which cannot be copied."""
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise Fatal(
                "the checkpoint's tokenizer has no fast form (tokenizer.json), which is needed so "
                "that page text cannot forge turns"
            )
        self._stop = frozenset(stop_ids)
        self._backend = backend
        spec: dict[str, Any] = json.loads(backend.to_str())
        control_tokens = [token for token in spec["added_tokens"] if controls(token)]
        # A token that the vocabulary lacks becomes `unk`, which controls nothing.
        ids = {int(token["id"]) for token in control_tokens}
        self.control = frozenset(ids - {tokenizer.unk_token_id})
        self._names = {
            token["content"]: name(number) for number, token in enumerate(control_tokens, start=1)
        }
        longest_first = sorted(self._names, key=len, reverse=True)
        self._find = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        self._start = name(0)
        self._copy = renamed(spec, self._names, self._start)
        self._original = {
            self._copy.token_to_id(self._names[token["content"]]): int(token["id"])
            for token in control_tokens
        }
        for token in spec["added_tokens"]:
            copy_id = self._copy.token_to_id(token["content"])
            if copy_id is not None:
                self._original[copy_id] = int(token["id"])
        self._before, self._after = _surroundings(tokenizer)
        self._check(control_tokens)

    def ids(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        """Token ids of an escaped string, ids of replies in their places.

        An end of turn that a reply generated itself is not repeated.
        """
        return self._tokenized(text, add_special_tokens)

    def position(self, text: str, place: int, *, add_special_tokens: bool = False) -> int:
        """Index of the id that an escaped string's character at `place` belongs to.

        Exact for control tokens, which are what processors look for.
        """
        for match in self._find.finditer(text):
            if match.start() <= place < match.end():
                return len(self._tokenized(text[: match.start()], add_special_tokens, end=False))
        return len(self._tokenized(text[: place + 1], add_special_tokens, end=False)) - 1

    def _tokenized(self, text: str, add_special_tokens: bool, *, end: bool = True) -> list[int]:
        """Token ids of an escaped string.

        `end`: True if the string is complete; then special tokens follow it, too.
        """
        ids = list(self._before) if add_special_tokens else []
        at = 0
        last: int | None = None
        for match in _REPLY.finditer(text):
            ids += self._piece(text[at : match.start()], last)
            reply = _ids_of(match[0])
            ids += reply
            at, last = match.end(), reply[-1]
        ids += self._piece(text[at:], last)
        if add_special_tokens and end:
            ids += self._after
        return ids

    def of_text(self, text: str) -> list[int]:
        """Token ids of a plain text."""
        return self.ids(escaped(text))

    def broken_up(self, text: str) -> tuple[str, int]:
        """Return a plain text for a server that tokenizes it with this tokenizer: with a blank
        within everything that would become a control token, and how often that was.

        Raises `Fatal` for a text that blanks do not help.
        """
        text, count = _UNUSABLE.sub("\ufffd", text), 0
        for _ in range(_TRIES):
            made = self._backend.encode(text, add_special_tokens=False)
            spans = [
                span
                for token, span in zip(made.ids, made.offsets, strict=True)
                if token in self.control
            ]
            if not spans:
                return text, count
            count = count or len(spans)
            for start, end in reversed(spans):
                # Some tokens take the white space around them.
                inner = text[start:end].strip() or text[start:end]
                at = text.index(inner, start) + len(inner) // 2
                # What has one character only cannot be broken up.
                parts = (
                    (text[:at], " ", text[at:]) if len(inner) > 1 else (text[:at], text[at + 1 :])
                )
                text = "".join(parts)
        raise Fatal(f"a text keeps a control token however it is broken up: {text[:80]!r}")

    def _check(self, control_tokens: Sequence[Mapping[str, Any]]) -> None:
        """Raise `Fatal` for a vocabulary whose merges build a control token from its letters."""
        for token in control_tokens:
            if self.control.intersection(self.of_text(token["content"])):
                raise Fatal(
                    f"the checkpoint's tokenizer makes its control token {token['content']} out of "
                    "plain text, so a page could forge turns"
                )

    def _piece(self, text: str, last: int | None) -> list[int]:
        named = _restored(self._find.sub(lambda match: self._names[match[0]], text))
        if last is None:
            ids = self._copy.encode(named, add_special_tokens=False).ids
        else:
            # Some tokenizers treat the start of a string as a new word, which it is not here.
            ids = self._copy.encode(self._start + named, add_special_tokens=False).ids[1:]
        ids = [self._original.get(token, token) for token in ids]
        return ids[1:] if ids and last in self._stop and ids[0] == last else ids


def _surroundings(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Return the ids that the tokenizer adds before and after a text."""
    inner = tokenizer.encode("a", add_special_tokens=False)
    whole = tokenizer.encode("a", add_special_tokens=True)
    for at in range(len(whole) - len(inner) + 1):
        if whole[at : at + len(inner)] == inner:
            return whole[:at], whole[at + len(inner) :]
    return [], []


def guarded(tokenizer: Any, guard: Guard) -> Any:
    """Return a copy of the tokenizer for a processor to call, which takes escaped strings."""
    from transformers import BatchEncoding

    class Rows(BatchEncoding):  # type: ignore[misc]
        """The ids of unpadded strings, which can say where their characters went."""

        texts: Sequence[str] = ()
        special = False

        def char_to_token(self, row: int, place: int | None = None, *_: Any) -> int:
            row, place = (0, row) if place is None else (row, place)
            return guard.position(self.texts[row], place, add_special_tokens=self.special)

    class Guarded(type(tokenizer)):  # type: ignore[misc]
        def __call__(self, text: Any = None, *_: Any, **options: Any) -> Any:
            texts = [text] if isinstance(text, str) else list(text)
            special = bool(options.get("add_special_tokens", True))
            rows = [guard.ids(string, add_special_tokens=special) for string in texts]
            tensors = options.get("return_tensors")
            single = isinstance(text, str) and tensors is None
            made = {"input_ids": rows[0] if single else rows}
            if options.get("return_token_type_ids"):
                made["token_type_ids"] = (
                    [0] * len(rows[0]) if single else [[0] * len(r) for r in rows]
                )
            padded = self.pad(
                made,
                padding=options.get("padding") or False,
                return_tensors=tensors,
            )
            answer = Rows(padded.data)
            answer.texts, answer.special = texts, special
            return answer

        def encode(self, text: Any, *_: Any, **options: Any) -> list[int]:
            special = bool(options.get("add_special_tokens", True))
            return guard.ids(text, add_special_tokens=special)

    Guarded.__name__ = type(tokenizer).__name__
    twin = copy.copy(tokenizer)
    twin.__class__ = Guarded
    return twin
