"""`vllm:MODEL` as a factory: options to what a model declares, and to an engine that answers."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace

from adapters.contract import Adapter, AdapterInfo, Described, Fatal
from adapters.local.factory import check_installed
from adapters.local.options import LocalOptions
from adapters.options import SWITCHES, Count, parameters_of, read_options
from adapters.registry import install

INSTALL = install("vllm")
EXAMPLE = "vllm:Qwen/Qwen2.5-VL-7B-Instruct"
SPREAD = "spread it over several GPUs with --devices cuda:0,cuda:1"
INVARIANT = "VLLM_BATCH_INVARIANT"
"""vLLM's variable for kernels whose sums do not depend on what else is in the batch."""


@dataclass(frozen=True, slots=True)
class VllmOptions:
    """Options for loading a model; fields that `LocalOptions` has mean the same."""

    _: KW_ONLY
    model_path: str | None = None
    revision: str | None = None
    dtype: str = "auto"
    devices: tuple[str, ...] | None = None
    """The GPUs that one copy of the model is spread over (tensor parallel). None: the first."""
    max_pixels: Count | None = None
    trust_remote_code: bool = False
    kv_reuse: bool = True
    """True if the engine keeps keys and values of prefixes."""
    max_num_seqs: Count = 128
    """The most sequences in a batch."""
    max_model_len: Count | None = None
    """Context length in tokens. None: the model's own, which must fit the memory."""
    batch_invariant: bool | None = None
    """True if replies must not depend on batches. None: as `VLLM_BATCH_INVARIANT` is set."""
    engine_args: Mapping[str, object] | None = None
    """Further arguments of vLLM's `AsyncEngineArgs`."""


class VllmFactory:
    """Makes the adapter of a model that vLLM runs, from what `VllmOptions` declares."""

    __signature__: inspect.Signature = parameters_of(VllmOptions)

    def __call__(self, model: str, **options: object) -> Adapter:
        """Load the model. Raises `Fatal` with one line."""
        return self.describe(model, loads=True, **options).load()

    def describe(self, model: str, *, loads: bool = False, **options: object) -> Described:
        """Return the adapter's declaration and its loader. Raises `Fatal`; if the model is to be
        loaded next (`loads`), also for anything that would prevent that."""
        read = VllmOptions(**read_options(self, options))  # type: ignore[arg-type]
        if not model and read.model_path is None:
            raise Fatal(f"which model? name it like {EXAMPLE} or vllm:FOLDER")
        check_installed(("torch", "transformers", *(["vllm"] if loads else [])), INSTALL)
        return _described(model or str(read.model_path), read, loads)


vllm = VllmFactory()


def _described(model: str, options: VllmOptions, loads: bool) -> Described:
    from adapters.local import footprint, loading
    from adapters.local.checkpoint import locate
    from adapters.local.devices import devices_of, visible
    from adapters.local.processors import check_torchvision
    from adapters.local.unloaded import declared

    check_torchvision()
    named = LocalOptions(
        model,
        model_path=options.model_path,
        revision=options.revision,
        dtype=options.dtype,
        devices=options.devices,
        max_pixels=options.max_pixels,
        trust_remote_code=options.trust_remote_code,
    )
    devices = devices_of(named)[: None if options.devices else 1]
    checkpoint = locate(named)
    if checkpoint.is_original_qwen_vl:
        raise Fatal(
            f"{checkpoint.folder} is a checkpoint of the original Qwen-VL, which vLLM no longer "
            "runs: name it with --model qwen-vl, or seeclick"
        )
    family = loading.family(named, checkpoint)
    read = loading.TransformersModel(named, devices[0], checkpoint, family)
    if loads and len(devices) == 1:
        read.check(SPREAD)
    elif loads and checkpoint.commit is None:
        footprint.check_files(checkpoint)
    invariant = _invariant(options)
    info = _info(declared(replace(named, name="vllm"), read), options, invariant)
    arguments = {
        "model": str(checkpoint.folder),
        "dtype": info.settings["dtype"],
        "trust_remote_code": options.trust_remote_code,
        "tensor_parallel_size": len(devices),
        "max_num_seqs": options.max_num_seqs,
        "enable_prefix_caching": options.kv_reuse,
        # A checkpoint's own generation_config samples and punishes repetition.
        "generation_config": "vllm",
        "seed": 0,
        "limit_mm_per_prompt": {"video": 0},
        "disable_log_stats": True,
    }
    if options.max_model_len is not None:
        arguments["max_model_len"] = options.max_model_len
    if family.pixel_limits is not None:
        # The limits of our own resizing: the engine resizes nothing again.
        size = dict(zip(("shortest_edge", "longest_edge"), family.pixel_limits, strict=True))
        arguments["mm_processor_kwargs"] = {"size": size}
    own = sorted({*arguments, "max_model_len", "revision"} & set(options.engine_args or {}))
    if own:
        raise Fatal(f"engine_args: '{own[0]}' has its own option; leave it out")
    environment = {INVARIANT: str(int(invariant)), **visible(options.devices or ())}

    def load() -> Adapter:
        from adapters.local.checkpoint import fetch_weights
        from adapters.local.start import announced
        from adapters.vllm.adapter import VllmAdapter

        if checkpoint.commit is not None:
            fetch_weights(named, checkpoint)
        with announced(info.name, ", ".join(devices)):
            return VllmAdapter(
                info, family, {**arguments, **(options.engine_args or {})}, environment
            )

    return Described(info, load)


def _info(info: AdapterInfo, options: VllmOptions, invariant: bool) -> AdapterInfo:
    """Return the declaration of a model that vLLM runs."""
    settings = {name: value for name, value in info.settings.items() if name != "attention"}
    settings |= {"engine": "vllm", "batch_invariant": invariant}
    if options.engine_args:
        settings["engine_args"] = dict(options.engine_args)
    lengths = [n for n in (info.context_tokens, options.max_model_len) if n is not None]
    return replace(
        info,
        # As many as are in a batch, and as many that wait for their turn.
        concurrency=2 * options.max_num_seqs,
        context_tokens=min(lengths, default=None),
        settings=settings,
    )


def _invariant(options: VllmOptions) -> bool:
    if options.batch_invariant is not None:
        return options.batch_invariant
    return SWITCHES.get(os.environ.get(INVARIANT, "0").lower(), False)
