"""Forms of pointing that models were trained on, by their names."""

from __future__ import annotations

from collections.abc import Mapping

from harness.protocols.pointing import by_longest_word
from parsers.points import Form

FAMILIES: Mapping[str, Form] = {
    "seeclick": "seeclick",
    "qwen-vl": "qwen-vl",
    "qwen2-vl": "qwen2-vl",
    "qwen2.5": "qwen2.5-vl",
    "qwen3": "qwen3-vl",
    "qwen3.": "qwen3.5-xml",
    "claude": "computer-use",
    "gpt-": "computer-use",
    "chatgpt": "computer-use",
    "gemini": "gemini",
    "ui-tars": "ui-tars",
    "seed-1.8": "ui-tars",
    "aguvis": "pyautogui",
    "scalecua": "pyautogui",
    "kimi-vl": "pyautogui",
    "kimi-k2": "point-text",
    "holo1": "click-call",
    "holo1.5": "computer-use",
    "holo2": "computer-use",
    "holo3": "computer-use",
    "uground": "point-text",
    "os-atlas": "box-text",
    "os-atlas-4b": "point-text",
    "os-atlas-base-4b": "point-text",
    "os-atlas-pro-4b": "point-text",
    "showui": "point-text",
    "gta1": "point-text",
    "ui-venus": "point-text",
    "gui-g2": "point-text",
    "internvl": "box-text",
    "glm-4.1v": "glm",
    "glm-4.5v": "glm",
    "glm-4.6v": "glm",
    "cogagent": "cogagent",
    "cogagent-18b": "point-text",
    "cogagent-chat": "point-text",
    "step-gui": "step",
    "gelab-zero": "step",
    "mai-ui": "mai",
    "jedi": "qwen2.5-vl",
    "gui-owl": "qwen3-vl",
}
"""Forms by a word in the model's name."""


def usual_form(*names: str) -> Form:
    """Return the form of pointing that a model was trained on; `plain` for unknown families.

    Of several names (the model's own, the adapter's) the first with a known family decides, and of
    the words in a name the longest.

    >>> usual_form("Qwen/Qwen2.5-VL-7B-Instruct"), usual_form("OS-Copilot/OS-Atlas-Base-4B")
    ('qwen2.5-vl', 'point-text')
    """
    return by_longest_word(FAMILIES.items(), *names) or "plain"
