"""The process that has vLLM's engine: it loads the model, answers calls, and ends with its parent.

`VllmAdapter` starts it as a child that runs `serve`. It answers the arguments of `AsyncEngineArgs`
with `EngineReady`, and then every `EngineCall` (`exchange.py`).
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from adapters.contract import Fault
from adapters.conversation import Finish
from adapters.local.options import line
from adapters.processes.child import Receive, Send
from adapters.vllm.exchange import Abort, EngineAnswer, EngineCall, EngineReady, EngineReply, Stop

_FINISHES = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    # The engine cut it off because it repeated itself (an option).
    "repetition": Finish.LENGTH,
}
_TOO_LONG = re.compile(r"maximum (context|model) length|max_model_len", re.IGNORECASE)
_CAUSE = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Exit): .+")
_LOG_BYTES = 1 << 18
_WATCHDOG = "import os, sys; sys.stdin.buffer.read(); os.killpg(0, 9)"
"""Kills its group once the pipe to it is closed."""


def serve(receive: Receive, send: Send) -> None:
    """Load the model and answer until told to stop, or until it turns out not to load."""
    number, arguments = receive()
    # The engine's processes do not notice when this one is killed. Its end of the pipe is closed
    # with it, however it ends, and none of them has a copy.
    watchdog = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _WATCHDOG], stdin=subprocess.PIPE
    )
    asyncio.run(_serve(number, arguments, receive, send))
    del watchdog


async def _serve(
    number: int, arguments: Mapping[str, object], receive: Receive, send: Send
) -> None:
    try:
        engine = _engine(arguments)
        ready = _ready(engine)
    except Exception as error:
        reason = f"vLLM cannot load the model: {_cause(_log()) or line(error)}"
        send(EngineAnswer(number, None, fatal=reason))
        return
    send(EngineAnswer(number, ready))
    inbox: asyncio.Queue[tuple[int, object]] = asyncio.Queue()
    threading.Thread(
        target=_pump, args=(receive, inbox, asyncio.get_running_loop()), daemon=True
    ).start()
    calls: dict[int, asyncio.Task[None]] = {}
    while True:
        number, message = await inbox.get()
        if isinstance(message, Stop):
            break
        if isinstance(message, EngineCall):
            task = asyncio.create_task(_answer(engine, number, message, send))
            task.add_done_callback(partial(_forget, calls, number))
            calls[number] = task
        elif isinstance(message, Abort) and message.number in calls:
            calls[message.number].cancel()
    engine.shutdown()
    # Nothing that is left of the engine, a thread say, may hold up the end.
    os._exit(0)


def _forget(calls: dict[int, asyncio.Task[None]], number: int, _: asyncio.Task[None]) -> None:
    del calls[number]


def _pump(receive: Receive, inbox: asyncio.Queue[Any], loop: asyncio.AbstractEventLoop) -> None:
    while True:
        loop.call_soon_threadsafe(inbox.put_nowait, receive())


def _engine(arguments: Mapping[str, object]) -> Any:
    from vllm import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))


def _ready(engine: Any) -> EngineReady:
    import vllm

    config = engine.model_config
    facts: dict[str, object] = {
        "vllm": vllm.__version__,
        "dtype": str(config.dtype).removeprefix("torch."),
        "device": "cpu",
    }
    # Which vLLM has imported.
    if torch := sys.modules.get("torch"):
        facts["torch"] = torch.__version__
        if torch.cuda.is_available():
            facts["device"] = torch.cuda.get_device_name(0)
    return EngineReady(int(config.max_model_len), facts)


async def _answer(engine: Any, number: int, call: EngineCall, send: Send) -> None:
    try:
        answer = await _answered(engine, number, call)
    except asyncio.CancelledError:
        answer = EngineAnswer(number, None)
    send(answer)


async def _answered(engine: Any, number: int, call: EngineCall) -> EngineAnswer:
    from vllm.exceptions import VLLMClientError
    from vllm.v1.engine.exceptions import EngineDeadError

    started = time.monotonic()
    try:
        output = await _generated(engine, number, call)
    except VLLMClientError as error:
        if _TOO_LONG.search(str(error)):
            return EngineAnswer(number, EngineReply((), Finish.TOO_LONG, 0, 0, 0.0))
        return EngineAnswer(number, None, fatal=f"vLLM refuses the prompt: {line(error)}")
    except EngineDeadError as error:
        return EngineAnswer(number, None, fatal=f"vLLM ended: {_cause(_log()) or line(error)}")
    except Exception as error:
        # The engine wraps the reason of a failed call in another error.
        reason = error.__cause__ or error
        return EngineAnswer(number, _fault(f"{type(reason).__name__}: {line(reason)}"))
    (reply,) = output.outputs
    finish = _FINISHES.get(str(reply.finish_reason))
    if finish is None:
        return EngineAnswer(number, _fault(f"the reply ended with '{reply.finish_reason}'"))
    seconds = time.monotonic() - started
    prompt, cached = len(output.prompt_token_ids), int(output.num_cached_tokens or 0)
    return EngineAnswer(
        number, EngineReply(tuple(reply.token_ids), finish, prompt, cached, seconds)
    )


async def _generated(engine: Any, number: int, call: EngineCall) -> Any:
    """Return the engine's output for a call."""
    from PIL import Image
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    prompt: dict[str, object] = {"prompt_token_ids": list(call.ids)}
    if call.pictures:
        sized = [(picture.pixels.width, picture.pixels.height) for picture in call.pictures]
        images = [
            Image.frombytes("RGB", size, picture.pixels.data)
            for size, picture in zip(sized, call.pictures, strict=True)
        ]
        prompt["multi_modal_data"] = {"image": images}
        prompt["multi_modal_uuids"] = {"image": [picture.uuid for picture in call.pictures]}
    parameters = SamplingParams(
        **call.sampling, detokenize=False, output_kind=RequestOutputKind.FINAL_ONLY
    )
    # One, once the reply is whole.
    outputs = [output async for output in engine.generate(prompt, parameters, str(number))]
    return outputs[-1]


def _fault(reason: str) -> Fault:
    return Fault("server", f"vLLM failed: {reason}")


def _log() -> str:
    """Return the end of what this process and the engine's own have written to standard error."""
    try:
        size = os.fstat(2).st_size
        return os.pread(2, _LOG_BYTES, max(0, size - _LOG_BYTES)).decode(errors="replace")
    except OSError:  # Not a file, where it was started by hand.
        return ""


def _cause(log: str) -> str:
    """Return the first error of the last traceback in a log, "" without any.

    What `AsyncLLM` raises when one of its processes fails says only that it did.

    >>> _cause("ERROR [core.py:9] ValueError: No memory. Try less.\\nRuntimeError: Engine core ...")
    'ValueError: No memory. Try less.'
    """
    found = [match[0] for match in map(_CAUSE.search, log.splitlines()) if match]
    inner = [text for text in found if "Engine core" not in text and "EngineDead" not in text]
    return line(ValueError(inner[-1])) if inner else ""
