"""Who still asks for deprecated APIs, as an API server's ``/metrics`` tells it.

``apiserver_requested_deprecated_apis{group,version,resource,subresource,removed_release} 1`` is there for each one that
was asked for since that process started (Kubernetes 1.19 or newer). Sources: apiserver pkg/endpoints/metrics/metrics.go
(deprecatedRequestGauge); Prometheus, "Exposition formats", text-based format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.amazon.upgrades.removed_apis import RemovedApi, of_resource
from kubectl_eksdoc.model.asked import Confidence
from kubectl_eksdoc.model.knowledge import KnowledgeSource
from kubectl_eksdoc.model.versions import Version, parse

METRIC = "apiserver_requested_deprecated_apis"
CAVEAT = (
    "it is one API server's memory since that process started; EKS runs several and replaces "
    "them, so an empty result does not prove that there are no requests"
)
CAVEAT_SOURCE = KnowledgeSource(
    "apiserver, deprecatedRequestGauge; EKS runs a control plane of at least two", Confidence.MEDIUM
)


@dataclass(frozen=True, slots=True, order=True)
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


@dataclass(frozen=True, slots=True)
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
