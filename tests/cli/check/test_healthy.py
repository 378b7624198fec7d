"""Clusters with which all is well are not stopped: not by what they run, and not by what AWS would know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


def test_what_only_aws_knows_is_no_answer_without_it() -> None:
    ran = run_cli("check", "--demo", "--no-aws", "--only", "insight-error")
    assert ran.code == 2 and "leaves out all that was asked for" in ran.err
    told = json.loads(run_cli("check", "--demo", "--no-aws", "--target", "1.34", "-o", "json").out)
    assert "insight-error" not in {code for each in told["checks"] for code in each["codes"]}, "it does not pass"
    assert not [each for each in told["findings"] if "AWS" in each["message"] and each["status"] == "unknown"]
    assert told["aws"] == "AWS is left out (--no-aws)" and told["metadata"]["options"]["no-aws"] is True
