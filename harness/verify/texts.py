"""The texts that a deployment is asked about, whose wording counts depend on, and which calls each
check needs."""

from __future__ import annotations

from harness.verify import scenes

COPY = (
    "The old mill stands by the river, and by the river the old road ends. "
    "In 1904 the mill ground 52 sacks a day, 52 sacks and no more."
)
SHORT = (
    "Say hello.",
    "Which colour has the sky on a clear day? Answer in one word.",
    "What is two and two? Write the number only.",
)
"""The texts whose tokens are compared with the checkpoint's template. Counts depend on them."""
PASS_WORD = "heron"
_SYSTEM = "You help a visitor of a small museum. Answer in few words and stay polite. "
SYSTEM = (_SYSTEM * 7)[: 480 - len(f"The pass word is {PASS_WORD}.")] + (
    f"The pass word is {PASS_WORD}."
)
FILLER = "A boat passes slowly under the bridge while the keeper of the lock looks on. "
CONTEXT_TOKENS = 11_000
COUNTED = {"max-tokens": (40, 300), "long-reply": (1000, 200)}
"""Limit of the reply in tokens, and the number to count to."""
POINTS_QUICK = (1, 3, 6, 8)
SIZES = dict(zip(("size-a", "size-b", "size-c", "size-d"), scenes.SIZES, strict=False))


def groups(quick: bool) -> dict[str, tuple[str, ...]]:
    """Return the calls of each check, the first time that it is asked."""
    sizes = tuple(SIZES)
    marks = POINTS_QUICK if quick else tuple(range(1, 9))
    many = 2 if quick else 4
    return {
        "copy": ("copy", "short-1", "short-2", "short-3"),
        "template": ("short-1", "short-2", "short-3"),
        "system text": ("system", "no-system"),
        "max_tokens": ("max-tokens",),
        "long reply": ("long-reply",),
        "context": ("context",),
        "picture seen": ("base", *sizes),
        "sizes": ("base", *sizes, "ladder-small", "ladder-large"),
        "bytes": ("size-a", "noisy"),
        "picture cache": ("size-a", "noisy"),
        "usage": ("base", "size-a"),
        "thinking": ("copy", "short-1", "short-2", "short-3"),
        "corners": ("corners",),
        "ladder": ("ladder-small", "ladder-large"),
        "coverage": ("coverage",),
        "order": ("order",),
        "history": ("base", "size-a", "history"),
        "with system text": ("base", "size-a", "system", "no-system", "with-system"),
        "points": tuple(f"points-{n}" for n in marks),
        "repeats": tuple(f"repeats-{n}" for n in range(1, 2 * many + 1)),
    }
