"""Healthy clusters are not blocked because of their software, if AWS is excluded on purpose."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.check.command.clusters import CURRENT, KEPT, KeptCluster, a_dump
from tests.cli.running import run_cli

NOT_IN_A_DUMP = (
    "api-in-helm",  # Secrets of Helm
    "api-requested",  # the API server's metrics
    "api-written",
    "dns-unread",  # logs
    "imds-pods-possible",  # the hop limits of the instances that run
    "interruption-provider-fails",
    "interruption-queue",
    "interruption-rights",
    "interruption-setting",
    "interruption-sign-of-life",
)
"""What kubectl get does not print, or this dump does not hold."""


@pytest.mark.parametrize("of", KEPT.values(), ids=KEPT)
def test_a_healthy_cluster_exits_with_0(of: KeptCluster, tmp_path: Path) -> None:
    words = ("check", "--snapshot", a_dump(tmp_path, of), "--target", "1.34", "--no-aws")
    ran = run_cli(*words, "--accept-unknown", ",".join(NOT_IN_A_DUMP), "-o", "json")
    told = json.loads(ran.out)
    above = [each for each in told["findings"] if each["severity"] != "info" and each["status"] != "pass"]
    assert [each["message"] for each in above if each["code"] not in NOT_IN_A_DUMP or each["status"] == "fail"] == []
    assert ran.code == 0 and told["verdict"].endswith("accepted by --accept-unknown. AWS is left out (--no-aws).")
    assert run_cli(*words).code == 5, "unknown is no pass"


def test_the_last_step_of_the_list_can_exit_with_0_without_aws(tmp_path: Path) -> None:
    """The cluster is in the state after all steps."""
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
