"""The extra `test` alone: every test module can be collected, or skips and names what it needs."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec

import pytest
from packaging.requirements import Requirement

from tests.light import PROJECT, ROOT, missing

EXTRAS = PROJECT["optional-dependencies"]
HEAVY = {
    *("torch", "transformers", "accelerate", "sentence_transformers"),
    *("playwright", "miniwob", "inspect_ai", "rapidocr", "onnxruntime", "mkdocs", "mkdocstrings"),
}


def test_the_light_extra_brings_none_of_the_heavy_packages() -> None:
    names = {Requirement(line).name for line in EXTRAS["test"]}
    assert not {name.replace("-", "_") for name in names} & HEAVY
    assert "vlm-web-eval" not in names


def test_what_only_other_extras_bring_is_known_to_be_missing() -> None:
    left_out = missing()
    installed = {name for name in HEAVY if find_spec(name)}
    assert installed <= left_out
    assert not left_out & {"pytest", "hypothesis", "numpy", "openai", "nbclient", "jieba", "yaml"}


@pytest.mark.timeout(900)
def test_without_other_extras_all_modules_are_collected_or_name_an_extra() -> None:
    words = (
        "-p",
        "tests.light",
        "--collect-only",
        "-q",
        "-n",
        "0",
        "-rs",
        "-p",
        "no:cacheprovider",
    )
    asked = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "tests"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = asked.stdout.splitlines()
    assert asked.returncode == 0, "\n".join(lines[-60:])
    skipped = [line for line in lines if line.startswith("SKIPPED")]
    assert len(skipped) > 10
    unnamed = [line for line in skipped if not named(line.partition(": ")[2])]
    assert unnamed == []


def named(reason: str) -> bool:
    """Whether a reason names an extra of the package, a browser, a GPU or data."""
    extras = re.findall(r"extra \[?'?([a-z-]+)", reason)
    return any(extra in EXTRAS for extra in extras) or bool(
        re.search(r"Chromium|CUDA|VLM_EVAL_TEST_DATA", reason)
    )
