"""Aggregated discovery: everything below ``/api`` or ``/apis`` in one answer (``APIGroupDiscoveryList``, KEP-3352).

Every kubectl since 1.26 asks for it and takes the plain answer where it does not get it. The answer depends on the
catalogue alone, and v2 and v2beta1 differ in nothing but their name.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.embedded.api.catalogue import Catalogue
from kubectl_eksdoc.embedded.api.negotiation import DISCOVERY_V2, DISCOVERY_V2BETA1, PLAIN, Form, choose
from kubectl_eksdoc.embedded.api.resources import Served

FORMS = (DISCOVERY_V2, DISCOVERY_V2BETA1)


def asked_for(accept: str) -> Form | None:
    """Which of `FORMS` the client wants of ``/api`` and ``/apis``; None when it is to get the plain answer."""
    form = choose(accept, FORMS)
    return None if form == PLAIN else form


def content_type(form: Form) -> str:
    """The answer's Content-Type, by which clients tell this answer from the plain one."""
    return f"application/json;g={form.group};v={form.version};as={form.kind}"


def core(catalogue: Catalogue, form: Form = DISCOVERY_V2) -> Doc:
    """The body of ``/api``: the one group there has no name."""
    return _list(form, [{"metadata": {}, "versions": _versions(catalogue, "")}])


def groups(catalogue: Catalogue, form: Form = DISCOVERY_V2) -> Doc:
    """The body of ``/apis``."""
    found = [{"metadata": {"name": name}, "versions": _versions(catalogue, name)} for name in catalogue.groups()]
    return _list(form, found)


def _list(form: Form, items: list[Doc]) -> Doc:
    return {"kind": form.kind, "apiVersion": form.api_version, "metadata": {}, "items": items}


def _versions(catalogue: Catalogue, group: str) -> list[Doc]:
    return [_version(catalogue, group, version) for version in catalogue.versions(group)]


def _version(catalogue: Catalogue, group: str, version: str) -> Doc:
    """One group version; stale and without resources where its own server does not answer, as kube-aggregator says."""
    resources = [_resource(served) for served in catalogue.resources(group, version)]
    if not resources:
        return {"version": version, "freshness": "Stale"}
    return {"version": version, "resources": resources, "freshness": "Current"}


def _resource(served: Served) -> Doc:
    resource: Doc = {
        "resource": served.plural,
        "responseKind": _kind(served, served.kind),
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        resource["shortNames"] = list(served.short_names)
    if served.categories:
        resource["categories"] = list(served.categories)
    if served.subresources:
        resource["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _kind(served, sub.kind, sub.group, sub.version),
                "verbs": list(sub.verbs),
            }
            for sub in served.subresources
        ]
    return resource


def _kind(served: Served, kind: str, group: str = "", version: str = "") -> Doc:
    """Built-in resources leave empty what is the same as around them; those of definitions say it again."""
    if not version and served.custom:
        group, version = served.group, served.version
    return {"group": group, "version": version, "kind": kind}
