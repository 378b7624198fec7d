"""The patch that gives lost fields back, and nothing else: a strategic merge patch, as ``kubectl patch`` sends it.

``kubectl rollout undo`` would bring the whole template of before back: the old images under an add-on that EKS believes
to be of the new version.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.patches import apply_strategic
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal
from kubectl_eksdoc.kubernetes.api.types import Schema, SchemaPlace
from kubectl_eksdoc.kubernetes.document_diff import Path
from kubectl_eksdoc.kubernetes.field_paths import field_step, keys_of
from kubectl_eksdoc.kubernetes.managed_fields import without_entries
from kubectl_eksdoc.kubernetes.redaction import has_digest
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, sections

from .after_facts import ChangedField, Recreating
from .fields import MISSING, AddonField, Usage, same_value, some_of, value_at
from .prediction import differing

MARK = "$patch"
_ENV = field_step("env")
_INSTEAD = {"f:value": "valueFrom", "f:valueFrom": "value"}
"""An environment variable has one or the other."""


@frozen
class Restoring:
    """`patch` restores `fields`, None where it restores nothing; to those of `cannot` no small patch leads. `after` is
    the object as it would be, without who owns what."""

    patch: Doc | None
    fields: tuple[Path, ...]
    cannot: tuple[Path, ...]
    after: Doc


def restoring(live: Doc, wanted: Mapping[Path, Any], schema: Schema) -> Restoring:
    """`wanted`: the value of each field that is to be as it was, `MISSING` for nothing. The patch is tried: a field
    that it does not restore, or at the cost of another, is one of `cannot`."""
    doc = without_entries(live)
    patch: Doc = {}
    after = doc
    done: list[Path] = []
    cannot: list[Path] = []
    for path in sorted(wanted):
        if same_value(value_at(doc, path, schema.root), wanted[path]):
            continue
        known = not has_digest(wanted[path])  # of a snapshot it may be a digest, which must never be sent
        longer = _with(patch, path, wanted[path], doc, schema.root) if known else None
        tried = _tried(doc, longer, schema) if longer is not None else None
        touched = {_entry(each) for each in (*done, path)}
        if (
            longer is None
            or tried is None
            or any(not same_value(value_at(tried, each, schema.root), wanted[each]) for each in (*done, path))
            or any(_entry(each) not in touched for each in differing(doc, tried, schema))
        ):
            cannot.append(path)
        else:
            patch, after = longer, tried
            done.append(path)
    return Restoring(patch if done else None, tuple(done), tuple(cannot), after)


def rebased(base: Any, theirs: Any, ours: Any) -> Any:
    """A list that is one value, with what `theirs` changed of `base`, and with what EKS's new `ours` did. None where
    that is not known: without a base, or where the places of its items matter."""
    if base == ours:
        return theirs
    if (
        not isinstance(base, list)
        or not isinstance(theirs, list)
        or not all(map(_stands_alone, (*base, *theirs, *ours)))
    ):
        return None
    added = [each for each in theirs if each not in base]
    options = {_option(each) for each in added} - {None}
    kept = [each for each in ours if (each not in base or each in theirs) and _option(each) not in options]
    return [*kept, *(each for each in added if each not in kept)]


def _stands_alone(item: Any) -> bool:
    return isinstance(item, dict) or (isinstance(item, str) and item.startswith("-") and "=" in item)


def _option(item: Any) -> str | None:
    """The name of a flag of a command line."""
    return item.partition("=")[0] if isinstance(item, str) else None


def _entry(path: Path) -> Path:
    """The field, or the environment variable that it is of: which has a value, or where to take one from."""
    at = next((at for at, step in enumerate(path) if step == _ENV), None)
    return path if at is None else path[: at + 2]


def _tried(doc: Doc, patch: Doc, schema: Schema) -> Doc | None:
    try:
        return apply_strategic(doc, patch, schema.root)
    except ApiRefusal:
        return None


def _with(patch: Doc, path: Path, value: Any, live: Doc, place: SchemaPlace) -> Doc | None:
    """`patch` with one field more, None where no patch of this kind says it."""
    step, rest = path[0], path[1:]
    if not step.startswith("f:"):
        return None
    name = step[2:]
    inner, there = place.under(name), live.get(name)
    if not rest:
        return {**patch, name: _said(value, there, inner)}
    if rest[0].startswith("k:"):
        items = _with_item(patch.get(name, []), rest, value, there if isinstance(there, list) else [], inner)
        return None if items is None else {**patch, name: items}
    made = _with(patch.get(name) or {}, rest, value, there if isinstance(there, dict) else {}, inner)
    return None if made is None else {**patch, name: made}


def _with_item(items: list[Doc], path: Path, value: Any, live: list[Any], place: SchemaPlace) -> list[Doc] | None:
    """`path` begins with the item's keys. A container that is gone does not come back by some of its fields."""
    keys, rest = keys_of(path[0]), path[1:]
    if "merge" not in place.strategy or place.merge_key not in keys or not rest:
        return None
    there = next((item for item in live if isinstance(item, dict) and _is(item, keys)), None)
    if there is None and _ENV in rest:
        return None
    mine = next((item for item in items if _is(item, keys)), None) or dict(keys)
    made: Doc | None
    if value is MISSING and rest[0] in _INSTEAD:
        made = _without(mine, keys, rest[0][2:], _INSTEAD[rest[0]])
    else:
        made = _with(mine, rest, value, there or {}, place.of_items())
        if made is not None and _INSTEAD.get(rest[0]) in (there or {}):
            made = {**made, _INSTEAD[rest[0]]: None}
    return None if made is None else [*(item for item in items if not _is(item, keys)), made]


def _without(mine: Doc, keys: Doc, name: str, instead: str) -> Doc:
    """An environment variable whose `name` goes: as a whole, unless it gets the other of the two."""
    return {**mine, name: None} if mine.get(instead) is not None else {**keys, MARK: "delete"}


def _is(item: Doc, keys: Mapping[str, Any]) -> bool:
    return all(item.get(key) == value for key, value in keys.items())


def _said(value: Any, there: Any, place: SchemaPlace) -> Any:
    """As a patch says it: what is owned as one value replaces what stands there, also where a patch would merge."""
    if value is MISSING:
        return None
    if isinstance(value, dict) and isinstance(there, dict):
        return {**value, MARK: "replace"}
    if isinstance(value, list) and isinstance(there, list) and "merge" in place.strategy and place.merge_key:
        return [*value, {MARK: "replace"}]
    return value


# Which pods keep what they got while a field was lost, and must be recreated.
#
# A variable that is not listed is none without consequence: it is one of which nothing is known here, and that is said.


class _Who(Enum):
    NOBODY = "nobody"
    ASTRAY = "pods that started without their branch interface"


@frozen
class RunningPods:
    """`says` of a field why pods that run have to be recreated or not, a clause."""

    fields: tuple[str, ...]
    recreate: _Who
    says: str
    source: KnowledgeSource


_RUNNING = sections(RunningPods, "field_effects", "running")


def recreating(lost: tuple[ChangedField, ...], usage: Usage, begun: datetime) -> tuple[Recreating, ...]:
    """Of each variable of vpc-cni that was lost; `begun`: when the update was."""
    return tuple(_of(change.field, usage, begun) for change in lost if change.field.variable)


def _of(of: AddonField, usage: Usage, begun: datetime) -> Recreating:
    rule = next((each for each in _RUNNING if of.variable in each.fields), None)
    if rule is None:
        why = "no document that is known here says whether pods that run take it over"
        return Recreating(of, Unknown(why), why, "", Confidence.LOW)
    pods = () if rule.recreate is _Who.NOBODY else _astray(usage, begun)
    return Recreating(of, pods, rule.says, rule.source.document, rule.source.confidence)


def _astray(usage: Usage, begun: datetime) -> tuple[str, ...] | Unknown:
    """Their address is not that of the interface noted for them. Of one that started since without any note it is not
    known."""
    if isinstance(usage.branched, Unknown):
        return usage.branched
    silent = [
        pod.key
        for pod in usage.branched
        if (pod.created_at is None or pod.created_at >= begun.replace(microsecond=0))
        and (pod.branch is None or not pod.branch.interface or not pod.branch.address)
    ]
    if silent:
        which = some_of(silent)
        why = f"no branch interface is noted for {which}, which started since then"
        astray = ", ".join(pod.key for pod in usage.astray)
        return Unknown(f"{why}; to be recreated in any case: {astray}" if astray else why)
    return tuple(pod.key for pod in usage.astray)
