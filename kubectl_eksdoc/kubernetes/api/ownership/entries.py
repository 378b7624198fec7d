"""The entries of metadata.managedFields: who owns which fields, by which operation, since when.

Source: apimachinery, util/managedfields/internal/managedfields.go. An entry is known by manager, operation, subresource
and, for updates, API version: an applier has one entry whatever version it applies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from kubectl_eksdoc.kubernetes.api.ownership.fields import FieldSet
from kubectl_eksdoc.kubernetes.api.ownership.steps import MalformedStep, quoted
from kubectl_eksdoc.model.api_objects import Doc, at, with_value, without

Operation = Literal["Apply", "Update"]
Owners = Mapping["FieldManager", "Entry"]


@dataclass(frozen=True, slots=True, order=True)
class FieldManager:
    """What makes two entries the same; `api_version` is "" for appliers."""

    manager: str
    operation: Operation
    api_version: str
    subresource: str

    def shown(self) -> str:
        """As conflicts name it: ``"kubectl-set" using apps/v1``, ``"kubelet" with subresource "status" using v1``."""
        where = f" with subresource {quoted(self.subresource)}" if self.subresource else ""
        using = f" using {self.api_version}" if self.operation == "Update" else ""
        return f"{quoted(self.manager)}{where}{using}"


@dataclass(frozen=True, slots=True)
class Entry:
    """What one owner has; `time` is RFC 3339 in whole seconds, "" where the entry has none."""

    fields: FieldSet
    api_version: str
    time: str = ""


class MalformedEntries(ValueError):
    """managedFields that no server would have written."""


def owner_of(manager: str, operation: Operation, api_version: str, subresource: str) -> FieldManager:
    """A manager without a name is "unknown"."""
    return FieldManager(manager or "unknown", operation, "" if operation == "Apply" else api_version, subresource)


def read(doc: Doc) -> dict[FieldManager, Entry]:
    """The entries of a document. Raises MalformedEntries."""
    return dict(_read_one(entry) for entry in at(doc, "metadata", "managedFields") or ())


def _read_one(entry: Doc) -> tuple[FieldManager, Entry]:
    operation, api_version = entry.get("operation"), entry.get("apiVersion")
    if operation not in ("Apply", "Update"):
        raise MalformedEntries("operation must be `Apply` or `Update`")
    if not api_version:
        raise MalformedEntries("apiVersion must not be empty")
    if entry.get("fieldsType") != "FieldsV1":
        raise MalformedEntries(f"invalid fieldsType {quoted(entry.get('fieldsType', ''))} in managed fields entry")
    version = "" if operation == "Apply" else api_version
    owner = FieldManager(entry.get("manager", ""), operation, version, entry.get("subresource", ""))
    try:
        return owner, Entry(FieldSet.read(entry.get("fieldsV1") or {}), api_version, entry.get("time") or "")
    except MalformedStep as error:
        raise MalformedEntries(str(error)) from error


def printed(owners: Owners) -> list[Doc]:
    """As the server lists them: appliers first, then by time, manager, version and subresource."""
    return [_printed_one(owner, owners[owner]) for owner in sorted(owners, key=lambda owner: _order(owner, owners))]


def _order(owner: FieldManager, owners: Owners) -> tuple[str, ...]:
    entry = owners[owner]
    return owner.operation, entry.time, owner.manager, entry.api_version, owner.subresource


def _printed_one(owner: FieldManager, entry: Entry) -> Doc:
    doc: Doc = {"manager": owner.manager, "operation": owner.operation, "apiVersion": entry.api_version}
    if entry.time:
        doc["time"] = entry.time
    doc |= {"fieldsType": "FieldsV1", "fieldsV1": entry.fields.printed()}
    return doc | ({"subresource": owner.subresource} if owner.subresource else {})


def with_entries(doc: Doc, owners: Owners) -> Doc:
    """`doc` with these entries as its managedFields; without any, it has no such field."""
    if not owners:
        return without_entries(doc)
    return with_value(doc, ("metadata", "managedFields"), printed(owners))


def without_entries(doc: Doc) -> Doc:
    return without(doc, ("metadata", "managedFields"))


def without_times(entries: Iterable[Doc]) -> list[Doc]:
    return [{name: value for name, value in entry.items() if name != "time"} for entry in entries]
