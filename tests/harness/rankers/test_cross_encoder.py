"""Cross-encoders: recipe, refusals, and fine-tuning, on encoders of a few thousand weights."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (extra rank)")
if find_spec("sentence_transformers") is None:  # importing it would take seconds in every process
    pytest.skip("sentence-transformers is not installed", allow_module_level=True)

import torch

from benchmarks.tiny_encoder import build, texts
from harness.benchmarks import Filters, open_steps
from harness.candidates import page_of
from harness.errors import DataError, UserError
from harness.ranker_models.commands import rank_benchmark
from harness.ranker_models.cross_encoder import document, query
from harness.ranker_models.train import draw
from harness.rankers import ByScore, RankTable, open_ranks
from harness.records import Row
from tests.harness.benchmarks._files import task, write
from tests.harness.commands.tool import Called, call
from tests.harness.rankers.steps import step


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return list(open_steps("sample", splits=["dev"]).select(Filters(limit=2)).rows())


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> Path:
    folder = tmp_path_factory.mktemp("models") / "encoder"
    build(folder, texts(rows[:2]), words=300, width=16, layers=1, heads=2, positions=96)
    return folder


FAST = ("--epochs", "2", "--learning-rate", "3e-3", "--batch-size", "16", "--negatives", "3")
DEV = ("-b", "sample", "--split", "dev", "--limit", "2")


def train(encoder: Path, out: Path, *options: str | Path) -> Called:
    """Call the command with a maximum of 64 tokens."""
    base = ("--base-model", f"{encoder},device=cpu", "--max-tokens", "64")
    return call("rankers", "train", *base, "-o", out, *options)


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory, encoder: Path) -> Path:
    folder = tmp_path_factory.mktemp("models") / "ranker"
    assert train(encoder, folder, *DEV, *FAST).code == 0
    return folder


def test_the_texts_are_those_of_the_paper() -> None:
    row = step(history=("[a]  one -> CLICK", "two", "three", "four"), task="Press it")
    assert query(row.goal, row.detail.history) == (
        "task is: Press it\nPrevious actions: two; three; four"
    )
    assert query("t", ()) == "task is: t\nPrevious actions: "
    stored = document(page_of(row), "b1")
    assert stored.startswith("ancestors: /") and "\ntarget: (button id=0 button " in stored


def test_scores_are_those_of_the_model_pair_by_pair(ranker: Path, rows: list[Row]) -> None:
    """Against transformers alone, one pair at a time, without padding."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    ranks = open_ranks(f"cross-encoder:{ranker},device=cpu,batch-size=7")
    assert isinstance(ranks, ByScore)
    row = rows[0]
    page = page_of(row)
    found = ranks.scored(row, page)
    model = AutoModelForSequenceClassification.from_pretrained(ranker).eval()
    tokenizer = AutoTokenizer.from_pretrained(ranker)
    for node_id, score in list(found.items())[::20]:
        inputs = tokenizer(
            document(page, node_id),
            query(row.goal, row.detail.history),
            truncation=True,
            max_length=64,
            return_tensors="pt",
        )
        with torch.inference_mode():
            assert model(**inputs).logits.item() == pytest.approx(score, abs=1e-4)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_it_ranks_a_benchmark_and_is_bound_to_its_weights(
    ranker: Path, rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    dataset = open_steps("sample", splits=["dev"]).select(Filters(limit=1))
    name = f"cross-encoder:{ranker},device=cpu"
    out = tmp_path / "r.parquet"
    rank_benchmark(dataset, name, out)
    table, ranks = RankTable(out), open_ranks(name)
    assert table.name == ranks.name == "cross-encoder:ranker"
    row = next(dataset.rows())
    assert list(open_ranks(str(out)).of(row, page_of(row))) == list(ranks.of(row, page_of(row)))
    assert open_ranks(f"{name},dtype=bfloat16").digest != ranks.digest


def test_only_the_seed_decides_what_is_drawn(rows: list[Row]) -> None:
    recipe = {"epochs": 2, "negatives": 3, "seed": 123}
    pairs, steps, left_out = draw(rows, recipe)
    usable = [row for row in rows if row.detail.positives]
    assert (steps, left_out) == (len(usable), len(rows) - len(usable))
    assert len(pairs) == 2 * steps * 4 and sum(pair["label"] for pair in pairs) == 2 * steps
    again, _, _ = draw(reversed(rows), recipe)
    assert {tuple(pair.values()) for pair in again} == {tuple(pair.values()) for pair in pairs}
    assert draw(rows, {**recipe, "seed": 1})[0] != pairs
    half = len(pairs) // 2
    first, second = ({pair["document"] for pair in part} for part in (pairs[:half], pairs[half:]))
    assert first != second


def test_training_is_repeatable_and_leaves_a_note(
    encoder: Path, ranker: Path, tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    done = train(encoder, tmp_path / "again", *DEV, *FAST)
    assert " pairs, loss 0." in done.out
    once, again = (load_file(f / "model.safetensors") for f in (ranker, tmp_path / "again"))
    assert once.keys() == again.keys() and all(torch.equal(once[k], again[k]) for k in once)
    note = json.loads((ranker / "training.json").read_text("utf-8"))
    assert note["epochs"] == 2 and note["seed"] == 123 and note["texts"] == "mindact-1"
    done = train(encoder, ranker, *DEV, *FAST)
    assert done.code == 2 and "already exists" in done.complaint


def test_training_learns_what_it_is_shown(encoder: Path, tmp_path: Path) -> None:
    """The right button is always the one called so; an untrained encoder cannot know."""
    made = [
        one
        for n in range(16)
        for one in task(
            f"t{n}",
            1,
            positives=[f"b{n % 8}"],
            negatives=[f"b{i}" for i in range(8) if i != n % 8],
            confirmed_task="Press the search button",
            cleaned_html=_named(8, n % 8),
        )
    ]
    path = write(tmp_path / "train.parquet", made)
    hard = ("--epochs", "12", "--learning-rate", "5e-3", "--batch-size", "16")
    assert train(encoder, tmp_path / "r", "--data", path, "--split", "train", *hard).code == 0
    ranks = open_ranks(f"cross-encoder:{tmp_path / 'r'},device=cpu")
    new = step(task_id="new", buttons=8, positive="b5", html=_named(8, 5), task="Press it")
    assert ranks.of(new, page_of(new))[0] == "b5"


def _named(count: int, right: int) -> str:
    inner = "".join(
        f'<div backend_node_id="d{n}"><button backend_node_id="b{n}"><text backend_node_id="x{n}">'
        f"{'Search' if n == right else 'Checkout'}</text></button></div>"
        for n in range(count)
    )
    return f'<html backend_node_id="r">{inner}</html>'


def changed(folder: Path, target: Path, **config: Any) -> Path:
    """A copy of a checkpoint with other values in its configuration."""
    target.mkdir()
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    stored = json.loads((folder / "config.json").read_text("utf-8"))
    (target / "config.json").write_text(json.dumps({**stored, **config}), encoding="utf-8")
    return target


def test_what_is_no_cross_encoder_is_refused_with_one_line(
    encoder: Path, ranker: Path, tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    (tmp_path / "empty").mkdir()
    three = {str(n): f"LABEL_{n}" for n in range(3)}
    broken = changed(ranker, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"nothing")
    headless = changed(ranker, tmp_path / "headless")
    weights = load_file(ranker / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if "classifier" not in name}
    save_file(kept, headless / "model.safetensors", metadata={"format": "pt"})
    nan = changed(ranker, tmp_path / "nan")
    weights["classifier.weight"][:] = math.nan
    save_file(weights, nan / "model.safetensors", metadata={"format": "pt"})
    adapted = changed(ranker, tmp_path / "adapted")
    (adapted / "adapter_model.safetensors").write_bytes(b"")
    unmerged = changed(ranker, tmp_path / "unmerged")
    lora = {"bert.encoder.layer.0.attention.self.query.lora_A.default.weight": torch.ones(2, 2)}
    whole = load_file(ranker / "model.safetensors")
    save_file(whole | lora, unmerged / "model.safetensors", metadata={"format": "pt"})
    unreadable = changed(ranker, tmp_path / "unreadable")
    (unreadable / "config.json").write_text("[" * 100_000, encoding="utf-8")
    cases = {
        encoder: r"is not a cross-encoder \(BertModel\); fine-tune one",
        tmp_path / "empty": "has no tokenizer",
        unreadable: "has no readable config.json",
        changed(ranker, tmp_path / "three", id2label=three): "gives 3 labels",
        broken: "cannot be loaded",
        headless: r"not a complete .*ForSequenceClassification: .*classifier",
        nan: "scores that are not finite in float32, in step t_u",
        adapted: "holds an adapter next to the model",
        unmerged: "the weights hold an adapter",
        tmp_path / "nowhere": "neither a folder nor a model id of the hub",
    }
    row = step()
    for folder, complaint in cases.items():
        with pytest.raises(DataError, match=complaint) as raised:
            open_ranks(f"cross-encoder:{folder},device=cpu").of(row, page_of(row))
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ("", "name the checkpoint"),
        ("x,colour=red", "x,colour=red: .*unknown field `colour`; settings are revision="),
        ("x,batch-size=0", "x,batch-size=0: Expected `int` >= 1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(argument: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        open_ranks(f"cross-encoder:{argument}")


def test_a_test_split_is_learned_from_only_when_asked_for(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    few = ("-b", "sample", "--limit", "1", "--epochs", "1")
    done = train(encoder, Path("a"), *few)
    stored = json.loads((tmp_path / "a" / "training.json").read_text("utf-8"))["data"]
    assert done.code == 0 and "is for testing" not in done.err
    assert (stored["splits"], [f["name"] for f in stored["files"]]) == (["dev"], ["dev.parquet"])
    done = train(encoder, Path("b"), *few, "--split", "test")
    stored = json.loads((tmp_path / "b" / "training.json").read_text("utf-8"))["data"]
    assert done.err.startswith("test is for testing") and stored["splits"] == ["test"]


def test_nothing_to_learn_from_is_said(encoder: Path, tmp_path: Path) -> None:
    rows = [{**row, "pos_candidates": []} for row in task("t", 2)]
    path = write(tmp_path / "train.parquet", rows)
    done = train(encoder, tmp_path / "r", "--data", path, "--split", "train")
    assert done.code == 2 and "no step of the selection" in done.complaint


def test_a_training_without_a_finite_loss_leaves_no_ranker(ranker: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    broken = changed(ranker, tmp_path / "nan")
    weights = load_file(ranker / "model.safetensors")
    weights["classifier.weight"][:] = math.nan
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    done = train(broken, tmp_path / "r", *DEV, *FAST)
    assert done.code == 2 and "the training loss is nan" in done.err.splitlines()[-1]
    assert not (tmp_path / "r").exists()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_device_gives_the_scores_of_the_processor(ranker: Path, rows: list[Row]) -> None:
    row = rows[0]
    page = page_of(row)
    found = {}
    for device in ("cpu", "cuda"):
        ranks = open_ranks(f"cross-encoder:{ranker},device={device}")
        assert isinstance(ranks, ByScore)
        found[device] = ranks.scored(row, page)
    assert found["cuda"] == pytest.approx(found["cpu"], abs=1e-3)
