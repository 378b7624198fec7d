"""The finding that something which short-lived pods of ours needed is still there."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject


def left_finding(code: Code, owner: str, namespace: str, left: Sequence[str], not_removed: str) -> Finding:
    """`left`: names of pods; `not_removed`: why their owner could not be removed, "" if it was."""
    if not_removed:
        message = f"ConfigMap {owner} and its pods could not be removed: {not_removed}"
        command = f"kubectl delete configmap {owner} -n {namespace}"
    else:
        pods = "1 pod has" if len(left) == 1 else f"{len(left)} pods have"
        message = f"{pods} not gone yet, though what owned them is deleted"
        command = f"kubectl delete pods -n {namespace} {' '.join(left)}"
    return Finding(
        code,
        Severity.LOW,
        Status.FAIL,
        Subject("ConfigMap", owner, namespace),
        message,
        tuple(left),
        (Remedy("Remove them.", command),),
    )
