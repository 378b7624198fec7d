"""Whose the objects are that EKS has applied: of which add-on, by their names and labels.

Sources: public dumps of EKS clusters (labels of add-ons); EKS user guide, "Amazon EKS created Kubernetes roles and
users" (names that begin with ``eks:``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.addon_diff.manifests import objects_of
from kubectl_eksdoc.amazon.upgrades.software import KNOWN
from kubectl_eksdoc.model.api_objects import AppliedObjects, ObjectName
from kubectl_eksdoc.model.asked import Unknown


@dataclass(frozen=True, slots=True)
class ObjectSearch:
    """What a search over all kinds has found. `more`: objects of the add-on that no manifest known here has. `whose`:
    objects that EKS has applied, and nothing tells for which add-on. `unlisted`: by resource or group, as RBAC names
    it, where it could not look."""

    more: tuple[ObjectName, ...] = ()
    whose: tuple[ObjectName, ...] = ()
    unlisted: Mapping[str, Unknown] = field(default_factory=dict)


EVERY_KIND = "objects of all kinds"


def searched(parts: Iterable[AppliedObjects | Unknown], addon: str, known: Iterable[ObjectName]) -> ObjectSearch:
    """`known`: the add-on's objects by its manifests."""
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
    """Of each those it may be of, or other software, whose objects have such a name, or a label in common with one that
    has; EKS's own are of "eks"."""
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
