"""Removed Kubernetes APIs: the removal release of each API version, its replacement, and removals on an upgrade path.

A row is about a kind in one version: the objects themselves stay, and are served in the version that replaces it. The
table contains only built-in APIs of Kubernetes, no custom resources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, knowledge_file, last_kubernetes_read, records
from kubectl_eksdoc.model.quantities import Version, parse_version

from .versions import beyond_table, format_version, minor_of

if TYPE_CHECKING:
    from .addon_needs import CompatibilityTable


# API versions of custom resources, which are removed by a version of their software, not of Kubernetes.


@frozen
class CustomApi:
    """`kinds` in `api_version`, none for all kinds. `removed`: the first version of `software` that does not serve it,
    None where none is announced; `deprecated`: the first that deprecates it, None where that is not known.
    `replacement`: as in a manifest, "" where nothing replaces it."""

    api_version: str
    kinds: tuple[str, ...]
    software: str
    removed: Version | None
    source: KnowledgeSource
    deprecated: Version | None = None
    replacement: str = ""


CUSTOM_APIS = records(CustomApi, "custom_apis")


def find_custom_api(api_version: str, kind: str, extra_rows: Iterable[CustomApi] = ()) -> CustomApi | None:
    """The row, from `extra_rows` before those of the table; None where its vendor has announced nothing."""
    matching = (
        row
        for row in (*extra_rows, *CUSTOM_APIS)
        if row.api_version == api_version and (not row.kinds or kind in row.kinds)
    )
    return next(matching, None)


REMOVALS_READ_TO = last_kubernetes_read("removed_apis")
"""The last release whose removals are done; removals in later releases are planned."""


@frozen
class RemovedApi:
    """`kind` in `api_version` is not served from `removed` on. `resource`: its plural name, "" for a kind that only
    clients use. `replacement`: in the words of the source, "" where it names none; see `replacement_of`. `mapped`: the
    plugin mapkubeapis rewrites it in the manifests that Helm has stored."""

    api_version: str
    kind: str
    resource: str
    removed: Version
    source: KnowledgeSource
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
    def is_alpha(self) -> bool:
        """Whether the API server serves it only when enabled; that of EKS does not enable it."""
        return "alpha" in self.version and bool(self.resource)

    def is_deprecated_at(self, target: Version) -> bool:
        """Whether it is deprecated at `target`, and still served there."""
        return (
            self.deprecated is not None and not minor_of(target) < self.deprecated and minor_of(target) < self.removed
        )

    @property
    def is_planned(self) -> bool:
        """Whether its removal is announced, but not done."""
        return self.removed > REMOVALS_READ_TO


REMOVED_APIS = records(RemovedApi, "removed_apis")


def find_removed_api(api_version: str, kind: str) -> RemovedApi | None:
    """The row; None where Kubernetes has not announced a removal."""
    return REMOVED_APIS.by("api_version", "kind").get((api_version, kind))


def is_unknown_kind(api_version: str, kind: str, kubernetes: Version) -> bool:
    """Whether Kubernetes had that API version without such a kind, and that release serves none of its kinds."""
    rows = [row for row in REMOVED_APIS if row.api_version == api_version]
    all_removed = all(not row.is_planned and not minor_of(kubernetes) < row.removed for row in rows)
    return bool(rows) and all_removed and find_removed_api(api_version, kind) is None


def find_by_resource(api_version: str, resource: str) -> RemovedApi | None:
    """The row by the plural name, as in requests and metrics: ``policy/v1beta1``, ``poddisruptionbudgets``."""
    return REMOVED_APIS.by("api_version", "resource").get((api_version, resource)) if resource else None


def removed_between(current: Version, target: Version) -> tuple[RemovedApi, ...]:
    """All rows that `current` serves and `target` does not, the first removal first; planned ones as planned."""
    removed_rows = [row for row in REMOVED_APIS if is_removed_between(row, current, target)]
    return tuple(sorted(removed_rows, key=lambda row: (row.removed.minor, row.api_version, row.kind)))


def find_removed_between(api_version: str, kind: str, current: Version, target: Version) -> RemovedApi | None:
    """The row, if `current` serves it and `target` does not."""
    row = find_removed_api(api_version, kind)
    return row if row is not None and is_removed_between(row, current, target) else None


def is_removed_between(row: RemovedApi, current: Version, target: Version) -> bool:
    """Whether `current` serves it, and `target` does not."""
    return minor_of(current) < row.removed and not minor_of(target) < row.removed


def removals_not_read(target: Version) -> Unknown | None:
    """Unknown if the removals up to `target` were not all read; None if they were."""
    return beyond_table(target, REMOVALS_READ_TO, "the table of removed APIs")


_FLOWCONTROL = "flowcontrol.apiserver.k8s.io"
_SUCCESSOR_VERSIONS: Mapping[str, tuple[tuple[int, str], ...]] = {
    _FLOWCONTROL: ((29, "v1"), (26, "v1beta3"), (23, "v1beta2"))
}
"""Groups with several successors: since which minor each version is served, the newest first (kubernetes/api
flowcontrol/*/zz_generated.prerelease-lifecycle.go)."""
_FINAL_VERSIONS: Mapping[str, str] = {"client.authentication.k8s.io": "client.authentication.k8s.io/v1"}


def replacement_of(row: RemovedApi, current: Version) -> str | Unknown:
    """The apiVersion to write instead: the one in the source, or for flowcontrol, where several versions followed each
    other, the newest that a server of `current` already serves. It may be removed later itself (`find_removed_api`). ""
    where nothing replaces it (PodSecurityPolicy); Unknown where the source names none."""
    if row.kind == "PodSecurityPolicy":
        return ""
    hint = ""
    for since, version in _SUCCESSOR_VERSIONS.get(row.group, ()):
        if version == row.version:
            break
        if current.minor >= since:
            return f"{row.group}/{version}"
        hint = f"; from 1.{since} on write {row.group}/{version}"
    if hint:
        return Unknown(
            f"Kubernetes {format_version(minor_of(current))} serves no newer version of {row.api_version}{hint}"
        )
    if row.group in _FINAL_VERSIONS:
        return _FINAL_VERSIONS[row.group]
    return row.replacement or Unknown(f"the source names no replacement of {row.api_version} {row.kind}")


# Conversion of a manifest to another API version: kubectl convert, and the changes that it leaves to people.


CONVERT_PLUGIN_NOTE = "kubectl convert is a plugin of its own (kubectl-convert)"


def convert_command(file: str, api_version: str) -> str:
    """The command that prints the manifests of a file in that API version."""
    return shell("kubectl", "convert", "-f", file, "--output-version", api_version)


@frozen
class ManualConversion:
    """For the `kinds` in the `api_versions`: `what` kubectl convert cannot know, a sentence; `fields` it is about."""

    kinds: tuple[str, ...]
    api_versions: tuple[str, ...]
    what: str
    source: KnowledgeSource
    fields: tuple[str, ...] = ()


_MANUAL_CONVERSIONS = records(ManualConversion, "conversions")


def manual_conversions(row: RemovedApi) -> tuple[ManualConversion, ...]:
    """The manual changes after kubectl convert; none where it is sufficient according to the guide."""
    return tuple(
        each for each in _MANUAL_CONVERSIONS if row.kind in each.kinds and row.api_version in each.api_versions
    )


def is_convertible(row: RemovedApi) -> bool:
    """Whether kubectl convert can convert it: it must be an object with a replacement, and the scheme of
    kubectl-convert must contain its group, or else the command fails with 'no kind is registered'."""
    is_registered = row.group not in knowledge_file("conversions")["unregistered"]
    return bool(row.resource and row.replacement) and row.kind != "PodSecurityPolicy" and is_registered


# Requests for deprecated APIs, from the ``/metrics`` of an API server.
#
# ``apiserver_requested_deprecated_apis{group,version,resource,subresource,removed_release} 1`` exists for each API that
# was requested since the process started (Kubernetes 1.19 or newer). Sources: apiserver
# pkg/endpoints/metrics/metrics.go (deprecatedRequestGauge); Prometheus, "Exposition formats", text-based format.


METRIC = "apiserver_requested_deprecated_apis"


@frozen(order=True)
class DeprecatedRequest:
    """A deprecated API that was requested. `group`: "" for the core group; `removed_release`: "" where none is
    announced; `resource`: the plural name, without `subresource`."""

    group: str
    version: str
    resource: str
    subresource: str = ""
    removed_release: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def removed(self) -> Version | None:
        return parse_version(self.removed_release)

    @property
    def row(self) -> RemovedApi | None:
        """The row in the table of removed APIs."""
        return find_by_resource(self.api_version, self.resource)


@frozen
class DeprecatedRequests:
    """`unreadable`: lines of the metric that could not be parsed, unchanged; then the requests are incomplete."""

    requests: tuple[DeprecatedRequest, ...]
    unreadable: tuple[str, ...] = ()


def parse_deprecated_requests(metrics: str) -> DeprecatedRequests:
    """The requests in a response of ``/metrics``, sorted, each once."""
    requests: set[DeprecatedRequest] = set()
    unreadable: list[str] = []
    for line in metrics.split("\n"):
        if METRIC not in line or _METRIC_START.match(sample := line.strip(" \t\r")) is None:
            continue
        labels, value = _parse_labels(sample), _SAMPLE_VALUE.search(sample)
        request = None if labels is None or value is None else _parse_request(labels)
        if request is None or value is None:
            unreadable.append(sample)
        elif float(value[1]) != 0:
            requests.add(request)
    return DeprecatedRequests(tuple(sorted(requests)), tuple(unreadable))


_METRIC_START = re.compile(rf"{METRIC}(?![a-zA-Z0-9_:])")
_SPACE = re.compile(r"[ \t]*")
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(,|(?=\}))')
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|Inf|NaN)"
_SAMPLE_VALUE = re.compile(rf"(?<=[ \t}}])({_NUMBER})(?:[ \t]+-?[0-9]+)?\Z")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", '"': '"', "\\": "\\"}


def _parse_labels(line: str) -> Mapping[str, str] | None:
    """The labels of one sample; None where the line is not a sample. A comma may follow the last label."""
    position = _skip_space(line, len(METRIC))
    labels: dict[str, str] = {}
    if line[position : position + 1] == "{":
        position += 1
        while (label := _LABEL.match(line, position)) is not None and label[1] not in labels:
            labels[label[1]] = _ESCAPE.sub(_unescaped, label[2])
            position = label.end()
        position = _skip_space(line, position)
        if line[position : position + 1] != "}":
            return None
        position = _skip_space(line, position + 1)
    return labels if _SAMPLE_VALUE.match(line, position) else None


def _skip_space(line: str, position: int) -> int:
    space = _SPACE.match(line, position)
    return position if space is None else space.end()


def _unescaped(escape: re.Match[str]) -> str:
    """An unknown escape stays unchanged, as in Prometheus' own parser."""
    return _ESCAPED.get(escape[1], escape[0])


def _parse_request(labels: Mapping[str, str]) -> DeprecatedRequest | None:
    """A missing label is the empty label (Prometheus' data model)."""
    version, resource = labels.get("version", ""), labels.get("resource", "")
    if not version or not resource:
        return None
    group, subresource = labels.get("group", ""), labels.get("subresource", "")
    return DeprecatedRequest(group, version, resource, subresource, labels.get("removed_release", ""))


# Rows that a user adds to the tables of the package, or that override theirs (check --tables FILE).


@frozen
class KnowledgeTables:
    """The first row for a kind in a version is used, and takes precedence over those of the package."""

    removed_apis: tuple[RemovedApi, ...] = ()
    custom_apis: tuple[CustomApi, ...] = ()
    compatibility: tuple[CompatibilityTable, ...] = ()

    def find_removed_api(self, api_version: str, kind: str) -> RemovedApi | None:
        """As `removed_apis.find_removed_api`."""
        own_rows = (row for row in self.removed_apis if (row.api_version, row.kind) == (api_version, kind))
        return next(own_rows, None) or find_removed_api(api_version, kind)

    def find_removed_between(self, api_version: str, kind: str, current: Version, target: Version) -> RemovedApi | None:
        """As `removed_apis.find_removed_between`."""
        row = self.find_removed_api(api_version, kind)
        return row if row is not None and is_removed_between(row, current, target) else None

    def find_custom_api(self, api_version: str, kind: str) -> CustomApi | None:
        """As `removed_apis.find_custom_api`."""
        return find_custom_api(api_version, kind, self.custom_apis)
