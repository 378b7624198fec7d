"""The bodies of ``/version``, ``/api``, ``/apis`` and below: what a client asks first, one group version at a time.

What differs from a real server: no aggregated discovery (KEP-3352); kubectl takes the plain answer where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.embedded.api.catalogue import Catalogue
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
