"""Sets from the hub: at a known commit or the newest, pictures one by one or in a zip file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.harness.benchmarks._hub import REVISION, Hub, serving
from tests.harness.benchmarks.grounding import _files as files
from tests.programs import completed

PROGRAM = """
import hashlib, json, sys
from dataclasses import replace
from harness.benchmarks import benchmark
from harness.errors import DataError
whole = replace(benchmark(sys.argv[1]), sizes=(), cells={}, revision=sys.argv[2] or None)
try:
    opened = whole.open()
    shown = [hashlib.sha256(data).hexdigest() for unit in opened.entries[:int(sys.argv[3])]
             for data in opened.pictures(unit)]
    origin = {key: opened.fingerprint[key] for key in ("origin", "repo", "revision")}
    units = [unit.unit_id for unit in opened.entries]
    print(json.dumps({"units": units, "shown": shown, "origin": origin}))
except DataError as error:
    print(json.dumps({"error": str(error)}))
"""


def run(
    tmp_path: Path, hub: Hub | None, name: str, revision: str = "", shown: int = 1, **env: str
) -> Any:
    settings = {
        "HF_ENDPOINT": hub.url if hub else "http://127.0.0.1:9",
        "HF_HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "NO_PROXY": "127.0.0.1",
        "HF_HUB_OFFLINE": "",
    }
    done = completed("-c", PROGRAM, name, revision, str(shown), environment=settings | env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_pictures_of_screenspot_pro_are_downloaded_when_they_are_shown(tmp_path: Path) -> None:
    files.screenspot_pro(tmp_path).rename(tmp_path / "hub")
    with serving(tmp_path / "hub") as hub:
        found = run(tmp_path, hub, "screenspot-pro", shown=1)
        assert any("images/word_mac/0.png" in line for line in hub.asked)
        assert not any("images/word_mac/1.png" in line for line in hub.asked)
    assert found["units"] == ["word_macos_0", "word_macos_1"] and len(found["shown"]) == 1
    assert found["origin"] == {
        "origin": "hub",
        "repo": "likaixin/ScreenSpot-Pro",
        "revision": REVISION,
    }
    offline = {"HF_HUB_OFFLINE": "1"}
    assert run(tmp_path, None, "screenspot-pro", shown=1, **offline) == found
    lacking = run(tmp_path, None, "screenspot-pro", shown=2, **offline)
    assert lacking["error"].startswith("cannot get likaixin/ScreenSpot-Pro")
    assert "--data PATH" in lacking["error"] and "\n" not in lacking["error"]


def test_the_zip_file_of_screenspot_v2_is_read_where_the_hub_put_it(tmp_path: Path) -> None:
    files.screenspot_v2(tmp_path).rename(tmp_path / "hub")
    (tmp_path / "hub" / "README.md").write_text("card")
    with serving(tmp_path / "hub") as hub:
        found = run(tmp_path, hub, "screenspot-v2", REVISION, shown=3)
        assert len(found["shown"]) == 3 and found["origin"]["revision"] == REVISION
        assert not any("README" in line for line in hub.asked)
        hub.asked.clear()
        assert run(tmp_path, hub, "screenspot-v2", REVISION, shown=3) == found
        assert hub.asked == [], "a commit that is known and whole in the cache"
