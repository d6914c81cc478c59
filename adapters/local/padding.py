"""Pads rows of different lengths to one batch, on the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from adapters.local.contract import Encoded, Padded

ALONG_IDS = ("cross_attention_mask", "image_attention_mask", "moe_mm_token_type_ids")
"""Inputs about pictures that have an entry per id of the prompt, [1, length, ...]."""


def pad(rows: Sequence[Encoded], pad_id: int) -> Padded:
    """Pad rows on the left."""
    columns = max(row.length for row in rows)
    ids = torch.full((len(rows), columns), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    marked = any(row.token_types is not None for row in rows)
    types = torch.zeros_like(ids) if marked else None
    for number, row in enumerate(rows):
        ids[number, -row.length :] = row.ids
        mask[number, -row.length :] = 1
        if types is not None and row.token_types is not None:
            types[number, -row.length :] = row.token_types
    return Padded(ids, mask, types, _pictures([_widened(row, columns) for row in rows]))


def alike(rows: Sequence[Encoded]) -> list[int]:
    """Return the rows with picture tensors like those of the first. Some models cut
    every picture in its own way, and some look up a row's pictures by its number: then rows
    with pictures are separated from rows without any."""
    shapes: dict[str, torch.Size] = {}
    chosen = []
    for number, row in enumerate(rows):
        row_shapes = {
            name: tensor.shape[2 if name in ALONG_IDS else 1 :]
            for name, tensor in row.pictures.items()
        }
        fits = all(shapes.get(name, shape) == shape for name, shape in row_shapes.items())
        if fits and _by_number(row) == _by_number(rows[0]):
            shapes |= row_shapes
            chosen.append(number)
    return chosen


def followed(row: Encoded, ids: Sequence[int]) -> Encoded:
    """Return the row with the first ids of its reply behind the prompt."""
    count = len(ids)
    types = row.token_types
    if types is not None:
        types = torch.cat([types, types.new_zeros(count)])
    long = {
        name: torch.cat([tensor, tensor[:, -1:].expand(-1, count, *tensor.shape[2:])], dim=1)
        for name, tensor in row.pictures.items()
        if name in ALONG_IDS
    }
    reply = torch.tensor(list(ids), dtype=row.ids.dtype)
    return Encoded(torch.cat([row.ids, reply]), types, {**row.pictures, **long})


def _by_number(row: Encoded) -> bool:
    """Return whether a row's pictures are looked up by its number in the batch."""
    return any(name in ALONG_IDS for name in row.pictures)


def _widened(row: Encoded, columns: int) -> Encoded:
    """Return the row with its per-id values padded on the left."""
    missing = columns - row.length
    wide = {
        name: torch.cat([tensor.new_zeros((1, missing, *tensor.shape[2:])), tensor], dim=1)
        for name, tensor in row.pictures.items()
        if name in ALONG_IDS
    }
    return replace(row, pictures={**row.pictures, **wide}) if wide else row


def _pictures(rows: Sequence[Encoded]) -> Mapping[str, torch.Tensor]:
    """Return the rows' picture tensors, concatenated."""
    parts: dict[str, list[torch.Tensor]] = {}
    for row in rows:
        for name, tensor in row.pictures.items():
            parts.setdefault(name, []).append(tensor)
    return {
        name: tensors[0] if len(tensors) == 1 else torch.cat(tensors)
        for name, tensors in parts.items()
    }
