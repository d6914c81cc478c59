"""Encoder-decoder models: one input of several texts, cut one by one; batches change nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch

from adapters import Conversation, Fatal, Finish, Generation, Reply, Request, make, system, user
from adapters.local.batching import BatchAdapter
from tests.adapters.support import SCREENSHOT
from tests.harness.commands.tool import ONE_TASK, call, calls, isolate, summary
from tests.local.test_adapter import answered

WORDS = [
    "B.",
    "C.",
    "Action:",
    "CLICK",
    "Value:",
    "page",
    "task",
    "link",
    "home",
    "(",
    ")",
    "id=0",
    "zip",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 of a few thousand random weights, with a vocabulary of words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    torch.set_num_threads(1)
    torch.manual_seed(3)
    target = tmp_path_factory.mktemp("t5")
    vocabulary = {word: n for n, word in enumerate(["<pad>", "</s>", "<unk>", *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.save_pretrained(target)
    config = T5Config(
        vocab_size=len(vocabulary),
        d_model=16,
        d_kv=4,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    T5ForConditionalGeneration(config).save_pretrained(target)
    return target


def ask(texts: Sequence[str], step: str = "s", tokens: int = 6, **settings: Any) -> Request:
    conversation = Conversation((user(*texts),))
    return Request(conversation, Generation(max_tokens=tokens, **settings), step, "group-1")


def replies(folder: Path, *requests: Request, **options: Any) -> list[Reply]:
    async def talk() -> list[Reply]:
        adapter = make(f"seq2seq:{folder}", **options)
        try:
            found = await answered(adapter, requests)
            return [reply for reply in found if isinstance(reply, Reply)]
        finally:
            await adapter.close()

    return asyncio.run(talk())


PROMPTS = [["page link home", "task B."], ["( link id=0 ) " * 9, "task C. zip"], ["zip"]]


def test_replies_are_those_of_the_model_on_the_texts_one_after_the_other(folder: Path) -> None:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model, tokenizer = (
        kind.from_pretrained(folder) for kind in (AutoModelForSeq2SeqLM, AutoTokenizer)
    )
    found = replies(folder, *(ask(texts) for texts in PROMPTS))
    for texts, reply in zip(PROMPTS, found, strict=True):
        ids = [*tokenizer(" ".join(texts), add_special_tokens=False)["input_ids"], 1]
        assert reply.token_ids is not None and list(reply.token_ids[0]) == ids
        written = model.generate(torch.tensor([ids]), max_new_tokens=6, do_sample=False)[0, 1:]
        own = written.tolist()
        own = own[: own.index(1) + 1] if 1 in own else own
        assert list(reply.token_ids[1]) == own
        assert reply.text == tokenizer.decode(own, skip_special_tokens=True)
        assert reply.finish is (Finish.STOP if own[-1] == 1 else Finish.LENGTH)
        assert reply.usage is not None
        assert (reply.usage.input, reply.usage.output) == (len(ids), len(own))


@pytest.mark.parametrize("temperature", [None, 1.0])
def test_a_reply_is_the_same_alone_and_in_a_batch(folder: Path, temperature: float | None) -> None:
    requests = [
        ask(texts, step=f"s{n}", tokens=3 + n, temperature=temperature)
        for n, texts in enumerate(PROMPTS)
    ]
    together = replies(folder, *requests)
    alone = [replies(folder, request)[0] for request in requests]
    assert [r.token_ids for r in together] == [r.token_ids for r in alone]
    assert all(r.usage is not None and r.usage.output <= 3 + n for n, r in enumerate(together))


def test_each_text_is_cut_by_itself_and_the_end_stays(folder: Path) -> None:
    (reply,) = replies(folder, ask(["link " * 9, "task zip"]), piece_tokens=4)
    (short,) = replies(folder, ask(["link " * 4, "task zip"]))
    (last,) = replies(folder, ask(["home", "task " * 9]), piece_tokens=4)
    assert reply.token_ids is not None and short.token_ids is not None
    assert reply.token_ids[0] == short.token_ids[0]
    assert last.token_ids is not None
    assert len(last.token_ids[0]) == 1 + 3 + 1 and last.token_ids[0][-1] == 1


def test_an_end_token_in_page_text_is_no_end_token(folder: Path) -> None:
    (reply,) = replies(folder, ask(["home </s> link <pad>", "task"]))
    (plain,) = replies(folder, ask(["home link", "task"]))
    assert reply.token_ids is not None and plain.token_ids is not None
    assert reply.token_ids[0] == plain.token_ids[0]


def test_end_tokens_follow_the_texts_that_ask_for_one(folder: Path) -> None:
    texts = ["task zip</s>", "home </s> link", "link task</s>"]
    (reply,) = replies(folder, ask(texts), end_tokens="pieces")
    (plain,) = replies(folder, ask(["task zip", "home link", "link task"]))
    assert reply.token_ids is not None and plain.token_ids is not None
    words = plain.token_ids[0]
    assert reply.token_ids[0] == (*words[:2], 1, *words[2:6], 1)
    (cut,) = replies(folder, ask(texts), end_tokens="pieces", piece_tokens=2)
    assert cut.token_ids is not None
    assert cut.token_ids[0] == (words[0], 1, *words[2:4], words[4], 1)
    with pytest.raises(Fatal, match="the protocol does not mark where they go"):
        replies(folder, ask(["task", "zip"]), end_tokens="pieces")


def test_a_run_with_end_tokens_after_pieces(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    told = call(
        *("--model", f"seq2seq:{folder}", "--protocol", "mt-mindact", "-b", "mt-sample"),
        *("--split", "dev", "--limit", "1", "--ranker", "lexical", "--benchmark-option", "top_k=5"),
        *("--adapter-option", "end_tokens=pieces", "--protocol-option", "remembered=released"),
        *("--benchmark-option", "missed=ask", "--max-tokens", "4", "--out", "r"),
    )
    assert told.code == 0, told.err
    parts = calls("r")[-1]["messages"][-1]["parts"]
    assert parts[-1].endswith("Assistant:</s>") and not parts[-2].endswith("</s>")
    assert max(call["reply"]["usage"]["input"] for call in calls("r")) <= 2048


def test_the_model_declares_itself(folder: Path) -> None:
    adapter = make(f"seq2seq:{folder}", batch_size="7")
    info = adapter.info
    assert isinstance(adapter, BatchAdapter)
    assert (adapter.rows, info.takes_pictures, info.billed) == (7, False, False)
    assert info.settings["architecture"] == "T5ForConditionalGeneration"
    assert info.settings["dtype"] == "float32"
    assert info.revision is not None and info.revision.startswith("sha256:")
    assert info.text_tokens is not None and info.text_tokens("page task") == 2


def test_pictures_are_refused(folder: Path) -> None:
    request = Request(
        Conversation((system("x"), user(SCREENSHOT, "task"))), Generation(), "s", "round-1"
    )
    with pytest.raises(Fatal, match="takes no pictures"):
        replies(folder, request)


def test_wrong_checkpoints_are_one_line(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Fatal, match="no such folder"):
        make(f"seq2seq:{tmp_path}/absent")
    (tmp_path / "config.json").write_text(
        json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})
    )
    with pytest.raises(Fatal, match=r"is not an encoder-decoder model \(LlamaForCausalLM\)"):
        make(f"seq2seq:{tmp_path}")
    for file in folder.glob("*.json"):
        (tmp_path / file.name).write_text(file.read_text())
    with pytest.raises(Fatal, match="no weights in"):
        make(f"seq2seq:{tmp_path}")
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 20)
    with pytest.raises(Fatal, match="cannot be loaded") as caught:
        make(f"seq2seq:{tmp_path}")
    assert "\n" not in str(caught.value)
    with pytest.raises(Fatal, match="dtype: expected one of auto, bfloat16"):
        make(f"seq2seq:{folder}", dtype="int3")
    with pytest.raises(Fatal, match="piece_tokens: expected a whole number of at least 2"):
        make(f"seq2seq:{folder}", piece_tokens="0")


def test_a_whole_run_of_the_tournament(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    told = call(
        *("--model", f"seq2seq:{folder}", "--protocol", "seq2seq", *ONE_TASK),
        *(
            "--ranker",
            "lexical",
            "--benchmark-option",
            "top_k=8",
            "--max-tokens",
            "4",
            "--out",
            "r",
        ),
    )
    assert told.code == 0, told.err
    asked = calls("r")
    assert asked and {c["place"] for c in asked} <= {"group-1", "group-2"}
    assert [message["role"] for message in asked[0]["messages"]] == ["user"]
    assert summary("r")["complete"] is True


def test_a_whole_run_with_a_memory_that_keeps_to_the_model_s_own_tokens(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    told = call(
        *("--model", f"seq2seq:{folder}", "--protocol", "mt-mindact", "-b", "mt-sample"),
        *("--split", "dev", "--limit", "1", "--ranker", "lexical", "--benchmark-option", "top_k=5"),
        *("--protocol-option", "total_tokens=300", "--protocol-option", "piece_tokens=90"),
        *("--benchmark-option", "missed=ask", "--max-tokens", "4", "--out", "r"),
    )
    assert told.code == 0, told.err
    asked = calls("r")
    # The end token is not among those that are counted.
    inputs = [call["reply"]["usage"]["input"] - 1 for call in asked]
    assert max(inputs) == 300 > min(inputs)
    assert {call["messages"][-1]["parts"][-1] for call in asked} == {"Assistant:"}
    assert summary("r")["complete"] is True
