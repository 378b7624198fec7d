"""Requests about objects: get, list, create, update, patch, delete, each answered as the client wants it shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.kinds import NAMESPACES
from kubectl_eksdoc.core.rules.api.defaults import begun, carried, with_defaults, without_empty_metadata
from kubectl_eksdoc.core.rules.api.statuses import Details, Refusal, Status, modified, not_found
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.core.sim.cluster.pod_admission import admitted, first_status
from kubectl_eksdoc.core.sim.cluster.registry import PODS, Deleted
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.embedded.api.learning import known
from kubectl_eksdoc.embedded.api.negotiation import PLAIN
from kubectl_eksdoc.embedded.serving import changes, pod_security
from kubectl_eksdoc.embedded.serving.bodies import body_of, delete_options, deletion_status, object_of
from kubectl_eksdoc.embedded.serving.changes import Writer
from kubectl_eksdoc.embedded.serving.messages import Reply, Request
from kubectl_eksdoc.embedded.serving.pod_logs import PodLogs
from kubectl_eksdoc.embedded.serving.policies import Asked, Policies
from kubectl_eksdoc.embedded.serving.reading import page_of
from kubectl_eksdoc.embedded.serving.schemas import Schemas
from kubectl_eksdoc.embedded.serving.showing import Shown, Told, form_of, in_form
from kubectl_eksdoc.embedded.serving.targets import Target
from kubectl_eksdoc.embedded.serving.validation import check_unconditional, valid
from kubectl_eksdoc.embedded.serving.watching import Event
from kubectl_eksdoc.objects.single import encode

Ports = Callable[[Doc, str, str], "Reply | None"]
"""What a pod says on one of its ports to a path; None where nobody listens."""


KEPT_NAMESPACES = ("default", "kube-system", "kube-public")
"""Source: apiserver pkg/admission/plugin/namespace/lifecycle/admission.go (immortalNamespaces)."""


def nobody_listens(pod: Doc, port: str, path: str) -> Reply | None:
    """Its containers are not simulated."""
    return None


class Objects:
    """Answers for the objects of one control plane."""

    def __init__(
        self,
        plane: ControlPlane,
        policies: Policies,
        watch_cache: bool = True,
        logs: PodLogs | None = None,
        ports: Ports = nobody_listens,
    ) -> None:
        self._plane = plane
        self._watch_cache = watch_cache
        self._registry = plane.registry
        self._shown = Shown()
        self._schemas = Schemas(plane.store)
        self.policies = policies
        self.logs = logs or PodLogs()
        self.ports = ports

    def answer(self, verb: str, request: Request, target: Target) -> Reply:
        """
        Raises:
            Refusal, PatchRefused, TooOldToContinue: in the server's words.
        """
        known(self._registry, target.served)
        answers = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }
        return answers[verb](request, target)

    def reply(self, request: Request, target: Target, item: Item, code: int = 200) -> Reply:
        form, served = form_of(request), target.served
        if form == PLAIN:
            return Reply(code, self._shown.whole(item, served))
        now, include = self._plane.agenda.now, request.word("includeObject")
        return Reply(code, encode(in_form(form, served, [item.doc], None, now, include)))

    def told(self, request: Request, target: Target) -> Callable[[Event], bytes]:
        """How this client wants what one watch tells of; the columns of its tables come with the first."""
        return Told(request, target.served, self._shown, self._plane.agenda)

    def writer(self, request: Request, target: Target) -> Writer:
        has_status = target.served.subresource("status") is not None
        return Writer(changes.manager_of(request), self._registry.now, target.subresource, has_status)

    def unstored(self, request: Request, target: Target) -> Doc:
        """The object in the body of a request that only asks something."""
        return self._owned(request, target, None, object_of(request, target))

    def _get(self, request: Request, target: Target) -> Reply:
        return self.reply(request, target, self._registry.get(target.resource, target.key))

    def _list(self, request: Request, target: Target) -> Reply:
        page, form, served = (
            page_of(self._plane.store, request, target, self._watch_cache),
            form_of(request),
            target.served,
        )
        if form == PLAIN:
            return Reply(200, self._shown.listed(page.items, served, page.metadata))
        docs, now = [item.doc for item in page.items], self._plane.agenda.now
        return Reply(200, encode(in_form(form, served, docs, page.metadata, now, request.word("includeObject"))))

    def _create(self, request: Request, target: Target) -> Reply:
        doc = object_of(request, target)
        if at(doc, "metadata", "resourceVersion"):
            raise Refusal(Status(500, "", "resourceVersion should not be set on objects to be created"))
        doc = valid(target, None, with_defaults(doc))
        name = str(at(doc, "metadata", "name") or "")
        return self._add(request, target, name, self._owned(request, target, None, doc))

    def _add(self, request: Request, target: Target, name: str, doc: Doc) -> Reply:
        """A new object. What admission adds to it belongs to nobody."""
        self._registry.check_namespace(target.resource, target.key[0], name)
        self.policies.check(Asked("CREATE", target, name, doc))
        doc = begun(doc)
        if target.resource == PODS:
            spec = admitted(doc["spec"], self._plane.store)
            pod_security.check(self._plane.store, target.key[0], name, spec)
            doc = {**doc, "spec": spec, "status": first_status(spec)}
        made = self._registry.create(target.resource, doc, target.key[0], dry_run=request.dry_run)
        return self.reply(request, target, made, 201)

    def _update(self, request: Request, target: Target) -> Reply:
        doc = object_of(request, target)
        live = self._plane.store.get(target.resource, target.key)
        if live is None:
            raise not_found(self._registry.traits[target.resource].named, target.name)
        if not at(doc, "metadata", "resourceVersion"):
            check_unconditional(target)
        return self.reply(request, target, self._write(request, target, live, doc))

    def _patch(self, request: Request, target: Target) -> Reply:
        if changes.content_type(request) in changes.APPLY:
            return self._apply(request, target)
        patch = self._patch_in(request)
        live = self._registry.get(target.resource, target.key)
        doc = changes.patched(request, target, live.doc, self._schemas.of(target.served), patch)
        return self.reply(request, target, self._write(request, target, live, doc))

    def _patch_in(self, request: Request) -> Any:
        plain = Request(request.method, request.path, request.query, {}, request.body)
        return body_of(plain)

    def _apply(self, request: Request, target: Target) -> Reply:
        config = body_of(request)
        if not isinstance(config, dict):
            config = {}
        live = self._plane.store.get(target.resource, target.key)
        config = changes.named_after(target, config)
        writer = self.writer(request, target)
        doc = changes.applied(request, live.doc if live else None, config, writer, self._schemas.of(target.served))
        doc = valid(target, live.doc if live else None, with_defaults(doc))
        if live is None:
            return self._add(request, target, target.name, doc)
        status = target.subresource == "status"
        self.policies.check(Asked("UPDATE", target, target.name, doc, live.doc))
        if not status:
            doc = carried(live.doc, doc)
        return self.reply(request, target, self._registry.update(live, doc, status=status, dry_run=request.dry_run))

    def _write(self, request: Request, target: Target, live: Item, doc: Doc) -> Item:
        """Over what is there, if the document does not name another version."""
        asked = at(doc, "metadata", "resourceVersion")
        if asked not in (None, "", str(live.version)):
            raise modified(self._registry.traits[target.resource].named, target.name)
        status = target.subresource == "status"
        doc = without_empty_metadata(doc)
        doc = valid(target, live.doc, doc if status else with_defaults(doc))
        self.policies.check(Asked("UPDATE", target, target.name, doc, live.doc))
        doc = self._owned(request, target, live.doc, doc)
        if not status:
            doc = carried(live.doc, doc)
        return self._registry.update(live, doc, status=status, dry_run=request.dry_run)

    def _owned(self, request: Request, target: Target, live: Doc | None, doc: Doc) -> Doc:
        return changes.owned(live, doc, self.writer(request, target), self._schemas.of(target.served))

    def _delete(self, request: Request, target: Target) -> Reply:
        options = delete_options(request)
        item = self._registry.get(target.resource, target.key)
        if target.resource == NAMESPACES.full_name and target.name in KEPT_NAMESPACES:
            said = f'namespaces "{target.name}" is forbidden: this namespace may not be deleted'
            raise Refusal(Status(403, "Forbidden", said, Details(target.name, "", "namespaces")))
        self.policies.check(Asked("DELETE", target, target.name, None, item.doc))
        deleted = self._registry.delete(item, options)
        return self._deleted(request, target, deleted)

    def _deleted(self, request: Request, target: Target, deleted: Deleted) -> Reply:
        traits = self._registry.traits[target.resource]
        if traits.returned or not deleted.gone:
            return self.reply(request, target, deleted.item)
        return Reply(200, encode(deletion_status(deleted, traits.named)))

    def _delete_collection(self, request: Request, target: Target) -> Reply:
        options, page = delete_options(request), page_of(self._plane.store, request, target, self._watch_cache)
        for item in page.items:
            try:
                self._registry.delete(item, options)
            except Refusal:
                continue  # it is gone, or another precondition of it does not hold
        return Reply(200, self._shown.listed(page.items, target.served, page.metadata))
