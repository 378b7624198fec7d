"""Everything the server serves: built-in resources, those of CustomResourceDefinitions, and announced groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.embedded.api.built_in import BUILT_IN, GROUP_PRIORITIES
from kubectl_eksdoc.embedded.api.definitions import from_api_service, from_definition
from kubectl_eksdoc.embedded.api.resources import Announced, Served
from kubectl_eksdoc.embedded.api.version_order import preference

# What the registration controller of kube-aggregator gives the groups of custom resources.
_CUSTOM_GROUP_PRIORITY = 1000
_CUSTOM_VERSION_PRIORITY = 100

_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A value: when a definition comes or goes, make a new one with `of`."""

    served: tuple[Served, ...] = BUILT_IN
    announced: tuple[Announced, ...] = ()
    _found: dict[_Key, Served] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found = {(s.group, s.version, s.plural): s for s in reversed(self.served)}
        object.__setattr__(self, "_found", found)

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """The resource behind ``/apis/{group}/{version}/{plural}``, or ``/api/…`` where the group is empty."""
        return self._found.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> Served | None:
        """The resource whose objects say this `apiVersion` and `kind`."""
        return next((s for s in self.served if s.kind == kind and s.api_version == api_version), None)

    def groups(self) -> tuple[str, ...]:
        """The named groups, as ``/apis`` orders them: by priority, then by name."""
        priorities = {s.group: GROUP_PRIORITIES.get(s.group, _CUSTOM_GROUP_PRIORITY) for s in self.served if s.group}
        for one in self.announced:
            if one.remote and one.group not in GROUP_PRIORITIES:
                priorities[one.group] = max(one.group_priority, priorities.get(one.group, 0))
        return tuple(sorted(priorities, key=lambda group: (-priorities[group], group)))

    def versions(self, group: str) -> tuple[str, ...]:
        """The versions of a group, the preferred one first; none where there is no such group."""
        priorities = {s.version: _CUSTOM_VERSION_PRIORITY for s in self.served if s.group == group}
        priorities |= {a.version: a.version_priority for a in self.announced if a.group == group and a.remote}
        return tuple(sorted(priorities, key=lambda version: (-priorities[version], preference(version))))

    def resources(self, group: str, version: str) -> tuple[Served, ...]:
        """The resources of a group version, by name."""
        mine = (s for s in self._found.values() if (s.group, s.version) == (group, version))
        return tuple(sorted(mine, key=lambda s: s.plural))

    def unanswered(self, group: str, version: str) -> bool:
        """True when the group version is announced and nobody answers for it: its requests get 503."""
        claimed = any((a.group, a.version, a.remote) == (group, version, True) for a in self.announced)
        return claimed and not self.resources(group, version)


def of(definitions: Iterable[Doc] = (), api_services: Iterable[Doc] = ()) -> Catalogue:
    """The built-in resources and what these CustomResourceDefinitions and APIServices add.

    A definition that claims what is built in adds nothing: the first to serve a name keeps it.
    """
    custom = (served for definition in definitions for served in from_definition(definition))
    return Catalogue((*BUILT_IN, *custom), tuple(map(from_api_service, api_services)))
