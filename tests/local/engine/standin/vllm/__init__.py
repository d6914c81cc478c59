"""Stands in for vLLM: the part of it that is used here, without a model.

It expands picture marks, counts cached tokens by blocks, validates and fails as vLLM 0.32 was seen
to do, and has processes that outlive their parent. What it is asked and told goes to the file that
`STANDIN_LOG` names, a JSON object per line. Words in a prompt make it fail (`[dead]`, `[error]`,
...); any other prompt gets the same reply whenever it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vllm.sampling_params import SamplingParams

__version__ = "0.0.standin"
__all__ = ["AsyncEngineArgs", "SamplingParams"]


@dataclass
class AsyncEngineArgs:
    model: str
    dtype: str = "auto"
    seed: int = 0
    load_format: str = "auto"
    tensor_parallel_size: int = 1
    max_num_seqs: int | None = None
    max_model_len: int | None = None
    enable_prefix_caching: bool | None = None
    enforce_eager: bool = False
    gpu_memory_utilization: float = 0.92
    generation_config: str = "auto"
    disable_log_stats: bool = False
    limit_mm_per_prompt: dict[str, int] = field(default_factory=dict)
    mm_processor_kwargs: dict[str, Any] | None = None
