"""A local model's options on the command line: what they reach, and what a run is bound to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from adapters.local.factory import hf, local_options
from adapters.local.options import LocalOptions
from adapters.options import read_options
from harness.settings import Settings, directory_name, on_record, read_settings
from tests.harness.commands import tool
from tests.local.conftest import Checkpoint

ASKED = (*tool.ONE_TASK, "--image-policy", "none", "--max-tokens", "4")
QUIET = ("--adapter-option=preflight=no", "--no-cache", "--progress", "off")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    tool.isolate(monkeypatch, tmp_path)
    return tmp_path


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def options_of(name: str, model: str, **options: object) -> LocalOptions:
    return local_options(name, model, read_options(hf, options))


def test_options_arrive_in_their_own_types() -> None:
    given = {"devices": "cuda:1", "max_pixels": "1000000", "batch_size": "8", "dtype": "float16"}
    assert options_of("qwen2.5-vl", "", **given) == LocalOptions(
        "Qwen/Qwen2.5-VL-7B-Instruct",
        name="qwen2.5-vl",
        devices=("cuda:1",),
        max_pixels=1_000_000,
        batch_size=8,
        dtype="float16",
    )
    assert options_of("hf", "a/b", batch_size="auto") == LocalOptions("a/b")
    assert options_of("seeclick", "").model == "cckevinn/SeeClick"
    assert options_of("hf", "", model_path="x").model == "x"


def local(**values: object) -> Settings:
    return read_settings({"model": "hf:a/b", "adapter_option": values})


def test_a_run_is_bound_to_what_changes_replies_and_to_nothing_else() -> None:
    plain = local()
    carried = local(batch_size=4, devices="cpu", model_path="/here")
    assert on_record(carried) == on_record(plain)
    assert "adapter_option" not in on_record(plain)
    for other in (
        local(dtype="float32"),
        local(attn="eager"),
        local(max_pixels=1),
        local(quantization="4bit"),
        local(revision="v1"),
    ):
        assert on_record(other) != on_record(plain)
        assert directory_name(other) != directory_name(plain)
    elsewhere = local(model_path="/there")
    assert directory_name(elsewhere) != directory_name(carried)


def test_a_run_goes_on_with_other_means_but_not_with_another_model(
    checkpoint: Checkpoint, place: Path
) -> None:
    folder = shutil.copytree(checkpoint("qwen3-vl"), place / "model")
    base = ("--model", "qwen3-vl", *ASKED, *QUIET, "--out", "run")
    first = tool.call(
        *base,
        "--adapter-option",
        f"model_path={folder}",
        "--adapter-option",
        "batch_size=2",
        "--adapter-option",
        "devices=cpu",
    )
    assert first.code == 0, first.err
    stored = manifest(place / "run")
    assert stored["model"]["revision"].startswith("sha256:")
    assert stored["model"]["settings"]["dtype"] == "float32"
    (session,) = stored["sessions"]
    for name, value in (("batch_size", "2"), ("devices", "cpu")):
        assert str(session["settings"][name]) == value
    assert "batch_size" not in str(stored["config"])

    moved = shutil.move(folder, place / "moved")
    again = tool.call(
        *base,
        "--adapter-option",
        f"model_path={moved}",
        "--adapter-option",
        "batch_size=auto",
    )
    assert again.code == 0, again.err
    assert len(manifest(place / "run")["sessions"]) == 2

    other = tool.call(
        *base, "--adapter-option", f"model_path={moved}", "--adapter-option", "dtype=bfloat16"
    )
    assert other.code == 2
    assert "dtype" in other.err
    weights = place / "moved" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    changed = tool.call(*base, "--adapter-option", f"model_path={moved}")
    assert changed.code == 2
    assert "revision" in changed.err


@pytest.mark.parametrize(
    "idle", ["--concurrency 3", "--adapter-option timeout=9", "--adapter-option effort=high"]
)
def test_options_of_servers_are_refused(checkpoint: Checkpoint, idle: str) -> None:
    called = tool.call("--model", f"hf:{checkpoint('qwen2-vl')}", *tool.ONE_TASK, *idle.split())
    assert called.code == 2
    said = idle.removesuffix(" 3").partition("=")[0]
    assert f"{said} has no effect" in called.complaint
