"""Pads rows of different lengths to one batch. All tensors but the pixels are on the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from adapters.local.contract import Encoded, Padded

ALONG_IDS = ("cross_attention_mask", "image_attention_mask", "moe_mm_token_type_ids")
"""Inputs about pictures that have an entry per id of the prompt, [1, length, ...]."""


def pad(rows: Sequence[Encoded], pad_id: int, device: str) -> Padded:
    """Pad full rows on the left; pixels go to `device`."""
    columns = max(row.length for row in rows)
    ids = torch.full((len(rows), columns), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    marked = any(row.token_types is not None for row in rows)
    types = torch.zeros_like(ids) if marked else None
    for number, row in enumerate(rows):
        _write(number, row, row.length, ids, mask, types)
    return Padded(ids, mask, types, _pictures([_widened(row, columns) for row in rows], device))


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


def pad_after(kept: Padded, rows: Sequence[Encoded], cached: Sequence[int], pad_id: int) -> Padded:
    """Kept columns, and behind them the further ids of each row, left-padded.

    `cached` counts the ids of each row that the kept columns hold. What they hold beyond (the end
    of a reply that the conversation went on without) is masked: the ids under the mask are
    those of the row. Pictures come without pixels, which are not needed again.
    """
    behind = max(row.length - known for row, known in zip(rows, cached, strict=True))
    columns = kept.ids.shape[1] + behind
    ids = torch.full((len(rows), columns), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    ids[:, :-behind] = kept.ids
    mask[:, :-behind] = kept.mask
    types = None
    if kept.token_types is not None:
        types = torch.zeros_like(ids)
        types[:, :-behind] = kept.token_types
    for number, (row, known) in enumerate(zip(rows, cached, strict=True)):
        holding = kept.mask[number].nonzero().squeeze(1)
        mask[number, holding[known:]] = 0
        _write(number, row, row.length - known, ids, mask, types)
    return Padded(ids, mask, types, _pictures(rows, None))


def _write(
    number: int,
    row: Encoded,
    count: int,
    ids: torch.Tensor,
    mask: torch.Tensor,
    types: torch.Tensor | None,
) -> None:
    """Put the last `count` ids of a row at the end of its line."""
    ids[number, -count:] = row.ids[-count:]
    mask[number, -count:] = 1
    if types is not None and row.token_types is not None:
        types[number, -count:] = row.token_types[-count:]


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


def _pictures(rows: Sequence[Encoded], device: str | None) -> Mapping[str, torch.Tensor]:
    """Return the rows' picture tensors, concatenated; without a device, all but the pixels."""
    parts: dict[str, list[torch.Tensor]] = {}
    for row in rows:
        for name, tensor in row.pictures.items():
            parts.setdefault(name, []).append(tensor)
    return {
        name: _concatenated(tensors, device) if tensors[0].is_floating_point() else _cat(tensors)
        for name, tensors in parts.items()
        if device is not None or not tensors[0].is_floating_point()
    }


def _cat(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors))


def _concatenated(tensors: Sequence[torch.Tensor], device: str | None) -> torch.Tensor:
    """Straight into the device's memory: a batch of screenshots is hundreds of megabytes."""
    if device is None or torch.device(device).type == "cpu":
        return _cat(tensors)
    rows = sum(tensor.shape[0] for tensor in tensors)
    whole = torch.empty((rows, *tensors[0].shape[1:]), dtype=tensors[0].dtype, device=device)
    start = 0
    for tensor in tensors:
        whole[start : start + tensor.shape[0]].copy_(tensor, non_blocking=True)
        start += tensor.shape[0]
    return whole
