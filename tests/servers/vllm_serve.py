"""Stands for the program `vllm`: a chat server over a checkpoint's own template and tokenizer.

    python -m tests.servers.vllm_serve serve FOLDER --port 8000 --served-model-name NAME ...

It appends what it was given and the ids of every prompt to the file that STANDIN_LOG names. A
picture has as many ids as Qwen's rule gives it, by the limits in `--mm-processor-kwargs`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from tests.servers.answers import Answer, Ask
from tests.servers.pixels import _sizes, smart_resize
from tests.servers.server import WireServer


def main() -> None:
    words = sys.argv[1:]
    assert words[0] == "serve"
    folder, given = words[1], dict(zip(words[2::2], words[3::2], strict=False))
    note(args=given, environment={k: v for k, v in os.environ.items() if k.startswith("VLLM")})
    tokenizer = Tokenizer.from_file(str(Path(folder, "tokenizer.json")))
    about = json.loads(Path(folder, "tokenizer_config.json").read_bytes())
    written = Path(folder, "chat_template.jinja")
    # As transformers reads templates.
    template = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(
        written.read_text() if written.exists() else about["chat_template"]
    )
    marks = {name: value for name, value in about.items() if name.endswith("_token")}
    limits = json.loads(given.get("--mm-processor-kwargs", "{}")).get("size", {})

    def react(ask: Ask) -> Answer:
        turns = [{**message, "content": _parts(message["content"])} for message in ask.messages]
        text = template.render(messages=turns, add_generation_prompt=True, **marks)
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        body = {name: value for name, value in ask.body.items() if name != "messages"}
        note(ids=ids, text=text, body=body)
        sizes = [size for message in ask.messages for size in _sizes(message["content"])]
        seen = [
            smart_resize(size, 28, limits["shortest_edge"], limits["longest_edge"])
            for size in (sizes if limits else [])
        ]
        # One mark of each picture is in the text.
        length = len(ids) + sum(across * down // 784 - 1 for across, down in seen)
        if "[miscounted]" in text:
            length += 100
        return Answer("ELEMENT: A\nACTION: CLICK", usage={"input": length, "output": 9})

    server = WireServer(react, port=int(given["--port"]))
    server.told["/v1/models"]["data"][0]["id"] = given["--served-model-name"]
    server.serve()


def note(**event: Any) -> None:
    with Path(os.environ["STANDIN_LOG"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(event) + "\n")


def _parts(content: Any) -> list[dict[str, str]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part if part["type"] == "text" else {"type": "image"} for part in content]


if __name__ == "__main__":
    main()
