"""Objects of a live cluster that are created and never written over."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_eksdoc.errors import ClusterError, ClusterRefused, Drifted, Forbidden, Unauthorized
from kubectl_eksdoc.kube.sending import ApiWriter
from kubectl_eksdoc.kube.sent import JSON, MANAGER, SentRequest, refused
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus
from kubectl_eksdoc.model.api_objects import AppliedObject, Conflict, Conflicting, Doc, at, text_at
from kubectl_eksdoc.model.permissions import opt_ins_of
from kubectl_eksdoc.model.placing import OF_KIND, NotPlaced

_ESCALATES = "is attempting to grant RBAC permissions not currently held"
"""Whoever creates a role must have its rights (Kubernetes, RBAC: privilege escalation prevention)."""
_RULE = re.compile(r"\{(?:APIGroups:\[([^]]*)\], Resources|NonResourceURLs):\[([^]]*)\], Verbs:\[([^]]*)\]\}")
"""How a rule is written that is not held: pkg/registry/rbac/validation, CompactString, its lists by Go's %q."""


class LiveObjectWriter:
    """A `changes.placement.PlacingGround`. Mutable: it holds connections."""

    def __init__(self, sender: ApiWriter) -> None:
        self._sender = sender

    def create(self, doc: Doc, dry: bool = False) -> NotPlaced | None:
        """As `changes.placement.PlacingGround.create`."""
        query = {**MANAGER, **({"dryRun": "All"} if dry else {})}
        sent = self._sender.send("POST", _path(doc), query, doc, JSON)
        return None if sent.ok else _not_placed(sent, doc)

    def there(self, doc: Doc) -> Doc | None:
        """As `changes.placement.PlacingGround.there`."""
        sent = self._sender.send("GET", f"{_path(doc)}/{text_at(doc, 'metadata', 'name')}", {}, None)
        return sent.doc if sent.ok else None

    def remove(self, doc: Doc) -> NotPlaced | None:
        """As `changes.placement.PlacingGround.remove`."""
        path = f"{_path(doc)}/{text_at(doc, 'metadata', 'name')}"
        sent = self._sender.send("DELETE", path, {"propagationPolicy": "Background"}, None)
        return None if sent.ok or sent.code == 404 else _not_placed(sent, doc, "delete")


def _path(doc: Doc) -> str:
    resource, where = OF_KIND[doc["kind"]], text_at(doc, "metadata", "namespace")
    root = f"/apis/{resource.group}" if resource.group else "/api"
    inside = f"/namespaces/{where}" if resource.namespaced else ""
    return f"{root}/{resource.version}{inside}/{resource.plural}"


def _not_placed(sent: SentRequest, doc: Doc, verb: str = "create") -> NotPlaced:
    right = f"{verb} {OF_KIND[doc['kind']].full_name}"
    error = refused(sent, right, text_at(doc, "metadata", "namespace"))
    if isinstance(error, Unauthorized):
        raise Unauthorized(error.message, "Sign in again, and retry.")
    if error is not None:
        return NotPlaced(sent.said, right)
    if sent.code == 403 and _ESCALATES in sent.said:
        rights = tuple(_rights_in(sent.said))
        why = f"you cannot give it rights that you have not yourself: {'; '.join(rights) or sent.said}"
        opted = "; ".join(f"opt-in {each.said}" for each in opt_ins_of(rights))
        return NotPlaced(f"{why} ({opted})" if opted else why, f"escalate {right.split()[1]}")
    how = f"the server answered {sent.code}: {sent.said}" if sent.code else f"the server gave no answer: {sent.said}"
    return NotPlaced(how, taken=sent.code == 409, lacking=sent.code == 404, maybe=sent.unknown)


def _rights_in(said: str) -> Iterator[str]:
    """As the tool names them: ``list nodes``, ``create pods/eviction``, ``get /metrics``."""
    for groups, resources, verbs in _RULE.findall(said):
        for group in _words(groups) or [""]:
            for resource in _words(resources):
                plural, _, subresource = resource.partition("/") if not resource.startswith("/") else (resource, "", "")
                full = f"{plural}.{group}" if group else plural
                of = f"{full}/{subresource}" if subresource else full
                yield from (f"{verb} {of}" for verb in _words(verbs))


def _words(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


# ConfigMaps of a live cluster, applied by server-side apply as this tool's field manager.


APPLY_PATCH = "application/apply-patch+yaml"
"""JSON is YAML, too."""
RIGHT = "patch configmaps"
_CONFLICT = "FieldManagerConflict"
_OWNER = re.compile(r'conflict with "([^"]*)"')


class AppliedMaps:
    """A `changes.dns_change.ConfigMaps`. Mutable: it holds connections."""

    def __init__(self, sender: ApiWriter) -> None:
        self._sender = sender

    def apply(self, doc: Doc, force: bool = False, dry: bool = False) -> AppliedObject | Conflicting:
        """As `changes.dns_change.ConfigMaps.apply`."""
        namespace, name = str(at(doc, "metadata", "namespace")), str(at(doc, "metadata", "name"))
        query = {**MANAGER, "force": str(force).lower(), **({"dryRun": "All"} if dry else {})}
        path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        sent = self._sender.send("PATCH", path, query, doc, APPLY_PATCH)
        if sent.ok:
            return AppliedObject(sent.doc)
        conflicts = _conflicts(sent)
        if conflicts:
            return Conflicting(conflicts)
        what = f"ConfigMap {namespace}/{name}"
        if sent.code == 409:
            raise Drifted(f"{what} is not as it was: {sent.said}", "Nothing was changed. Look again.")
        error = refused(sent, RIGHT, namespace)
        if isinstance(error, Forbidden):
            look = f"Ask for the right, or look: kubectl auth can-i {RIGHT} -n {namespace}"
            raise Forbidden(error.message, look, error.missing)
        if error is not None:
            raise error
        if sent.unknown and not dry:
            raise ClusterError(
                f"it is unknown whether {what} was changed: {sent.said}",
                f"Look: kubectl get configmap {name} -n {namespace} -o yaml",
            )
        raise ClusterRefused(f"the API server does not take the change of {what}: {sent.said}", "Nothing was changed.")


def _conflicts(sent: SentRequest) -> tuple[Conflict, ...]:
    answer = sent.answer
    if sent.code != 409 or not isinstance(answer, ApiStatus) or answer.details is None:
        return ()
    found = (cause for cause in answer.details.causes if cause.reason == _CONFLICT)
    return tuple(sorted(Conflict(cause.where, _owner(cause.message)) for cause in found))


def _owner(message: str) -> str:
    match = _OWNER.search(message)
    return match.group(1) if match is not None else message
