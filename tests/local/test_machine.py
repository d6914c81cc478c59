"""What a machine lacks for a model: packages, memory, the hub. One line each."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch

from adapters import describe
from adapters.contract import Fatal
from adapters.local import checkpoint as files
from adapters.local import factory
from adapters.local import generate as memory
from adapters.local.options import LocalOptions
from tests.local.conftest import Checkpoint
from tests.local.test_errors import complaint, place  # noqa: F401 (a fixture)


def huge(folder: Path, gigabytes: int) -> None:
    """Weights of so many gigabytes that take no room on the disk."""
    size = gigabytes * 10**9
    head = json.dumps(
        {"a": {"dtype": "BF16", "shape": [size // 2], "data_offsets": [0, size]}}
    ).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        file.truncate(8 + len(head) + size)


def test_missing_packages_are_told_with_the_line_that_installs_them(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(factory, "find_spec", lambda name: None if name == "accelerate" else 1)
    line = "local models need the package 'accelerate': pip install '.[local]' in a clone"
    assert complaint(f"hf:{checkpoint('qwen2-vl')}") == line
    with pytest.raises(Fatal, match="accelerate"):
        describe("qwen2-vl")
    monkeypatch.setattr(factory, "find_spec", lambda name: 1)
    monkeypatch.setattr(factory, "version", lambda name: "4.57.6")
    assert "transformers 5.20 or newer, 4.57.6 is installed" in complaint("qwen2-vl")


def test_quantisation_says_which_package_it_lacks(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adapters.local import loading

    monkeypatch.setattr(loading, "find_spec", lambda name: None)
    line = complaint(f"hf:{checkpoint('qwen2-vl')}", quantization="4bit", devices="cpu")
    assert line == "quantization=4bit needs bitsandbytes: pip install bitsandbytes"


def test_a_large_model_without_a_gpu_says_what_it_needs_and_what_there_is(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(files, "free_ram", lambda: 12 * 10**9)
    huge(copy, 16)
    line = complaint(f"hf:{copy}", dtype="bfloat16")
    assert "no GPU was found, and its weights need 16.0 GB of GPU memory" in line
    assert "CPU: 12.0 GB free" in line
    line = complaint(f"hf:{copy}", dtype="float32", devices="cpu")
    assert line.endswith("its weights need 32.0 GB of memory, and 12.0 GB are free")
    assert "need 4.8 GB" in complaint(f"hf:{copy}", dtype="float32", quantization="4bit")


def test_a_gpu_that_is_too_small_says_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (3 * 10**9, 8 * 10**9))
    on = "cuda:1", "a model"
    files.check_memory(2 * 10**9, *on, asked_for=False)
    said = r"^a model: .* need 16\.6 GB of GPU memory, and cuda:1 has 3\.0 GB free of 8\.0 GB: try"
    with pytest.raises(Fatal, match=said):
        files.check_memory(16_600_000_000, *on, asked_for=True)


def test_a_hub_that_cannot_be_reached_says_which_files_and_where(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for name in ("qwen2.5-vl", "hf:some/model"):
        line = complaint(name)
        assert "from the hub (" in line
        for part in (
            "config.json",
            "*.safetensors",
            "chat template",
            "--adapter-option model_path",
        ):
            assert part in line
    assert "--adapter-option model_path" in complaint("qwen-vl")
    assert "neither a folder nor a model id" in complaint("hf:not an id")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("GatedRepoError", "is gated"),
        ("RepositoryNotFoundError", "the hub has no model some/model, or it is private"),
        ("RevisionNotFoundError", "some/model on the hub has no revision v9"),
    ],
)
def test_what_the_hub_refuses_is_told(
    monkeypatch: pytest.MonkeyPatch, error: str, expected: str
) -> None:
    import huggingface_hub
    from huggingface_hub import errors

    kind = getattr(errors, error)

    def refuse(*_: object, **__: object) -> str:
        raise kind.__new__(kind)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    assert expected in complaint("hf:some/model", revision="v9")


def test_weights_that_do_not_fit_when_they_are_loaded_are_told_with_the_ways_out(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB. " + "x" * 400)

    monkeypatch.setattr(transformers.AutoModelForImageTextToText, "from_pretrained", full)
    said = complaint(f"hf:{checkpoint('qwen2-vl')}", devices="cpu")
    assert "does not fit into the device's memory: try --adapter-option quantization=4bit" in said
    assert said.endswith("(CUDA out of memory. Tried to allocate 2 GiB.)")


def test_a_torchvision_that_does_not_work_is_told_with_the_way_out(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    package = tmp_path / "broken" / "torchvision"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "raise RuntimeError('operator torchvision::nms does not exist')"
    )
    known = package.parent / "torchvision-0.28.0.dist-info"
    known.mkdir()
    (known / "METADATA").write_text("Metadata-Version: 2.1\nName: torchvision\nVersion: 0.28.0\n")
    code = (
        "import sys; from adapters import Fatal, make\n"
        "for name in ('qwen2-vl', 'qwen-vl', 'seq2seq'):\n"
        "    try: make(name, model_path=sys.argv[1])\n"
        "    except Fatal as error: print(error)"
    )
    path = os.pathsep.join([str(package.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code, str(checkpoint("qwen2-vl"))],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stderr
    for line in lines:
        assert "operator torchvision::nms does not exist" in line
        assert line.endswith(
            "install the one made for this torch (https://pytorch.org/get-started/locally), or "
            "remove it (pip uninstall torchvision), since few models need it"
        )


def test_a_downloaded_model_is_known_by_its_commit(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub

    from adapters.local.factory import describe as described

    commit = tmp_path / "snapshots" / ("a" * 40)
    asked: list[list[str]] = []

    def download(name: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append(allow_patterns)
        if not commit.exists():
            shutil.copytree(checkpoint("qwen2-vl"), commit)
        return str(commit)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    told = described(LocalOptions("some/model", name="qwen2-vl", revision="main")).info
    assert told.revision == "a" * 40
    assert told.model == "some/model"
    assert not any(pattern in ("*.py", "*.bin", "*.safetensors") for pattern in asked[0])
    assert len(asked) == 1


def test_memory_that_files_fill_counts_as_free(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As after 16 GB of weights were read, when little is left that nobody uses."""
    (tmp_path / "meminfo").write_text("MemFree: 100 kB\nMemAvailable: 9000 kB\n")
    (tmp_path / "memory.max").write_text("8000000\n")
    (tmp_path / "memory.current").write_text("7000000\n")
    (tmp_path / "memory.stat").write_text("anon 500000\ninactive_file 5000000\n")
    places = {"/proc/meminfo": tmp_path / "meminfo", "/sys/fs/cgroup": tmp_path}
    monkeypatch.setattr(files, "Path", lambda name: places[name])
    assert files.free_ram() == 6_000_000
    assert memory.free_bytes("cpu") == 6_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert files.free_ram() == 9000 * 1024
