"""Made-up files of sets of grounding, as their authors lay them out.

folder = screenspot_v2(tmp_path)        # tmp_path / "screenspot-v2"
opened = small(V2).open(data=folder)
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image

from harness.benchmarks.grounding.sets import GroundingSet

Set = TypeVar("Set", bound=GroundingSet)
SIZE = (200, 100)


def small(whole: Set, **more: Any) -> Set:
    """A set whose files hold fewer rows than the published ones."""
    return replace(whole, sizes=(), cells={}, **more)


@cache
def png(size: tuple[int, int] = SIZE, grey: int = 200) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, (grey, grey, grey)).save(out, "PNG")
    return out.getvalue()


def write(path: Path, content: bytes | str | object) -> Path:
    """Write bytes, text, or anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, bytes | str):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def zipped(path: Path, files: Mapping[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def parquet(path: Path, rows: Sequence[Mapping[str, object]], rows_per_group: int = 2) -> Path:
    """A table with pictures as `datasets` stores them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    stored = [
        {name: {"bytes": v, "path": None} if name == "image" else v for name, v in row.items()}
        for row in rows
    ]
    pq.write_table(pa.Table.from_pylist(stored), path, row_group_size=rows_per_group)
    return path


def pro_row(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"word_macos_{number}",
        "img_filename": f"word_mac/{number}.png",
        "bbox": [10, 20, 30, 40],
        "instruction": f"press {number}",
        "instruction_cn": f"按 {number}",
        "application": "word",
        "platform": "macos",
        "group": "Office",
        "ui_type": "text",
        "img_size": list(SIZE),
    } | more


def screenspot_pro(place: Path, *rows: Mapping[str, Any]) -> Path:
    folder = place / "screenspot-pro"
    given = rows or (pro_row(0), pro_row(1))
    write(folder / "annotations" / "word_macos.json", list(given))
    for row in given:
        write(folder / "images" / row["img_filename"], png())
    return folder


def screenspot_v2(place: Path, *, packed: bool = True) -> Path:
    """Three rows, one per platform, boxes as left, top, width, height."""
    folder = place / "screenspot-v2"
    for platform, source in (("mobile", "ios"), ("desktop", "windows"), ("web", "shop")):
        row = {
            "img_filename": f"{platform}.png",
            "bbox": [10, 20, 30, 40],
            "instruction": f"open the {platform}",
            "data_type": "icon",
            "data_source": source,
        }
        write(folder / f"screenspot_{platform}_v2.json", [row])
        if not packed:
            write(folder / "screenspotv2_image" / f"{platform}.png", png())
    if packed:
        names = ("mobile", "desktop", "web")
        files = {f"screenspotv2_image/{name}.png": png() for name in names}
        zipped(folder / "screenspotv2_image.zip", {"__MACOSX/x": b"", **files})
    return folder


def osworld_g(place: Path) -> Path:
    """A box, a polygon and a refusal on one picture."""
    folder = place / "osworld-g"
    corners = [10, 10, 60, 10, 60, 60, 10, 60]
    boxes = (("bbox", [10.5, 20.25, 30, 40]), ("polygon", corners), ("refusal", [-1, -1, -1, -1]))
    rows = [
        {
            "id": f"A-{number}",
            "image_path": "A.png",
            "image_size": list(SIZE),
            "instruction": f"what is {kind}",
            "GUI_types": ["Icon"],
            "box_type": kind,
            "box_coordinates": numbers,
        }
        for number, (kind, numbers) in enumerate(boxes)
    ]
    write(folder / "OSWorld-G.json", rows)
    refined = [{**row, "instruction": f"{row['instruction']}, in other words"} for row in rows]
    write(folder / "OSWorld-G_refined.json", refined)
    classified = {
        "text_matching": [{"id": "A-0"}],
        "fine_grained_manipulation": [{"id": "A-0"}, {"id": "A-1"}],
        "refusal": [{"id": "A-2"}],
    }
    write(folder / "classification_result.json", {"classified": classified})
    write(folder / "images" / "A.png", png())
    return folder
