"""API versions that Kubernetes stops serving: when, what to write instead, and which go on the way of an upgrade.

A row is about a kind in one version: the objects themselves stay, and are served in the version that replaces it. Only
what Kubernetes itself brings is here, nothing of custom resources.
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


# API versions of custom resources that go with a version of the software that brings them, not with Kubernetes.


@frozen
class CustomApi:
    """`kinds` in `api_version`, none for all of it. `removed`: the first version of `software` that does not serve it,
    None where none is announced; `deprecated`: the first that says so, None where that is not told. `replacement` as
    people write it, "" where nothing replaces it."""

    api_version: str
    kinds: tuple[str, ...]
    software: str
    removed: Version | None
    source: KnowledgeSource
    deprecated: Version | None = None
    replacement: str = ""


CUSTOM_ROWS = records(CustomApi, "custom_apis")


def custom_api(api_version: str, kind: str, more: Iterable[CustomApi] = ()) -> CustomApi | None:
    """Its row, of `more` before those of the table; None where its makers have announced nothing."""
    found = (
        row for row in (*more, *CUSTOM_ROWS) if row.api_version == api_version and (not row.kinds or kind in row.kinds)
    )
    return next(found, None)


READ_TO = read_to("removed_apis")
"""The last release whose removals are done; those of later ones are planned."""


@frozen
class RemovedApi:
    """`kind` in `api_version` is not served from `removed` on. `resource` is its plural name, "" for a kind that only
    clients use. `replacement` as the source words it, "" where it names none; see `removed_apis.instead`. `mapped`: the
    plugin mapkubeapis rewrites it in what Helm has stored."""

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


def removed_api(api_version: str, kind: str) -> RemovedApi | None:
    """Its row; None where Kubernetes has not announced that it removes it."""
    return ROWS.by("api_version", "kind").get((api_version, kind))


def never_had(api_version: str, kind: str, kubernetes: Version) -> bool:
    """Whether Kubernetes had that version, but no such kind in it, and that release serves none of its kinds."""
    rows = [row for row in ROWS if row.api_version == api_version]
    over = all(not row.planned and not minor_of(kubernetes) < row.removed for row in rows)
    return bool(rows) and over and removed_api(api_version, kind) is None


def of_resource(api_version: str, resource: str) -> RemovedApi | None:
    """The same by the plural name, as requests and metrics have it: ``policy/v1beta1``, ``poddisruptionbudgets``."""
    return ROWS.by("api_version", "resource").get((api_version, resource)) if resource else None


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


# How a manifest is brought to another API version: kubectl convert, and what it leaves to people.


PLUGIN = "kubectl convert is a plugin of its own (kubectl-convert)"


def convert(file: str, api_version: str) -> str:
    """The command that prints the manifests of a file in that version."""
    return shell("kubectl", "convert", "-f", file, "--output-version", api_version)


@frozen
class ManualConversion:
    """Of the `kinds` in the `api_versions`: `what` convert cannot know, a sentence; `fields` that it is about."""

    kinds: tuple[str, ...]
    api_versions: tuple[str, ...]
    what: str
    source: KnowledgeSource
    fields: tuple[str, ...] = ()


_BY_HAND = records(ManualConversion, "conversions")


def by_hand(row: RemovedApi) -> tuple[ManualConversion, ...]:
    """What is left to people after convert; none where it suffices, as far as the guide says."""
    return tuple(each for each in _BY_HAND if row.kind in each.kinds and row.api_version in each.api_versions)


def convertible(row: RemovedApi) -> bool:
    """Whether kubectl convert does anything about it: it must be an object, and something must replace it, and the
    scheme of kubectl-convert must have its group: else it says 'no kind is registered'."""
    known = row.group not in file("conversions")["unregistered"]
    return bool(row.resource and row.replacement) and row.kind != "PodSecurityPolicy" and known


# Who still asks for deprecated APIs, as an API server's ``/metrics`` tells it.
#
# ``apiserver_requested_deprecated_apis{group,version,resource,subresource,removed_release} 1`` is there for each one
# that was asked for since that process started (Kubernetes 1.19 or newer). Sources: apiserver
# pkg/endpoints/metrics/metrics.go (deprecatedRequestGauge); Prometheus, "Exposition formats", text-based format.


METRIC = "apiserver_requested_deprecated_apis"


@frozen(order=True)
class DeprecatedRequest:
    """Somebody asked for it. `group` is "" for the core group, `removed_release` where no release is announced; of
    `resource` the plural name, without `subresource`."""

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
        """What the table of removed APIs has of it."""
        return of_resource(self.api_version, self.resource)


@frozen
class DeprecatedRequests:
    """`unread`: lines of this metric that could not be read, as they are. While there are any, not all is known."""

    requests: tuple[DeprecatedRequest, ...]
    unread: tuple[str, ...] = ()


def deprecated_requests(metrics: str) -> DeprecatedRequests:
    """Of all that ``/metrics`` answers, sorted, each once."""
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
    """The labels of one sample; None where it is none. A comma may stand after the last."""
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
    """An escape that the format does not know stays as it is, like in Prometheus' own parser."""
    return _ESCAPED.get(escape[1], escape[0])


def _request(labels: Mapping[str, str]) -> DeprecatedRequest | None:
    """A label that is not there is the empty one (Prometheus' data model)."""
    version, resource = labels.get("version", ""), labels.get("resource", "")
    if not version or not resource:
        return None
    group, sub = labels.get("group", ""), labels.get("subresource", "")
    return DeprecatedRequest(group, version, resource, sub, labels.get("removed_release", ""))


# Rows that a user adds to the tables of the package, or puts in the place of theirs (check --tables FILE).


@frozen
class Tables:
    """The first row of a kind in a version counts, and before those of the package."""

    removed_apis: tuple[RemovedApi, ...] = ()
    custom_apis: tuple[CustomApi, ...] = ()
    compatibility: tuple[CompatibilityTable, ...] = ()

    def removed_api(self, api_version: str, kind: str) -> RemovedApi | None:
        """As `removed_apis.removed_api`."""
        own = (row for row in self.removed_apis if (row.api_version, row.kind) == (api_version, kind))
        return next(own, None) or removed_api(api_version, kind)

    def gone(self, api_version: str, kind: str, now: Version, target: Version) -> RemovedApi | None:
        """As `removed_apis.gone`."""
        row = self.removed_api(api_version, kind)
        return row if row is not None and goes(row, now, target) else None

    def custom_api(self, api_version: str, kind: str) -> CustomApi | None:
        """As `custom_api`."""
        return custom_api(api_version, kind, self.custom_apis)
