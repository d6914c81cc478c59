"""A plugin: packages that an install with the extra `test` alone does not bring are missing.

pytest -p tests.light --collect-only
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
OF_EVERY_ENVIRONMENT = ("pip", "setuptools", "wheel")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def brought_by(wanted: Iterable[str]) -> set[str]:
    """The installed distributions that these requirements bring, those of others included."""
    found: set[str] = set()
    left = [(Requirement(line), "") for line in wanted]
    seen: set[tuple[str, str]] = set()
    while left:
        requirement, of = left.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": of}):
            continue
        name = normal(requirement.name)
        for extra in ("", *sorted(requirement.extras)):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                left += [(Requirement(line), extra) for line in requires(name) or ()]
            except PackageNotFoundError:
                continue
            found.add(name)
    return found


def missing() -> set[str]:
    """The names of modules that only other extras bring."""
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    kept = brought_by([*wanted, *OF_EVERY_ENVIRONMENT])
    own = normal(PROJECT["name"])
    everywhere: Mapping[str, list[str]] = packages_distributions()
    return {
        module
        for module, names in everywhere.items()
        if not {normal(name) for name in names} & {*kept, own}
    }


class Light(PathFinder):
    """Finds what the path has, but for those modules."""

    left_out = frozenset[str]()

    @classmethod
    def find_spec(cls, fullname: str, *rest: Any, **named: Any) -> Any:
        if fullname.partition(".")[0] in cls.left_out:
            return None
        return super().find_spec(fullname, *rest, **named)


def pytest_configure() -> None:
    Light.left_out = frozenset(missing() - set(sys.modules))
    sys.meta_path[:] = [Light if one is PathFinder else one for one in sys.meta_path]
