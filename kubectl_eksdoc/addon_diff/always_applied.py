"""Fields that EKS applies with every version of an add-on: if one is absent, a user has removed it.

Also assigns objects that EKS has applied to add-ons, by their names and labels.

Sources: public dumps of EKS clusters (labels of add-ons); EKS user guide, "Amazon EKS created Kubernetes roles and
users" (names that begin with ``eks:``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from kubectl_eksdoc.amazon.addon_needs import KNOWN
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import Schema, schema_of
from kubectl_eksdoc.kubernetes.document_diff import NONE, FieldSet, Path
from kubectl_eksdoc.kubernetes.field_paths import field_step
from kubectl_eksdoc.kubernetes.server_side_apply import merged
from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, ObjectName
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version, parse

from .expected import (
    EKS,
    EMPTY,
    ExpectedApply,
    ExpectedConfig,
    Witness,
    applies,
    config_of,
    leaves_of,
)
from .fields import MISSING, MissingValue, value_at
from .manifests import (
    objects_of,
)


def missing(of: ObjectName, live: Doc, will: ExpectedConfig, update: ExpectedApply, schema: Schema) -> dict[Path, bool]:
    """Fields that EKS has applied and that are now empty or absent. A user has emptied or removed them: they have no
    owner, so EKS restores them in every mode. The value says whether it is certain that EKS applies the field again."""
    now, target = ({}, {}) if update.manifests is not None and update.manifests.far else update.values_of(of)
    if not applies(will.owners):  # EKS may own no field any more that it applies
        absent = (path for path in target if target[path] not in EMPTY and _is_gone(live, path, schema))
        return {path: False for path in absent if path[-1][2:] not in _DEFAULTED.split()}
    standing_now = () if target else leaves_of(standing(of, update.installed, update.agent), schema)
    found: dict[Path, bool] = dict.fromkeys((*_emptied(will), *standing_now), False)
    if target:
        found = {path: False for path in found if path in target}
        sure = will.why.get
        found |= {
            path: path not in will.may_lack and sure(path) is not Witness.VALUES
            for path in now
            if target.get(path) not in EMPTY
            and path[-1][2:] not in _DEFAULTED.split()
            and not _was_not_allowed(path, of, update, schema)
        }
    wanted = {path: value for part in update.after if part.of == of for path, value in _values(part.part, schema)}
    for part in (each for each in update.before if each.of == of):
        known_now = None if update.schema_now is None else update.schema_now.of(part.config) is not None
        for path, value in _values(part.part, schema):
            why = will.why.get(path)
            if why is Witness.VALUES and wanted.get(path) != value:
                found.pop(path, None)  # the call sets the value on purpose
            elif path in wanted and (why is Witness.OWNED or known_now is not False):
                found[path] = why is Witness.OWNED or (known_now is True and why is not None)
    mine = will.owners.get(EKS, NONE)
    gone = {path: certain for path, certain in found.items() if _is_gone(live, path, schema)}
    others = [fields for owner, fields in will.owners.items() if owner != EKS]
    return {
        path: certain
        for path, certain in gone.items()
        if not _is_instead(path, mine) and not (_stands(live, path, schema) and any(path in each for each in others))
    }


def _values(part: Doc, schema: Schema) -> Iterator[tuple[Path, object]]:
    return ((path, value_at(part, path, schema.root)) for path in leaves_of(part, schema))


def _emptied(will: ExpectedConfig) -> Iterator[Path]:
    """Values of environment variables whose entries EKS owns: ``kubectl set env NAME=`` keeps the entry."""
    mine = will.owners.get(EKS, NONE)
    for path in mine:
        value = (*path, field_step("value"))
        if path[-2:-1] == (field_step("env"),) and value not in mine:
            yield value


def _is_gone(live: Doc, path: Path, schema: Schema) -> bool:
    if (
        path[-1] == field_step("value")
        and value_at(live, (*path[:-1], field_step("valueFrom")), schema.root) != MISSING
    ):
        return False
    return value_at(live, path, schema.root) in EMPTY


_DEFAULTED = (
    "defaultMode dnsPolicy failureThreshold imagePullPolicy internalTrafficPolicy ipFamilies ipFamilyPolicy "
    "maxSurge maxUnavailable periodSeconds progressDeadlineSeconds protocol replicas restartPolicy "
    "revisionHistoryLimit schedulerName scheme selector serviceAccount sessionAffinity successThreshold "
    "targetPort terminationGracePeriodSeconds terminationMessagePath terminationMessagePolicy timeoutSeconds "
    "type"
)
"""Fields that are never absent: the API server sets a default for them if they are removed, or refuses their
removal."""


def _was_not_allowed(path: Path, of: ObjectName, update: ExpectedApply, schema: Schema) -> bool:
    """The current schema lacks the value, so EKS's chart of that version lacks it, too."""
    config = config_of(update.addon, of, path, schema)
    return bool(config) and update.schema_now is not None and update.schema_now.of(config) is None


def _stands(live: Doc, path: Path, schema: Schema) -> bool:
    return not isinstance(value_at(live, path, schema.root), MissingValue)


_PROBES = tuple(map(field_step, ("exec", "grpc", "httpGet", "tcpSocket")))


def _is_instead(path: Path, mine: FieldSet) -> bool:
    """A probe for which EKS applies another handler."""
    at = next((at for at, step in enumerate(path) if step in _PROBES), 0)
    others = [each for each in mine if at and each[:at] == path[:at] and len(each) > at]
    return any(each[at] in _PROBES and each[at] != path[at] for each in others)


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


def standing(of: ObjectName, version: str, agent: bool) -> Doc:
    """The part of the object that EKS applies with the add-on's `version`, independent of configuration values.
    `agent`: the values enable vpc-cni's network policy agent."""
    installed = parse(version)
    whole: Doc = {}
    for each in _APPLIED:
        known = each.since is None or (installed is not None and not installed < each.since)
        if each.object == of and known and (agent or not each.agent):
            whole = merged(whole, each.part, schema_of(of.api_version, of.kind).root)
    return whole


@frozen
class ObjectSearch:
    """Result of a search over all kinds. `unlisted_in_manifest`: objects of the add-on that no known manifest has.
    `without_addon`: objects that EKS has applied for an unknown add-on. `unreadable_kinds`: the kinds that could not be
    listed, by resource or group in RBAC's terms, each with its reason."""

    more: tuple[ObjectName, ...] = ()
    whose: tuple[ObjectName, ...] = ()
    unlisted: Mapping[str, Unknown] = field(default_factory=dict)


EVERY_KIND = "objects of all kinds"


def searched(parts: Iterable[AppliedObjects | Unknown], addon: str, known: Iterable[ObjectName]) -> ObjectSearch:
    """Assign the objects that a search found. `known`: the add-on's objects by its manifests."""
    whole = tuple(parts)
    found = tuple(each for each in whole if isinstance(each, AppliedObjects))
    labels = {of: told for each in found for of, told in each.labels.items()}
    of = _addons(labels)
    stripped = {name for each in found for name in each.stripped}
    mine = {each for each, names in of.items() if addon in names}
    nobodys = {each for each, names in of.items() if not names and each not in stripped}
    seen = {(each.kind, each.namespace, each.name) for each in known}
    more = (each for each in mine if (each.kind, each.namespace, each.name) not in seen)
    unlisted = {kind: why for each in found for kind, why in each.unlisted.items()}
    unlisted.update((EVERY_KIND, each) for each in whole if isinstance(each, Unknown))
    return ObjectSearch(tuple(sorted(more)), tuple(sorted(nobodys)), unlisted)


def _addons(found: Mapping[ObjectName, Mapping[str, str]]) -> dict[ObjectName, frozenset[str]]:
    """For each object, the add-ons or other software it may belong to: their objects have the same name, or share a
    label with an object that has. EKS's own objects belong to "eks"."""
    by_name = {of: frozenset(each.name for each in KNOWN if of in objects_of(each.name)) for of in found}
    by_label: dict[tuple[str, str], set[str]] = {}
    for software in KNOWN:
        for label in software.labels:
            by_label.setdefault(label, set()).add(software.name)
    for of, names in by_name.items():
        for label in found[of].items():
            by_label.setdefault(label, set()).update(names)

    def told(of: ObjectName) -> frozenset[str]:
        words = {_plain(re.sub(r"-v?[0-9]+\..*", "", value)) for value in found[of].values()}
        names = {each.name for each in KNOWN if _plain(each.name) in words}
        names |= {name for label in found[of].items() for name in by_label.get(label, ())}
        return frozenset(names or ({"eks"} if of.name.startswith("eks:") else ()))

    return {of: names or told(of) for of, names in by_name.items()}


def _plain(name: str) -> str:
    """``aws-vpc-cni`` → ``vpc-cni``."""
    return re.sub(r"^(aws|amazon|eks)-", "", name)
