"""Configuration that EKS will apply to one live object: the fields it owns, with the values of chart and update.

No document lists what EKS applies. It is derived from three sources: the fields that `eks` owns now, the rendered chart
of the target version, and the paths of the target's schema (field.md 11). The result names contradictions between them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import field
from enum import Enum
from functools import lru_cache

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import Schema, SchemaPlace, schema_of
from kubectl_eksdoc.kubernetes.document_diff import (
    NO_FIELDS,
    FieldSet,
    Path,
    Tree,
    fields_of,
    is_item_or_key,
    path_tree,
    union,
)
from kubectl_eksdoc.kubernetes.field_paths import keys_of
from kubectl_eksdoc.kubernetes.managed_fields import (
    FieldManager,
    MalformedEntries,
    ManagedFieldsEntry,
    field_manager,
    read_entries,
    without_entries,
)
from kubectl_eksdoc.kubernetes.server_side_apply import BEFORE_FIRST_APPLY, extract, merge, remove_fields
from kubectl_eksdoc.model.addons import ConfigPath
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.api_objects import nested_field as found_at
from kubectl_eksdoc.model.knowledge import knowledge_file

from .fields import MISSING, value_at
from .manifests import (
    AddonManifests,
    RenderedPart,
    Values,
    build_document,
    has_known_field,
    is_possibly_same_image,
    registry_host,
    upstream_version,
    value_stems,
    with_registry,
)
from .schema import SchemaPaths

EKS = field_manager("eks", "Apply", "", "")


class ApplyEvidence(Enum):
    """Evidence that EKS applies a field."""

    VALUES = "the configuration values set it"
    ROLE = "it is the add-on's IAM role"
    OWNED = "EKS owns it, or its entry, today"
    MANIFEST = "the manifest of the target version has it"
    NEAREST = "the manifest of the nearest known version has it"
    SCHEMA = "the schema of the target version has it"
    CHART = "the chart of the target version renders it, and its schema is not known"


@frozen
class ExpectedApply:
    """The update as it is known, by the parts of objects that the chart renders (`manifests.render_values`).

    `current_parts` are rendered for the current version and values, `target_parts` for those of the update. `set_paths`
    are the paths that the configuration values of the update set, `current_paths` those that the current ones set, None
    if they are unknown. `schema`: the target's, None if unknown; `current_schema`: that of the installed version.
    `is_chart_known`: the target's chart is known, so `target_parts` is complete. `installed_version`: the current
    version. `has_agent`: the network policy agent is enabled before and after. `manifests`: those of both versions,
    None if none is known.
    """

    current_parts: tuple[RenderedPart, ...]
    target_parts: tuple[RenderedPart, ...]
    set_paths: Set[ConfigPath] = frozenset()
    schema: SchemaPaths | None = None
    current_schema: SchemaPaths | None = None
    addon: str = ""
    is_chart_known: bool = True
    installed_version: str = ""
    has_agent: bool = True
    manifests: AddonManifests | None = None
    current_paths: Set[ConfigPath] | None = frozenset()

    @property
    def manifest_evidence(self) -> ApplyEvidence:
        return ApplyEvidence.MANIFEST if self.manifests is None or self.manifests.is_exact else ApplyEvidence.NEAREST

    def manifest_values(self, object_ref: ObjectName) -> tuple[Values, Values]:
        """The object's fields in the manifests of both versions; none if one of them lacks the object."""
        if self.manifests is None:
            return {}, {}
        current, target = self.manifests.current.fields_of(object_ref), self.manifests.target.fields_of(object_ref)
        return (current, target) if current and target else ({}, {})


@frozen
class ExpectedConfig:
    """`config` is the document that EKS applies. `evidence` and `config_paths` are by field. `doubted_parts`: fields
    that the chart renders although neither schema nor ownership shows that EKS applies them. `unknown_paths`: fields
    that EKS applies with an unknown value and that another owner sets. `shared_paths`: fields that EKS and another
    owner have, or may have, with the same value; whether the version changes them is unknown. `may_lack`: fields of the
    manifests that the object lacks; whether a user removed them or EKS's build never had them is unknown."""

    config: Doc
    owners: Mapping[FieldManager, FieldSet]
    evidence: Mapping[Path, ApplyEvidence] = field(default_factory=dict)
    config_paths: Mapping[Path, ConfigPath] = field(default_factory=dict)
    doubted_parts: Mapping[Path, RenderedPart] = field(default_factory=dict)
    unknown_paths: tuple[Path, ...] = ()
    shared_paths: tuple[Path, ...] = ()
    may_lack: Set[Path] = frozenset()


def build_expected_config(live: Doc, object_ref: ObjectName, update: ExpectedApply, schema: Schema) -> ExpectedConfig:
    """Derive the configuration that EKS applies to the live object.

    Raises:
        MalformedEntries: the object has managedFields that no API server wrote.
    """
    place = schema.root
    owners = {owner: entry.fields for owner, entry in owners_of(live).items()}
    eks_fields, other_fields = owners.get(EKS, NO_FIELDS), _fields_of_others(owners)
    doc = without_entries(live)
    current, target_values = update.manifest_values(object_ref) if is_applied_by_eks(owners) else ({}, {})
    may_lack = _possibly_never_applied(doc, eks_fields, other_fields, object_ref, update, schema)
    shared_fields = (other_fields & eks_fields) | _fields_of_installers(owners)
    target_fields = {path: target_values[path] for path in target_values if path not in may_lack}
    rules = _ValueRules.for_object(update, object_ref, schema)
    possible_overrides = _possible_values_overrides(doc, shared_fields, current, target_values, place)
    evidence = {path: update.manifest_evidence for path in target_fields if path not in possible_overrides}
    rendered: dict[Path, RenderedPart] = {}
    config_paths: dict[Path, ConfigPath] = {}
    applied: Doc = {}
    for part in (each for each in update.target_parts if each.object_ref == object_ref):
        part_paths = leaves_of(part.part, schema)
        (stem,) = leaves_of(part.placeholder_part, schema)
        rendered |= dict.fromkeys(part_paths, part)
        config_paths |= {path: _config_path_below(part.config, path[len(stem) :]) for path in part_paths}
        found_evidence = next(
            (each for each, proves in _EVIDENCE_RULES if proves(update, eks_fields, part.config, part_paths)), None
        )
        if found_evidence is not None:
            evidence |= dict.fromkeys(part_paths, found_evidence)
            applied = merge(applied, part.part, place)
    doubted = {path: part for path, part in rendered.items() if path not in evidence}
    base = remove_fields(extract(doc, eks_fields, place), _dropped_variables(update, object_ref, schema), place)
    changes = _changed_values(doc, eks_fields, current, target_fields, place)
    base = merge(_without_dropped(base, current, target_values, place), build_document(changes), place)
    config = merge({**_identity_of(live), **base}, applied, place)
    shared = tuple(path for path in shared_fields if path not in evidence and not is_item_or_key(path))
    parent_paths = {path[:at] for path in other_fields for at in range(1, len(path))}
    explained = parent_paths | {*evidence, *doubted, *shared}
    is_exact = update.manifest_evidence is ApplyEvidence.MANIFEST
    is_complete = (
        is_exact and bool(target_values) and all(has_known_field(update.addon, path) for path in update.set_paths)
    )
    unknown_paths = tuple(
        path
        for path in other_fields
        if (
            _is_unknown(path, config, explained, rules, schema)
            and not (is_complete and rules.is_known(path, {*current, *target_values}))
        )
        or (path in changes and is_possibly_same_image(value_at(doc, path, place), changes[path]))
    )
    config_paths = {
        path: rules.config_of(path) for path in (*target_values, *unknown_paths) if path not in eks_fields
    } | config_paths
    return ExpectedConfig(config, owners, evidence, config_paths, doubted, unknown_paths, shared, may_lack)


_EVIDENCE_RULES: tuple[
    tuple[ApplyEvidence, Callable[[ExpectedApply, FieldSet, ConfigPath, tuple[Path, ...]], bool]], ...
] = (
    (ApplyEvidence.ROLE, lambda update, mine, config, named: not config),
    (
        ApplyEvidence.VALUES,
        lambda update, mine, config, named: any(path[: len(config)] == config for path in update.set_paths),
    ),
    (ApplyEvidence.OWNED, lambda update, mine, config, named: any(path in mine or path[:-1] in mine for path in named)),
    (ApplyEvidence.CHART, lambda update, mine, config, named: update.schema is None),
    (
        ApplyEvidence.SCHEMA,
        lambda update, mine, config, named: update.schema is None or update.schema.allowed_at(config) is not None,
    ),
)
"""Evidence that EKS applies what the chart renders for the value at `config`, which sets the fields `named`. The first
match counts. If none matches, the manifest of the target version may still have the field."""


def _changed_values(doc: Doc, eks_fields: FieldSet, current: Values, target: Values, place: SchemaPlace) -> Values:
    """Fields that the target's manifest changes, and fields of it that EKS has lost. EKS keeps the others as they are
    now."""
    registry = registry_host(doc, eks_fields, current, place)
    changed = {
        path: value for path, value in target.items() if path not in eks_fields or current.get(path, value) != value
    }
    return {path: with_registry(value, registry) if path[-1] == "f:image" else value for path, value in changed.items()}


def _possibly_never_applied(
    doc: Doc,
    eks_fields: FieldSet,
    other_fields: FieldSet,
    object_ref: ObjectName,
    update: ExpectedApply,
    schema: Schema,
) -> frozenset[Path]:
    """Fields that both manifests have and the object lacks, and that EKS may never have applied: a field that a user
    removed has no owner, and EKS may apply less than upstream, or other things. It is certain that EKS applied it if
    EKS owns the entry of the variable, or if all other fields that EKS owns match the manifest; for a label, if all
    other labels match."""
    current, target = update.manifest_values(object_ref)
    live_values = {path: value_at(doc, path, schema.root) for path in current}
    absent = {
        path
        for path in current
        if path in target and path not in eks_fields and path not in other_fields and live_values[path] in EMPTY_VALUES
    }
    variables = {path for path in absent if path[-3:-2] == _ENV_STEP and path[:-1] in eks_fields}
    certain = (
        absent
        if absent and _matches_manifest(doc, eks_fields, other_fields, absent, object_ref, update, schema)
        else variables
    )
    labels = {
        path: current[path] for path in current if _is_label(path) and path not in absent and path not in other_fields
    }
    labels_match = labels and labels == {
        path: value_at(doc, path, schema.root) for path in eks_fields if _is_label(path)
    }
    return frozenset(path for path in absent if path not in certain or (_is_label(path) and not labels_match))


EMPTY_VALUES: tuple[object, ...] = (MISSING, None, "", {}, [])


def _matches_manifest(
    doc: Doc,
    eks_fields: FieldSet,
    other_fields: FieldSet,
    absent: Set[Path],
    object_ref: ObjectName,
    update: ExpectedApply,
    schema: Schema,
) -> bool:
    """EKS owns exactly the fields of the current manifest, apart from `absent` ones, labels, and fields that
    configuration values set."""
    if update.manifests is None or not update.manifests.current.is_exact or update.current_paths is None:
        return False
    current = update.manifests.current.fields_of(object_ref)
    rules = _ValueRules.for_object(update, object_ref, schema)
    owned = {path for path in eks_fields if not is_item_or_key(path)}
    expected_paths = {
        path
        for path in current
        if current[path] not in EMPTY_VALUES and path not in absent and path not in other_fields
    }
    for path in owned | expected_paths:
        if _is_label(path) or any(rules.config_of(path)[: len(each)] == each for each in update.current_paths):
            continue
        live = value_at(doc, path, schema.root)
        if path not in current and live in EMPTY_VALUES:
            continue  # a null of the manifest (creationTimestamp)
        if path[-1] == "f:image":
            is_equal = path not in current or upstream_version(_repository_of(live)) == upstream_version(
                _repository_of(current[path])
            )
        else:
            is_equal = path in current and live == current[path]
        if path not in owned or not is_equal:
            return False
    return bool(owned)


def _repository_of(image: object) -> str:
    return str(image).partition("/")[2]


def _is_label(path: Path) -> bool:
    """EKS sets labels and annotations that upstream lacks."""
    return "f:labels" in path or "f:annotations" in path


def _possible_values_overrides(
    doc: Doc, shared_fields: FieldSet, current: Values, target: Values, place: SchemaPlace
) -> set[Path]:
    """Shared fields whose value differs from both manifests: a configuration value may set it, and the update may drop
    that value."""
    return {
        path
        for path in target
        if path in shared_fields and path in current and current[path] == target[path] and path[-1] != "f:image"
        if not _is_label(path) and value_at(doc, path, place) != current[path]
    }


def _without_dropped(base: Doc, current: Values, target: Values, place: SchemaPlace) -> Doc:
    """`base` without the fields that the target's manifest no longer has, and without list items that lose all their
    fields."""
    kept_paths = {path[:at] for path in target for at in range(1, len(path) + 1)}
    dropped: Tree = {}
    for path in (path for path in current if path not in kept_paths):
        items = (path[:at] for at in range(1, len(path)) if path[at - 1].startswith("k:"))
        dropped = union(dropped, path_tree(next((item for item in items if item not in kept_paths), path)))
    return remove_fields(base, FieldSet(dropped), place)


def config_path_of(addon: str, object_ref: ObjectName, path: Path, schema: Schema) -> ConfigPath:
    """Path of the object's field in the add-on's configuration values, () if it has none of its own."""
    return _ValueRules.for_object(ExpectedApply((), (), addon=addon), object_ref, schema).config_of(path)


def is_applied_by_eks(owners: Collection[FieldManager]) -> bool:
    """EKS applies the object: EKS owns a field, or the object's managedFields were cleared."""
    return EKS in owners or {owner.manager for owner in owners} == {BEFORE_FIRST_APPLY}


def owners_of(live: Doc) -> Mapping[FieldManager, ManagedFieldsEntry]:
    """If the list of managedFields is empty, all fields belong to the manager that the API server names at the next
    apply.

    Raises:
        MalformedEntries: the object has managedFields that no API server wrote.
    """
    try:
        entries = read_entries(live)
        if not entries and found_at(live, "metadata", "managedFields") is not None:
            doc = without_entries(live)
            fields = fields_of(doc, schema_of(str(doc.get("apiVersion", "")), str(doc.get("kind", ""))).root)
            return {field_manager(BEFORE_FIRST_APPLY, "Update", "", ""): ManagedFieldsEntry(fields, "", "")}
        return entries
    except (AttributeError, TypeError) as error:  # not a list of objects
        raise MalformedEntries(f"they are no list of entries: {error}") from error


def _identity_of(live: Doc) -> Doc:
    metadata = live.get("metadata", {})
    identity = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    return {"apiVersion": live.get("apiVersion", ""), "kind": live.get("kind", ""), "metadata": identity}


def leaves_of(part: Doc, schema: Schema) -> tuple[Path, ...]:
    """The fields of the part that carry a value, without the keys of list items and the items themselves."""
    return tuple(path for path in fields_of(part, schema.root) if not is_item_or_key(path))


def _config_path_below(config: ConfigPath, steps: Path) -> ConfigPath:
    """Configuration path of a field at the relative path `steps` below the field that `config` sets; () if it has none
    of its own."""
    return (*config, *(step[2:] for step in steps)) if all(step.startswith("f:") for step in steps) else ()


def _dropped_variables(update: ExpectedApply, object_ref: ObjectName, schema: Schema) -> FieldSet:
    """Environment variables that the current version renders and the target does not. For other fields, a template may
    set a default where no value does."""
    kept_paths = {
        path for part in update.target_parts if part.object_ref == object_ref for path in leaves_of(part.part, schema)
    }
    dropped: Tree = {}
    for part in update.current_parts:
        for path in leaves_of(part.part, schema) if part.object_ref == object_ref else ():
            if path not in kept_paths and path[-3:-2] == _ENV_STEP:
                dropped = union(dropped, path_tree(path[:-1]))
    return FieldSet(dropped)


def _fields_of_others(owners: Mapping[FieldManager, FieldSet]) -> FieldSet:
    fields_of_others = NO_FIELDS
    for owner, fields in owners.items():
        fields_of_others |= fields if owner != EKS and owner.subresource != "status" else NO_FIELDS
    return fields_of_others


def _fields_of_installers(owners: Mapping[FieldManager, FieldSet]) -> FieldSet:
    """All fields of managers that apply whole objects, as Helm does with the same chart: EKS may apply any of them,
    too."""
    installer_fields = NO_FIELDS
    for owner, fields in owners.items():
        if owner != EKS and any(path[-1] in _INSTALLER_FIELDS for path in fields):
            installer_fields |= fields
    return installer_fields


_INSTALLER_FIELDS = frozenset(("f:selector", "f:helm.sh/chart"))
"""Fields that are not edited by hand: an owner of one of them has installed the object."""


@lru_cache
def _value_stems(addon: str, object_ref: ObjectName, schema: Schema) -> tuple[tuple[ConfigPath, Path, bool], ...]:
    return tuple(
        (config, leaves_of(part, schema)[0], is_per_key) for config, part, is_per_key in value_stems(addon, object_ref)
    )


@frozen
class _ValueRules:
    """Where the add-on's configuration values appear in one object. `is_chart_known`: EKS applies nothing in these
    places that the chart does not render."""

    value_stems: tuple[tuple[ConfigPath, Path, bool], ...]
    is_chart_known: bool

    @classmethod
    def for_object(cls, update: ExpectedApply, object_ref: ObjectName, schema: Schema) -> _ValueRules:
        return cls(_value_stems(update.addon, object_ref, schema), update.is_chart_known)

    def config_of(self, path: Path) -> ConfigPath:
        """Path of a field in the configuration values, () if it has none of its own."""
        for config, stem, is_per_key in self.value_stems:
            if is_per_key and len(path) == len(stem) and _without_item(path) == _without_item(stem):
                return (*config, str(keys_of(path[-2]).get("name", "")))
            if not is_per_key and path[: len(stem)] == stem:
                return _config_path_below(config, path[len(stem) :])
        return ()

    def is_known(self, path: Path, manifest_paths: Set[Path]) -> bool:
        """The manifests show whether EKS applies the field. For a field that a configuration value sets, only the chart
        does. The manifests may lack an image: the version does not tell its variant."""
        if path in manifest_paths:
            return True
        is_other_label = _is_label(path) and not path[-1].startswith("f:prometheus.io/")
        return (self.is_chart_known or not self.config_of(path)) and path[-1] != "f:image" and not is_other_label

    def excludes(self, path: Path) -> bool:
        """Only chart values could set the field, and they do not."""
        return self.is_chart_known and any(
            _without_item(path) == _without_item(stem)
            if is_per_key
            else path[: len(stem)] == stem and len(path) > len(stem)
            for _, stem, is_per_key in self.value_stems
        )


def _without_item(path: Path) -> Path:
    """The path without the key of its list item."""
    return (*path[:-2], *path[-1:])


def _is_unknown(path: Path, config: Doc, explained: Set[Path], rules: _ValueRules, schema: Schema) -> bool:
    """A field that another owner sets in an object that EKS applies may be EKS's, unless it is known not to be."""
    if path in explained or is_item_or_key(path):
        return False
    if path[0] == "f:metadata" or path[:3] == _TEMPLATE_METADATA:
        key = path[-1].removeprefix("f:")
        return key in knowledge_file("applied_fields")["labels"] or key.startswith("app.kubernetes.io/")
    for index, step in enumerate(path):
        if step[:2] in ("k:", "v:") and value_at(config, path[: index + 1], schema.root) is MISSING:
            return (
                path[index - 1] == "f:env" and not rules.is_chart_known
            )  # list items that only other managers have are theirs
    return not rules.excludes(path)


_TEMPLATE_METADATA = ("f:spec", "f:template", "f:metadata")

_ENV_STEP = ("f:env",)
