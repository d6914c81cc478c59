"""All families of models by name (`parsers.screen.families` says what one is)."""

from __future__ import annotations

from collections.abc import Mapping

from parsers.screen.call_families import CALL_FAMILIES
from parsers.screen.families import Family
from parsers.screen.object_families import OBJECT_FAMILIES

FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (*CALL_FAMILIES, *OBJECT_FAMILIES)
}
