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
from kubectl_eksdoc.model.knowledge import KnowledgeSource, file, read_to, records
from kubectl_eksdoc.model.quantities import Version, parse

from .versions import beyond, in_words, minor_of

if TYPE_CHECKING:
    from .addon_needs import CompatibilityTable


# API versions of custom resources, which are removed by a version of their software, not of Kubernetes.


@frozen
class CustomApi:
    """`kinds` in `api_version`, none for all kinds. `removed`: the first version of `software` that does not serve it,
    None where none is announced; `deprecated`: the first that announces the removal, None where that is not known.
    `replacement`: as in a manifest, "" where nothing replaces it."""

    api_version: str
    kinds: tuple[str, ...]
    software: str
    removed: Version | None
    source: KnowledgeSource
    deprecated: Version | None = None
    replacement: str = ""


CUSTOM_ROWS = records(CustomApi, "custom_apis")


def custom_api(api_version: str, kind: str, more: Iterable[CustomApi] = ()) -> CustomApi | None:
    """The row, from `extra_rows` before those of the table; None where its vendor has announced no removal."""
    found = (
        row for row in (*more, *CUSTOM_ROWS) if row.api_version == api_version and (not row.kinds or kind in row.kinds)
    )
    return next(found, None)


READ_TO = read_to("removed_apis")
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
    def alpha(self) -> bool:
        """Whether the API server serves it only when enabled; that of EKS does not enable it."""
        return "alpha" in self.version and bool(self.resource)

    def ahead(self, target: Version) -> bool:
        """Whether it is deprecated at `target`, and still served there."""
        return (
            self.deprecated is not None and not minor_of(target) < self.deprecated and minor_of(target) < self.removed
        )

    @property
    def planned(self) -> bool:
        """Whether its removal is announced, but not done."""
        return self.removed > READ_TO


ROWS = records(RemovedApi, "removed_apis")


def removed_api(api_version: str, kind: str) -> RemovedApi | None:
    """The row; None where Kubernetes has not announced a removal."""
    return ROWS.by("api_version", "kind").get((api_version, kind))


def never_had(api_version: str, kind: str, kubernetes: Version) -> bool:
    """Whether Kubernetes had that API version without such a kind, and that release serves none of its kinds."""
    rows = [row for row in ROWS if row.api_version == api_version]
    over = all(not row.planned and not minor_of(kubernetes) < row.removed for row in rows)
    return bool(rows) and over and removed_api(api_version, kind) is None


def of_resource(api_version: str, resource: str) -> RemovedApi | None:
    """The row by the plural name, as in requests and metrics: ``policy/v1beta1``, ``poddisruptionbudgets``."""
    return ROWS.by("api_version", "resource").get((api_version, resource)) if resource else None


def gone_on_the_way(now: Version, target: Version) -> tuple[RemovedApi, ...]:
    """All rows that `current` serves and `target` does not, the first removal first; planned ones as planned."""
    gone = [row for row in ROWS if goes(row, now, target)]
    return tuple(sorted(gone, key=lambda row: (row.removed.minor, row.api_version, row.kind)))


def gone(api_version: str, kind: str, now: Version, target: Version) -> RemovedApi | None:
    """The row, if `current` serves it and `target` does not."""
    row = removed_api(api_version, kind)
    return row if row is not None and goes(row, now, target) else None


def goes(row: RemovedApi, now: Version, target: Version) -> bool:
    """Whether `current` serves it, and `target` does not."""
    return minor_of(now) < row.removed and not minor_of(target) < row.removed


def unread(target: Version) -> Unknown | None:
    """Unknown if the removals up to `target` were not all read; None if they were."""
    return beyond(target, READ_TO, "the table of removed APIs")


_FLOWCONTROL = "flowcontrol.apiserver.k8s.io"
_STEPS: Mapping[str, tuple[tuple[int, str], ...]] = {_FLOWCONTROL: ((29, "v1"), (26, "v1beta3"), (23, "v1beta2"))}
"""Groups with several successors: since which minor each version is served, the newest first (kubernetes/api
flowcontrol/*/zz_generated.prerelease-lifecycle.go)."""
_LAST_OF: Mapping[str, str] = {"client.authentication.k8s.io": "client.authentication.k8s.io/v1"}


def instead(row: RemovedApi, now: Version) -> str | Unknown:
    """The apiVersion to write instead: the one in the source, or for flowcontrol, where several versions followed each
    other, the newest that a server of `current` already serves. It may be removed later itself (`find_removed_api`). ""
    where nothing replaces it (PodSecurityPolicy); Unknown where the source names none."""
    if row.kind == "PodSecurityPolicy":
        return ""
    then = ""
    for since, version in _STEPS.get(row.group, ()):
        if version == row.version:
            break
        if now.minor >= since:
            return f"{row.group}/{version}"
        then = f"; from 1.{since} on write {row.group}/{version}"
    if then:
        return Unknown(f"Kubernetes {in_words(minor_of(now))} serves no newer version of {row.api_version}{then}")
    if row.group in _LAST_OF:
        return _LAST_OF[row.group]
    return row.replacement or Unknown(f"the source names no replacement of {row.api_version} {row.kind}")


# Conversion of a manifest to another API version: kubectl convert, and the changes that it leaves to people.


PLUGIN = "kubectl convert is a plugin of its own (kubectl-convert)"


def convert(file: str, api_version: str) -> str:
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


_BY_HAND = records(ManualConversion, "conversions")


def by_hand(row: RemovedApi) -> tuple[ManualConversion, ...]:
    """The manual changes after kubectl convert; none where it is sufficient according to the guide."""
    return tuple(each for each in _BY_HAND if row.kind in each.kinds and row.api_version in each.api_versions)


def convertible(row: RemovedApi) -> bool:
    """Whether kubectl convert can convert it: it must be an object with a replacement, and the scheme of
    kubectl-convert must contain its group, or else the command fails with 'no kind is registered'."""
    known = row.group not in file("conversions")["unregistered"]
    return bool(row.resource and row.replacement) and row.kind != "PodSecurityPolicy" and known


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
        return parse(self.removed_release)

    @property
    def row(self) -> RemovedApi | None:
        """The row in the table of removed APIs."""
        return of_resource(self.api_version, self.resource)


@frozen
class DeprecatedRequests:
    """`unreadable`: lines of the metric that could not be parsed, unchanged; then the requests are incomplete."""

    requests: tuple[DeprecatedRequest, ...]
    unread: tuple[str, ...] = ()


def deprecated_requests(metrics: str) -> DeprecatedRequests:
    """The requests in a response of ``/metrics``, sorted, each once."""
    found: set[DeprecatedRequest] = set()
    unread: list[str] = []
    for line in metrics.split("\n"):
        if METRIC not in line or _OURS.match(sample := line.strip(" \t\r")) is None:
            continue
        labels, value = _labels(sample), _VALUE.search(sample)
        request = None if labels is None or value is None else _request(labels)
        if request is None or value is None:
            unread.append(sample)
        elif float(value[1]) != 0:
            found.add(request)
    return DeprecatedRequests(tuple(sorted(found)), tuple(unread))


_OURS = re.compile(rf"{METRIC}(?![a-zA-Z0-9_:])")
_SPACE = re.compile(r"[ \t]*")
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(,|(?=\}))')
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|Inf|NaN)"
_VALUE = re.compile(rf"(?<=[ \t}}])({_NUMBER})(?:[ \t]+-?[0-9]+)?\Z")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", '"': '"', "\\": "\\"}


def _labels(line: str) -> Mapping[str, str] | None:
    """The labels of one sample; None where the line is not a sample. A comma may follow the last label."""
    at = _after_space(line, len(METRIC))
    found: dict[str, str] = {}
    if line[at : at + 1] == "{":
        at += 1
        while (label := _LABEL.match(line, at)) is not None and label[1] not in found:
            found[label[1]] = _ESCAPE.sub(_unescaped, label[2])
            at = label.end()
        at = _after_space(line, at)
        if line[at : at + 1] != "}":
            return None
        at = _after_space(line, at + 1)
    return found if _VALUE.match(line, at) else None


def _after_space(line: str, at: int) -> int:
    space = _SPACE.match(line, at)
    return at if space is None else space.end()


def _unescaped(escape: re.Match[str]) -> str:
    """An unknown escape stays unchanged, as in Prometheus' own parser."""
    return _ESCAPED.get(escape[1], escape[0])


def _request(labels: Mapping[str, str]) -> DeprecatedRequest | None:
    """A missing label is the empty label (Prometheus' data model)."""
    version, resource = labels.get("version", ""), labels.get("resource", "")
    if not version or not resource:
        return None
    group, sub = labels.get("group", ""), labels.get("subresource", "")
    return DeprecatedRequest(group, version, resource, sub, labels.get("removed_release", ""))


# Rows that a user adds to the tables of the package, or that override theirs (check --tables FILE).


@frozen
class Tables:
    """The first row for a kind in a version is used, and takes precedence over those of the package."""

    removed_apis: tuple[RemovedApi, ...] = ()
    custom_apis: tuple[CustomApi, ...] = ()
    compatibility: tuple[CompatibilityTable, ...] = ()

    def removed_api(self, api_version: str, kind: str) -> RemovedApi | None:
        """As `removed_apis.find_removed_api`."""
        own = (row for row in self.removed_apis if (row.api_version, row.kind) == (api_version, kind))
        return next(own, None) or removed_api(api_version, kind)

    def gone(self, api_version: str, kind: str, now: Version, target: Version) -> RemovedApi | None:
        """As `removed_apis.find_removed_between`."""
        row = self.removed_api(api_version, kind)
        return row if row is not None and goes(row, now, target) else None

    def custom_api(self, api_version: str, kind: str) -> CustomApi | None:
        """As `removed_apis.find_custom_api`."""
        return custom_api(api_version, kind, self.custom_apis)
