"""The printed lines of a verification: findings in 80 columns, worst first, and what to do next."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adapters.open_models import open_model
from adapters.picture_tokens import FAMILIES
from harness.printing import printable
from harness.verify.declared import Declared
from harness.verify.words import ASIDE, BROKEN, CANNOT_TELL, OK, SUSPICIOUS, Check

WIDTH = 80
_WORDS = {BROKEN: "BROKEN", SUSPICIOUS: "suspect", CANNOT_TELL: "unclear", OK: "ok"}
_SIZES = {
    "published": "counted like {family} as published",
    "pixels": "pictures are shrunk to about {about:,} pixels ({least:,} to {most:,})",
    "side": "pictures are shrunk to a longest side of about {about:,} ({least:,} to {most:,}) "
    "before the model's own rule",
    "twice": "pictures are resized twice, by the rules of two generations",
    "tiles": "pictures are cut into at most {most} tiles",
    "fixed": "every picture counts {most:,} tokens, whatever its size",
}
_UNITS = {
    "unit": "0 to 1",
    "percent": "0 to 100",
    "per-mille": "0 to 1000",
    "per-999": "0 to 999",
    "absolute": "pixels",
}
_SGLANG = "python -m sglang.launch_server ..."
_PIXELS = {
    "vllm": "vllm serve ... --mm-processor-kwargs '{{\"max_pixels\": {assumed}}}'",
    "sglang": f"SGLANG_IMAGE_MAX_PIXELS={{assumed}} {_SGLANG}",
    "llama.cpp": "llama-server ... --image-min-tokens 1024 --image-max-tokens N",
    "lm studio": "LM Studio: raise the image resize setting",
}
_FLAGS: Mapping[str, Mapping[str, str]] = {
    "pixels": _PIXELS,
    "pixels of qwen3-vl": {
        **_PIXELS,
        "vllm": "vllm serve ... --mm-processor-kwargs "
        '\'{{"size": {{"shortest_edge": 65536, "longest_edge": {assumed}}}}}\'',
    },
    "template": {
        "vllm": "vllm serve ... --chat-template FILE --chat-template-content-format openai",
        "sglang": f"{_SGLANG} --chat-template FILE",
        "llama.cpp": "llama-server ... --jinja",
        "ollama": "another Modelfile with the checkpoint's template",
    },
    "sampling": {
        "vllm": "vllm serve ... --generation-config vllm",
        "sglang": f"{_SGLANG} --sampling-defaults openai",
        "llama.cpp": "llama-server ... --temp 0",
    },
    "batch": {
        "vllm": "VLLM_BATCH_INVARIANT=1 vllm serve ...",
        "sglang": f"{_SGLANG} --enable-deterministic-inference",
        "llama.cpp": "llama-server ... -np 1",
    },
    "thinking": {
        "vllm": "vllm serve ... --default-chat-template-kwargs '{{\"enable_thinking\": false}}', "
        "and the right --reasoning-parser",
        "sglang": "requests with chat_template_kwargs.enable_thinking false, or the right "
        "--reasoning-parser",
        "llama.cpp": "llama-server ... --reasoning-budget 0",
        "": "a higher --max-tokens, or --adapter-option effort",
    },
    "context": {
        "vllm": "vllm serve ... --max-model-len N",
        "sglang": f"{_SGLANG} --context-length N",
        "llama.cpp": "llama-server ... -c N (shared by its slots)",
        "ollama": "OLLAMA_CONTEXT_LENGTH=N ollama serve",
    },
    "cache": {
        "vllm": "vllm serve ... --no-enable-prefix-caching",
        "sglang": f"{_SGLANG} --disable-radix-cache",
        "llama.cpp": "llama-server ... --no-cache-prompt",
    },
    "pictures": {"vllm": "vllm serve ... --limit-mm-per-prompt '{{\"image\": 8}}'"},
}
_TOPICS = {
    "template": "template",
    "system text": "template",
    "with system text": "template",
    "repeats": "sampling",
    "thinking": "thinking",
    "context": "context",
    "picture cache": "cache",
    "order": "pictures",
    "history": "pictures",
}


def words_of(check: Check, declared: Declared) -> str:
    """Return what a check found, in words."""
    match check.name, check.detail:
        case "sizes", [family, kind, least, most]:
            about = (least + most) // 2
            if kind == "pixels":
                about = likely_limit(least, most, family)
            words = _SIZES[kind].format(family=family, about=about, least=least, most=most)
            known = kind == "pixels" and declared.limit
            return f"{words}; {declared.limit:,} are assumed" if known else words
        case "points", [str(unit), bool(swapped)]:
            read = _UNITS.get(declared.coordinates or "", "another unit")
            return f"numbers are {_UNITS[unit]}{', y before x' * swapped}, read as {read}"
        case "points", [kind, dict(seen)]:
            sent = ", ".join(f"{w}x{h} where {size} is sent" for size, (w, h) in seen.items())
            more = "" if kind == "picture seen" else "; their aspect ratio is changed"
            return f"numbers are pixels of {sent}{more}"
        case "points", [hits, marks]:
            return f"{hits} of {marks} marks hit"
        case "corners", "same":
            return "the colours and digits of its quarters are not named"
        case "corners", [move, order]:
            moved = "" if move == "same" else f", its quarters moved ({move})"
            mixed = "" if order == "RGB" else f", its colours changed ({order})"
            return f"a picture arrives changed{moved}{mixed}"
        case "coverage", list(lost):
            return f"codes {lost} of a grid are never seen"
        case "coverage", read:
            return f"{read} of 12 codes of a grid are read"
        case "template", [_, more]:
            return f"another tokenizer: {more} tokens more than the checkpoint's template"
        case "usage", "zeros":
            return "every count of tokens is 0, or impossible"
        case "template", 0:
            return "as the checkpoint's template"
        case _, list(parts):
            return " ".join(map(str, parts))
    return str(check.detail)


def likely_limit(least: int, most: int, family: str) -> int:
    """Return the limit in a range of pixels that somebody would set: the roundest number of cells.

    >>> likely_limit(989_408, 1_012_143, "qwen2.5-vl")
    1003520
    """
    cell = FAMILIES[family].cell ** 2
    return cell * max(range(least // cell, most // cell + 1), key=lambda cells: cells & -cells)


def remedies(check: Check, declared: Declared, software: str | None) -> Iterator[str]:
    """Yield what to do about a finding, the server's flag first."""
    if check.verdict not in (BROKEN, SUSPICIOUS):
        return
    topic = _TOPICS.get(check.name, "")
    match check.name, check.detail:
        case "sizes", [declared.family, "pixels" | "side" | "published", *_]:
            is_new = declared.family == "qwen3-vl"
            topic = "pixels of qwen3-vl" if is_new else "pixels"
        case "repeats", "not repeatable":
            topic = "batch"
    flags, assumed = _FLAGS.get(topic, {}), declared.limit or "N"
    if found := flags.get(software or "") or flags.get(""):
        yield found.format(assumed=assumed)
    elif flags:
        yield f"{next(iter(flags.values())).format(assumed=assumed)} (with vLLM)"
    match check.name, check.detail:
        case "sizes", [family, "pixels", least, most]:
            yield f"--adapter-option max_pixels={likely_limit(least, most, family)}"
        case "sizes", [str(family), "published", *_] if family != declared.family:
            if open_model(family):
                yield f"--adapter-option family={family}"
        case "points", ["unit" | "per-mille" | "absolute" | "per-999" as unit, False]:
            yield f"--protocol-option coordinates={unit}"
        case "repeats", _:
            yield "--repeats N, with intervals"


def lines(
    checks: Sequence[Check], declared: Declared, record: Mapping[str, Any], *, every: bool
) -> Iterator[str]:
    """Yield the lines of a result."""
    model, server, spent = record["model"], record["server"], record["spent"]
    told = " ".join(str(server[key]) for key in ("software", "version") if server.get(key))
    context = f"context {server['context']:,}" if server.get("context") else ""
    more = ", ".join(filter(None, (told, context)))
    yield printable(f"{model['name']} at {model['endpoint']}" + (f" ({more})" if more else ""))
    ranked = sorted(checks, key=lambda check: list(_WORDS).index(check.verdict))
    for check in ranked:
        batch = check.detail == "depends on the batch"
        if check.verdict != OK or every or batch:
            is_fact = batch or (check.name in ASIDE and check.verdict in (SUSPICIOUS, BROKEN))
            first = f"{'fact' if is_fact else _WORDS[check.verdict]:<8}{check.name:<17} "
            words = printable(words_of(check, declared))
            yield from textwrap.wrap(
                words, WIDTH, initial_indent=first, subsequent_indent=" " * len(first)
            )
    fine = sum(check.verdict == OK for check in checks)
    if fine and not every:
        yield f"{'ok':<8}{fine} check{'' if fine == 1 else 's'}"
    if record["effect"]:
        yield from textwrap.wrap(effect_in_words(record["effect"]), WIDTH)
    todo = [one for check in ranked for one in remedies(check, declared, server["software"])]
    for number, remedy in enumerate(dict.fromkeys(todo)):
        yield f"{'Next:' if number == 0 else ' or:'} {remedy}"
    if record["ended"]:
        yield from textwrap.wrap(printable(f"ended early: {record['ended']}"), WIDTH)
    usd = "" if spent["usd"] is None else f", ${spent['usd']:.2f}"
    yield (
        f"{spent['calls']} calls, {spent['input'] + spent['output']:,} tokens{usd}, "
        f"{spent['seconds']:.0f} s. {record['verdict']}, deployment {record['digest']}"
    )


def effect_in_words(effect: Mapping[str, Any]) -> str:
    """Return what a deployment does to the score of a set, in a sentence."""
    name, score, small = effect["benchmark"], effect["ceiling"], effect["under_14_px"]
    first = f"A perfect pointer would score {score} on {name}"
    if score is None:
        first = f"What a perfect pointer would score on {name} is not known"
    second = "how large its targets are seen is not known"
    if small is not None:
        second = f"{small:.0f} % of its targets are seen with under 14 px"
    if effect["as_published"] is not None:
        second += f" ({effect['as_published']:.0f} % as published)"
    return f"{first}; {second}."
