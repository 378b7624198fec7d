"""Fields that EKS applies with every version of an add-on: if one is absent, a user has removed it.

Also assigns objects that EKS has applied to add-ons, by their names and labels.

Sources: public dumps of EKS clusters (labels of add-ons); EKS user guide, "Amazon EKS created Kubernetes roles and
users" (names that begin with ``eks:``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from kubectl_eksdoc.amazon.addon_needs import KNOWN_SOFTWARE
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import Schema, schema_of
from kubectl_eksdoc.kubernetes.document_diff import NO_FIELDS, FieldSet, Path
from kubectl_eksdoc.kubernetes.field_paths import field_step
from kubectl_eksdoc.kubernetes.server_side_apply import merge
from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, ObjectName
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version, parse_version

from .expected import (
    EKS,
    EMPTY_VALUES,
    ApplyEvidence,
    ExpectedApply,
    ExpectedConfig,
    config_path_of,
    is_applied_by_eks,
    leaves_of,
)
from .fields import MISSING, MissingValue, value_at
from .manifests import (
    objects_of,
)


def removed_fields(
    object_ref: ObjectName, live: Doc, expected_config: ExpectedConfig, update: ExpectedApply, schema: Schema
) -> dict[Path, bool]:
    """Fields that EKS has applied and that are now empty or absent. A user has emptied or removed them: they have no
    owner, so EKS restores them in every mode. The value says whether it is certain that EKS applies the field again."""
    current, target_values = (
        ({}, {}) if update.manifests is not None and update.manifests.is_distant else update.manifest_values(object_ref)
    )
    if not is_applied_by_eks(expected_config.owners):  # EKS may own no field any more that it applies
        absent_paths = (
            path for path in target_values if target_values[path] not in EMPTY_VALUES and _is_empty(live, path, schema)
        )
        return {path: False for path in absent_paths if path[-1][2:] not in _DEFAULTED_FIELDS.split()}
    always_applied = (
        ()
        if target_values
        else leaves_of(always_applied_fields(object_ref, update.installed_version, update.has_agent), schema)
    )
    applied_fields: dict[Path, bool] = dict.fromkeys((*_emptied_variables(expected_config), *always_applied), False)
    if target_values:
        applied_fields = {path: False for path in applied_fields if path in target_values}
        evidence_of = expected_config.evidence.get
        applied_fields |= {
            path: path not in expected_config.may_lack and evidence_of(path) is not ApplyEvidence.VALUES
            for path in current
            if target_values.get(path) not in EMPTY_VALUES
            and path[-1][2:] not in _DEFAULTED_FIELDS.split()
            and not _is_not_in_current_schema(path, object_ref, update, schema)
        }
    target_parts = {
        path: value
        for part in update.target_parts
        if part.object_ref == object_ref
        for path, value in _leaf_values(part.part, schema)
    }
    for part in (each for each in update.current_parts if each.object_ref == object_ref):
        is_in_current_schema = (
            None if update.current_schema is None else update.current_schema.allowed_at(part.config) is not None
        )
        for path, value in _leaf_values(part.part, schema):
            evidence = expected_config.evidence.get(path)
            if evidence is ApplyEvidence.VALUES and target_parts.get(path) != value:
                applied_fields.pop(path, None)  # the call sets the value on purpose
            elif path in target_parts and (evidence is ApplyEvidence.OWNED or is_in_current_schema is not False):
                applied_fields[path] = evidence is ApplyEvidence.OWNED or (
                    is_in_current_schema is True and evidence is not None
                )
    eks_fields = expected_config.owners.get(EKS, NO_FIELDS)
    empty_fields = {path: certain for path, certain in applied_fields.items() if _is_empty(live, path, schema)}
    fields_of_others = [fields for owner, fields in expected_config.owners.items() if owner != EKS]
    return {
        path: certain
        for path, certain in empty_fields.items()
        if not _has_other_probe_handler(path, eks_fields)
        and not (_exists(live, path, schema) and any(path in each for each in fields_of_others))
    }


def _leaf_values(part: Doc, schema: Schema) -> Iterator[tuple[Path, object]]:
    return ((path, value_at(part, path, schema.root)) for path in leaves_of(part, schema))


def _emptied_variables(expected_config: ExpectedConfig) -> Iterator[Path]:
    """Values of environment variables whose entries EKS owns: ``kubectl set env NAME=`` keeps the entry."""
    eks_fields = expected_config.owners.get(EKS, NO_FIELDS)
    for path in eks_fields:
        value_path = (*path, field_step("value"))
        if path[-2:-1] == (field_step("env"),) and value_path not in eks_fields:
            yield value_path


def _is_empty(live: Doc, path: Path, schema: Schema) -> bool:
    if (
        path[-1] == field_step("value")
        and value_at(live, (*path[:-1], field_step("valueFrom")), schema.root) != MISSING
    ):
        return False
    return value_at(live, path, schema.root) in EMPTY_VALUES


_DEFAULTED_FIELDS = (
    "defaultMode dnsPolicy failureThreshold imagePullPolicy internalTrafficPolicy ipFamilies ipFamilyPolicy "
    "maxSurge maxUnavailable periodSeconds progressDeadlineSeconds protocol replicas restartPolicy "
    "revisionHistoryLimit schedulerName scheme selector serviceAccount sessionAffinity successThreshold "
    "targetPort terminationGracePeriodSeconds terminationMessagePath terminationMessagePolicy timeoutSeconds "
    "type"
)
"""Fields that are never absent: the API server sets a default for them if they are removed, or refuses their
removal."""


def _is_not_in_current_schema(path: Path, object_ref: ObjectName, update: ExpectedApply, schema: Schema) -> bool:
    """The current schema lacks the value, so EKS's chart of that version lacks it, too."""
    config = config_path_of(update.addon, object_ref, path, schema)
    return bool(config) and update.current_schema is not None and update.current_schema.allowed_at(config) is None


def _exists(live: Doc, path: Path, schema: Schema) -> bool:
    return not isinstance(value_at(live, path, schema.root), MissingValue)


_PROBE_HANDLERS = tuple(map(field_step, ("exec", "grpc", "httpGet", "tcpSocket")))


def _has_other_probe_handler(path: Path, eks_fields: FieldSet) -> bool:
    """A probe for which EKS applies another handler."""
    index = next((index for index, step in enumerate(path) if step in _PROBE_HANDLERS), 0)
    sibling_paths = [each for each in eks_fields if index and each[:index] == path[:index] and len(each) > index]
    return any(each[index] in _PROBE_HANDLERS and each[index] != path[index] for each in sibling_paths)


@frozen
class AppliedPart:
    """Fields of an `object` that EKS applies with the add-on from version `since` on (None: with every version); ""
    stands for a value that varies. `agent`: only if the values enable vpc-cni's network policy agent."""

    object: ObjectName
    part: Doc
    source: KnowledgeSource
    since: Version | None = None
    agent: bool = False


_APPLIED = records(AppliedPart, "applied_fields")


def always_applied_fields(object_ref: ObjectName, version: str, agent: bool) -> Doc:
    """The part of the object that EKS applies with the add-on's `version`, independent of configuration values.
    `agent`: the values enable vpc-cni's network policy agent."""
    installed = parse_version(version)
    fields: Doc = {}
    for part in _APPLIED:
        applies = part.since is None or (installed is not None and not installed < part.since)
        if part.object == object_ref and applies and (agent or not part.agent):
            fields = merge(fields, part.part, schema_of(object_ref.api_version, object_ref.kind).root)
    return fields


@frozen
class ObjectSearch:
    """Result of a search over all kinds. `unlisted_in_manifest`: objects of the add-on that no known manifest has.
    `without_addon`: objects that EKS has applied for an unknown add-on. `unreadable_kinds`: the kinds that could not be
    listed, by resource or group in RBAC's terms, each with its reason."""

    unlisted_in_manifest: tuple[ObjectName, ...] = ()
    without_addon: tuple[ObjectName, ...] = ()
    unreadable_kinds: Mapping[str, Unknown] = field(default_factory=dict)


ALL_KINDS = "objects of all kinds"


def assign_objects(parts: Iterable[AppliedObjects | Unknown], addon: str, known: Iterable[ObjectName]) -> ObjectSearch:
    """Assign the objects that a search found. `known`: the add-on's objects by its manifests."""
    results = tuple(parts)
    object_sets = tuple(each for each in results if isinstance(each, AppliedObjects))
    labels = {
        addons_by_object: object_labels
        for each in object_sets
        for addons_by_object, object_labels in each.labels.items()
    }
    addons_by_object = _addons_by_object(labels)
    stripped = {name for each in object_sets for name in each.stripped}
    addon_objects = {each for each, names in addons_by_object.items() if addon in names}
    without_addon = {each for each, names in addons_by_object.items() if not names and each not in stripped}
    known_keys = {(each.kind, each.namespace, each.name) for each in known}
    unlisted_in_manifest = (each for each in addon_objects if (each.kind, each.namespace, each.name) not in known_keys)
    unreadable_kinds = {kind: reason for each in object_sets for kind, reason in each.unlisted.items()}
    unreadable_kinds.update((ALL_KINDS, each) for each in results if isinstance(each, Unknown))
    return ObjectSearch(tuple(sorted(unlisted_in_manifest)), tuple(sorted(without_addon)), unreadable_kinds)


def _addons_by_object(labels_by_object: Mapping[ObjectName, Mapping[str, str]]) -> dict[ObjectName, frozenset[str]]:
    """For each object, the add-ons or other software it may belong to: their objects have the same name, or share a
    label with an object that has. EKS's own objects belong to "eks"."""
    by_name = {
        object_ref: frozenset(each.name for each in KNOWN_SOFTWARE if object_ref in objects_of(each.name))
        for object_ref in labels_by_object
    }
    by_label: dict[tuple[str, str], set[str]] = {}
    for software in KNOWN_SOFTWARE:
        for label in software.labels:
            by_label.setdefault(label, set()).add(software.name)
    for object_ref, names in by_name.items():
        for label in labels_by_object[object_ref].items():
            by_label.setdefault(label, set()).update(names)

    def addons_of(object_ref: ObjectName) -> frozenset[str]:
        words = {
            _without_vendor(re.sub(r"-v?[0-9]+\..*", "", value)) for value in labels_by_object[object_ref].values()
        }
        names = {each.name for each in KNOWN_SOFTWARE if _without_vendor(each.name) in words}
        names |= {name for label in labels_by_object[object_ref].items() for name in by_label.get(label, ())}
        return frozenset(names or ({"eks"} if object_ref.name.startswith("eks:") else ()))

    return {object_ref: names or addons_of(object_ref) for object_ref, names in by_name.items()}


def _without_vendor(name: str) -> str:
    """``aws-vpc-cni`` → ``vpc-cni``."""
    return re.sub(r"^(aws|amazon|eks)-", "", name)
