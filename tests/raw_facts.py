"""Facts made from the API objects of the recorded cases, as directly as possible and without `kubectl_eksdoc.objects`.

The tables of upstream's tests hold objects that no server would store (no UID, no phase, a group that
does not exist).
"""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from kubectl_eksdoc.model.budgets import Budget, BudgetStatus, IntOrPercent
from kubectl_eksdoc.model.nodes import ControllerOwner, Node, Pod, Toleration, Volume, VolumeKind
from kubectl_eksdoc.model.selectors import NOTHING, Requirement, Selector, from_parts
from kubectl_eksdoc.model.workloads import Workload

DATA = Path(__file__).parent / "data"

Raw = Mapping[str, Any]

_KEPT_VOLUMES = {
    "emptyDir": "medium",
    "hostPath": "path",
    "persistentVolumeClaim": "claimName",
    "awsElasticBlockStore": "volumeID",
}


def cases(table: str) -> list[dict[str, Any]]:
    """The cases of ``data/cases/{table}.json``."""
    held: dict[str, Any] = json.loads((DATA / "cases" / f"{table}.json").read_text())
    found: list[dict[str, Any]] = held["cases"]
    return found


def lines(path: str) -> Iterator[dict[str, Any]]:
    """The lines of a recording under ``data/``, gzipped or not."""
    file = DATA / path
    text = gzip.decompress(file.read_bytes()) if path.endswith(".gz") else file.read_bytes()
    return (json.loads(line) for line in text.splitlines() if line.strip())


def recorded(cluster: str, kind: str) -> list[dict[str, Any]]:
    """The items of one kind in ``data/clusters/{cluster}.tar.gz``, as ``pods`` or ``deployments``."""
    with tarfile.open(DATA / "clusters" / f"{cluster}.tar.gz") as archive:
        for member in archive.getmembers():
            if Path(member.name).name == f"{kind}.json":
                file = archive.extractfile(member)
                assert file is not None
                items: list[dict[str, Any]] = json.load(file)["items"]
                return items
    return []


def when(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def owner(meta: Raw) -> ControllerOwner | None:
    for ref in meta.get("ownerReferences") or ():
        if ref.get("controller"):
            return owner_of(ref)
    return None


def owner_of(ref: Raw) -> ControllerOwner:
    group = ref.get("apiVersion", "").rpartition("/")[0]
    return ControllerOwner(ref["kind"], ref.get("name", ""), ref.get("uid", ""), group)


def condition(raw: Raw, kind: str) -> Raw:
    for found in (raw.get("status") or {}).get("conditions") or ():
        if found["type"] == kind:
            return dict(found)
    return {}


def tolerations(spec: Raw) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(t.get("key", ""), t.get("operator") or "Equal", t.get("value", ""), t.get("effect", ""))
        for t in spec.get("tolerations") or ()
    )


def pod(raw: Raw) -> Pod:
    meta, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    volumes = tuple(
        Volume(v["name"], VolumeKind(kind), v[kind].get(detail, ""))
        for v in spec.get("volumes") or ()
        for kind, detail in _KEPT_VOLUMES.items()
        if kind in v
    )
    return Pod(
        namespace=meta.get("namespace", "default"),
        name=meta["name"],
        uid=meta.get("uid", ""),
        labels=meta.get("labels") or {},
        node=spec.get("nodeName", ""),
        phase=status.get("phase", ""),
        ready=condition(raw, "Ready").get("status") == "True",
        owner=owner(meta),
        annotations=meta.get("annotations") or {},
        deletion_deadline=when(meta.get("deletionTimestamp")),
        tolerations=tolerations(spec),
        volumes=volumes,
        finalizers=tuple(meta.get("finalizers") or ()),
    )


def selector(raw: Raw | None) -> Selector:
    if raw is None:
        return NOTHING
    expressions = tuple(
        Requirement(e["key"], e["operator"], tuple(e.get("values") or ())) for e in raw.get("matchExpressions") or ()
    )
    return from_parts(raw.get("matchLabels") or {}, expressions)


def amount(value: int | str | None) -> IntOrPercent | None:
    if value is None or isinstance(value, int):
        return None if value is None else IntOrPercent(value)
    return IntOrPercent(int(value[:-1]), percent=True)


def status(raw: Raw) -> BudgetStatus:
    """The numbers of a budget's status; an absent number is 0."""
    names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    allowed, current, desired, expected = (int(raw.get(name, 0)) for name in names)
    return BudgetStatus(allowed, current, desired, expected)


def budget(raw: Raw) -> Budget:
    meta, spec, held = raw["metadata"], raw["spec"], raw.get("status") or {}
    allowed = condition(raw, "DisruptionAllowed")
    return Budget(
        namespace=meta.get("namespace", "default"),
        name=meta["name"],
        uid=meta.get("uid", ""),
        selector=selector(spec.get("selector")),
        status=status(held),
        min_available=amount(spec.get("minAvailable")),
        max_unavailable=amount(spec.get("maxUnavailable")),
        unhealthy_policy=spec.get("unhealthyPodEvictionPolicy", ""),
        generation=meta.get("generation", 0),
        observed_generation=held.get("observedGeneration", 0),
        condition_status=allowed.get("status", ""),
        condition_reason=allowed.get("reason", ""),
        condition_message=allowed.get("message", ""),
        disrupted={name: moment for name, at in (held.get("disruptedPods") or {}).items() if (moment := when(at))},
    )


def workload(raw: Raw, kind: str = "") -> Workload:
    """A workload of any kind that has spec.replicas."""
    meta, spec = raw["metadata"], raw.get("spec") or {}
    template = (spec.get("template") or {}).get("spec") or {}
    return Workload(
        kind=raw.get("kind", kind),
        namespace=meta.get("namespace", "default"),
        name=meta["name"],
        uid=meta.get("uid", ""),
        replicas=spec.get("replicas", 1),
        owner=owner(meta),
        template_tolerations=tolerations(template),
        pinned_to=template.get("nodeName", ""),
    )


def node(raw: Raw) -> Node:
    meta = raw["metadata"]
    unschedulable = bool((raw.get("spec") or {}).get("unschedulable"))
    return Node(meta["name"], meta.get("uid", ""), meta.get("labels") or {}, unschedulable=unschedulable)


def selecting(budgets: Sequence[Budget], of: Pod) -> tuple[Budget, ...]:
    """The budgets that select a pod, by brute force: every budget is tried."""
    return tuple(b for b in budgets if b.namespace == of.namespace and b.selector.matches(of.labels))
