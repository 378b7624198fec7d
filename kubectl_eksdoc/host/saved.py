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
from kubectl_eksdoc.files import opened
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import API_VERSION, DRAIN_PLAN, FLEET
from kubectl_eksdoc.model.baseline import (
    Baseline,
    BudgetOutline,
    FindingOutline,
    PlanOutline,
    ReadPlan,
    SavedResult,
    TargetOutline,
    TimesOutline,
)
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.findings import Severity, Status, Subject
from kubectl_eksdoc.model.kinds import ReadState

from .documents import MAGIC, MOST, DocumentFields, JsonFile, Unfit, short

# A saved result (``-o json``, ``-o yaml``): opened, and checked to be of the expected kind.


_EMPTY = "A shell empties the file it writes to before the command runs: compare into another file."
_SNAPSHOT = "a snapshot, and not an answer: save the result with -o json"
_OF_A_FLEET = """Take that of one: jq '.members[] | select(.name == "NAME") | .result' FILE > ONE"""
_BEGINS = ((b"PK\x03\x04", _SNAPSHOT), (b"\x28\xb5\x2f\xfd", _SNAPSHOT))
"""Magic bytes of zip, and Zstandard (RFC 8878)."""
_TAR_AT, _TAR = 257, b"ustar"
"""Offset and magic bytes of a tar archive (POSIX pax)."""

_Made = TypeVar("_Made")


def read_answer(
    path: str, kind: str, command: str, make: Callable[[Mapping[str, object]], _Made], flag: str = "--since"
) -> _Made:
    """Parse the saved result of `command` at `path`, a document of `kind`, with `parse`, which may raise
    InvalidDocument. `flag` is the flag with the path.

    Raises:
        BaselineError: the file cannot be opened, has another kind or another format; the message says which.
    """
    save = f"Save one with: kubectl eksdoc {command} -o json > FILE"
    if is_snapshot(path):
        raise BaselineError(f"{path} is {_SNAPSHOT}", save)
    file = JsonFile(
        "the earlier answer",
        "no answer of this tool",
        BaselineError,
        save,
        flag,
        f"{_EMPTY} {save}",
        _BEGINS,
        yaml=True,
    )
    document = _of_kind(path, file.read(path), kind, command, save)
    try:
        return make(document)
    except Unfit as error:
        hint = f"It says that it was made by kubectl eksdoc {_maker(document)}. {save}"
        raise BaselineError(f"{path} is not as this version writes it: {error}", hint) from error


def is_snapshot(path: str) -> bool:
    """Whether `path` is a snapshot instead of a result: a folder or an archive. A file that cannot be opened is none; a
    gzip-compressed result is none either."""
    try:
        if os.path.isdir(path):
            return True
        with opened(path) as file:
            begin = file.read(_TAR_AT + len(_TAR))
        if begin.startswith(MAGIC):
            with gzip.open(path) as packed:
                begin = packed.read(_TAR_AT + len(_TAR))
    except (OSError, ValueError, EOFError, zlib.error):
        return False
    return begin.startswith(tuple(mark for mark, _ in _BEGINS)) or begin[_TAR_AT:] == _TAR


def _maker(document: Mapping[str, object]) -> str:
    """The version of this tool that made the document, as the document says."""
    metadata = document.get("metadata")
    version = metadata.get("toolVersion") if isinstance(metadata, dict) else None
    return short(version) if isinstance(version, str) and version else "of unknown version"


def _of_kind(path: str, document: object, kind: str, command: str, save: str) -> dict[str, object]:
    """`document`, if it is of `kind` in this version's format."""
    if not isinstance(document, dict):
        raise BaselineError(f"{path} is no answer of this tool: it is no object", save)
    version, what = document.get("apiVersion"), document.get("kind")
    ours = isinstance(version, str) and version.partition("/")[0] == API_VERSION.partition("/")[0]
    if not ours or not isinstance(what, str):
        other = f"a {short(what)}, as a dump is" if isinstance(what, str) and what else "something else"
        raise BaselineError(f"{path} is no answer of this tool: it is {other}", save)
    if what == FLEET:
        raise BaselineError(f"{path} is the answer of a fleet: only that of one cluster is compared", _OF_A_FLEET)
    if what != kind:
        raise BaselineError(f"{path} is an answer of another command than {command}: {short(what)}", save)
    if version != API_VERSION:
        raise BaselineError(
            f"{path} is in the form {short(str(version))}, and this version reads only {API_VERSION}",
            f"It says that it was made by kubectl eksdoc {_maker(document)}. {save}",
        )
    return document


# Common fields of all saved documents, and findings.


_CUSTOM = frozenset(kind.full_name for kind in kinds.ALL if kind.custom)


def known(read: DocumentFields) -> bool:
    """As `KindRead.known`: a custom kind that is not served has no objects."""
    state = read.word("state", ReadState)
    return state is ReadState.READ or (state is ReadState.NOT_SERVED and read.text("resource") in _CUSTOM)


def identity(cluster: DocumentFields) -> Identity:
    return Identity(
        context=cluster.text_or_null("context"),
        cluster=cluster.text_or_null("cluster"),
        account=cluster.text_or_null("account"),
        region=cluster.text_or_null("region"),
        server_version=cluster.text_or_null("serverVersion"),
        uid=cluster.text_or_null("uid"),
        unverified=cluster.texts("unverified") if "unverified" in cluster.names() else (),
    )


def options(given: DocumentFields) -> dict[str, object]:
    """The flags: each has one value, or a list of texts."""
    found: dict[str, object] = {}
    for key in given.names():
        value = given.value(key)
        if not key or not isinstance(key, str):
            raise given.unfit("a flag", "has no name")
        if isinstance(value, list):
            found[key] = list(given.texts(key))
        elif isinstance(value, str) or (isinstance(value, (int, float)) and -MOST <= value <= MOST):
            found[key] = value
        else:
            raise given.unfit(key, "is no value of a flag")
    return found


def finding(said: DocumentFields) -> FindingOutline:
    """
    Raises:
        InvalidDocument: it is no finding.
    """
    subject = said.inside("subject")
    namespace = subject.text("namespace") if "namespace" in subject.names() else ""
    return FindingOutline(
        code=said.text("code"),
        subject=Subject(subject.text("kind"), subject.text("name"), namespace),
        severity=said.word("severity", Severity),
        status=said.word("status", Status),
        message=said.text("message"),
    )


# Saved results of a command, to compare a new result with them.


def read_earlier(path: str, kind: str, command: str) -> SavedResult:
    """The result of `command` that was saved at `path`, a document of `kind`. Raises: as `read_answer`."""
    return read_answer(path, kind, command, lambda document: _earlier(document, path))


def _earlier(document: Mapping[str, object], path: str) -> SavedResult:
    """The saved result; fields that an older version does not write stay empty."""
    answer = DocumentFields(document)
    way = answer.inside("way") if "way" in answer.names() else None
    return SavedResult(
        **_head(answer, path),
        options=options(answer.inside("metadata").inside("options")),
        findings=tuple(map(finding, answer.each("findings"))),
        suppressed=tuple(finding(each.inside("finding")) for each in _if_there(answer, "suppressed")),
        codes=frozenset(code for check in answer.each("checks") for code in check.texts("codes"))
        if "checks" in answer.names()
        else None,
        addons={each.text("name"): each.text("target") for each in _if_there(answer, "addons")},
        way=f"{way.text('now')} → {way.text('target')}" if way else "",
    )


def _head(result: DocumentFields, file: str) -> dict[str, Any]:
    """The fields that every saved result has."""
    metadata = result.inside("metadata")
    return {
        "file": file,
        "identity": identity(metadata.inside("cluster")),
        "source": metadata.word("source", Source),
        "observed_at": metadata.moment("observedAt"),
        "tool_version": metadata.text("toolVersion"),
        "read": frozenset(each.text("resource") for each in metadata.each("kindsRead") if known(each)),
    }


def _if_there(answer: DocumentFields, key: str) -> tuple[DocumentFields, ...]:
    return tuple(answer.each(key)) if key in answer.names() else ()


# The outline of a saved drain plan: only the fields that are compared are read and validated.


_FLAG = "--since (or --baseline)"


def read_baseline(path: str) -> Baseline:
    """The drain plan saved at `path`. Raises: as `read_answer`."""
    return read_answer(path, DRAIN_PLAN, "drain plan", lambda document: baseline_of(document, path), _FLAG)


def baseline_of(document: Mapping[str, object], file: str) -> Baseline:
    """
    Raises:
        InvalidDocument: the document does not match its schema.
    """
    plan = DocumentFields(document)
    flags = options(plan.inside("metadata").inside("options"))
    if nodes := plan.inside("options").texts("orderNodes"):
        flags["order-file"] = list(nodes)
    return Baseline(
        **_head(plan, file),
        options=flags,
        outline=_outline(plan),
        promise=_promise(plan),
        uids=frozenset(each.text_or_empty("uid") for key in ("targets", "budgets") for each in plan.each(key)) - {""},
    )


def _promise(plan: DocumentFields) -> ReadPlan:
    return ReadPlan(
        {each.text("name"): (each.text_or_empty("uid"), each.text("verdict")) for each in plan.each("targets")},
        {
            each.text_or_empty("uid"): (
                f"{each.text('namespace')}/{each.text('name')}",
                each.text_or_null("ownerUid"),
                each.text("means"),
            )
            for each in plan.each("evictions")
        },
        {f"{each.text('namespace')}/{each.text('name')}": each.text("verdict") for each in plan.each("budgets")},
        frozenset(each.text("code") for each in plan.each("findings") if each.word("status", Status) is Status.UNKNOWN),
    )


def _outline(plan: DocumentFields) -> PlanOutline:
    return PlanOutline(
        targets=tuple(map(_target, plan.each("targets"))),
        budgets=tuple(map(_budget, plan.each("budgets"))),
        findings=tuple(map(finding, plan.each("findings"))),
        evictions=len(list(plan.each("evictions"))),
        left=len(list(plan.each("left"))),
        rounds=plan.whole("rounds"),
        waves=len(list(plan.each("waves"))),
        times=_times(plan),
        stops=frozenset((code, row.text("node")) for row in plan.each("left") for code in row.texts("codes")),
    )


def _target(target: DocumentFields) -> TargetOutline:
    return TargetOutline(target.text("name"), target.text("verdict"), tuple(filter(None, target.texts("why"))))


def _budget(budget: DocumentFields) -> BudgetOutline:
    key = f"{budget.text('namespace')}/{budget.text('name')}"
    return BudgetOutline(key, budget.text("verdict"), budget.whole("perRound"))


def _times(plan: DocumentFields) -> TimesOutline | None:
    estimate = plan.inside_or_null("estimate")
    bound = plan.inside_or_null("lowerBound")
    if estimate is None:
        return None
    decides = estimate.inside_or_null("decides")
    gap = None if plan.value("gap") is None else plan.number("gap")
    return TimesOutline(
        p50_s=estimate.number("p50"),
        p95_s=estimate.number("p95"),
        peak_away=estimate.whole("peakAway"),
        bound_s=bound.number("seconds") if bound else None,
        binds=f"{decides.text('binding')} {decides.text_or_null('subject')}".rstrip() if decides else "",
        gap=gap,
    )
