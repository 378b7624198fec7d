"""Saved results of this tool, read for comparison with new ones.

Belongs here: plans and other results in the tool's own format, of this version and of earlier ones.
Never here: the comparison.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.files import open_file
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import API_VERSION, DRAIN_PLAN, FLEET
from kubectl_eksdoc.model.baseline import (
    AcceptedPlan,
    Baseline,
    BudgetOutline,
    DurationOutline,
    FindingOutline,
    PlanOutline,
    SavedResult,
    TargetOutline,
)
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.findings import Severity, Status, Subject
from kubectl_eksdoc.model.kinds import ReadState

from .documents import GZIP_MAGIC, MAX_NUMBER, DocumentFields, InvalidDocument, JsonFile, shorten

# A saved result (``-o json``, ``-o yaml``): opened, and checked to be of the expected kind.


_EMPTY_FILE_HINT = "A shell empties the file it writes to before the command runs: compare into another file."
_SNAPSHOT_TEXT = "a snapshot, and not an answer: save the result with -o json"
_FLEET_HINT = """Take that of one: jq '.members[] | select(.name == "NAME") | .result' FILE > ONE"""
_FOREIGN_FORMATS = ((b"PK\x03\x04", _SNAPSHOT_TEXT), (b"\x28\xb5\x2f\xfd", _SNAPSHOT_TEXT))
"""Magic bytes of zip, and Zstandard (RFC 8878)."""
_TAR_MAGIC_OFFSET, _TAR_MAGIC = 257, b"ustar"
"""Offset and magic bytes of a tar archive (POSIX pax)."""

_Parsed = TypeVar("_Parsed")


def read_answer(
    path: str, kind: str, command: str, parse: Callable[[Mapping[str, object]], _Parsed], flag: str = "--since"
) -> _Parsed:
    """Parse the saved result of `command` at `path`, a document of `kind`, with `parse`, which may raise
    InvalidDocument. `flag` is the flag with the path.

    Raises:
        BaselineError: the file cannot be opened, has another kind or another format; the message says which.
    """
    save_hint = f"Save one with: kubectl eksdoc {command} -o json > FILE"
    if is_snapshot(path):
        raise BaselineError(f"{path} is {_SNAPSHOT_TEXT}", save_hint)
    file = JsonFile(
        "the earlier answer",
        "no answer of this tool",
        BaselineError,
        save_hint,
        flag,
        f"{_EMPTY_FILE_HINT} {save_hint}",
        _FOREIGN_FORMATS,
        yaml=True,
    )
    document = _check_kind(path, file.read(path), kind, command, save_hint)
    try:
        return parse(document)
    except InvalidDocument as error:
        hint = f"It says that it was made by kubectl eksdoc {_tool_version(document)}. {save_hint}"
        raise BaselineError(f"{path} is not as this version writes it: {error}", hint) from error


def is_snapshot(path: str) -> bool:
    """Whether `path` is a snapshot instead of a result: a folder or an archive. A file that cannot be opened is none; a
    gzip-compressed result is none either."""
    try:
        if os.path.isdir(path):
            return True
        with open_file(path) as file:
            head = file.read(_TAR_MAGIC_OFFSET + len(_TAR_MAGIC))
        if head.startswith(GZIP_MAGIC):
            with gzip.open(path) as decompressed:
                head = decompressed.read(_TAR_MAGIC_OFFSET + len(_TAR_MAGIC))
    except (OSError, ValueError, EOFError, zlib.error):
        return False
    return head.startswith(tuple(magic for magic, _ in _FOREIGN_FORMATS)) or head[_TAR_MAGIC_OFFSET:] == _TAR_MAGIC


def _tool_version(document: Mapping[str, object]) -> str:
    """The version of this tool that made the document, as the document says."""
    metadata = document.get("metadata")
    version = metadata.get("toolVersion") if isinstance(metadata, dict) else None
    return shorten(version) if isinstance(version, str) and version else "of unknown version"


def _check_kind(path: str, document: object, kind: str, command: str, save_hint: str) -> dict[str, object]:
    """`document`, if it is of `kind` in this version's format."""
    if not isinstance(document, dict):
        raise BaselineError(f"{path} is no answer of this tool: it is no object", save_hint)
    version, found_kind = document.get("apiVersion"), document.get("kind")
    is_own = isinstance(version, str) and version.partition("/")[0] == API_VERSION.partition("/")[0]
    if not is_own or not isinstance(found_kind, str):
        description = (
            f"a {shorten(found_kind)}, as a dump is" if isinstance(found_kind, str) and found_kind else "something else"
        )
        raise BaselineError(f"{path} is no answer of this tool: it is {description}", save_hint)
    if found_kind == FLEET:
        raise BaselineError(f"{path} is the answer of a fleet: only that of one cluster is compared", _FLEET_HINT)
    if found_kind != kind:
        raise BaselineError(f"{path} is an answer of another command than {command}: {shorten(found_kind)}", save_hint)
    if version != API_VERSION:
        raise BaselineError(
            f"{path} is in the form {shorten(str(version))}, and this version reads only {API_VERSION}",
            f"It says that it was made by kubectl eksdoc {_tool_version(document)}. {save_hint}",
        )
    return document


# Common fields of all saved documents, and findings.


_CUSTOM_KINDS = frozenset(kind.full_name for kind in kinds.ALL if kind.custom)


def is_known(kind_read: DocumentFields) -> bool:
    """As `KindRead.known`: a custom kind that is not served has no objects."""
    state = kind_read.enum_value("state", ReadState)
    return state is ReadState.READ or (state is ReadState.NOT_SERVED and kind_read.text("resource") in _CUSTOM_KINDS)


def parse_identity(cluster: DocumentFields) -> Identity:
    return Identity(
        context=cluster.text_or_null("context"),
        cluster=cluster.text_or_null("cluster"),
        account=cluster.text_or_null("account"),
        region=cluster.text_or_null("region"),
        server_version=cluster.text_or_null("serverVersion"),
        uid=cluster.text_or_null("uid"),
        unverified=cluster.texts("unverified") if "unverified" in cluster.field_names() else (),
    )


def parse_options(fields: DocumentFields) -> dict[str, object]:
    """The flags: each has one value, or a list of texts."""
    values: dict[str, object] = {}
    for key in fields.field_names():
        value = fields.value(key)
        if not key or not isinstance(key, str):
            raise fields.invalid("a flag", "has no name")
        if isinstance(value, list):
            values[key] = list(fields.texts(key))
        elif isinstance(value, str) or (isinstance(value, (int, float)) and -MAX_NUMBER <= value <= MAX_NUMBER):
            values[key] = value
        else:
            raise fields.invalid(key, "is no value of a flag")
    return values


def parse_finding(fields: DocumentFields) -> FindingOutline:
    """
    Raises:
        InvalidDocument: it is no finding.
    """
    subject = fields.child("subject")
    namespace = subject.text("namespace") if "namespace" in subject.field_names() else ""
    return FindingOutline(
        code=fields.text("code"),
        subject=Subject(subject.text("kind"), subject.text("name"), namespace),
        severity=fields.enum_value("severity", Severity),
        status=fields.enum_value("status", Status),
        message=fields.text("message"),
    )


# Saved results of a command, to compare a new result with them.


def read_saved_result(path: str, kind: str, command: str) -> SavedResult:
    """The result of `command` that was saved at `path`, a document of `kind`. Raises: as `read_answer`."""
    return read_answer(path, kind, command, lambda document: _parse_result(document, path))


def _parse_result(document: Mapping[str, object], path: str) -> SavedResult:
    """The saved result; fields that an older version does not write stay empty."""
    answer = DocumentFields(document)
    upgrade = answer.child("way") if "way" in answer.field_names() else None
    return SavedResult(
        **_common_fields(answer, path),
        options=parse_options(answer.child("metadata").child("options")),
        findings=tuple(map(parse_finding, answer.objects("findings"))),
        suppressed=tuple(parse_finding(each.child("finding")) for each in _optional_objects(answer, "suppressed")),
        codes=frozenset(code for check in answer.objects("checks") for code in check.texts("codes"))
        if "checks" in answer.field_names()
        else None,
        addons={each.text("name"): each.text("target") for each in _optional_objects(answer, "addons")},
        way=f"{upgrade.text('now')} → {upgrade.text('target')}" if upgrade else "",
    )


def _common_fields(result: DocumentFields, file: str) -> dict[str, Any]:
    """The fields that every saved result has."""
    metadata = result.child("metadata")
    return {
        "file": file,
        "identity": parse_identity(metadata.child("cluster")),
        "source": metadata.enum_value("source", Source),
        "observed_at": metadata.timestamp("observedAt"),
        "tool_version": metadata.text("toolVersion"),
        "read": frozenset(each.text("resource") for each in metadata.objects("kindsRead") if is_known(each)),
    }


def _optional_objects(answer: DocumentFields, key: str) -> tuple[DocumentFields, ...]:
    return tuple(answer.objects(key)) if key in answer.field_names() else ()


# The outline of a saved drain plan: only the fields that are compared are read and validated.


_BASELINE_FLAG = "--since (or --baseline)"


def read_baseline(path: str) -> Baseline:
    """The drain plan saved at `path`. Raises: as `read_answer`."""
    return read_answer(path, DRAIN_PLAN, "drain plan", lambda document: parse_baseline(document, path), _BASELINE_FLAG)


def parse_baseline(document: Mapping[str, object], file: str) -> Baseline:
    """
    Raises:
        InvalidDocument: the document does not match its schema.
    """
    plan = DocumentFields(document)
    flags = parse_options(plan.child("metadata").child("options"))
    if nodes := plan.child("options").texts("orderNodes"):
        flags["order-file"] = list(nodes)
    return Baseline(
        **_common_fields(plan, file),
        options=flags,
        outline=_plan_outline(plan),
        promise=_read_plan(plan),
        uids=frozenset(each.text_or_empty("uid") for key in ("targets", "budgets") for each in plan.objects(key))
        - {""},
    )


def _read_plan(plan: DocumentFields) -> AcceptedPlan:
    return AcceptedPlan(
        {each.text("name"): (each.text_or_empty("uid"), each.text("verdict")) for each in plan.objects("targets")},
        {
            each.text_or_empty("uid"): (
                f"{each.text('namespace')}/{each.text('name')}",
                each.text_or_null("ownerUid"),
                each.text("means"),
            )
            for each in plan.objects("evictions")
        },
        {f"{each.text('namespace')}/{each.text('name')}": each.text("verdict") for each in plan.objects("budgets")},
        frozenset(
            each.text("code")
            for each in plan.objects("findings")
            if each.enum_value("status", Status) is Status.UNKNOWN
        ),
    )


def _plan_outline(plan: DocumentFields) -> PlanOutline:
    return PlanOutline(
        targets=tuple(map(_target_outline, plan.objects("targets"))),
        budgets=tuple(map(_budget_outline, plan.objects("budgets"))),
        findings=tuple(map(parse_finding, plan.objects("findings"))),
        evictions=len(list(plan.objects("evictions"))),
        left=len(list(plan.objects("left"))),
        rounds=plan.count("rounds"),
        waves=len(list(plan.objects("waves"))),
        times=_times_outline(plan),
        stops=frozenset((code, row.text("node")) for row in plan.objects("left") for code in row.texts("codes")),
    )


def _target_outline(target: DocumentFields) -> TargetOutline:
    return TargetOutline(target.text("name"), target.text("verdict"), tuple(filter(None, target.texts("why"))))


def _budget_outline(budget: DocumentFields) -> BudgetOutline:
    key = f"{budget.text('namespace')}/{budget.text('name')}"
    return BudgetOutline(key, budget.text("verdict"), budget.count("perRound"))


def _times_outline(plan: DocumentFields) -> DurationOutline | None:
    estimate = plan.child_or_null("estimate")
    bound = plan.child_or_null("lowerBound")
    if estimate is None:
        return None
    decides = estimate.child_or_null("decides")
    gap = None if plan.value("gap") is None else plan.number("gap")
    return DurationOutline(
        p50_s=estimate.number("p50"),
        p95_s=estimate.number("p95"),
        peak_away=estimate.count("peakAway"),
        bound_s=bound.number("seconds") if bound else None,
        binds=f"{decides.text('binding')} {decides.text_or_null('subject')}".rstrip() if decides else "",
        gap=gap,
    )
