"""What the user is told: what was loaded, what is needed, what is wrong, each in one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch

from adapters.contract import Fatal
from adapters.local.contract import Loaded
from adapters.local.options import LocalOptions
from tests.local.examples import load_now as load
from tests.local.qwen_vl import tiny


@pytest.fixture(autouse=True)
def no_memory_of_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def copied(checkpoint: Path, folder: Path, **changes: Any) -> Path:
    shutil.copytree(checkpoint, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    return folder


def complaint(options: LocalOptions) -> str:
    with pytest.raises(Fatal) as caught:
        load(options, "cpu")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def at(folder: Path, name: str = "qwen-vl", **more: Any) -> LocalOptions:
    return LocalOptions(name, model_path=str(folder), name=name, **more)


def test_a_run_records_what_it_ran_on(checkpoint: Path) -> None:
    loaded = load(at(checkpoint), "cpu")
    facts = loaded.facts
    assert facts["dtype"] == "float32"
    assert facts["attention"] == "sdpa"
    assert facts["torch"] == torch.__version__
    assert str(facts["identity"]).startswith("sha256:")
    assert facts["pillow"]
    assert loaded.context_tokens == 8192
    assert json.dumps(dict(facts))


@pytest.mark.parametrize(("dtype", "kept"), [("bfloat16", 2), ("float32", 4), ("auto", 4)])
def test_the_type_is_the_one_asked_for(checkpoint: Path, dtype: str, kept: int) -> None:
    loaded = load(at(checkpoint, dtype=dtype), "cpu")
    assert loaded.model.dtype.itemsize == kept
    ids = torch.arange(40)[None]
    assert loaded.model.generate(ids, max_new_tokens=2).shape == (1, 42)


def test_coordinates_are_declared(checkpoint: Path, loaded: Loaded) -> None:
    assert loaded.family.coordinates == "per-mille"
    assert load(at(checkpoint, "seeclick"), "cpu").family.coordinates == "unit"


def test_a_fine_tuned_seeclick_is_known_by_its_folder(checkpoint: Path, tmp_path: Path) -> None:
    folder = copied(checkpoint, tmp_path / "SeeClick-mind2web")
    assert load(at(folder), "cpu").family.coordinates == "unit"


def test_pictures_are_sent_as_they_are_or_within_the_limit(checkpoint: Path) -> None:
    rule = load(at(checkpoint), "cpu").family.image_rule
    assert rule is not None
    assert rule.fit(1280, 5429) == (1280, 5429)
    assert rule.tokens(1280, 5429) == 16
    limited = load(at(checkpoint, max_pixels=1_000_000), "cpu").family.image_rule
    assert limited is not None
    width, height = limited.fit(1280, 5429)
    assert width * height <= 1_000_000 < (width + 2) * (height + 2)


def test_eager_attention_says_the_same(checkpoint: Path, loaded: Loaded) -> None:
    eager = load(at(checkpoint, attn="eager"), "cpu")
    ids = torch.arange(40)[None]
    first, second = (
        one.model.generate(ids, max_new_tokens=8, do_sample=False).tolist()
        for one in (loaded, eager)
    )
    assert eager.facts["attention"] == "eager"
    assert first == second


@pytest.mark.parametrize(
    ("options", "said"), [({"attn": "flash"}, "attn=flash"), ({"quantization": "4bit"}, "leave it")]
)
def test_an_option_that_cannot_be_followed_is_refused(
    checkpoint: Path, options: dict[str, Any], said: str
) -> None:
    assert said in complaint(at(checkpoint, **options))


def test_a_missing_vocabulary_is_named_with_its_source(checkpoint: Path, tmp_path: Path) -> None:
    folder = copied(checkpoint, tmp_path / "model")
    (folder / "qwen.tiktoken").unlink()
    assert "copy qwen.tiktoken of Qwen/Qwen-VL-Chat into" in complaint(at(folder))
    assert "SeeClick was published without" in complaint(at(folder, "seeclick"))


def test_a_vocabulary_of_another_model_is_noticed(checkpoint: Path, tmp_path: Path) -> None:
    visual = {**tiny.CONFIG["visual"], "image_start_id": 400}
    folder = copied(checkpoint, tmp_path / "model", visual=visual)
    assert "of another model" in complaint(at(folder))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "qwen", "architectures": ["QWenLMHeadModel"]}, "QWenLMHeadModel, not of"),
        ({"model_type": "qwen", "audio": {}}, "of qwen, not of"),
        ({"model_type": "qwen2_vl"}, "name it with --model qwen2-vl"),
        ({"model_type": "llava"}, "name it with --model hf"),
        ({}, "none that is named"),
    ],
)
def test_a_checkpoint_of_another_architecture_is_named(
    tmp_path: Path, config: dict[str, Any], said: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    tiny.vocabulary(tmp_path / "qwen.tiktoken")
    assert said in complaint(at(tmp_path))


@pytest.mark.parametrize(
    "visual", [{}, {"heads": 3}, {"n_queries": 15}, {"patch_size": 0}, {"width": "wide"}]
)
def test_a_configuration_that_does_not_add_up_is_one_line(
    checkpoint: Path, tmp_path: Path, visual: dict[str, Any]
) -> None:
    changed = {**tiny.CONFIG["visual"], **visual} if visual else {}
    folder = copied(checkpoint, tmp_path / "model", visual=changed)
    assert "config.json: 'visual'" in complaint(at(folder))


def test_weights_and_vocabulary_are_fetched_and_no_code(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SeeClick has no vocabulary of its own: that comes from Qwen-VL-Chat."""
    folder, chat = copied(checkpoint, tmp_path / "0123abc"), tmp_path / "chat"
    chat.mkdir()
    shutil.move(folder / "qwen.tiktoken", chat)
    asked: list[tuple[str, object, str]] = []

    def snapshot(repository: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.extend((repository, revision, pattern) for pattern in allow_patterns)
        return str(chat if repository == "Qwen/Qwen-VL-Chat" else folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    hub = LocalOptions("cckevinn/SeeClick", name="seeclick", revision="0123abc")
    loaded = load(hub, "cpu")
    assert loaded.facts["identity"] == "0123abc"
    assert loaded.family.coordinates == "unit"
    assert ("Qwen/Qwen-VL-Chat", None, "qwen.tiktoken") in asked
    assert ("cckevinn/SeeClick", "0123abc", "pytorch_model-00001-of-00002.bin") in asked
    assert not any(pattern.endswith((".py", "*")) for _, _, pattern in asked)
