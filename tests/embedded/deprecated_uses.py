"""An API server's ``/metrics`` on clients that use deprecated APIs.

Source: apiserver pkg/endpoints/metrics/metrics.go (deprecatedRequestGauge).
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.frozen import frozen

_NAME = "apiserver_requested_deprecated_apis"
_HELP = (
    "[STABLE] Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, "
    "subresource, and removed_release."
)


@frozen
class DeprecatedUse:
    """A client requested ``policy/v1beta1``, `removed` in ``1.25``."""

    group: str
    version: str
    resource: str
    removed: str
    subresource: str = ""


def text(uses: Iterable[DeprecatedUse]) -> bytes:
    """The metric in Prometheus' format, labels sorted by name, as the server's library writes it. It is empty without
    any use: a gauge that was never set is not shown."""
    lines = [f"{_NAME}{{{_labels(use)}}} 1\n" for use in uses]
    head = f"# HELP {_NAME} {_HELP}\n# TYPE {_NAME} gauge\n" if lines else ""
    return (head + "".join(sorted(lines))).encode()


def _labels(use: DeprecatedUse) -> str:
    said = {
        "group": use.group,
        "removed_release": use.removed,
        "resource": use.resource,
        "subresource": use.subresource,
        "version": use.version,
    }
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in said.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
