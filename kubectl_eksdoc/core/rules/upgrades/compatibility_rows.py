"""Which Kubernetes versions each version of some software is made for, as its makers publish it: tables as data.

Read in August 2026 (KEDA 2.21: in November): newer versions of the software and of Kubernetes are not in a table, and
nothing is known of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.core.model.confidence import Confidence
from kubectl_eksdoc.core.model.knowledge import Source
from kubectl_eksdoc.core.model.versions import Version, parse
from kubectl_eksdoc.core.rules.upgrades.software import (
    ARGO_CD,
    CERT_MANAGER,
    ISTIO,
    KARPENTER,
    KEDA,
    METRICS_SERVER,
    NODE_TERMINATION_HANDLER,
    Software,
)


class Promise(str, Enum):
    """What its makers say of the Kubernetes versions in a row."""

    SUPPORTED = "supported"  # others are not
    TESTED = "tested"  # of others they say nothing


@dataclass(frozen=True, slots=True)
class Row:
    """From `since` on, until the next row. `newest` is None where none is named (``1.34+``)."""

    since: Version
    oldest: Version
    newest: Version | None


@dataclass(frozen=True, slots=True)
class Table:
    """`rows`: the oldest first. `read_to`: the last minor of the software that is in it; `kubernetes_to`: the last of
    Kubernetes."""

    software: Software
    promise: Promise
    rows: tuple[Row, ...]
    read_to: Version
    kubernetes_to: Version
    source: Source


def _version(text: str) -> Version:
    found = parse(text)
    if found is None:
        raise AssertionError(f"{text} is no version")
    return found


def _table(software: Software, promise: Promise, source: Source, text: str) -> Table:
    """`text`: ``version oldest-newest`` a row, the oldest first; after ``+`` there is no newest."""
    rows = []
    for entry in text.split(","):
        since, window = entry.split()
        oldest, _, newest = window.rstrip("+").partition("-")
        rows.append(Row(_version(since), _version(oldest), _version(newest) if newest else None))
    last = rows[-1].since
    known = max((row.newest or row.oldest for row in rows), key=lambda each: (each.major, each.minor))
    return Table(software, promise, tuple(rows), Version(last.major, last.minor), known, source)


TABLES = (
    _table(
        KARPENTER,
        Promise.SUPPORTED,
        Source("aws/karpenter-provider-aws hack/docs/compatibilitymatrix_gen/compatibility.yaml, 2026-08-21"),
        "0.21 1.21-1.24, 0.22 1.21-1.24, 0.23 1.21-1.24, 0.24 1.21-1.24, 0.25 1.21-1.25, 0.26 1.21-1.25,"
        " 0.27 1.21-1.25, 0.28 1.23-1.27, 0.29 1.23-1.27, 0.30 1.23-1.27, 0.31 1.23-1.28, 0.32 1.23-1.28,"
        " 0.33 1.23-1.28, 0.34 1.23-1.29, 0.35 1.23-1.29, 0.36 1.23-1.29, 0.37 1.23-1.30, 1.0 1.25-1.30,"
        " 1.0.5 1.25-1.31, 1.1 1.25-1.31, 1.2 1.25-1.32, 1.3 1.25-1.32, 1.4 1.25-1.32, 1.5 1.26-1.33, 1.6 1.26-1.34,"
        " 1.7 1.26-1.34, 1.8 1.26-1.34, 1.9 1.26-1.35, 1.10 1.26-1.35, 1.11 1.26-1.35, 1.12 1.26-1.35, 1.13 1.26-1.36,"
        " 1.14 1.26-1.36",
    ),
    _table(
        ARGO_CD,
        Promise.TESTED,
        Source(
            "argoproj/argo-cd docs/operator-manual/tested-kubernetes-versions.md, tags v2.8.0 to v3.5.1; patches test"
            " later versions",
            Confidence.MEDIUM,
        ),
        "2.6 1.22-1.24, 2.7 1.23-1.26, 2.8 1.24-1.27, 2.9 1.25-1.28, 2.10 1.25-1.28, 2.11 1.25-1.29, 2.12 1.26-1.29,"
        " 2.13 1.27-1.30, 2.14 1.28-1.31, 3.0 1.29-1.32, 3.1 1.30-1.33, 3.2 1.30-1.33, 3.3 1.31-1.34, 3.4 1.32-1.35,"
        " 3.5 1.33-1.36",
    ),
    _table(
        CERT_MANAGER,
        Promise.SUPPORTED,
        Source("cert-manager/website content/docs/releases/README.md, 2026-08-22"),
        "1.0 1.11-1.21, 1.1 1.11-1.21, 1.2 1.16-1.21, 1.3 1.16-1.21, 1.4 1.16-1.21, 1.5 1.16-1.22, 1.6 1.17-1.22,"
        " 1.7 1.18-1.23, 1.8 1.19-1.24, 1.9 1.20-1.24, 1.10 1.20-1.26, 1.11 1.21-1.27, 1.12 1.22-1.32, 1.13 1.21-1.27,"
        " 1.14 1.24-1.31, 1.15 1.25-1.32, 1.16 1.25-1.32, 1.17 1.29-1.33, 1.18 1.29-1.33, 1.19 1.31-1.35,"
        " 1.20 1.32-1.35, 1.21 1.33-1.36",
    ),
    _table(
        KEDA,
        Promise.TESTED,
        Source("keda.sh, docs/2.22/operate/cluster; kedacore/keda-docs content/docs/2.20/operate/cluster.md"),
        "2.7 1.17-1.25, 2.8 1.17-1.25, 2.9 1.23-1.25, 2.10 1.24-1.26, 2.11 1.25-1.27, 2.12 1.26-1.28, 2.13 1.27-1.29,"
        " 2.14 1.27-1.29, 2.15 1.28-1.30, 2.16 1.29-1.31, 2.17 1.30-1.32, 2.18 1.31-1.33, 2.19 1.32-1.34,"
        " 2.20 1.33-1.35, 2.21 1.34-1.36",
    ),
    _table(
        METRICS_SERVER,
        Promise.SUPPORTED,
        Source("kubernetes-sigs/metrics-server README.md, 2026-08-04"),
        "0.5 1.8+, 0.6 1.25+, 0.7 1.27+, 0.8 1.31+, 0.9 1.34+",
    ),
    _table(
        ISTIO,
        Promise.SUPPORTED,
        Source("endoflife-date/endoflife.date products/istio.md of istio.io's table, 2026-08-22", Confidence.MEDIUM),
        "1.12 1.19-1.22, 1.13 1.20-1.23, 1.14 1.21-1.24, 1.15 1.22-1.25, 1.16 1.22-1.25, 1.17 1.23-1.26,"
        " 1.18 1.24-1.27, 1.19 1.25-1.28, 1.20 1.25-1.29, 1.21 1.26-1.29, 1.22 1.27-1.30, 1.23 1.27-1.30,"
        " 1.24 1.28-1.31, 1.25 1.29-1.32, 1.26 1.29-1.33, 1.27 1.29-1.33, 1.28 1.30-1.34, 1.29 1.31-1.35,"
        " 1.30 1.32-1.36",
    ),
    _table(
        NODE_TERMINATION_HANDLER,
        Promise.TESTED,
        Source("aws/aws-node-termination-handler README.md, Kubernetes Compatibility, 2026-07-21"),
        "1.20 1.25-1.28, 1.21 1.25-1.29, 1.22 1.25-1.30, 1.23 1.25-1.30, 1.23.1 1.29-1.31, 1.24 1.29-1.31,"
        " 1.25 1.29-1.32",
    ),
)
