"""``check`` finds the demo's client of an API that 1.34 does not serve, and uses in files; for 1.33 it finds
nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_eksdoc.amazon.written_kinds import kinds_with_removed_versions
from kubectl_eksdoc.cli.rights.commands import RIGHTS_BY_NEED
from kubectl_eksdoc.model.kinds import CheckNeed
from kubectl_eksdoc.model.quantities import Version
from tests.cli.running import run_cli

CODES = "api-requested,api-written,api-in-helm,api-in-manifest"
PDB = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
VAP = "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: x}\n"


def findings(*words: str, target: str = "1.34") -> list[dict[str, Any]]:
    ran = run_cli("check", "--demo", "--target", target, "--only", CODES, "-o", "json", *words)
    found: list[dict[str, Any]] = json.loads(ran.out)["findings"]
    assert ran.code == (1 if any(each["status"] == "fail" for each in found) else 0), ran.err
    return found


def test_the_demo_on_its_way_to_the_next_version() -> None:
    found = [(each["code"], each["subject"]["name"]) for each in findings()]
    assert sorted(found) == [
        ("api-in-helm", "policy-webhook"),
        ("api-in-helm", "policy-webhook"),
        ("api-requested", "validatingadmissionpolicies.v1beta1.admissionregistration.k8s.io"),
        ("api-written", "no-host-path"),
        ("api-written", "require-owner"),
        ("api-written", "require-owner"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--demo", "--only", "api-requested", "-f", "nowhere"), "that is api-in-manifest"),
        (("--demo", "--gate", "after", "-f", "nowhere"), "that is api-in-manifest"),
        (("--demo", "--symptom", "dns", "-f", "nowhere"), "that is api-in-manifest"),
        (("--demo", "--only", "api-in-manifest"), "Name them with -f."),
        (("--demo", "--only", "api-in-manifest", "-f", "nowhere"), "-f nowhere cannot be opened"),
        (
            ("--demo", "--only", "api-in-helm", "--without", "helm-releases"),
            "--without leaves out all of api-in-helm\n",
        ),
        (("--snapshot", "-", "-f", "-"), "not both"),
    ],
)
def test_what_judges_nothing_does_not_pass(words: tuple[str, ...], said: str) -> None:
    ran = run_cli("check", *words)
    assert ran.code == 2 and said in ran.err


def test_findings_that_no_step_of_that_gate_waits_for_do_not_pass() -> None:
    ran = run_cli("check", "--demo", "--only", "kubelet-skew,nodes-behind", "--gate", "before-nodes")
    assert ran.code == 2 and "none of kubelet-skew, nodes-behind has to be fixed before --gate before-nodes" in ran.err
    assert run_cli("check", "--demo", "--only", "kubelet-skew,nodes-behind", "--gate", "after").code == 1


@pytest.mark.parametrize(("now", "target"), [(21, 22), (24, 25), (28, 29), (31, 32), (33, 34), (34, 36)])
def test_every_list_that_is_asked_for_has_its_right(now: int, target: int) -> None:
    written = {right.resource for right in RIGHTS_BY_NEED[CheckNeed.API_WRITTEN]}
    assert set(kinds_with_removed_versions(Version(1, now), Version(1, target))) <= written
