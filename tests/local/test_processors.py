"""Processors without their part for video, and code that a checkpoint brings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from adapters.contract import Fatal
from adapters.conversation import Conversation, Picture, user
from adapters.local.checkpoint import locate
from adapters.local.loading import family as family_in
from adapters.local.options import LocalOptions
from adapters.local.processors import image_only
from tests.local import zoo
from tests.local.conftest import Checkpoint, Load
from tests.local.examples import load_now
from tests.local.others import metaspace

CODE = """
from pathlib import Path
from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

Path({mark!r}).touch()

class OwnConfig(Qwen2VLConfig):
    pass

class OwnModel(Qwen2VLForConditionalGeneration):
    config_class = OwnConfig
"""


@pytest.mark.parametrize(
    ("processor", "pictures", "told"),
    [
        # Its part for video comes last, and first.
        ("LlavaOnevisionProcessor", "LlavaOnevisionImageProcessorPil", {"num_image_tokens": 7}),
        ("LlavaNextVideoProcessor", "LlavaNextImageProcessorPil", {"patch_size": 9}),
    ],
)
def test_a_processor_keeps_its_settings_and_loses_its_video(
    tmp_path: Path, processor: str, pictures: str, told: dict[str, int]
) -> None:
    import transformers

    metaspace().save_pretrained(tmp_path)
    getattr(transformers, pictures)().save_pretrained(tmp_path)
    stored = {"processor_class": processor, **told}
    (tmp_path / "processor_config.json").write_text(json.dumps(stored))
    made = image_only(getattr(transformers, processor)).from_pretrained(tmp_path)
    assert type(made).__name__ == processor
    assert {name: getattr(made, name) for name in told} == told
    assert type(made.image_processor).__name__ == pictures
    assert made.tokenizer.bos_token == "<s>"
    assert not made.video_processor


def newest(folder: Path) -> None:
    """All parts in one file, as transformers 5 writes them."""
    parts = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").unlink()
    whole = json.loads((folder / "processor_config.json").read_text())
    whole |= {"image_processor": parts, "video_processor": {"video_processor_type": "Any"}}
    (folder / "processor_config.json").write_text(json.dumps(whole))


def older(folder: Path) -> None:
    """The processor's class beside the pictures' settings, and a class with torchvision named."""
    parts = json.loads((folder / "preprocessor_config.json").read_text())
    own = json.loads((folder / "processor_config.json").read_text())
    parts |= {"processor_class": own.pop("processor_class")}
    parts["image_processor_type"] += "Fast"
    (folder / "preprocessor_config.json").write_text(json.dumps(parts))
    (folder / "processor_config.json").write_text(json.dumps(own))


@pytest.mark.parametrize(
    "family",
    sorted({"idefics3", "smolvlm", "gemma3", "gemma4", "internvl"} & set(zoo.FAMILIES)),
)
@pytest.mark.parametrize("change", [newest, older])
def test_a_processor_is_found_in_every_layout_that_was_published(
    checkpoint: Checkpoint, tmp_path: Path, family: str, change: Callable[[Path], None]
) -> None:
    folder = Path(shutil.copytree(checkpoint(family), tmp_path / "copy"))
    change(folder)
    expected, found = (
        family_in(LocalOptions(str(place)), locate(LocalOptions(str(place))))
        for place in (checkpoint(family), folder)
    )
    assert found.image_processor == expected.image_processor
    picture = Image.new("RGB", (150, 90), "red")
    asked = Conversation((user(Picture("0", "plain", 150, 90), "what now?"),))
    ids = expected.encode(asked, [picture]).ids.tolist()
    assert found.encode(asked, [picture]).ids.tolist() == ids


@pytest.fixture
def own(
    checkpoint: Checkpoint, load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A checkpoint that transformers does not know and that brings its own code."""
    from safetensors.torch import save_file
    from transformers import dynamic_module_utils

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder = Path(shutil.copytree(checkpoint("qwen2-vl"), tmp_path / "own"))
    (folder / "own_code.py").write_text(CODE.format(mark=str(tmp_path / "ran")))
    # Only models that the library knows have their tensors renamed.
    save_file(load("qwen2-vl").model.state_dict(), folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "own",
        "auto_map": {
            "AutoConfig": "own_code.OwnConfig",
            "AutoModelForImageTextToText": "own_code.OwnModel",
        },
    }
    (folder / "config.json").write_text(json.dumps(config))
    stored = json.loads((folder / "preprocessor_config.json").read_text())
    stored["processor_class"] = "Qwen2VLProcessor"
    (folder / "preprocessor_config.json").write_text(json.dumps(stored))
    return folder


def test_code_that_a_checkpoint_brings_is_run_only_when_it_is_trusted(
    own: Path, tmp_path: Path
) -> None:
    with pytest.raises(Fatal, match="brings its own code, which is not run unless"):
        load_now(LocalOptions(str(own)), device="cpu")
    assert not (tmp_path / "ran").exists()
    loaded = load_now(LocalOptions(str(own), trust_remote_code=True), device="cpu")
    assert (tmp_path / "ran").exists()
    assert type(loaded.model).__name__ == "OwnModel"


def test_trust_runs_no_code_where_none_is_needed(checkpoint: Checkpoint) -> None:
    options = LocalOptions(str(checkpoint("qwen2-vl")), trust_remote_code=True)
    assert load_now(options, device="cpu").family.name == "qwen2-vl"
