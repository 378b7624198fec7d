"""How workloads are written: what makes them answer while their pods move. Judged only where it is asked for.

The questions are those of eksup (K8S002, 003, 005, 006, 007); what it also asks, budgets, sockets and kube-proxy's mode
among them, is judged without being asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.checking import UpgradeCheck, unread
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.commands import kubectl
from kubectl_eksdoc.model.findings import Finding, Severity, Subject
from kubectl_eksdoc.model.workloads import Workload

_SCALED = ("Deployment", "StatefulSet")
_Rule = Callable[[Workload, Subject, str], Finding | None]


def _replicas(each: Workload, subject: Subject, command: str) -> Finding | None:
    return Finding.of("workload-single-replica", subject, command=command) if each.replicas == 1 else None


def _probe(each: Workload, subject: Subject, command: str) -> Finding | None:
    return None if each.template.probed else Finding.of("workload-probe-missing", subject, command=command)


def _spread(each: Workload, subject: Subject, command: str) -> Finding | None:
    if each.replicas == 1 or each.template.spread:
        return None
    return Finding.of("workload-spread-missing", subject, replicas=each.replicas, command=command)


def _min_ready(each: Workload, subject: Subject, command: str) -> Finding | None:
    return None if each.min_ready_s else Finding.of("workload-min-ready", subject, command=command)


def _grace(each: Workload, subject: Subject, command: str) -> Finding | None:
    if each.template.grace_s:
        return None
    return Finding.of("workload-grace-zero", subject, again=each.kind == "StatefulSet", command=command)


def _lacking(facts: CheckFacts, code: Code, kinds: tuple[str, ...], rule: _Rule) -> Iterator[Finding]:
    yield from unread(facts, code, f"where {code.name} is to be told", *code.needs, severity=Severity.LOW)
    for each in facts.cluster.workloads:
        if each.kind in kinds and each.owner is None and each.replicas > 0:
            command = kubectl("get", each.kind.lower(), each.name, each.namespace, "-o", "yaml")
            if found := rule(each, Subject(each.kind, each.name, each.namespace), command):
                yield found


def _check(code: Code, rule: _Rule, kinds: tuple[str, ...] = _SCALED) -> UpgradeCheck:
    judge = partial(_lacking, code=code, kinds=kinds, rule=rule)
    return UpgradeCheck((code,), Area.WORKLOADS, Gate.BEFORE_NODES, judge, code.needs)


CHECKS = (
    _check(Code.of("workload-single-replica"), _replicas),
    _check(Code.of("workload-probe-missing"), _probe),
    _check(Code.of("workload-spread-missing"), _spread),
    _check(Code.of("workload-min-ready"), _min_ready),
    _check(Code.of("workload-grace-zero"), _grace, (*_SCALED, "DaemonSet")),
)
