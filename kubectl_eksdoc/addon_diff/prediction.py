"""What an update does to the fields of one live object, in each mode: by applying what is expected, as a server would.

Source of the rule: aws/containers-roadmap and amazon-vpc-cni-k8s #2316 (the add-on is the chart, applied server-side),
the recorded applies of a real server, field.md 11b.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import field
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.defaults import with_defaults
from kubectl_eksdoc.kubernetes.api.types import Schema, SchemaPlace, schema_of
from kubectl_eksdoc.kubernetes.api.workload_validation import template_problems
from kubectl_eksdoc.kubernetes.document_diff import (
    NONE,
    FieldSet,
    Path,
    compare,
    names_item,
    steps_of,
    tree_of,
)
from kubectl_eksdoc.kubernetes.field_paths import field_step
from kubectl_eksdoc.kubernetes.managed_fields import (
    FieldManager,
    MalformedEntries,
    without_entries,
)
from kubectl_eksdoc.kubernetes.server_side_apply import (
    AppliedDocument,
    ApplyRefused,
    Conflicts,
    apply,
    removed,
)
from kubectl_eksdoc.model.addons import Addon, ConfigPath
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, named
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records

from .always_applied import ObjectSearch, missing
from .expected import EKS, ExpectedApply, ExpectedConfig, Witness, expected
from .fields import AddonField, MissingValue, Usage, value_at
from .manifests import NearestManifest, has_some_build
from .schema import SchemaPaths

# Which fields of an object with a value of their own are others in one document of it than in another.


def differing(before: Doc, after: Doc, schema: Schema) -> set[Path]:
    """An item of a list that comes or goes is told by what is in it."""
    seen = compare(before, after, schema.root)
    every = set(seen.written | seen.removed)
    every -= {path for path in every if path[-1].startswith("f:") and names_item(path)}
    return {path for path in every if not any(other[: len(path)] == path for other in every if other != path)}


# How conflicts are resolved, and what may become of a field.


class Mode(str, Enum):
    """UpdateAddon's ``resolveConflicts``; NONE where it is not given. Sources: UpdateAddonRequest, eksctl #5830.

    EKS applies the chart as field manager ``eks``: NONE without force, so that a conflict ends the update; OVERWRITE
    with force. PRESERVE leaves a conflicting field to whoever has it: how exactly, no document says (confidence low).
    """

    NONE = "NONE"
    OVERWRITE = "OVERWRITE"
    PRESERVE = "PRESERVE"


class Fate(str, Enum):
    """Of a field in one mode."""

    KEPT = "kept"  # it stays as it is live
    RESET = "reset"  # EKS writes its own value over somebody's
    REMOVED = "removed"  # EKS takes away what it has named so far
    FOLLOWS = "follows the version"  # nobody but EKS has it, and the version changes it
    CONFLICT = "conflict"  # the update fails, and names it
    UNKNOWN = "unknown"


_NOW = "2000-01-01T00:00:00Z"
"""Entries get a time, which nobody looks at here."""


@frozen
class FieldPrediction:
    """A field in one mode; `value` is what stands there afterwards, `MISSING` for nothing, and None if unknown."""

    fate: Fate
    value: Any = None


@frozen
class FieldChange:
    """A field that an update may change. `owners` are who has it today, `config` where it stands in configuration
    values, () if nothing there leads to it. `expands`: EKS takes over what it has not had so far."""

    field: AddonField
    live: Any
    owners: tuple[str, ...]
    by_mode: Mapping[Mode, FieldPrediction]
    config: ConfigPath = ()
    witness: Witness | None = None
    expands: bool = False

    def __str__(self) -> str:
        return str(self.field)

    def fate(self, mode: Mode) -> Fate:
        return self.by_mode[mode].fate

    @property
    def at_risk(self) -> bool:
        """What a user has set, emptied or removed may be lost in one mode or the other."""
        return any(
            each.fate in (Fate.RESET, Fate.REMOVED, Fate.CONFLICT, Fate.UNKNOWN) for each in self.by_mode.values()
        )

    @property
    def in_every_mode(self) -> bool:
        """NONE and PRESERVE do not save it: nobody owns what is emptied or removed, and EKS stops naming the rest."""
        return self.fate(Mode.PRESERVE) in (Fate.RESET, Fate.REMOVED)

    def exact(self, mode: Mode) -> bool:
        """What stands there afterwards is known in full. What a public manifest has anew, EKS's build may not have."""
        told = self.by_mode[mode]
        anew = self.witness in (Witness.MANIFEST, Witness.NEAREST) and EKS.manager not in self.owners
        return not (has_some_build(told.value) or (anew and told.fate is Fate.FOLLOWS))

    def confidence(self, mode: Mode) -> Confidence:
        """How sure it is: what EKS owns is seen, what the chart sets is concluded, what PRESERVE does is believed."""
        if self.fate(mode) is Fate.UNKNOWN or self.witness in (None, Witness.CHART, Witness.NEAREST):
            return Confidence.LOW
        if mode is Mode.PRESERVE and self.fate(Mode.NONE) is Fate.CONFLICT:
            return Confidence.LOW
        return Confidence.HIGH if self.witness is Witness.VALUES else Confidence.MEDIUM


@frozen
class Prediction:
    """Of one object, sorted by field. `conflict`: the message by which NONE fails, "" where it does not. `shared`: what
    EKS and somebody else have alike: where the version changes it, it is in conflict, too. `may_return`: what a
    user has emptied or removed, where it is not known what EKS applies; it comes back in every mode. `refused`: the
    server's message by which the update fails, in the modes in which what would result is no valid object."""

    of: ObjectName
    changes: tuple[FieldChange, ...]
    conflict: str = ""
    shared: tuple[AddonField, ...] = ()
    may_return: tuple[AddonField, ...] = ()
    refused: Mapping[Mode, str] = field(default_factory=dict)


def predict(live: Doc, update: ExpectedApply, schema: Schema | None = None) -> Prediction:
    """
    Raises:
        MalformedEntries: it has managedFields that no server wrote, or what EKS applies cannot be told from them.
    """
    of = named(live)
    known_as = schema or schema_of(of.api_version, of.kind)
    will = expected(live, of, update, known_as)
    outcomes, conflicts = _outcomes(live, will, known_as)
    before = with_defaults(without_entries(live))
    refused = {mode: said for mode, after in outcomes.items() if (said := _invalid(of, before, after))}
    outcomes |= dict.fromkeys(refused, before)
    touched = {path for after in outcomes.values() for path in differing(before, after, known_as)}
    gone = missing(of, before, will, update, known_as)
    returns = {path for path, certain in gone.items() if certain and path in touched}
    in_conflict = {each for path in conflicts for each in _single(before, path, known_as)}
    paths = in_conflict | set(will.unsure) | _doubtful(before, will, known_as)
    paths |= {each for path in touched for each in _single(before, path, known_as)}
    twice = {path for path in _twice(before, will, known_as) if not any(each[: len(path)] == path for each in paths)}
    unsure = twice | {*will.unsure, *will.doubted}
    changes = [
        _change(of, path, before, will, outcomes, in_conflict, known_as, update, path in returns, path in unsure)
        for path in paths | twice
    ]
    message = _message(of, conflicts)
    shared = tuple(sorted(AddonField(of, path) for path in will.shared if path not in paths))
    maybe = tuple(sorted(AddonField(of, path) for path in gone if path not in returns and not (refused and gone[path])))
    return Prediction(of, tuple(sorted(changes, key=lambda change: change.field)), message, shared, maybe, refused)


def _invalid(of: ObjectName, before: Doc, after: Doc) -> str:
    """As the API server words it; "" for a valid object."""
    found = [f"{each.field}: {each.text}" for each in template_problems(before, after)]
    group = of.api_version.partition("/")[0] if "/" in of.api_version else ""
    kind = f"{of.kind}.{group}" if group else of.kind
    listed = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
    return f'{kind} "{of.name}" is invalid: {listed}' if found else ""


def _outcomes(live: Doc, will: ExpectedConfig, schema: Schema) -> tuple[dict[Mode, Doc], tuple[Path, ...]]:
    """The object after the update in each mode, and with which fields NONE ends in conflict, by their order."""
    forced = apply(live, will.config, EKS.manager, True, _NOW, schema)
    if isinstance(forced, ApplyRefused):
        raise MalformedEntries(f"EKS cannot apply what it owns: {forced.message}")
    gently = apply(live, will.config, EKS.manager, False, _NOW, schema)
    conflicts: tuple[Path, ...] = ()
    preserved = gently
    config = will.config
    while isinstance(preserved, Conflicts):
        found = tuple(dict.fromkeys(conflict.path for conflict in preserved.found))
        conflicts = (*conflicts, *(path for path in found if path not in conflicts))
        for path in found:
            config = removed(config, FieldSet(tree_of(path)), schema.root)
        preserved = apply(live, config, EKS.manager, False, _NOW, schema)
    after = {
        Mode.OVERWRITE: forced,
        Mode.PRESERVE: preserved,
        Mode.NONE: AppliedDocument(live) if isinstance(gently, Conflicts) else gently,
    }
    done = {mode: each.doc for mode, each in after.items() if isinstance(each, AppliedDocument)}
    return {mode: with_defaults(without_entries(doc)) for mode, doc in done.items()}, conflicts


def _doubtful(before: Doc, will: ExpectedConfig, schema: Schema) -> set[Path]:
    """What the chart renders differently, though nothing says that EKS applies it: live it stands otherwise."""
    found = set()
    for path, part in will.doubted.items():
        live = value_at(before, path, schema.root)
        if not isinstance(live, MissingValue) and live != value_at(part.part, path, schema.root):
            found.add(path)
    return found


def _change(
    of: ObjectName,
    path: Path,
    before: Doc,
    will: ExpectedConfig,
    outcomes: Mapping[Mode, Doc],
    conflicts: Set[Path],
    schema: Schema,
    update: ExpectedApply,
    returns: bool,
    unknown: bool,
) -> FieldChange:
    live = "" if returns and _is_variable(before, path, schema) else value_at(before, path, schema.root)
    having = [owner for owner, fields in will.owners.items() if path in fields]
    owners = tuple(sorted({_called(owner) for owner in having}))
    now, target = update.values_of(of)
    defaulted = path in target and path not in now  # by the API server, and nobody's
    others = any(owner != EKS for owner in having) or not (having or defaulted)
    by_mode: dict[Mode, FieldPrediction] = {}
    for mode in Mode:
        if mode is Mode.NONE and path in conflicts:
            by_mode[mode] = FieldPrediction(Fate.CONFLICT, live)
        elif returns:  # in NONE once nothing else is in conflict
            after = value_at(outcomes[Mode.PRESERVE if mode is Mode.NONE else mode], path, schema.root)
            stays = after == value_at(before, path, schema.root)  # another client owns that it is empty
            by_mode[mode] = FieldPrediction(Fate.KEPT if stays else Fate.RESET, after)
        elif unknown or mode not in outcomes:
            by_mode[mode] = FieldPrediction(Fate.UNKNOWN)
        else:
            after = value_at(outcomes[mode], path, schema.root)
            # It goes with its entry, a container for example, and nobody has set it.
            goes = not having and isinstance(after, MissingValue) and _is_default(before, path, live, schema)
            by_mode[mode] = _foretold(live, after, others and not goes)
    mine = will.owners.get(EKS)
    entry = mine is not None and (path in mine or path[:-1] in mine)
    return FieldChange(
        AddonField(of, path),
        live,
        owners,
        by_mode,
        will.paths.get(path, ()),
        will.why.get(path) or (Witness.OWNED if entry else None),
        expands=not entry and not isinstance(live, MissingValue) and _is_new(will.paths.get(path, ()), update),
    )


def _called(owner: FieldManager) -> str:
    """A user can write as `eks`, too; EKS itself only applies."""
    return (
        f"{owner.manager} (Update)" if owner.manager == EKS.manager and owner.operation == "Update" else owner.manager
    )


def _twice(doc: Doc, will: ExpectedConfig, schema: Schema) -> Iterator[Path]:
    """Items that are there more than once, in lists beside which EKS has something: it lost them to whoever wrote the
    second, and nobody knows whether it applies one."""
    eks = {path[:at] for path in will.owners.get(EKS, NONE) for at in range(len(path))}

    def below(value: Any, place: SchemaPlace, path: Path) -> Iterator[Path]:
        if isinstance(value, dict):
            for name, each in value.items():
                yield from below(each, place.under(name), (*path, field_step(name)))
        elif isinstance(value, list) and place.list_type == "map" and path[:-1] in eks:
            for step, items in steps_of(value, place).items():
                if len(items) > 1:
                    yield (*path, step)
                yield from below(items[-1], place.of_items(), (*path, step))

    return below(doc, schema.root, ())


def _single(doc: Doc, path: Path, schema: Schema) -> tuple[Path, ...]:
    """Items with the same key are owned as one; what changes in them is told by the fields of the last one."""
    if not path[-1].startswith("k:"):
        return (path,)
    item = value_at(doc, path, schema.root)
    below = ((*path, field_step(name)) for name in (item if isinstance(item, dict) else ()))
    return tuple(each for each in below if not names_item(each)) or (path,)


def _is_variable(doc: Doc, path: Path, schema: Schema) -> bool:
    """The entry of the environment variable is there, without a value."""
    return path[-3:-2] == (field_step("env"),) and not isinstance(value_at(doc, path[:-1], schema.root), MissingValue)


def _is_default(doc: Doc, path: Path, live: Any, schema: Schema) -> bool:
    """The API server fills this in where nobody sets the field."""
    unset = with_defaults(removed(doc, FieldSet(tree_of(path)), schema.root))
    return bool(value_at(unset, path, schema.root) == live)


def _is_new(config: ConfigPath, update: ExpectedApply) -> bool:
    """The target's schema has it, or may, and today's has it not, or may not."""
    if not config:
        return False
    now, target = update.schema_now, update.schema
    return (now is None or now.of(config) is None) and (target is None or target.of(config) is not None)


def _foretold(live: Any, after: Any, somebodys: bool) -> FieldPrediction:
    if after == live:
        return FieldPrediction(Fate.KEPT, live)
    if isinstance(live, MissingValue):
        return FieldPrediction(Fate.FOLLOWS, after)
    if isinstance(after, MissingValue):
        return FieldPrediction(Fate.REMOVED if somebodys else Fate.FOLLOWS, after)
    return FieldPrediction(Fate.RESET if somebodys else Fate.FOLLOWS, after)


def _message(of: ObjectName, conflicts: tuple[Path, ...]) -> str:
    """As EKS words it (amazon-vpc-cni-k8s #2607); "" where there is none."""
    if not conflicts:
        return ""
    fields = "\n".join(str(AddonField(of, path)) for path in conflicts)
    return (
        f"Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts:\n{fields}"
    )


# What an update of an add-on is judged by, and what was asked for.


@frozen
class OfVersion:
    """A version of the add-on: what its chart sets by default, and what its schema allows."""

    version: str
    chart: Doc | Unknown
    schema: SchemaPaths | Unknown


@frozen
class AddonFacts:
    """`values`: the configuration values of today. `objects` are live, with their managedFields; `unread` are those
    that could not be read, and why. `steps`: the version of each minor on the way, the target last; several where the
    add-on may not skip one. `offered`: whether EKS offers the target for this cluster. `installed`: EKS manages it
    already; where it does not, `addon` and `now` have no version, and none of its objects need be there. `manifest`:
    the target's, as a user gives it. `search`: for objects that no manifest known here has. `profile`: of
    awscli, by which AWS was asked."""

    cluster: EksCluster
    addon: Addon
    now: OfVersion
    target: OfVersion
    values: Doc | Unknown
    objects: tuple[Doc, ...]
    unread: tuple[tuple[ObjectName, Unknown], ...]
    usage: Usage
    offered: bool | Unknown = True
    steps: tuple[str, ...] = ()
    installed: bool = True
    manifest: NearestManifest | None = None
    search: ObjectSearch = ObjectSearch()
    absent: tuple[ObjectName, ...] = ()
    profile: str = ""


@frozen
class AddonUpdateRequest:
    """`values`: those that the call gives, None where it gives none and EKS keeps today's. `manifest`: what the target
    version applies, as a user has rendered it; None where nobody gives one."""

    mode: Mode = Mode.NONE
    values: Doc | None = None
    manifest: NearestManifest | None = None


# Tools that write again what they have written, by the field managers they are known as.


@frozen
class WritingTool:
    """`begins`: of the names of its field managers."""

    tool: str
    begins: tuple[str, ...]
    source: KnowledgeSource


_TOOLS = records(WritingTool, "field_managers")


def tool_of(manager: str) -> str:
    """ "" where it is a person's program, EKS, or part of Kubernetes."""
    return next((each.tool for each in _TOOLS if manager.lower().startswith(each.begins)), "")
