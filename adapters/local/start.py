"""From options to an adapter that can be asked: models on their devices, workers around them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch

from adapters.contract import AdapterInfo
from adapters.local.adapter import LocalAdapter
from adapters.local.contract import Loaded, Unloaded
from adapters.local.devices import devices_of
from adapters.local.memory import free_bytes
from adapters.local.options import LocalOptions
from adapters.local.process_worker import start_workers
from adapters.local.work import Worker
from adapters.local.worker import thread_worker

_log = logging.getLogger(__name__)
LONG_S = 2.0
"""Seconds of loading after which a log line says what is being loaded."""


def start(options: LocalOptions, info: AdapterInfo, model: Unloaded) -> LocalAdapter:
    """Load the model once per device: a single copy in this process, several in a process each.

    `info` is the declaration made before loading. A load that takes long, as most do, is logged.

    Raises `Fatal` with one line for a model that cannot be loaded.
    """
    devices = devices_of(options)
    where = f"GPUs ({options.device_map})" if options.device_map else ", ".join(devices)
    with announced(info.name, where):
        if len(devices) > 1:
            return _in_processes(options, info, model, devices)
        loaded = model.load()
        return adapter(options, info, loaded, [thread_worker(loaded, options)])


@contextmanager
def announced(name: str, where: str) -> Iterator[None]:
    """Log what is being loaded if that takes long."""
    long = threading.Timer(LONG_S, _log.info, ("loading %s on %s ...", name, where))
    long.daemon = True
    long.start()
    try:
        yield
    finally:
        long.cancel()


def _in_processes(
    options: LocalOptions, info: AdapterInfo, model: Unloaded, devices: Sequence[str]
) -> LocalAdapter:
    # Before any process is started: an error about the files is then raised once.
    model.fetch()
    workers = start_workers(options, devices, torch.get_num_threads())
    first = workers[0].wait()
    known = Loaded(None, model.family, devices[0], first.context_tokens, first.facts)
    return adapter(options, info, known, workers)


def adapter(
    options: LocalOptions, info: AdapterInfo, loaded: Loaded, workers: Sequence[Worker]
) -> LocalAdapter:
    """Return the adapter over workers that each have the model `loaded`."""
    dtype = getattr(torch, str(loaded.facts.get("dtype")), None)
    return LocalAdapter(
        replace(info, context_tokens=loaded.context_tokens, text_tokens=loaded.family.text_tokens),
        loaded.family,
        workers,
        threads=max(1, min(8, (os.cpu_count() or 2) - len(workers))),
        prepared_bytes=max(2**28, free_bytes("cpu") // 4),
        dtype=dtype if isinstance(dtype, torch.dtype) and dtype.is_floating_point else None,
        facts={**loaded.facts, **_worker_facts(options, workers)},
    )


def _worker_facts(options: LocalOptions, workers: Sequence[Worker]) -> Mapping[str, object]:
    return {
        "workers": [worker.device for worker in workers],
        "batch_size": [worker.plan.rows for worker in workers],
        "kv_reuse": options.kv_reuse,
    }
