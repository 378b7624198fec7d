"""The bodies of ``/version``, ``/api``, ``/apis`` and below: what a client asks first, one group version at a time.

What differs from a real server: no `storageVersionHash`, which clients may only compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.embedded.api.catalogue import DISCOVERY_V2, DISCOVERY_V2BETA1, PLAIN, Catalogue, Form, choose
from kubectl_eksdoc.embedded.api.resources import Served, Subresource
from kubectl_eksdoc.model import versions
from kubectl_eksdoc.model.api_objects import Doc


@dataclass(frozen=True, slots=True)
class Build:
    """Which server answers ``/version``; the rest of that answer follows from `git_version`."""

    git_version: str = "v1.36.2"
    git_commit: str = ""
    build_date: str = "1970-01-01T00:00:00Z"
    go_version: str = ""
    platform: str = "linux/amd64"


def version(build: Build) -> Doc:
    """The body of ``/version``.

    Raises:
        ValueError: `git_version` is no version of Kubernetes.
    """
    parsed = versions.parse(build.git_version)
    if parsed is None:
        raise ValueError(f"{build.git_version!r} is not a version of Kubernetes")
    major, minor = str(parsed.major), str(parsed.minor)
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(parsed.minor - 1),
        "gitVersion": build.git_version,
        "gitCommit": build.git_commit,
        "gitTreeState": "clean",
        "buildDate": build.build_date,
        "goVersion": build.go_version,
        "compiler": "gc",
        "platform": build.platform,
    }


def api_versions(server_address: str) -> Doc:
    """The body of ``/api``: `server_address` as ``192.0.2.2:6443``."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def group_list(catalogue: Catalogue) -> Doc:
    """The body of ``/apis``; groups of servers that cannot be reached are in it."""
    groups = [_group(catalogue, name) for name in catalogue.groups()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(catalogue: Catalogue, name: str) -> Doc | None:
    """The body of ``/apis/{name}``; None where there is no such group."""
    if not name or not catalogue.versions(name):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(catalogue, name)}


def _group(catalogue: Catalogue, name: str) -> Doc:
    found = [{"groupVersion": f"{name}/{version}", "version": version} for version in catalogue.versions(name)]
    return {"name": name, "versions": found, "preferredVersion": found[0]}


def resource_list(catalogue: Catalogue, group: str, version: str) -> Doc | None:
    """The body of ``/api/v1`` (the empty group) or ``/apis/{group}/{version}``.

    None where it is not served, and where it is only announced: see `Catalogue.unanswered`.
    """
    found = catalogue.resources(group, version)
    if not found:
        return None
    # The core group's answer alone has no apiVersion: it is written by older code.
    head = {"kind": "APIResourceList", "apiVersion": "v1"} if group else {"kind": "APIResourceList"}
    resources = [entry for served in found for entry in _entries(served)]
    return {**head, "groupVersion": f"{group}/{version}" if group else version, "resources": resources}


def _entries(served: Served) -> Iterator[Doc]:
    entry: Doc = {
        "name": served.plural,
        "singularName": served.singular,
        "namespaced": served.namespaced,
        "kind": served.kind,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        entry["shortNames"] = list(served.short_names)
    if served.categories:
        entry["categories"] = list(served.categories)
    if served.storage_hash:
        entry["storageVersionHash"] = served.storage_hash
    yield entry
    for subresource in served.subresources:
        yield _subresource_entry(served, subresource)


def _subresource_entry(served: Served, subresource: Subresource) -> Doc:
    entry: Doc = {
        "name": f"{served.plural}/{subresource.name}",
        "singularName": "",
        "namespaced": served.namespaced,
    }
    if subresource.version:
        entry |= {"group": subresource.group, "version": subresource.version}
    return {**entry, "kind": subresource.kind, "verbs": list(subresource.verbs)}


# Aggregated discovery: everything below ``/api`` or ``/apis`` in one answer (``APIGroupDiscoveryList``, KEP-3352).
#
# Every kubectl since 1.26 asks for it and takes the plain answer where it does not get it. The answer depends on the
# catalogue alone, and v2 and v2beta1 differ in nothing but their name.


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
