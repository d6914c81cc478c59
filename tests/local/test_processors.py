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
from tests.local.conftest import Checkpoint
from tests.local.examples import load_now
from tests.local.others import metaspace


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


@pytest.mark.parametrize("known", [True, False])
def test_code_that_a_checkpoint_brings_is_never_run(
    checkpoint: Checkpoint, tmp_path: Path, known: bool
) -> None:
    folder = Path(shutil.copytree(checkpoint("qwen2-vl"), tmp_path / "own"))
    (folder / "own_code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    names = ("AutoConfig", "AutoModelForImageTextToText", "AutoProcessor", "AutoImageProcessor")
    for name in ("config.json", "preprocessor_config.json", "tokenizer_config.json"):
        stored = json.loads((folder / name).read_text())
        stored["auto_map"] = dict.fromkeys(names, "own_code.Own")
        if not known and name == "config.json":
            stored["model_type"] = "own"
        (folder / name).write_text(json.dumps(stored))
    if known:
        assert load_now(LocalOptions(str(folder)), device="cpu").family.name == "qwen2-vl"
    else:
        with pytest.raises(Fatal, match="brings its own code, which is never run here"):
            load_now(LocalOptions(str(folder)), device="cpu")
    assert not (tmp_path / "ran").exists()
