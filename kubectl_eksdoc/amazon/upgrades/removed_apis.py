"""API versions that Kubernetes stops serving: when, what to write instead, and which go on the way of an upgrade.

A row is about a kind in one version: the objects themselves stay, and are served in the version that replaces it. Only
what Kubernetes itself brings is here, nothing of custom resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.amazon.upgrades.sourced import beyond, in_words, minor_of
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, read_to, records
from kubectl_eksdoc.model.versions import Version

READ_TO = read_to("removed_apis")
"""The last release whose removals are done; those of later ones are planned."""


@dataclass(frozen=True, slots=True)
class RemovedApi:
    """`kind` in `api_version` is not served from `removed` on. `resource` is its plural name, "" for a kind that only
    clients use. `replacement` as the source words it, "" where it names none; see `removed_apis.instead`. `mapped`: the
    plugin mapkubeapis rewrites it in what Helm has stored."""

    api_version: str
    kind: str
    resource: str
    removed: Version
    source: KnowledgeSource
    introduced: Version | None = None
    deprecated: Version | None = None
    replacement: str = ""
    mapped: bool = False

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    @property
    def alpha(self) -> bool:
        """An API server has to be told to serve it, and that of EKS is not."""
        return "alpha" in self.version and bool(self.resource)

    def ahead(self, target: Version) -> bool:
        """Deprecated at `target`, and served there still."""
        return (
            self.deprecated is not None and not minor_of(target) < self.deprecated and minor_of(target) < self.removed
        )

    @property
    def planned(self) -> bool:
        """Its removal is announced, not seen."""
        return self.removed > READ_TO


ROWS = records(RemovedApi, "removed_apis")
_BY_KIND: Mapping[tuple[str, str], RemovedApi] = {(row.api_version, row.kind): row for row in ROWS}
_BY_RESOURCE: Mapping[tuple[str, str], RemovedApi] = {
    (row.api_version, row.resource): row for row in ROWS if row.resource
}


def removed_api(api_version: str, kind: str) -> RemovedApi | None:
    """Its row; None where Kubernetes has not announced that it removes it."""
    return _BY_KIND.get((api_version, kind))


def never_had(api_version: str, kind: str, kubernetes: Version) -> bool:
    """Whether Kubernetes had that version, but no such kind in it, and that release serves none of its kinds."""
    rows = [row for row in ROWS if row.api_version == api_version]
    over = all(not row.planned and not minor_of(kubernetes) < row.removed for row in rows)
    return bool(rows) and over and removed_api(api_version, kind) is None


def of_resource(api_version: str, resource: str) -> RemovedApi | None:
    """The same by the plural name, as requests and metrics have it: ``policy/v1beta1``, ``poddisruptionbudgets``."""
    return _BY_RESOURCE.get((api_version, resource))


def served(api_version: str, kind: str, kubernetes: Version) -> bool | Unknown:
    """Whether an API server of that release still serves it, if it ever did. Unknown beyond the releases whose
    removals were seen: they may come earlier or later than planned."""
    row = removed_api(api_version, kind)
    if row is not None and not row.planned:
        return minor_of(kubernetes) < row.removed
    return unread(kubernetes) or True


def gone_on_the_way(now: Version, target: Version) -> tuple[RemovedApi, ...]:
    """All that `now` serves and `target` does not, the first to go first; of `planned` ones that is the plan."""
    gone = [row for row in ROWS if goes(row, now, target)]
    return tuple(sorted(gone, key=lambda row: (row.removed.minor, row.api_version, row.kind)))


def gone(api_version: str, kind: str, now: Version, target: Version) -> RemovedApi | None:
    """Its row, if it is among those."""
    row = removed_api(api_version, kind)
    return row if row is not None and goes(row, now, target) else None


def goes(row: RemovedApi, now: Version, target: Version) -> bool:
    """Whether `now` serves it, and `target` does not."""
    return minor_of(now) < row.removed and not minor_of(target) < row.removed


def unread(target: Version) -> Unknown | None:
    """That removals up to `target` were not all read; None where they were."""
    return beyond(target, READ_TO, "the table of removed APIs")


_FLOWCONTROL = "flowcontrol.apiserver.k8s.io"
_STEPS: Mapping[str, tuple[tuple[int, str], ...]] = {_FLOWCONTROL: ((29, "v1"), (26, "v1beta3"), (23, "v1beta2"))}
"""Where more than one version follows: since which minor each is served, the newest first (kubernetes/api
flowcontrol/*/zz_generated.prerelease-lifecycle.go)."""
_LAST_OF: Mapping[str, str] = {"client.authentication.k8s.io": "client.authentication.k8s.io/v1"}


def instead(row: RemovedApi, now: Version) -> str | Unknown:
    """The apiVersion to write in its place: the one that the source names, of flowcontrol, where several followed each
    other, the newest that a server of `now` serves already. It may be on the way out itself (`removed_api`). "" where
    nothing replaces it (PodSecurityPolicy); Unknown where the source names none."""
    if row.kind == "PodSecurityPolicy":
        return ""
    for since, version in _STEPS.get(row.group, ()):
        if now.minor >= since and version != row.version:
            return f"{row.group}/{version}"
    if row.group in _STEPS:
        return Unknown(f"Kubernetes {in_words(minor_of(now))} serves no newer version of {row.api_version}")
    if row.group in _LAST_OF:
        return _LAST_OF[row.group]
    return row.replacement or Unknown(f"the source names no replacement of {row.api_version} {row.kind}")
