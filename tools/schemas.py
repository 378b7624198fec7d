"""The JSON Schemas of results, generated from their types: docstrings are the descriptions, and the codes are those of
the command. common.json has the types that all results share; `kubectl_eksdoc.report.schemas.load_schema` adds it to
the schema of a kind."""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from msgspec import UnsetType, structs
from msgspec.json import schema_components

from kubectl_eksdoc.addon_diff.report.after import AftermathResult
from kubectl_eksdoc.addon_diff.report.outcome import UpdateResult
from kubectl_eksdoc.addon_diff.report.result import DiffResult
from kubectl_eksdoc.baseline.report import SinceResult
from kubectl_eksdoc.changes.report import ChangesResult
from kubectl_eksdoc.check.report.result import CheckResult
from kubectl_eksdoc.coredns_lameduck.report.change import DnsChangeResult
from kubectl_eksdoc.coredns_lameduck.report.corefile import CorefileResult
from kubectl_eksdoc.coredns_lameduck.report.measuring import MeasureResult
from kubectl_eksdoc.coredns_lameduck.report.plan import LameduckResult
from kubectl_eksdoc.drain.report.events import EventResult
from kubectl_eksdoc.drain.report.result import PlanResult
from kubectl_eksdoc.drain.report.run import RunResult
from kubectl_eksdoc.drain.report.status import StatusResult, WatchResult
from kubectl_eksdoc.fleet.report import FleetResult
from kubectl_eksdoc.imds_probe.report.access import ProbeResult
from kubectl_eksdoc.imds_probe.report.fix import FixResult
from kubectl_eksdoc.imds_probe.report.probe import ActiveProbeResult
from kubectl_eksdoc.interruption.report import InterruptionResult
from kubectl_eksdoc.model.api_objects import API_VERSION
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.permissions.report import PermissionResult
from kubectl_eksdoc.rehearse.report import RehearsalResult
from kubectl_eksdoc.report import schemas
from kubectl_eksdoc.report.command_result import Metadata
from kubectl_eksdoc.report.result import FindingResult, ObjectResult, Printed
from kubectl_eksdoc.snapshot.report import SnapshotResult

Doc = dict[str, Any]

_CHECKED = ("addon", "check", "drain", "dns", "interruption", "imds")
_OF_DNS_CHANGES = (Code.of("dns-grace-not-kept"), Code.of("dns-lameduck-short"), Code.of("dns-too-few"))
_OF_COREFILES = (
    Code.of("dns-corefile-refused"),
    Code.of("dns-corefile-unknown"),
    Code.of("dns-lameduck-long"),
    Code.of("dns-lameduck-short"),
    Code.of("dns-lameduck-unknown"),
)
RESULTS: Mapping[type[Printed], Collection[Code]] = {
    AftermathResult: (*Code.of_areas("addon_past"), Code.of("addon-object-unread")),
    DiffResult: Code.of_areas("addon"),
    CorefileResult: _OF_COREFILES,
    ChangesResult: (),
    FleetResult: (),
    PermissionResult: (),
    SnapshotResult: (),
    DnsChangeResult: (*Code.of_areas("addon", "dns_change"), *_OF_DNS_CHANGES),
    UpdateResult: Code.of_areas("addon"),
    CheckResult: Code.of_areas(*_CHECKED),
    ActiveProbeResult: Code.of_areas("imds_probe"),
    FixResult: (),
    RehearsalResult: Code.of_areas("drain"),
    RunResult: Code.of_areas("drain"),
    EventResult: (),
    StatusResult: (),
    WatchResult: (),
    InterruptionResult: Code.of_areas("interruption"),
    LameduckResult: Code.of_areas("dns"),
    MeasureResult: Code.of_areas("dns_measure"),
    PlanResult: Code.of_areas("drain"),
    ProbeResult: Code.of_areas("imds"),
}
"""The finding codes that each may have."""
SHARED = (Metadata, FindingResult, ObjectResult, SinceResult)
_CODE = {"$ref": "#/$defs/Code"}


def made() -> dict[Path, str]:
    """Each file, up to date."""
    common = _definitions(SHARED)
    every = {"common": {"description": "What results share.", "$defs": common | {"Code": _enum(Code.all_codes())}}}
    every |= {kind(root): _of_kind(root, _enum(each), common) for root, each in RESULTS.items()}
    folder = Path(schemas.__file__).parent
    return {folder / f"{name}.json": json.dumps(_head(name) | body, indent=2) + "\n" for name, body in every.items()}


def kind(root: type[Printed]) -> str:
    (name,) = (get_args(field.type)[0] for field in structs.fields(root) if field.name == "kind")
    return str(name)


def _head(name: str) -> Doc:
    folder = f"https://eksdoc.io/schemas/{API_VERSION.rpartition('/')[2]}"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{folder}/{name}.json",
        "title": name,
    }


def _enum(of: Collection[Code]) -> Doc:
    return {"enum": sorted(code.name for code in of)}


def _of_kind(root: type[Printed], enum: Doc, common: Doc) -> Doc:
    every = _definitions((root,))
    if wrong := [name for name in every.keys() & common if every[name] != common[name]]:
        raise ValueError(f"{root.__name__} has types of its own that are called as shared ones: {wrong}")
    own = {name: body for name, body in every.items() if name not in common}
    body: Doc = _shared(own.pop(_name(root)) | {"$defs": own}, common)
    if _CODE in _below(body):
        body["$defs"]["Code"] = enum
    return body


def _definitions(roots: tuple[type[Printed], ...]) -> Doc:
    """The definitions of every type in `roots`, by its name."""
    _, found = schema_components(roots)
    types = {each.__name__: each for each in _printed(roots)}
    made = {name.lstrip("_"): _named(_completed(found[name], types.get(name))) for name in sorted(found)}
    if len(made) < len(found) or any("." in name for name in made):
        raise ValueError(f"two types of one result have the same name: {sorted(found)}")
    return made


def _printed(hints: Collection[Any]) -> Iterator[type[Printed]]:
    for hint in hints:
        yield from _printed(get_args(hint))
        if inspect.isclass(hint) and issubclass(hint, Printed):
            yield hint
            yield from _printed([field.type for field in structs.fields(hint)])


def _completed(schema: Doc, of: type[Printed] | None) -> Doc:
    """With the information that msgspec omits: optional fields, and their descriptions."""
    del schema["title"]
    if of is None:
        return schema
    told = {name: text for each in reversed(of.__mro__) for name, text in _docstrings(each).items()}
    for field in structs.fields(of):
        if UnsetType in get_args(field.type):
            schema["required"].remove(field.encode_name)
        if field.name in told:
            schema["properties"][field.encode_name]["description"] = told[field.name]
    return schema | dict(of.schema)


@cache
def _docstrings(of: type) -> Mapping[str, str]:
    """The docstring of each field of a class."""
    if not issubclass(of, Printed):
        return {}
    if of.descriptions:
        return of.descriptions
    if of.__name__ not in vars(sys.modules[of.__module__]):
        return {}  # it was generated from declarations, and has no source
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(of))).body
    return {
        field.target.id: " ".join(str(ast.literal_eval(text.value)).split())
        for field, text in pairwise(tree.body if isinstance(tree, ast.ClassDef) else ())
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(field.target, ast.Name)
    }


def _name(of: type) -> str:
    return of.__name__.lstrip("_")


def _named(node: Any) -> Any:
    """References without the underscore of private types, and descriptions on one line."""
    if isinstance(node, list):
        return [_named(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: _named(each) for key, each in node.items()}
    if isinstance(made.get("$ref"), str):
        made["$ref"] = made["$ref"].replace("/_", "/")
    if isinstance(made.get("description"), str):
        made["description"] = " ".join(made["description"].split())
    return made


def _shared(node: Any, common: Doc) -> Any:
    """With references into common.json; a finding there has one of the codes of the command."""
    if isinstance(node, list):
        return [_shared(each, common) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: _shared(each, common) for key, each in node.items()}
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if name in common:
        made["$ref"] = f"common.json{node['$ref']}"
        coded = {key: _CODE for key, each in common[name].get("properties", {}).items() if _CODE in _below(each)}
        made |= {"properties": coded} if coded else {}
    return made


def _below(node: Any) -> Iterator[Any]:
    """`node` itself, and every object in it without its description."""
    for each in node if isinstance(node, list) else node.values() if isinstance(node, dict) else ():
        yield from _below(each)
    if isinstance(node, dict):
        yield {key: each for key, each in node.items() if key not in ("description", "type")}
