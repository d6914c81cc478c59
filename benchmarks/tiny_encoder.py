"""Build a tiny encoder to fine-tune as a ranker, where no pretrained one can be had.

    python benchmarks/tiny_encoder.py tiny --split dev
    vlm-eval rankers train --base-model tiny -b sample --split dev -o ranker ...

A BERT with random weights and a WordPiece tokenizer of the words in a split's candidates and tasks.
It knows nothing before it is trained, unlike the paper's DeBERTa: it shows that the parts work, and
what little a model learns from the sample's eleven `dev` tasks.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness.benchmarks import open_steps
from harness.candidates import page_of
from harness.ranker_models.cross_encoder import document, query
from harness.records import Row

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def texts(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the texts that a ranker reads of the rows, each query and candidate once."""
    for row in rows:
        page = page_of(row)
        yield query(row.goal, row.detail.history)
        for node_id in page.elements(row.detail.candidates):
            yield document(page, node_id)


def build(
    folder: Path,
    corpus: Iterable[str],
    *,
    words: int = 3000,
    width: int = 128,
    layers: int = 2,
    heads: int = 4,
    positions: int = 256,
    seed: int = 0,
) -> None:
    """Write tokenizer and weights to a folder."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, BertTokenizerFast, set_seed
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer = BertWordPieceTokenizer(lowercase=True)
    tokenizer.train_from_iterator(
        sorted(set(corpus)),
        vocab_size=words,
        min_frequency=2,
        special_tokens=list(SPECIAL),
        show_progress=False,
    )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_model(str(folder))
    fast = BertTokenizerFast(
        tokenizer_object=tokenizer._tokenizer, do_lower_case=True, model_max_length=positions
    )
    fast.save_pretrained(str(folder))
    set_seed(seed)
    config = BertConfig(
        vocab_size=len(fast),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=2 * width,
        max_position_embeddings=positions,
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.1,
    )
    BertModel(config).save_pretrained(str(folder))


def main(arguments: Sequence[str] | None = None) -> None:
    """Build from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--benchmark", default="sample")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=128)
    given = parser.parse_args(arguments)
    rows = open_steps(given.benchmark, splits=[given.split]).rows()
    build(given.folder, texts(rows), layers=given.layers, width=given.width)
    print(given.folder)


if __name__ == "__main__":
    main()
