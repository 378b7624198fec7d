"""Clusters with which all is well are not stopped: not by what they run, and not by what AWS would know."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.amazon.upgrades.written_kinds import going, gone_before
from kubectl_eksdoc.check.checking import UpgradeCheck
from kubectl_eksdoc.check.facts import CheckFacts, UpgradePath
from kubectl_eksdoc.check.plan import CheckWish, plan_check
from kubectl_eksdoc.check.registry import chosen, kinds_of
from kubectl_eksdoc.host.archives.snapshot import SnapshotReader
from kubectl_eksdoc.model.api_objects import ApiUsage, KindUsage
from kubectl_eksdoc.model.aws.addons import Addon, AddonVersion, AddonVersions, CompatibleVersion
from kubectl_eksdoc.model.check_needs import CheckNeed
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.quantities import Version
from tests.builders import NOW
from tests.check.healthy import SUPPORTED
from tests.check.of_aws import a_group, eks, told
from tests.cli.check.clusters import CURRENT, MANAGED, a_dump
from tests.cli.running import run_cli

NOT_IN_A_DUMP = (
    "api-in-helm",  # Secrets of Helm
    "api-refused-today",
    "api-requested",  # the API server's metrics
    "api-written",
    "dns-unread",  # logs
    "interruption-provider-fails",
    "interruption-queue",
    "interruption-rights",
    "interruption-setting",
    "interruption-sign-of-life",
)
"""What kubectl get does not print, or this dump does not hold."""


@pytest.mark.parametrize(
    ("programs", "auto_mode"),
    [(MANAGED, False), (CURRENT, False), (MANAGED[2:], True)],
    ids=["managed node groups", "with what many run", "EKS Auto Mode"],
)
def test_a_healthy_cluster_exits_with_0(programs: tuple, auto_mode: bool, tmp_path: Path) -> None:  # type: ignore[type-arg]
    words = ("check", "--snapshot", a_dump(tmp_path, programs, auto_mode), "--target", "1.34", "--no-aws")
    ran = run_cli(*words, "--accept-unknown", ",".join(NOT_IN_A_DUMP), "-o", "json")
    told = json.loads(ran.out)
    above = [each for each in told["findings"] if each["severity"] != "info" and each["status"] != "pass"]
    assert [each["message"] for each in above if each["code"] not in NOT_IN_A_DUMP or each["status"] == "fail"] == []
    assert ran.code == 0 and told["verdict"].endswith("accepted by --accept-unknown. AWS is left out (--no-aws).")
    assert run_cli(*words).code == 5, "unknown is no pass"


def test_the_last_step_of_the_list_can_exit_with_0_without_aws(tmp_path: Path) -> None:
    """As the cluster is once all steps are done."""
    folder = a_dump(tmp_path, CURRENT)
    for each in tmp_path.glob("*.json"):
        now = each.read_text().replace("v1.33.5-eks", "v1.34.2-eks")
        each.write_text(now.replace("proxy:v1.33.10", "proxy:v1.34.6"))
    words = ("check", "--snapshot", folder, "--target", "1.34", "--no-aws", "--accept-unknown", ",".join(NOT_IN_A_DUMP))
    steps = json.loads(run_cli(*words, "-o", "json").out)["checklist"]
    last = [command for command in steps[-1]["commands"] if " check " in command]
    assert len(last) == 2
    assert [run_cli(*shlex.split(each)[2:]).code for each in last] == [0, 0]


def test_what_only_aws_knows_is_no_answer_without_it() -> None:
    ran = run_cli("check", "--demo", "--no-aws", "--only", "insight-error")
    assert ran.code == 2 and "leaves out all that was asked for" in ran.err
    told = json.loads(run_cli("check", "--demo", "--no-aws", "--target", "1.34", "-o", "json").out)
    assert "insight-error" not in {code for each in told["checks"] for code in each["codes"]}, "it does not pass"
    assert not [each for each in told["findings"] if "AWS" in each["message"] and each["status"] == "unknown"]
    assert told["aws"] == "AWS is left out (--no-aws)" and told["metadata"]["options"]["no-aws"] is True


OFFERED = {"vpc-cni": "v1.21.2-eksbuild.1", "coredns": "v1.13.2-eksbuild.3", "kube-proxy": "v1.33.10-eksbuild.2"}


@pytest.mark.parametrize(
    ("programs", "auto_mode"),
    [(MANAGED, False), (CURRENT, False), (MANAGED[2:], True)],
    ids=["managed node groups", "with what many run", "EKS Auto Mode"],
)
def test_with_the_answers_of_aws_nothing_is_above_info(programs: tuple, auto_mode: bool, tmp_path: Path) -> None:  # type: ignore[type-arg]
    """The commands that are summed up find nothing in the dump itself: see above."""
    checks: tuple[UpgradeCheck, ...] = chosen()
    cluster = SnapshotReader(a_dump(tmp_path, programs, auto_mode)).read(kinds_of(checks))
    now, target = Version(1, 33), Version(1, 34)
    listed = (*going(now, target), *gone_before(now))
    fits = (CompatibleVersion("1.33"), CompatibleVersion("1.34", True))
    groups = {"node_groups": {}, "group_updates": {}, "releases": {}} if auto_mode else {}
    aws = told(
        a_group("workers"),
        versions=SUPPORTED,
        addons=() if auto_mode else tuple(Addon(name, version, "ACTIVE") for name, version in OFFERED.items()),
        addon_versions={
            name: AddonVersions(name, "networking", "eks", (AddonVersion(version, fits),))
            for name, version in OFFERED.items()
        },
        **groups,
    )
    facts = CheckFacts(
        replace(cluster, observed_at=NOW),
        UpgradePath(now, target, (target,), "as EKS describes it"),
        eks(auto_mode=auto_mode),
        aws,
        ApiUsage((), tuple(KindUsage(each, ()) for each in listed), ()),
        dict.fromkeys(CheckNeed, ()),
        proxy={"data": {"config": "mode: iptables"}},
    )
    plan = plan_check(facts, checks, CheckWish())
    above = [each for each in plan.findings if each.severity is not Severity.INFO and each.status is not Status.PASS]
    assert [(each.code.name, each.message) for each in above] == []
    assert plan.outcome.status is Status.PASS and plan.causes == ()
