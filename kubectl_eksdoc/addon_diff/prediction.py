"""Effect of an add-on update on the fields of one live object, in each conflict mode, by a simulated server-side apply.

Sources: aws/containers-roadmap and amazon-vpc-cni-k8s #2316 (the add-on is the chart, applied server-side), recorded
applies of a real API server, field.md 11b.
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

# Leaf fields whose value differs between two documents of one object.


def differing(before: Doc, after: Doc, schema: Schema) -> set[Path]:
    """An added or removed list item is reported by the fields in it."""
    seen = compare(before, after, schema.root)
    every = set(seen.written | seen.removed)
    every -= {path for path in every if path[-1].startswith("f:") and names_item(path)}
    return {path for path in every if not any(other[: len(path)] == path for other in every if other != path)}


# How conflicts are resolved, and the possible effects on a field.


class Mode(str, Enum):
    """UpdateAddon's ``resolveConflicts``; NONE is the default. Sources: UpdateAddonRequest, eksctl #5830.

    EKS applies the chart as field manager ``eks``: NONE without force, so a conflict ends the update; OVERWRITE with
    force. PRESERVE leaves a conflicting field to its current owner. No document says how exactly (confidence low).
    """

    NONE = "NONE"
    OVERWRITE = "OVERWRITE"
    PRESERVE = "PRESERVE"


class Fate(str, Enum):
    """Effect of an update on a field in one mode."""

    KEPT = "kept"  # the field keeps its live value
    RESET = "reset"  # EKS overwrites the value of another owner
    REMOVED = "removed"  # EKS removes a field that it has applied before
    FOLLOWS = "follows the version"  # EKS alone owns the field, and the new version changes it
    CONFLICT = "conflict"  # the update fails and names the field
    UNKNOWN = "unknown"


_NOW = "2000-01-01T00:00:00Z"
"""Time of the new managedFields entries; nothing reads it."""


@frozen
class FieldPrediction:
    """Prediction for a field in one mode. `value` is the value after the update: `MISSING` for none, None if it is
    unknown."""

    fate: Fate
    value: Any = None


@frozen
class FieldChange:
    """A field that an update may change. `owners` are its current field managers, `config` its path in the
    configuration values, () if it has none. `expands`: EKS takes ownership of a field that it does not own yet."""

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
        """A value that a user has set, emptied or removed may be lost in at least one mode."""
        return any(
            each.fate in (Fate.RESET, Fate.REMOVED, Fate.CONFLICT, Fate.UNKNOWN) for each in self.by_mode.values()
        )

    @property
    def in_every_mode(self) -> bool:
        """NONE and PRESERVE do not keep the value either: an emptied or removed field has no owner, and EKS stops
        applying the others."""
        return self.fate(Mode.PRESERVE) in (Fate.RESET, Fate.REMOVED)

    def exact(self, mode: Mode) -> bool:
        """The value after the update is known in full. EKS's build may lack a field that a public manifest adds."""
        told = self.by_mode[mode]
        anew = self.witness in (Witness.MANIFEST, Witness.NEAREST) and EKS.manager not in self.owners
        return not (has_some_build(told.value) or (anew and told.fate is Fate.FOLLOWS))

    def confidence(self, mode: Mode) -> Confidence:
        """Fields that EKS owns are observed (high), effects of the chart are concluded (medium), effects of PRESERVE
        are assumed (low)."""
        if self.fate(mode) is Fate.UNKNOWN or self.witness in (None, Witness.CHART, Witness.NEAREST):
            return Confidence.LOW
        if mode is Mode.PRESERVE and self.fate(Mode.NONE) is Fate.CONFLICT:
            return Confidence.LOW
        return Confidence.HIGH if self.witness is Witness.VALUES else Confidence.MEDIUM


@frozen
class Prediction:
    """Predicted changes of one object, sorted by field. `conflict`: the error message of an update with NONE, "" if
    there is no conflict. `shared`: fields that EKS and another owner have with the same value; a version that changes
    one causes a conflict, too. `may_return`: fields that a user has emptied or removed; EKS may apply them again in
    every mode. `refused`: by mode, the API server's message if the updated object would be invalid."""

    of: ObjectName
    changes: tuple[FieldChange, ...]
    conflict: str = ""
    shared: tuple[AddonField, ...] = ()
    may_return: tuple[AddonField, ...] = ()
    refused: Mapping[Mode, str] = field(default_factory=dict)


def predict(live: Doc, update: ExpectedApply, schema: Schema | None = None) -> Prediction:
    """Predict the effect of the update on one live object.

    Raises:
        MalformedEntries: the object has managedFields that no API server wrote, or they do not show what EKS applies.
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
    """The message in the API server's words, "" for a valid object."""
    found = [f"{each.field}: {each.text}" for each in template_problems(before, after)]
    group = of.api_version.partition("/")[0] if "/" in of.api_version else ""
    kind = f"{of.kind}.{group}" if group else of.kind
    listed = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
    return f'{kind} "{of.name}" is invalid: {listed}' if found else ""


def _outcomes(live: Doc, will: ExpectedConfig, schema: Schema) -> tuple[dict[Mode, Doc], tuple[Path, ...]]:
    """The object after the update in each mode, and the paths that conflict with NONE, in the server's order."""
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
    """Paths that the chart renders with a value other than the live one, without proof that EKS applies them."""
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
    defaulted = path in target and path not in now  # set by the API server, owned by no manager
    others = any(owner != EKS for owner in having) or not (having or defaulted)
    by_mode: dict[Mode, FieldPrediction] = {}
    for mode in Mode:
        if mode is Mode.NONE and path in conflicts:
            by_mode[mode] = FieldPrediction(Fate.CONFLICT, live)
        elif returns:  # applies with NONE, too, once there is no other conflict
            after = value_at(outcomes[Mode.PRESERVE if mode is Mode.NONE else mode], path, schema.root)
            stays = after == value_at(before, path, schema.root)  # another client owns the empty value
            by_mode[mode] = FieldPrediction(Fate.KEPT if stays else Fate.RESET, after)
        elif unknown or mode not in outcomes:
            by_mode[mode] = FieldPrediction(Fate.UNKNOWN)
        else:
            after = value_at(outcomes[mode], path, schema.root)
            # The field disappears with its list item, for example a container, and has no owner.
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
    """Another client may write as `eks`, too; EKS itself only applies."""
    return (
        f"{owner.manager} (Update)" if owner.manager == EKS.manager and owner.operation == "Update" else owner.manager
    )


def _twice(doc: Doc, will: ExpectedConfig, schema: Schema) -> Iterator[Path]:
    """List items with the same key, in lists in which EKS owns fields. EKS lost such an item to the writer of the
    second one; whether EKS applies one of them is not known."""
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
    """Items with the same key are owned as one. The fields of the last one report their changes."""
    if not path[-1].startswith("k:"):
        return (path,)
    item = value_at(doc, path, schema.root)
    below = ((*path, field_step(name)) for name in (item if isinstance(item, dict) else ()))
    return tuple(each for each in below if not names_item(each)) or (path,)


def _is_variable(doc: Doc, path: Path, schema: Schema) -> bool:
    """The entry of the environment variable exists without a value."""
    return path[-3:-2] == (field_step("env"),) and not isinstance(value_at(doc, path[:-1], schema.root), MissingValue)


def _is_default(doc: Doc, path: Path, live: Any, schema: Schema) -> bool:
    """The value is the API server's default for a field without an owner."""
    unset = with_defaults(removed(doc, FieldSet(tree_of(path)), schema.root))
    return bool(value_at(unset, path, schema.root) == live)


def _is_new(config: ConfigPath, update: ExpectedApply) -> bool:
    """The target's schema has the path or is unknown, and the current schema lacks it or is unknown."""
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
    """The message in EKS's words (amazon-vpc-cni-k8s #2607), "" if there is no conflict."""
    if not conflicts:
        return ""
    fields = "\n".join(str(AddonField(of, path)) for path in conflicts)
    return (
        f"Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts:\n{fields}"
    )


# Facts of an add-on update, and the request.


@frozen
class OfVersion:
    """A version of the add-on: the default values of its Helm chart, and its configuration schema."""

    version: str
    chart: Doc | Unknown
    schema: SchemaPaths | Unknown


@frozen
class AddonFacts:
    """Facts of an add-on update. `values`: the current configuration values. `objects` are live, with their
    managedFields; `unread` are objects that could not be read, each with its reason. `steps`: the version for each
    minor up to the target, the target last; several if the add-on must not skip a minor. `offered`: EKS offers the
    target for this cluster. `installed`: EKS manages the add-on already; otherwise `addon` and `current` have no
    version, and no object need exist. `manifest`: the target's, supplied by the user. `search`: the search for objects
    that no known manifest has. `profile`: the AWS profile of the requests."""

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
    """`values`: the configuration values of the call, None if it sends none and EKS keeps the current ones. `manifest`:
    the manifest of the target version, rendered by the user; None if the user gives none."""

    mode: Mode = Mode.NONE
    values: Doc | None = None
    manifest: NearestManifest | None = None


# Tools that write their fields again, by the names of their field managers.


@frozen
class WritingTool:
    """`begins`: prefixes of the tool's field manager names."""

    tool: str
    begins: tuple[str, ...]
    source: KnowledgeSource


_TOOLS = records(WritingTool, "field_managers")


def tool_of(manager: str) -> str:
    """The tool of a field manager, "" for a manual client, EKS, or a Kubernetes component."""
    return next((each.tool for each in _TOOLS if manager.lower().startswith(each.begins)), "")
