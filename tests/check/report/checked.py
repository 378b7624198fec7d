"""Reports of checks with hand-made findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from kubectl_eksdoc.check.checking import Area, CheckFacts, Gate, UpgradeCheck
from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.check.registry import choose_checks
from kubectl_eksdoc.check.report.formats import CheckReport
from kubectl_eksdoc.check.symptoms import Symptom, codes_of_symptom
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject, Suppression, When
from kubectl_eksdoc.model.kinds import CheckNeed
from kubectl_eksdoc.report.text import Appearance
from tests.check.healthy import healthy

LOOK = Appearance(width=120)
NARROW = Appearance(width=80)

SKEW = Finding(
    Code.of("kubelet-skew"),
    Severity.HIGH,
    Status.FAIL,
    Subject("Nodegroup", "blue"),
    "2 nodes are too old",
    ("blue-1, blue-2",),
    (Remedy("Upgrade them.", "kubectl get nodes"), Remedy("Think.", when=When.LATER)),
)
UNFIT = Finding(
    Code.of("check-addon-unfit"),
    Severity.MEDIUM,
    Status.UNKNOWN,
    Subject("Addon", "coredns"),
    "whether it fits is not known",
    missing="eks:DescribeAddonVersions",
)
STUCK = Finding(
    Code.of("pod-several-budgets"),
    Severity.HIGH,
    Status.FAIL,
    Subject("Deployment", "web", "shop"),
    "its pods are under 2 budgets",
    ("web, team",),
    (Remedy("Scale it.", "kubectl describe pods -n shop"),),
)
SLIGHT = Finding(Code.of("support-ends"), Severity.INFO, Status.PASS, Subject("Cluster", "prod"), "it has time")
GONE = Finding(
    Code.of("check-drain"), Severity.HIGH, Status.UNKNOWN, Subject("Command", "drain plan"), "it could not be had"
)


def check(area: Area, gate: Gate | None, *found: Finding, of: Sequence[object] = ()) -> UpgradeCheck:
    return UpgradeCheck(tuple(of) or tuple({each.code: 0 for each in found}), area, gate, lambda _: found)  # type: ignore[arg-type]


def usual(*found: Finding) -> list[UpgradeCheck]:
    return [
        check(Area.NODES, Gate.BEFORE_CONTROL_PLANE, *(found or (SKEW,))),
        check(Area.ADDONS, Gate.BEFORE_CONTROL_PLANE, UNFIT),
        check(Area.SUPPORT, None, SLIGHT),
    ]


def accepted(of: Finding, reason: str = "agreed") -> Suppression:
    return Suppression(of.code.name, reason, date(2027, 1, 31), where="accepted.yaml, entry 1")


def view(
    checks: Sequence[UpgradeCheck] = (), wish: CheckScope = CheckScope(), facts: CheckFacts | None = None
) -> CheckReport:
    plan = plan_check(facts or healthy(), checks or usual(), wish)
    return replace(CheckReport(plan, options={}), tool_version="0.0.0")


def stuck(*found: Finding) -> CheckReport:
    only = codes_of_symptom(Symptom.DRAIN_STUCK)
    facts = replace(healthy(), command_findings=dict.fromkeys(CheckNeed, ()) | {CheckNeed.PLAN_DRAIN: found})  # type: ignore[arg-type]
    return view(
        list(choose_checks(["check-drain"])), CheckScope(only=frozenset(only), symptom=Symptom.DRAIN_STUCK), facts
    )
