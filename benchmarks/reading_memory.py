"""Memory for reading: our loader against pyarrow's defaults, on rows of a megabyte.

    python benchmarks/reading_memory.py --rows 400 --group 100

Writes a synthetic file in Multimodal-Mind2Web's columns (incompressible: nothing is won by
luck), reads it in child processes, and prints the largest amount of anonymous memory that the
child and its own children used at any moment, beyond the interpreter's before reading.
Linux only: anonymous memory is read from `/proc/<pid>/smaps_rollup`. Pages of a memory-mapped file
do not count; the system takes them back when it likes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

OURS = """
from pathlib import Path
from harness.benchmarks import open_steps
for row in open_steps("multimodal-mind2web", data=Path(path)).rows():
    total += len(row.detail.screenshot or b"") + len(row.detail.html)
"""

DEFAULTS = """
import pyarrow.dataset
columns = ["action_uid", "annotation_id", "cleaned_html", "operation", "pos_candidates",
           "neg_candidates", "website", "confirmed_task", "screenshot", "action_reprs"]
for batch in pyarrow.dataset.dataset(path).to_batches(columns=columns):
    for row in batch.to_pylist():
        total += len(row["screenshot"]["bytes"]) + len(row["cleaned_html"])
"""

WHOLE_GROUPS = """
import pyarrow.parquet
for batch in pyarrow.parquet.ParquetFile(path, pre_buffer=True).iter_batches():
    for row in batch.to_pylist():
        total += len(row["screenshot"]["bytes"]) + len(row["cleaned_html"])
"""

WAYS = {
    "our loader": OURS,
    "pyarrow.dataset, defaults": DEFAULTS,
    "pyarrow.parquet, pre_buffer": WHOLE_GROUPS,
}

FRAME = """
import sys
path, total = sys.argv[1], 0
import pyarrow
print("ready", flush=True)
sys.stdin.readline()
{body}
print(total, flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--group", type=int, default=100, help="rows of a row group")
    parser.add_argument("--megabytes", type=float, default=1.0, help="size of a row")
    parser.add_argument("--only-ours", action="store_true")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test_task-00000-of-00001.parquet"
        write(path, options.rows, options.group, options.megabytes)
        size = path.stat().st_size / 1e6
        print(f"{options.rows} rows in groups of {options.group}, file of {size:,.0f} MB")
        for way, body in WAYS.items():
            if options.only_ours and body is not OURS:
                continue
            peak, _ = measure(body, path)
            # Looking at a process's memory stops it, so the rate is that of a second run.
            _, seconds = measure(body, path, watched=False)
            rate = options.rows / seconds
            print(f"{way:30} peak {peak:7,.0f} MB  {rate:6,.0f} rows/s", flush=True)
            results.append({"way": way, "peak_mb": peak, "rows_per_s": rate})
    if options.out:
        options.out.write_text(json.dumps({**vars(options), "out": None, "results": results}))


def write(path: Path, rows: int, group: int, megabytes: float) -> None:
    """A file whose rows are mostly picture, with a page and some hundred candidates."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, texts = pa.string(), pa.list_(pa.string())
    picture = pa.struct([("bytes", pa.binary()), ("path", text)])
    names = ("action_uid", "annotation_id", "cleaned_html", "operation", "website", "domain")
    more = ("subdomain", "confirmed_task", "target_action_index", "target_action_reprs")
    fields = [(name, text) for name in (*names, *more)]
    lists = [(name, texts) for name in ("pos_candidates", "neg_candidates", "action_reprs")]
    schema = pa.schema([*fields, *lists, ("screenshot", picture)])
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, rows, group):
            count = min(group, rows - first)
            records = [record(first + n, int(megabytes * 1e6)) for n in range(count)]
            writer.write_table(pa.Table.from_pylist(records, schema), row_group_size=group)


def record(number: int, size: int) -> dict[str, Any]:
    """A row of about `size` bytes: seven tenths picture, a fifth page, a tenth candidates."""

    def candidate(node: int) -> str:
        attributes = {
            "backend_node_id": str(node),
            "bounding_box_rect": "1,2,3,4",
            "class": os.urandom(max(1, size // 10 // 200 // 2)).hex(),
        }
        entry = {"tag": "a", "attributes": json.dumps(attributes), "backend_node_id": str(node)}
        return json.dumps(entry)

    return {
        "action_uid": f"u{number}",
        "annotation_id": f"t{number // 7}",
        "cleaned_html": f'<html backend_node_id="0">{os.urandom(size // 10).hex()}</html>',
        "operation": '{"op": "CLICK", "value": "", "original_op": "CLICK"}',
        "website": "made",
        "domain": "Made",
        "subdomain": "Up",
        "confirmed_task": "Do it",
        "target_action_index": str(number % 7),
        "target_action_reprs": "[a]  b -> CLICK",
        "pos_candidates": [candidate(1)],
        "neg_candidates": [candidate(n) for n in range(2, 200)],
        "action_reprs": ["[a]  b -> CLICK"] * 7,
        "screenshot": {"bytes": os.urandom(size * 7 // 10), "path": f"{number}.jpg"},
    }


def measure(body: str, path: Path, *, watched: bool = True) -> tuple[float, float]:
    """The peak in MB beyond the start, and the seconds it took."""
    program = FRAME.format(body=body)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin and child.stdout
        child.stdout.readline()
        before = anonymous(child.pid)
        child.stdin.write("go\n")
        child.stdin.close()
        start, peak = time.monotonic(), before
        while watched and child.poll() is None:
            peak = max(peak, anonymous(child.pid))
            time.sleep(0.005)
        if child.wait():
            raise SystemExit(f"the reader failed with {child.returncode}")
        return (peak - before) / 1e6, time.monotonic() - start


def anonymous(pid: int) -> float:
    """Bytes of anonymous memory of a process and all its descendants."""
    total = 0.0
    for member in tree(pid):
        with suppress(OSError):
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith("Anonymous:"):
                    total += float(line.split()[1]) * 1024
    return total


def tree(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))


if __name__ == "__main__":
    main()
