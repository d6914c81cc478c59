"""What is told of the distribution: one version, and bounds that agree with what is tested."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import harness

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
REQUIREMENTS = [
    Requirement(line) for lines in (PROJECT["dependencies"], *EXTRAS.values()) for line in lines
]
OURS = "vlm-web-eval"


def pins() -> dict[str, Version]:
    """The versions of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def lowest(requirement: Requirement) -> Version | None:
    """The lower bound of a requirement."""
    found = [Version(part.version) for part in requirement.specifier if part.operator == ">="]
    return found[0] if found else None


def test_the_version_stands_in_the_code_and_is_told_by_the_citation() -> None:
    assert "version" in PROJECT["dynamic"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^version: (\S+)$", citation, re.M) == [harness.__version__]


def test_the_changelog_goes_by_release_and_starts_with_what_is_unreleased() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    releases = re.findall(r"^## (\S+)", changelog, re.M)
    assert releases[:2] == ["Unreleased", harness.__version__]
    versions = [Version(release) for release in releases[1:]]
    assert versions == sorted(versions, reverse=True)
    kinds = set(re.findall(r"^### (.*)$", changelog, re.M))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_a_dependency_has_a_lower_bound_below_the_version_that_is_tested(
    requirement: Requirement,
) -> None:
    if canonicalize_name(requirement.name) == OURS:
        assert requirement.extras <= set(EXTRAS)
        return
    bound = lowest(requirement)
    assert bound is not None and bound in requirement.specifier
    pinned = pins().get(canonicalize_name(requirement.name))
    assert pinned is None or pinned in requirement.specifier


def test_what_several_extras_need_has_the_same_bounds_in_each() -> None:
    bounds: dict[str, set[SpecifierSet]] = {}
    for requirement in REQUIREMENTS:
        bounds.setdefault(canonicalize_name(requirement.name), set()).add(requirement.specifier)
    assert [name for name, found in bounds.items() if len(found) > 1] == []


def test_what_the_tests_install_is_pinned() -> None:
    extras, wanted = ["test-all", "local", "rank"], list(PROJECT["dependencies"])
    for extra in extras:
        wanted += EXTRAS[extra]
        ours = (Requirement(line) for line in EXTRAS[extra] if line.startswith(OURS))
        extras += [name for requirement in ours for name in requirement.extras]
    names = {canonicalize_name(Requirement(line).name) for line in wanted}
    assert names - set(pins()) == {OURS}


def test_pythons_are_named_that_the_package_has_run_on() -> None:
    allowed = SpecifierSet(PROJECT["requires-python"])
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python ::" in line]
    assert named and all(version in allowed for version in named)
    assert "3.14.0" in allowed and "3.14" not in named
