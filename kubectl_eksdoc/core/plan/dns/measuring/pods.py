"""The pods that ask, and the ConfigMap that owns them and carries their program, as they are sent to the cluster."""

from __future__ import annotations

import base64

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.dns_measure import MARKS, MEASURE_LABEL
from kubectl_eksdoc.core.plan.dns.measuring.manner import Happening
from kubectl_eksdoc.core.plan.dns.measuring.plan import MeasurePlan, MeasurePod
from kubectl_eksdoc.core.plan.probe_manifests import Errand, owner, pod

FILE = "asker.pyz"
_FOLDER = "/eksdoc"
_INTENT = {
    Happening.WATCH: "it changes nothing",
    Happening.ROLLOUT: "it restarts the rollout of Deployment coredns, as kubectl rollout restart does",
    Happening.EVICTION: "it evicts one pod of CoreDNS",
}


def errand(plan: MeasurePlan) -> Errand:
    manner = plan.manner
    return Errand("dns-measure", MEASURE_LABEL, plan.ident, manner.namespace, manner.deadline_s)


def owner_manifest(plan: MeasurePlan, program: bytes) -> Doc:
    """What is intended stands in it before anything is done."""
    goes = ", ".join(each.name for each in plan.affected) or "no pod goes by it"
    about = (
        "kubectl eksdoc coredns-lameduck --measure owns its pods by this; both go when it is deleted. "
        f"While they ask DNS, {_INTENT[plan.manner.happening]}: {goes}."
    )
    carried = {FILE: base64.b64encode(program).decode("ascii")}
    return owner(errand(plan), {"data": {"about": about}, "binaryData": carried})


def pod_manifest(made: MeasurePod, plan: MeasurePlan, asked: str, owner_uid: str = "") -> Doc:
    """`asked`: the plan, as the program takes it; `owner_uid` "": as it is shown before there is an owner."""
    of = errand(plan)
    container = {
        "name": MARKS.container,
        "image": plan.manner.image,
        "command": ["python3", "-I", "-B", f"{_FOLDER}/{FILE}", "--plan", asked],
        # A limit below a whole CPU would stop it in the middle of asking.
        "resources": {"requests": {"cpu": "50m", "memory": "48Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}},
        "volumeMounts": [{"name": "program", "mountPath": _FOLDER, "readOnly": True}],
    }
    volumes = [{"name": "program", "configMap": {"name": of.owner_name, "items": [{"key": FILE, "path": FILE}]}}]
    return pod(of, made.name, made.node, container, owner_uid, volumes=volumes, dnsPolicy="Default")


def manifests(plan: MeasurePlan, program: bytes, asked: str) -> tuple[Doc, ...]:
    """All that would be made, in its order; whose the pods are is known once their owner is made."""
    return (owner_manifest(plan, program), *(pod_manifest(each, plan, asked) for each in plan.pods))
