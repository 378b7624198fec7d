"""Objects of a live cluster that a field manager has applied: found over all kinds, by their metadata alone.

Sources: kubernetes.io, "Kubernetes API Concepts" (discovery, a question for each version of each group; managedFields);
kubernetes.io, RBAC: everybody who is logged in may use discovery (`system:discovery`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import monotonic

from kubectl_eksdoc.errors import Forbidden, Unreachable
from kubectl_eksdoc.model.api_objects import NAMING_LABELS, AppliedObjects, Doc, ObjectName, at, named
from kubectl_eksdoc.model.kinds import NEVER_APPLIED, SEARCHED, Resource, Unknown
from kubectl_eksdoc.objects.single import NoJson, decode

from .exchanges import RetryPolicy
from .responses import ContinueTokenExpired, NotServed, RequestRefused
from .transport import Transport, in_order

Listed = Callable[[Transport, Resource, int], Iterator[Doc]]
"""The metadata of all objects of a resource."""

_AHEAD = 4  # questions asked at once
WITHIN_S = 60.0
MOST = 10_000
_HASTY = RetryPolicy(tries=2, tries_to_connect=1, silence=20.0)
_WHEN_ASKED = (RequestRefused, ContinueTokenExpired, Unreachable)
_MEASURED = ".metrics.k8s.io"
"""Of this group, and those below it, nothing is stored: it is measured when it is asked for."""


class AppliedSearch:
    """One search. Mutable: it holds what discovery told."""

    def __init__(
        self,
        transport: Transport,
        listed: Listed,
        page_size: int,
        most: int = MOST,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`most`: so many objects of a kind are read."""
        self._transport = Transport(transport.access, _HASTY)
        self._listed = listed
        self._page_size = page_size
        self._most = most
        self._clock = clock
        self._until_s = clock() + WITHIN_S
        self._unlisted: dict[str, Unknown] = {}
        self.resources: dict[tuple[str, str], Resource] = {}

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        """As `ports.AppliedReader.applied_by`: one question for discovery of each half of the API, and one for
        each kind and page. A kind with more than `MOST` objects, and what is not listed after `WITHIN_S`, is unknown.
        """
        try:
            served = {resource.full_name: resource for resource in reversed([*self._served()])}
        except Forbidden as error:
            return Unknown(error.message, error.missing)
        except (NotServed, *_WHEN_ASKED) as error:
            return Unknown(error.message)
        wanted = sorted((set(served) - NEVER_APPLIED - _USUAL) if others else (set(served) & _USUAL))
        self.resources = {(served[each].api_version, served[each].kind): served[each] for each in wanted}
        labels: dict[ObjectName, dict[str, str]] = {}
        stripped: set[ObjectName] = set()
        asked = in_order(lambda each: self._of(served[each]), wanted, _AHEAD)
        for name, told in zip(wanted, asked, strict=True):
            docs = told()
            if isinstance(docs, Unknown):
                self._unlisted[name] = docs
                continue
            for doc in docs:
                managers = _managers(doc)
                if not managers or manager in managers:
                    held = at(doc, "metadata", "labels")
                    held = held if isinstance(held, dict) else {}
                    labels[named(doc)] = {key: str(held[key]) for key in NAMING_LABELS if key in held}
                if not managers:
                    stripped.add(named(doc))
        return AppliedObjects(labels, frozenset(stripped), self._unlisted)

    def _of(self, resource: Resource) -> list[Doc] | Unknown:
        right = f"list {resource.full_name}"
        found: list[Doc] = []
        try:
            if self._clock() > self._until_s:
                return _TOO_LATE
            for doc in self._listed(self._transport, resource, self._page_size):
                found.append(doc)
                if len(found) > self._most:
                    return Unknown(f"there are more than {self._most:,} of them")
                if len(found) % self._page_size == 0 and self._clock() > self._until_s:
                    return _TOO_LATE
        except Forbidden as error:
            return Unknown(error.message, right)
        except NotServed:  # it is gone by now, with all of its objects
            return []
        except _WHEN_ASKED as error:
            return Unknown(error.message)
        return found

    def _served(self) -> Iterator[Resource]:
        """What can be listed; of a resource in several versions the one that its group prefers comes first."""
        for path in ("/api", "/apis"):
            body = self._asked(path)
            versions = [str(each) for each in body.get("versions") or ()]
            for group in body.get("groups") or ():
                preferred = at(group, "preferredVersion", "groupVersion")
                every = [str(each.get("groupVersion")) for each in group.get("versions") or ()]
                versions += sorted(every, key=lambda each: each != preferred)
            versions = [each for each in versions if f"{_MEASURED}/" not in f".{each}"]
            answers = in_order(partial(self._resources, path), versions, _AHEAD)
            for group_version, told in zip(versions, answers, strict=True):
                name, _, version = group_version.rpartition("/")
                for each in told():
                    plural = str(each.get("name"))
                    if "list" in (each.get("verbs") or ()) and "/" not in plural:
                        yield Resource(str(each.get("kind")), plural, name, version, bool(each.get("namespaced")))

    def _resources(self, path: str, group_version: str) -> list[Doc]:
        try:
            return list(self._asked(f"{path}/{group_version}").get("resources") or ())
        except (Forbidden, NotServed, *_WHEN_ASKED):
            why = Unknown("the server of this API group does not tell what kinds it has")
            self._unlisted[f"*.{group_version.rpartition('/')[0]}"] = why
            return []

    def _asked(self, path: str) -> Doc:
        body = self._transport.get(path, right=f"get {path}").body
        try:
            found = decode(body)
        except NoJson as error:
            raise RequestRefused(f"the answer to get {path} is no JSON: {error}") from error
        if not isinstance(found, dict):
            raise RequestRefused(f"the answer to get {path} is no object")
        return found


_USUAL = frozenset(each.full_name for each in SEARCHED)
_TOO_LATE = Unknown(f"it was not listed within {WITHIN_S:.0f} s")


def _managers(doc: Doc) -> set[str]:
    """Who has fields of it: those that have applied it by their names, others as ``name (Update)``."""
    entries = at(doc, "metadata", "managedFields")
    return {
        str(each.get("manager")) if each.get("operation") == "Apply" else f"{each.get('manager')} (Update)"
        for each in (entries if isinstance(entries, list) else ())
        if isinstance(each, dict)
    }
