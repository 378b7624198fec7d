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
    NO_FIELDS,
    FieldSet,
    Path,
    compare,
    is_item_or_key,
    items_by_step,
    path_tree,
)
from kubectl_eksdoc.kubernetes.field_paths import field_step
from kubectl_eksdoc.kubernetes.managed_fields import (
    FieldManager,
    MalformedEntries,
    without_entries,
)
from kubectl_eksdoc.kubernetes.server_side_apply import (
    AppliedDocument,
    ApplyConflictSet,
    ApplyRefused,
    apply,
    remove_fields,
)
from kubectl_eksdoc.model.addons import Addon, ConfigPath
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, object_name
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records

from .always_applied import ObjectSearch, removed_fields
from .expected import EKS, ApplyEvidence, ExpectedApply, ExpectedConfig, build_expected_config
from .fields import AddonField, MissingValue, Usage, value_at
from .manifests import NearestManifest, has_unknown_build
from .schema import SchemaPaths

# Leaf fields whose value differs between two documents of one object.


def changed_paths(before: Doc, after: Doc, schema: Schema) -> set[Path]:
    """An added or removed list item is reported by the fields in it."""
    comparison = compare(before, after, schema.root)
    paths = set(comparison.written | comparison.removed)
    paths -= {path for path in paths if path[-1].startswith("f:") and is_item_or_key(path)}
    return {path for path in paths if not any(other[: len(path)] == path for other in paths if other != path)}


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


_ENTRY_TIME = "2000-01-01T00:00:00Z"
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
    witness: ApplyEvidence | None = None
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
    def changes_in_every_mode(self) -> bool:
        """NONE and PRESERVE do not keep the value either: an emptied or removed field has no owner, and EKS stops
        applying the others."""
        return self.fate(Mode.PRESERVE) in (Fate.RESET, Fate.REMOVED)

    def has_exact_value(self, mode: Mode) -> bool:
        """The value after the update is known in full. EKS's build may lack a field that a public manifest adds."""
        prediction = self.by_mode[mode]
        is_uncertain_addition = (
            self.witness in (ApplyEvidence.MANIFEST, ApplyEvidence.NEAREST) and EKS.manager not in self.owners
        )
        return not (has_unknown_build(prediction.value) or (is_uncertain_addition and prediction.fate is Fate.FOLLOWS))

    def confidence(self, mode: Mode) -> Confidence:
        """Fields that EKS owns are observed (high), effects of the chart are concluded (medium), effects of PRESERVE
        are assumed (low)."""
        if self.fate(mode) is Fate.UNKNOWN or self.witness in (None, ApplyEvidence.CHART, ApplyEvidence.NEAREST):
            return Confidence.LOW
        if mode is Mode.PRESERVE and self.fate(Mode.NONE) is Fate.CONFLICT:
            return Confidence.LOW
        return Confidence.HIGH if self.witness is ApplyEvidence.VALUES else Confidence.MEDIUM


@frozen
class Prediction:
    """Predicted changes of one object, sorted by field. `conflict`: the error message of an update with NONE, "" if
    there is no conflict. `shared`: fields that EKS and another owner have with the same value; a version that changes
    one causes a conflict, too. `may_return`: fields that a user has emptied or removed; EKS may apply them again in
    every mode. `refused`: by mode, the API server's message if the updated object would be invalid."""

    object_ref: ObjectName
    changes: tuple[FieldChange, ...]
    conflict: str = ""
    shared: tuple[AddonField, ...] = ()
    may_return: tuple[AddonField, ...] = ()
    refused: Mapping[Mode, str] = field(default_factory=dict)


def predict_object(live: Doc, update: ExpectedApply, schema: Schema | None = None) -> Prediction:
    """Predict the effect of the update on one live object.

    Raises:
        MalformedEntries: the object has managedFields that no API server wrote, or they do not show what EKS applies.
    """
    object_ref = object_name(live)
    object_schema = schema or schema_of(object_ref.api_version, object_ref.kind)
    expected_config = build_expected_config(live, object_ref, update, object_schema)
    outcomes, conflict_paths = _apply_in_each_mode(live, expected_config, object_schema)
    before = with_defaults(without_entries(live))
    refused = {
        mode: error for mode, after in outcomes.items() if (error := _validation_error(object_ref, before, after))
    }
    outcomes |= dict.fromkeys(refused, before)
    touched = {path for after in outcomes.values() for path in changed_paths(before, after, object_schema)}
    removed_by_path = removed_fields(object_ref, before, expected_config, update, object_schema)
    returning = {path for path, certain in removed_by_path.items() if certain and path in touched}
    conflicting = {each for path in conflict_paths for each in _paths_within(before, path, object_schema)}
    paths = conflicting | set(expected_config.unknown_paths) | _doubted_paths(before, expected_config, object_schema)
    paths |= {each for path in touched for each in _paths_within(before, path, object_schema)}
    duplicates = {
        path
        for path in _duplicate_items(before, expected_config, object_schema)
        if not any(each[: len(path)] == path for each in paths)
    }
    unknown_paths = duplicates | {*expected_config.unknown_paths, *expected_config.doubted_parts}
    changes = [
        _field_change(
            object_ref,
            path,
            before,
            expected_config,
            outcomes,
            conflicting,
            object_schema,
            update,
            path in returning,
            path in unknown_paths,
        )
        for path in paths | duplicates
    ]
    message = _conflict_message(object_ref, conflict_paths)
    shared = tuple(sorted(AddonField(object_ref, path) for path in expected_config.shared_paths if path not in paths))
    may_return = tuple(
        sorted(
            AddonField(object_ref, path)
            for path in removed_by_path
            if path not in returning and not (refused and removed_by_path[path])
        )
    )
    return Prediction(
        object_ref, tuple(sorted(changes, key=lambda change: change.field)), message, shared, may_return, refused
    )


def _validation_error(object_ref: ObjectName, before: Doc, after: Doc) -> str:
    """The message in the API server's words, "" for a valid object."""
    errors = [f"{each.field}: {each.text}" for each in template_problems(before, after)]
    group = object_ref.api_version.partition("/")[0] if "/" in object_ref.api_version else ""
    kind = f"{object_ref.kind}.{group}" if group else object_ref.kind
    details = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    return f'{kind} "{object_ref.name}" is invalid: {details}' if errors else ""


def _apply_in_each_mode(
    live: Doc, expected_config: ExpectedConfig, schema: Schema
) -> tuple[dict[Mode, Doc], tuple[Path, ...]]:
    """The object after the update in each mode, and the paths that conflict with NONE, in the server's order."""
    forced = apply(live, expected_config.config, EKS.manager, True, _ENTRY_TIME, schema)
    if isinstance(forced, ApplyRefused):
        raise MalformedEntries(f"EKS cannot apply what it owns: {forced.message}")
    unforced = apply(live, expected_config.config, EKS.manager, False, _ENTRY_TIME, schema)
    conflicts: tuple[Path, ...] = ()
    preserved = unforced
    config = expected_config.config
    while isinstance(preserved, ApplyConflictSet):
        paths = tuple(dict.fromkeys(conflict.path for conflict in preserved.conflicts))
        conflicts = (*conflicts, *(path for path in paths if path not in conflicts))
        for path in paths:
            config = remove_fields(config, FieldSet(path_tree(path)), schema.root)
        preserved = apply(live, config, EKS.manager, False, _ENTRY_TIME, schema)
    results = {
        Mode.OVERWRITE: forced,
        Mode.PRESERVE: preserved,
        Mode.NONE: AppliedDocument(live) if isinstance(unforced, ApplyConflictSet) else unforced,
    }
    documents = {mode: each.doc for mode, each in results.items() if isinstance(each, AppliedDocument)}
    return {mode: with_defaults(without_entries(doc)) for mode, doc in documents.items()}, conflicts


def _doubted_paths(before: Doc, expected_config: ExpectedConfig, schema: Schema) -> set[Path]:
    """Paths that the chart renders with a value other than the live one, without proof that EKS applies them."""
    paths = set()
    for path, part in expected_config.doubted_parts.items():
        live = value_at(before, path, schema.root)
        if not isinstance(live, MissingValue) and live != value_at(part.part, path, schema.root):
            paths.add(path)
    return paths


def _field_change(
    object_ref: ObjectName,
    path: Path,
    before: Doc,
    expected_config: ExpectedConfig,
    outcomes: Mapping[Mode, Doc],
    conflicts: Set[Path],
    schema: Schema,
    update: ExpectedApply,
    is_returning: bool,
    is_unknown: bool,
) -> FieldChange:
    live = (
        "" if is_returning and _is_environment_variable(before, path, schema) else value_at(before, path, schema.root)
    )
    managers = [owner for owner, fields in expected_config.owners.items() if path in fields]
    owners = tuple(sorted({_manager_name(owner) for owner in managers}))
    current_values, target_values = update.manifest_values(object_ref)
    is_defaulted = path in target_values and path not in current_values  # set by the API server, owned by no manager
    has_other_owner = any(owner != EKS for owner in managers) or not (managers or is_defaulted)
    by_mode: dict[Mode, FieldPrediction] = {}
    for mode in Mode:
        if mode is Mode.NONE and path in conflicts:
            by_mode[mode] = FieldPrediction(Fate.CONFLICT, live)
        elif is_returning:  # applies with NONE, too, once there is no other conflict
            after = value_at(outcomes[Mode.PRESERVE if mode is Mode.NONE else mode], path, schema.root)
            is_unchanged = after == value_at(before, path, schema.root)  # another client owns the empty value
            by_mode[mode] = FieldPrediction(Fate.KEPT if is_unchanged else Fate.RESET, after)
        elif is_unknown or mode not in outcomes:
            by_mode[mode] = FieldPrediction(Fate.UNKNOWN)
        else:
            after = value_at(outcomes[mode], path, schema.root)
            # The field disappears with its list item, for example a container, and has no owner.
            is_removed_default = (
                not managers and isinstance(after, MissingValue) and _is_default(before, path, live, schema)
            )
            by_mode[mode] = _field_prediction(live, after, has_other_owner and not is_removed_default)
    eks_fields = expected_config.owners.get(EKS)
    has_entry = eks_fields is not None and (path in eks_fields or path[:-1] in eks_fields)
    return FieldChange(
        AddonField(object_ref, path),
        live,
        owners,
        by_mode,
        expected_config.config_paths.get(path, ()),
        expected_config.evidence.get(path) or (ApplyEvidence.OWNED if has_entry else None),
        expands=not has_entry
        and not isinstance(live, MissingValue)
        and _is_new_in_schema(expected_config.config_paths.get(path, ()), update),
    )


def _manager_name(owner: FieldManager) -> str:
    """Another client may write as `eks`, too; EKS itself only applies."""
    return (
        f"{owner.manager} (Update)" if owner.manager == EKS.manager and owner.operation == "Update" else owner.manager
    )


def _duplicate_items(doc: Doc, expected_config: ExpectedConfig, schema: Schema) -> Iterator[Path]:
    """List items with the same key, in lists in which EKS owns fields. EKS lost such an item to the writer of the
    second one; whether EKS applies one of them is not known."""
    eks_parents = {path[:at] for path in expected_config.owners.get(EKS, NO_FIELDS) for at in range(len(path))}

    def walk(value: Any, place: SchemaPlace, path: Path) -> Iterator[Path]:
        if isinstance(value, dict):
            for name, child in value.items():
                yield from walk(child, place.under(name), (*path, field_step(name)))
        elif isinstance(value, list) and place.list_type == "map" and path[:-1] in eks_parents:
            for step, items in items_by_step(value, place).items():
                if len(items) > 1:
                    yield (*path, step)
                yield from walk(items[-1], place.item_place(), (*path, step))

    return walk(doc, schema.root, ())


def _paths_within(doc: Doc, path: Path, schema: Schema) -> tuple[Path, ...]:
    """Items with the same key are owned as one. The fields of the last one report their changes."""
    if not path[-1].startswith("k:"):
        return (path,)
    item = value_at(doc, path, schema.root)
    child_paths = ((*path, field_step(name)) for name in (item if isinstance(item, dict) else ()))
    return tuple(each for each in child_paths if not is_item_or_key(each)) or (path,)


def _is_environment_variable(doc: Doc, path: Path, schema: Schema) -> bool:
    """The entry of the environment variable exists without a value."""
    return path[-3:-2] == (field_step("env"),) and not isinstance(value_at(doc, path[:-1], schema.root), MissingValue)


def _is_default(doc: Doc, path: Path, live: Any, schema: Schema) -> bool:
    """The value is the API server's default for a field without an owner."""
    unset = with_defaults(remove_fields(doc, FieldSet(path_tree(path)), schema.root))
    return bool(value_at(unset, path, schema.root) == live)


def _is_new_in_schema(config: ConfigPath, update: ExpectedApply) -> bool:
    """The target's schema has the path or is unknown, and the current schema lacks it or is unknown."""
    if not config:
        return False
    current, target = update.current_schema, update.schema
    return (current is None or current.allowed_at(config) is None) and (
        target is None or target.allowed_at(config) is not None
    )


def _field_prediction(live: Any, after: Any, has_other_owner: bool) -> FieldPrediction:
    if after == live:
        return FieldPrediction(Fate.KEPT, live)
    if isinstance(live, MissingValue):
        return FieldPrediction(Fate.FOLLOWS, after)
    if isinstance(after, MissingValue):
        return FieldPrediction(Fate.REMOVED if has_other_owner else Fate.FOLLOWS, after)
    return FieldPrediction(Fate.RESET if has_other_owner else Fate.FOLLOWS, after)


def _conflict_message(object_ref: ObjectName, conflicts: tuple[Path, ...]) -> str:
    """The message in EKS's words (amazon-vpc-cni-k8s #2607), "" if there is no conflict."""
    if not conflicts:
        return ""
    fields = "\n".join(str(AddonField(object_ref, path)) for path in conflicts)
    return (
        f"Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts:\n{fields}"
    )


# Facts of an add-on update, and the request.


@frozen
class AddonVersionFacts:
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
    current: AddonVersionFacts
    target: AddonVersionFacts
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


def tool_name(manager: str) -> str:
    """The tool of a field manager, "" for a manual client, EKS, or a Kubernetes component."""
    return next((each.tool for each in _TOOLS if manager.lower().startswith(each.begins)), "")
