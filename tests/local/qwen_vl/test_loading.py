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
from adapters.local.checkpoint import is_qwen_vl
from adapters.local.contract import Loaded
from adapters.local.memory import cache_bytes
from adapters.local.options import LocalOptions
from adapters.local.qwen_vl.loading import described, place_in
from adapters.local.qwen_vl.tokenizer import foreign_kind
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


def test_the_identity_follows_the_weights(checkpoint: Path, tmp_path: Path) -> None:
    same = copied(checkpoint, tmp_path / "same")
    other = tiny.build(tmp_path / "other", seed=1)
    first, again, different = (load(at(f), "cpu").facts for f in (checkpoint, same, other))
    assert again["vocabulary_sha256"] == first["vocabulary_sha256"]
    assert different["identity"] not in (first["identity"], again["identity"])


@pytest.mark.parametrize(("dtype", "kept"), [("bfloat16", 2), ("float32", 4), ("auto", 4)])
def test_the_type_is_the_one_asked_for(checkpoint: Path, dtype: str, kept: int) -> None:
    loaded = load(at(checkpoint, dtype=dtype), "cpu")
    assert loaded.model.dtype.itemsize == kept
    # Two layers, four heads of 32, keys and values.
    assert cache_bytes(loaded.model) == 2 * 4 * 32 * 2 * kept
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
    ("options", "said"),
    [
        ({"attn": "flash"}, "attn=flash"),
        ({"dtype": "int7"}, "dtype=int7"),
        ({"quantization": "4bit"}, "quantization"),
        ({"device_map": "auto"}, "spreads layers over GPUs"),
        ({"device_map": "sideways"}, "device_map=sideways"),
        ({"revision": "abc"}, "--adapter-option revision"),
    ],
)
def test_an_option_that_cannot_be_followed_is_refused(
    checkpoint: Path, options: dict[str, str], said: str
) -> None:
    if torch.cuda.is_available() and "device_map" in options:
        pytest.skip("there is a GPU")
    assert said in complaint(at(checkpoint, **options))


def test_a_model_larger_than_memory_is_refused(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.local.checkpoint.free_ram", lambda: 1000)
    assert "are free" in complaint(at(checkpoint))


def test_missing_files_are_named_with_their_source(checkpoint: Path, tmp_path: Path) -> None:
    assert "no such folder" in complaint(at(tmp_path / "nowhere"))
    folder = copied(checkpoint, tmp_path / "model")
    (folder / "qwen.tiktoken").unlink()
    assert "copy qwen.tiktoken of Qwen/Qwen-VL-Chat into this folder" in complaint(at(folder))
    assert "SeeClick was published without" in complaint(at(folder, "seeclick"))
    (folder / "config.json").unlink()
    assert "no config.json" in complaint(at(folder))
    for shard in folder.glob("*"):
        shard.unlink()
    tiny.vocabulary(folder / "qwen.tiktoken")
    (folder / "config.json").write_text(json.dumps(tiny.CONFIG))
    assert "no weights; wanted: pytorch_model-*.bin" in complaint(at(folder))


def test_a_vocabulary_of_another_model_is_noticed(checkpoint: Path, tmp_path: Path) -> None:
    visual = {**tiny.CONFIG["visual"], "image_start_id": 400}
    folder = copied(checkpoint, tmp_path / "model", visual=visual)
    assert "of another model" in complaint(at(folder))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "qwen", "architectures": ["QWenLMHeadModel"]}, "text-only Qwen"),
        ({"model_type": "qwen", "audio": {}}, "Qwen-Audio"),
        (
            {"model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"]},
            "Qwen2VLForConditionalGeneration; name it with --model qwen2-vl",
        ),
        (
            {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"]},
            "LlavaForConditionalGeneration; name it with --model hf",
        ),
        ({}, "unknown architecture"),
    ],
)
def test_a_checkpoint_of_another_architecture_is_named(
    tmp_path: Path, config: dict[str, Any], said: str
) -> None:
    assert not is_qwen_vl(config)
    assert said in str(foreign_kind(config))
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


def unreachable(*_: object, **__: object) -> None:
    raise ConnectionError("Name or service not known\nand more lines")


def test_without_the_hub_the_files_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", unreachable)
    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    said = complaint(LocalOptions("qwen-vl", name="qwen-vl"))
    for needed in (
        "cannot get Qwen/Qwen-VL-Chat from the hub",
        "config.json",
        "qwen.tiktoken",
        "pytorch_model-*.bin (ten",
        "pytorch_model.bin.index.json",
        "--adapter-option model_path=FOLDER",
    ):
        assert needed in said
    said = complaint(LocalOptions("seeclick", name="seeclick", revision="v2"))
    assert "cckevinn/SeeClick at revision v2" in said
    assert "qwen.tiktoken (that of Qwen/Qwen-VL-Chat)" in said


def test_weights_and_vocabulary_are_fetched_and_no_code(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SeeClick has no vocabulary of its own: that comes from Qwen-VL-Chat."""
    folder = copied(checkpoint, tmp_path / "0123abc")
    vocabulary = shutil.move(folder / "qwen.tiktoken", tmp_path / "qwen.tiktoken")
    asked: list[tuple[object, ...]] = []

    patterns: list[list[str]] = []

    def snapshot(repository: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((repository, revision))
        patterns.append(allow_patterns)
        return str(folder)

    def one_file(repository: str, name: str) -> str:
        asked.append((repository, name))
        return str(vocabulary)

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", unreachable)
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", one_file)
    options = LocalOptions("seeclick", name="seeclick", revision="0123abc")
    assert described(options, "cpu").family.coordinates == "unit"
    assert patterns == [["config.json", "qwen.tiktoken", "adapter_config.json"]]
    loaded = load(options, "cpu")
    assert patterns[-1] == ["pytorch_model*.bin", "pytorch_model.bin.index.json"]
    assert asked[-3:] == [
        ("cckevinn/SeeClick", "0123abc"),
        ("Qwen/Qwen-VL-Chat", "qwen.tiktoken"),
        ("cckevinn/SeeClick", "0123abc"),
    ]
    assert loaded.facts["identity"] == "0123abc"
    assert loaded.family.coordinates == "unit"


def test_a_model_that_will_not_fit_is_not_fetched(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(checkpoint, tmp_path / "0123abc")
    asked: list[list[str]] = []

    def snapshot(repository: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append(allow_patterns)
        return str(folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    monkeypatch.setattr("adapters.local.checkpoint.free_ram", lambda: 1000)
    assert "are free" in complaint(LocalOptions("qwen-vl", name="qwen-vl"))
    assert asked == [["config.json", "qwen.tiktoken", "adapter_config.json"]]


def test_a_description_needs_no_weights(checkpoint: Path, tmp_path: Path) -> None:
    folder = copied(checkpoint, tmp_path / "0123abc")
    known, loaded = described(at(folder), "cpu"), load(at(folder), "cpu")
    assert known.identity == loaded.facts["identity"]
    assert known.context_tokens == loaded.context_tokens
    assert known.settings.items() <= loaded.facts.items()
    for shard in folder.glob("*.bin"):
        shard.unlink()
    assert described(at(folder), "cpu").family.coordinates == "per-mille"


def test_a_parameter_goes_where_its_part_goes() -> None:
    plan = {"transformer.wte": 0, "transformer.h.0": 0, "transformer.h.1": 1, "lm_head": 1}
    assert place_in(plan, "transformer.wte.weight") == "cuda:0"
    assert place_in(plan, "transformer.h.1.attn.c_attn.bias") == "cuda:1"
    assert place_in({"": 2}, "lm_head.weight") == "cuda:2"


def test_layers_on_several_devices_are_handed_their_turn() -> None:
    """What a layer is given beside its input is moved by accelerate, which knows `.to`."""
    from accelerate.utils import send_to_device

    from adapters.local.qwen_vl.vision import Rotation

    rotation = Rotation.at(
        torch.arange(3)[None], torch.ones(1), dim=8, base=1e4, trained=16, logn=True
    )
    moved = send_to_device(rotation, "meta", non_blocking=True)
    assert isinstance(moved, Rotation)
    assert all(part.device.type == "meta" for part in (moved.query_cos, moved.key_sin))
    assert rotation.key_cos.device.type == "cpu"
