"""Options of `vllm:` as arguments of the engine, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters import describe
from adapters.contract import Fatal
from adapters.vllm.adapter import VllmAdapter
from tests.harness.commands import tool
from tests.local.conftest import Checkpoint
from tests.local.engine.conftest import FAMILY, Log

Engine = Callable[..., VllmAdapter]


def arguments(log: Log) -> dict[str, Any]:
    (found,) = log("args")
    return dict(found)


def test_options_become_the_engines_arguments(engine: Engine, log: Log) -> None:
    adapter = engine(
        max_pixels=100_352,
        max_num_seqs=4,
        max_model_len=2_048,
        engine_args={"gpu_memory_utilization": 0.5, "enable_prefix_caching": False},
    )
    given = arguments(log)
    assert given["generation_config"] == "vllm"
    assert given["dtype"] == "float32"
    assert (given["max_num_seqs"], given["max_model_len"]) == (4, 2_048)
    assert given["gpu_memory_utilization"] == 0.5
    assert given["enable_prefix_caching"] is False
    assert given["limit_mm_per_prompt"] == {"video": 0}
    assert given["mm_processor_kwargs"] == {
        "size": {"shortest_edge": 3_136, "longest_edge": 100_352}
    }
    (environment,) = log("environment")
    assert environment["VLLM_NO_USAGE_STATS"] == "1"
    assert "CUDA_VISIBLE_DEVICES" not in environment
    assert adapter.info.settings["engine_args"] == {
        "gpu_memory_utilization": 0.5,
        "enable_prefix_caching": False,
    }
    assert adapter.info.concurrency == 8


def test_named_devices_share_one_model(
    engine: Engine, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.vllm.adapter.devices_of", lambda options: options.devices)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6")
    engine(devices="cuda:0,cuda:2")
    assert arguments(log)["tensor_parallel_size"] == 2
    assert arguments(log)["dtype"] == "float32"
    assert log("environment")[0]["CUDA_VISIBLE_DEVICES"] == "4,6"


def test_a_gpu_that_is_too_small_is_said_before_anything_is_loaded(
    engine: Engine, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr("adapters.vllm.adapter.devices_of", lambda options: ("cuda:0",))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10**3, 8 * 10**9))
    with pytest.raises(
        Fatal, match=r"over several GPUs with --adapter-option devices=cuda:0,cuda:1$"
    ):
        engine()
    assert log("args") == []


@pytest.mark.parametrize(("variable", "recorded"), [("0", False), ("1", True)])
def test_batch_invariance_is_on_record_and_handed_on(
    engine: Engine, log: Log, monkeypatch: pytest.MonkeyPatch, variable: str, recorded: bool
) -> None:
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", variable)
    adapter = engine()
    assert adapter.info.settings["batch_invariant"] is recorded
    assert log("environment")[0]["VLLM_BATCH_INVARIANT"] == variable


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"engine_args": {"max_num_seqs": 3}},
            "engine_args: 'max_num_seqs' has its own option; leave it out",
        ),
        ({"engine_args": {"load_format": "broken"}}, "cannot load the model: ValueError: No avail"),
        ({"engine_args": {"lora": 1}}, "cannot load the model: .*unexpected keyword argument"),
        ({"batch_size": 4}, "'vllm' takes no option 'batch_size'"),
        ({"attn": "eager"}, "'vllm' takes no option 'attn'"),
        ({"dtype": "int8"}, "dtype: expected one of auto, bfloat16, float16, float32"),
        ({"max_num_seqs": 0}, "max_num_seqs: expected a whole number of at least 1, not '0'"),
        ({"devices": "cuda:0"}, "no device 'cuda:0': torch sees no GPUs here"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    engine: Engine, options: dict[str, object], message: str
) -> None:
    with pytest.raises(Fatal, match=message) as caught:
        engine(**options)
    assert "\n" not in str(caught.value)


def test_without_the_package_a_model_is_described_and_not_loaded(checkpoint: Checkpoint) -> None:
    name = f"vllm:{checkpoint(FAMILY)}"
    assert describe(name).info.name == name
    from importlib.util import find_spec

    if find_spec("vllm") is None:
        with pytest.raises(Fatal, match=r"'vllm': pip install '\.\[vllm\]'"):
            describe(name, loads=True)


def test_a_name_without_a_model_is_refused() -> None:
    with pytest.raises(Fatal, match="which model"):
        describe("vllm")


def test_a_run_of_the_sample_from_the_command_line(
    checkpoint: Checkpoint, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool.isolate(monkeypatch, tmp_path)
    line = [
        "--model",
        f"vllm:{checkpoint(FAMILY)}",
        *tool.ONE_TASK,
        "--adapter-option",
        "max_pixels=40000",
    ]
    line += ["--progress", "off", "--adapter-option=preflight=no", "--out", str(tmp_path / "a")]
    done = tool.call(*line)
    assert done.code == 0, done.err
    asked = len(log("ids"))
    assert asked and len(log("args")) == 1 and log("shutdown") == [True]
    # What is settled needs no model.
    done = tool.call(*line)
    assert done.code == 0, done.err
    assert len(log("ids")) == asked and len(log("args")) == 1
    # Nor can it be gone on with by an engine that gives other replies.
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")
    done = tool.call(*line)
    assert done.code == 2
