"""Embeddings by sentence-transformers, on an encoder of a few thousand weights made on the spot."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (extra embed)")
if find_spec("sentence_transformers") is None:  # importing it would take seconds in every process
    pytest.skip("sentence-transformers is not installed", allow_module_level=True)

import harness
from adapters import EMBEDDING_MODELS, Embedded, Embedder, Fatal
from adapters.checks import checked_vectors
from adapters.embedding import Loading
from benchmarks.tiny_encoder import build
from harness.protocols import PROTOCOLS

WORDS = ["find a flight to oslo", "book a table for two", "rent a van"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "encoder"
    build(folder, WORDS * 4, words=60, width=16, layers=1, heads=2, positions=32)
    return folder


def made(model: str, **options: Any) -> Embedder:
    return EMBEDDING_MODELS.make(model, devices="cpu", **options)


def embed(embedder: Embedder, texts: Sequence[str]) -> Embedded:
    async def run() -> Embedded:
        try:
            return await embedder.embed(texts)
        finally:
            await embedder.close()

    return asyncio.run(run())


def test_a_checkpoint_of_this_machine_embeds_texts(folder: Path) -> None:
    embedded = checked_vectors(embed(made(f"hf:{folder}"), [*WORDS, "", "word " * 500]), 5, 16)
    assert len(set(embedded.vectors)) == 5
    assert embedded.usage is not None and embedded.usage.input > 32
    again = checked_vectors(embed(made("hf", model_path=str(folder)), WORDS[:1]), 1, 16)
    assert all(
        math.isclose(a, b, abs_tol=1e-5)
        for a, b in zip(again.vectors[0], embedded.vectors[0], strict=True)
    )


def test_the_loop_goes_on_while_texts_are_embedded(folder: Path) -> None:
    threads: set[str] = set()

    async def run() -> None:
        embedder = made(f"hf:{folder}")
        encode = embedder._encode  # type: ignore[attr-defined]

        def watched(texts: list[str]) -> object:
            threads.add(threading.current_thread().name)
            return encode(texts)

        embedder._encode = watched  # type: ignore[attr-defined]
        await asyncio.gather(*(embedder.embed([text]) for text in WORDS))
        await embedder.close()

    asyncio.run(run())
    assert threads == {"embedder_0"}


def test_a_checkpoint_is_loaded_once_and_before_its_first_call_if_wanted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = made(f"hf:{folder}")
    assert isinstance(embedder, Loading)
    embedder.load()
    monkeypatch.delattr(embedder.__class__, "_load")
    assert len(embed(embedder, WORDS).vectors) == 3


def test_another_checkpoint_is_another_model_on_record(folder: Path, tmp_path: Path) -> None:
    before = made(f"hf:{folder}").info
    assert before.provider == "local" and str(before.revision).startswith("sha256:")
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert made("hf:m", model_path=str(copy)).info.revision == before.revision
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "hidden_dropout_prob": 0.5}))
    assert made("hf:m", model_path=str(copy)).info.revision != before.revision


@pytest.mark.parametrize(
    ("model", "options", "line"),
    [
        ("hf", {}, "which model"),
        ("hf:./nowhere", {}, "no such folder"),
        ("hf:FOLDER", {"revision": "main"}, "a folder has none"),
        ("hf:FOLDER", {"devices": "tpu"}, "device"),
        ("hf:FOLDER", {"devices": "cpu,cuda:0"}, "one device"),
        ("hf:FOLDER", {"batch_size": "0"}, "batch_size: expected a whole number of at least 1"),
        ("hf:FOLDER", {"colour": "red"}, "takes no option 'colour'"),
    ],
)
def test_mistakes_are_one_line(
    folder: Path, model: str, options: dict[str, str], line: str
) -> None:
    with pytest.raises(Fatal, match=line) as caught:
        EMBEDDING_MODELS.make(model.replace("FOLDER", str(folder)), **options)
    assert "\n" not in str(caught.value)


def test_code_that_comes_with_a_checkpoint_is_never_run(folder: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    shutil.copytree(folder, hostile)
    (hostile / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass M: pass\n")
    modules = [{"idx": 0, "name": "0", "path": "", "type": "mine.M"}]
    (hostile / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(Fatal, match="cannot be loaded") as caught:
        embed(made(f"hf:{hostile}"), WORDS)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "ran").exists()


def test_what_is_missing_is_said_in_one_line_with_the_command() -> None:
    code = (
        "import sys; sys.modules['sentence_transformers'] = None\n"
        "from importlib import util; find = util.find_spec\n"
        "util.find_spec = lambda n, *a: None if n == 'sentence_transformers' else find(n, *a)\n"
        "from adapters import EMBEDDING_MODELS, Fatal\n"
        "try: EMBEDDING_MODELS.make('hf:owner/model')\n"
        "except Fatal as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == (
        "the embedder 'hf' needs sentence-transformers: pip install '.[embed]' in a clone"
    )


def test_a_cancelled_call_leaves_the_embedder_usable(folder: Path) -> None:
    async def run() -> int:
        embedder = made(f"hf:{folder}")
        task = asyncio.create_task(embedder.embed(WORDS))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        embedded = await embedder.embed(WORDS)
        await embedder.close()
        return len(embedded.vectors)

    assert asyncio.run(run()) == 3


def test_a_role_of_a_run_embeds_on_this_machine(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache-home"))
    monkeypatch.setattr(PROTOCOLS, "_entries", dict(PROTOCOLS._entries))
    PROTOCOLS.add("planned", "tests.harness.session.planned:Planned")
    Path("script.jsonl").write_text('{"default": true, "text": "find a flight"}')
    run = harness.evaluate(
        model="scripted:script.jsonl",
        benchmark="sample",
        split="dev",
        limit=1,
        protocol="planned",
        role={"embedding": {"model": "hf", "model_path": str(folder), "devices": "cpu"}},
        out="run",
        progress="off",
    )
    assert run.complete
    config = run.manifest.config
    # Where it lies and what it runs on is not what it is.
    assert config["role"] == {"embedding": "hf"}
    assert config["role_models"]["embedding"]["revision"].startswith("sha256:")
    assert run.summary["by_role"]["embedding"]["cost"] == 0
