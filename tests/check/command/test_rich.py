"""``check`` of the recorded cluster finds each planted defect in its scope; all facts of AWS are unknown."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.check.checking import Area, UpgradeCheck
from kubectl_eksdoc.check.registry import ALL_CHECKS
from kubectl_eksdoc.cli.rights import commands
from tests.check.command.cached_runs import RICH, document

ROWS = {
    "pod-returns": ("default/tolerates-all", "default/pinned"),
    "pod-unmanaged": ("default/pinned-bare",),
    "pod-local-volume": ("data/local-db",),
    "pod-emptydir": ("default/cache-mem", "default/spool"),
    "pod-hostpath": ("default/hostpath-app",),
    "pod-protected": ("default/keep-karpenter", "default/keep-autoscaler"),
    "pod-pending": ("default/too-big",),
    "runtime-socket": ("kube-system/log-agent", "default/builder", "default/ci-runner", "kube-system/node-agent"),
    "pods-bouncing": ("shop/crashing", "shop/half-sick"),
    "budget-unhealthy": ("shop/half-sick",),
    "budget-sync-failed": ("shop/reindex",),
    "pod-several-budgets": ("default/twice-guarded", "data/postgres"),
    "budget-never-allows": (
        "default/app-7",
        "default/app-8",
        "default/bare",
        "shop/ads",
        "shop/all-needed",
        "shop/frozen",
        "shop/lonely",
        "shop/sale",
    ),
    "job-loses-work": ("shop/reindex",),
    "dns-on-spot": ("kube-system/coredns",),
    "interruption-setting": ("karpenter/karpenter",),
    "ami-al2": ("blue",),
}
"""Of ``rich.md``: what is a trap for an upgrade. Where replacements land is what `drain plan` is for."""


@pytest.fixture
def told() -> dict[str, Any]:
    return document("--snapshot", RICH, "--target", "1.34")


def name(subject: dict[str, str]) -> str:
    return f"{subject['namespace']}/{subject['name']}" if "namespace" in subject else subject["name"]


@pytest.mark.parametrize("code", ROWS)
def test_every_row_is_named(told: dict[str, Any], code: str) -> None:
    found = {name(each["subject"]) for each in told["findings"] if each["code"] == code}
    assert found == set(ROWS[code]) if code.startswith("budget-") else found >= set(ROWS[code])


def of_aws_alone(check: UpgradeCheck) -> bool:
    """Support has a table of its own, so it can be judged without AWS."""
    asks = any(need in commands.OPERATIONS_BY_NEED for need in check.needs)
    return asks and not check.kinds and check.area is not Area.SUPPORT and len(check.codes) == 1


def test_what_the_dump_does_not_hold_is_one_cause(told: dict[str, Any]) -> None:
    """And no check of the same dump is proposed for it."""
    (cause,) = (each for each in told["causes"] if each["subject"]["kind"] == "Snapshot")
    assert cause["subject"]["name"] == RICH and cause["status"] == "unknown"
    assert {"webhook-down", "api-in-helm", "api-requested"} <= {each["code"] for each in cause["findings"]}
    assert cause["do"]["command"] == "kubectl eksdoc snapshot cluster.eksdoc"
    assert "it does not hold what these need: webhook-down, " in cause["because"]


def test_of_aws_nothing_is_known(told: dict[str, Any]) -> None:
    status = {each["codes"][0]: each["status"] for each in told["checks"] if len(each["codes"]) == 1}
    wanted = [check.codes[0].name for check in ALL_CHECKS if of_aws_alone(check)]
    assert len(wanted) >= 8
    assert {code: status[code] for code in wanted} == dict.fromkeys(wanted, "unknown")
    assert told["aws"] and told["recognised"] is None
    assert told["way"]["assumed"] and "as the newest kubelet has it" in told["verdict"]
