"""The package as a whole: its contract and the examples in its docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import reports

MODULES = [module.name for module in pkgutil.walk_packages(reports.__path__, "reports.")]


@pytest.mark.parametrize("name", ["reports", *MODULES])
def test_examples_in_docstrings_hold(name: str) -> None:
    if name.startswith("reports.exports.inspect"):
        pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_public_name_exists() -> None:
    assert all(callable(getattr(reports, name)) or name.isupper() for name in reports.__all__)


def test_the_public_names_are_listed() -> None:
    assert dir(reports) == sorted(reports.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="tabels"):
        _ = reports.tabels
