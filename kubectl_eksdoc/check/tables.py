"""The tables by which an upgrade is judged: what they are of, how many rows they have, and when those were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from kubectl_eksdoc.model.knowledge import file

SUBJECTS = (
    "removed_apis",
    "custom_apis",
    "conversions",
    "software",
    "calendar",
    "amis",
    "release_notes",
    "symptoms",
    "field_effects",
    "metadata_log_lines",
    "coredns_log_lines",
    "addon_manifests",
)


@dataclass(frozen=True, slots=True)
class _Row:
    """`name` tells it from the others of its table; `promise`: what its makers say, "" where that is no matter."""

    name: str
    document: str
    read: date
    confidence: str
    promise: str = ""


@dataclass(frozen=True, slots=True)
class TableOutline:
    """`read_to`: the last Kubernetes version whose documents were read for it, "" where that is no matter. A section of
    a table, as the compatibility of software, is a table of its own."""

    name: str
    about: str
    rows: tuple[_Row, ...]
    read_to: str = ""

    @property
    def oldest(self) -> date:
        return min(row.read for row in self.rows)

    @property
    def newest(self) -> date:
        return max(row.read for row in self.rows)

    @property
    def promises(self) -> str:
        """``3 supported, 3 tested``."""
        said = [row.promise for row in self.rows if row.promise]
        return ", ".join(f"{said.count(each)} {each}" for each in dict.fromkeys(said))


def tables() -> tuple[TableOutline, ...]:
    """All, each followed by its sections."""
    return tuple(each for subject in SUBJECTS for each in _of(subject))


_SECTIONS = {
    "compatibility": "Kubernetes versions that each version of software is made for",
    "needs": "What an upgrade needs of it",
}


def _of(subject: str) -> Iterator[TableOutline]:
    told = file(subject)
    about = told["about"][0].rstrip(".")
    rows = tuple(_row(each, each.get("source", {}), told["source"]) for each in told["records"])
    yield TableOutline(subject, about, rows, told.get("read_to", ""))
    for section, what in _SECTIONS.items():
        found = [(record, each) for record in told["records"] for each in _parts(record.get(section))]
        if found:
            parts = (
                _row({"name": record["name"], **each}, each.get("source", record.get("source", {})), told["source"])
                for record, each in found
            )
            yield TableOutline(f"{subject}, {section}", what, tuple(parts))


def _parts(section: Any) -> list[Mapping[str, Any]]:
    return section if isinstance(section, list) else [section] if section else []


_KEYS = (
    ("api_version", "kind"),
    ("api_version", "kinds"),
    ("kinds", "api_versions"),
    ("name",),
    ("id",),
    ("version",),
    ("family",),
    ("symptom",),
    ("fields",),
    ("text",),
    ("parts",),
)


def _row(record: Mapping[str, Any], source: Mapping[str, Any], head: Mapping[str, Any]) -> _Row:
    keys = next(each for each in _KEYS if all(key in record for key in each))
    name = " ".join(
        value if isinstance(value, str) else ", ".join(map(str, value)) for value in map(record.get, keys) if value
    )
    told = {**head, **source}
    return _Row(name, told["document"], date.fromisoformat(told["read"]), told["confidence"], record.get("promise", ""))
