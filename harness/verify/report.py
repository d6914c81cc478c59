"""What a verification prints: findings in 80 columns, worst first, and what to do next."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.printing import printable
from harness.verify.checks import Judge
from harness.verify.declared import Declared
from harness.verify.words import ASIDE, BROKEN, CANNOT_TELL, OK, SUSPICIOUS, Check

WIDTH = 80
_WORDS = {BROKEN: "BROKEN", SUSPICIOUS: "suspect", CANNOT_TELL: "unclear", OK: "ok"}
_ORDER = (BROKEN, SUSPICIOUS, CANNOT_TELL, OK)
_UNITS = {
    "unit": "0 to 1",
    "percent": "0 to 100",
    "per-mille": "0 to 1000",
    "per-999": "0 to 999",
    "absolute": "pixels",
}
_FLAGS: Mapping[str, Mapping[str, str]] = {
    "pixels": {
        "vllm": "vllm serve ... --mm-processor-kwargs '{{\"max_pixels\": {assumed}}}'",
        "sglang": "SGLANG_IMAGE_MAX_PIXELS={assumed} python -m sglang.launch_server ...",
        "llama.cpp": "llama-server ... --image-min-tokens 1024 --image-max-tokens N",
        "lm studio": "LM Studio: raise the image resize setting",
    },
    "template": {
        "vllm": "vllm serve ... --chat-template FILE --chat-template-content-format openai",
        "sglang": "python -m sglang.launch_server ... --chat-template FILE",
        "llama.cpp": "llama-server ... --jinja",
        "ollama": "another Modelfile with the checkpoint's template",
    },
    "sampling": {
        "vllm": "vllm serve ... --generation-config vllm",
        "sglang": "python -m sglang.launch_server ... --sampling-defaults openai",
        "llama.cpp": "llama-server ... --temp 0",
    },
    "thinking": {
        "vllm": "vllm serve ... --default-chat-template-kwargs '{{\"enable_thinking\": false}}', "
        "and the right --reasoning-parser",
        "llama.cpp": "llama-server ... --reasoning-budget 0",
        "": "a higher --max-tokens, or --effort",
    },
    "context": {
        "vllm": "vllm serve ... --max-model-len N",
        "sglang": "python -m sglang.launch_server ... --context-length N",
        "llama.cpp": "llama-server ... -c N (shared by its slots)",
        "ollama": "OLLAMA_CONTEXT_LENGTH=N ollama serve",
    },
    "cache": {
        "vllm": "vllm serve ... --no-enable-prefix-caching",
        "sglang": "python -m sglang.launch_server ... --disable-radix-cache",
        "llama.cpp": "llama-server ... --no-cache-prompt",
    },
    "pictures": {"vllm": "vllm serve ... --limit-mm-per-prompt '{{\"image\": 8}}'"},
}
_REMEDY = {
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
    detail = check.detail
    if check.name == "sizes" and isinstance(detail, list):
        family, kind, least, most = detail
        published = f"; {declared.limit:,} are assumed" if declared.limit else ""
        about = f"{(least + most) // 2:,}"
        return {
            "published": f"counted like {family}"
            + ("" if family != declared.family else ", not by the limit that was declared"),
            "pixels": f"pictures are shrunk to about {about} pixels ({least:,} to {most:,})"
            + published,
            "side": f"pictures are shrunk to a longest side of about {about} ({least:,} to "
            f"{most:,}) before the model's own rule",
            "twice": "pictures are resized twice, by the rules of two generations",
            "tiles": f"pictures are cut into at most {most} tiles",
            "fixed": f"every picture counts {most:,} tokens, whatever its size",
        }[kind]
    if check.name == "points" and isinstance(detail, list):
        if isinstance(detail[1], bool):
            order = ", y before x" if detail[1] else ""
            read = _UNITS.get(declared.coordinates or "", "another unit")
            return f"numbers are {_UNITS[detail[0]]}{order}, read as {read}"
        if isinstance(detail[1], dict):
            sent = ", ".join(f"{w}x{h} where {size} is sent" for size, (w, h) in detail[1].items())
            more = "; their aspect ratio is changed" if detail[0] != "picture seen" else ""
            return f"numbers are pixels of {sent}{more}"
        return f"{detail[0]} of {detail[1]} marks hit"
    if check.name == "coverage":
        return (
            f"codes {detail} of a grid are never seen"
            if isinstance(detail, list)
            else (f"{detail} of 12 codes of a grid are read")
        )
    if check.name == "template" and isinstance(detail, list):
        return f"another tokenizer: {detail[1]} tokens more than the checkpoint's template"
    if check.name == "template" and detail == 0:
        return "as the checkpoint's template"
    if isinstance(detail, list):
        return " ".join(str(part) for part in detail)
    return str(detail)


def remedies(check: Check, judge: Judge, software: str | None) -> Iterator[str]:
    """Yield what to do about a finding, the server's flag first."""
    if check.verdict not in (BROKEN, SUSPICIOUS):
        return
    topic, fit = _REMEDY.get(check.name, ""), judge.fit
    if check.name == "sizes" and fit is not None:
        topic = "pixels" if fit.kind in ("pixels", "side", "published") else ""
    flags, assumed = _FLAGS.get(topic, {}), judge.declared.limit or "N"
    if found := flags.get(software or "") or flags.get(""):
        yield found.format(assumed=assumed)
    elif flags:
        yield f"{next(iter(flags.values())).format(assumed=assumed)} (with vLLM)"
    if topic == "pixels" and fit is not None and fit.kind == "pixels":
        yield f"--adapter-option max_pixels={(fit.least + fit.most) // 2}"
    if check.name == "points" and isinstance(check.detail, list):
        unit, swapped = check.detail
        if swapped is False and unit in ("unit", "per-mille", "absolute", "per-999"):
            yield f"--protocol-option coordinates={unit}"
    if check.name == "repeats":
        yield "--repeats N, with intervals"


def lines(
    checks: Sequence[Check], judge: Judge, record: Mapping[str, Any], *, every: bool
) -> Iterator[str]:
    """Yield the lines of a result."""
    model, server, spent = record["model"], record["server"], record["spent"]
    told = " ".join(str(server[key]) for key in ("software", "version") if server.get(key))
    context = f"context {server['context']:,}" if server.get("context") else ""
    more = ", ".join(filter(None, (told, context)))
    yield printable(f"{model['name']} at {model['endpoint']}" + (f" ({more})" if more else ""))
    ranked = sorted(checks, key=lambda check: _ORDER.index(check.verdict))
    for check in ranked:
        is_fact = check.name in ASIDE and check.verdict in (SUSPICIOUS, BROKEN)
        batch = check.detail == "depends on the batch"
        if check.verdict == OK and not (every or batch):
            continue
        word = "fact" if is_fact or batch else _WORDS[check.verdict]
        words = printable(words_of(check, judge.declared))
        yield from _row(word, check.name, words)
    fine = sum(check.verdict == OK for check in checks)
    if fine and not every:
        yield f"{'ok':<8}{fine} check{'' if fine == 1 else 's'}"
    if record["effect"]:
        yield from textwrap.wrap(effect_in_words(record["effect"]), WIDTH)
    todo = [one for check in ranked for one in remedies(check, judge, server["software"])]
    for number, remedy in enumerate(dict.fromkeys(todo)):
        yield f"{'Next:' if number == 0 else ' or:'} {remedy}"
    if record["ended"]:
        yield from textwrap.wrap(printable(f"ended early: {record['ended']}"), WIDTH)
    usd = "" if spent["usd"] is None else f", ${spent['usd']:.2f}"
    tokens = spent["input"] + spent["output"]
    yield (
        f"{spent['calls']} calls, {tokens:,} tokens{usd}, {spent['seconds']:.0f} s. "
        f"{record['verdict']}, deployment {record['digest']}"
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


def _row(word: str, name: str, words: str) -> list[str]:
    first = f"{word:<8}{name:<17} "
    return textwrap.wrap(
        words, WIDTH, initial_indent=first, subsequent_indent=" " * len(first)
    ) or [first.rstrip()]
