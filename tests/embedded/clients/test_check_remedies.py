"""Run check's remedies with kubectl on the served demo, then run check again: the cause is gone.

The demo has budgets that never allow an eviction, two budgets over one pod, and a short lameduck. The test adds a
webhook without a Service, and kube-proxy in IPVS mode.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.drain.duration.generations import learned_kubelet_times
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.wiring.stages import ServeSettings, served
from tests import required_programs

HOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "images"},
    "webhooks": [
        {
            "name": "images.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"service": {"name": "images", "namespace": "policy"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        }
    ],
}
Cause = tuple[str, str]


@dataclass
class Operator:
    """A user with a shell in `folder`, which has kubectl, and with the kubeconfig of the served cluster."""

    folder: Path
    config: str

    def does(self, line: str, given: str = "") -> str:
        """Run a printed command line, or another one."""
        environ = {"HOME": str(self.folder), "KUBECONFIG": self.config, "PATH": f"{self.folder}:{os.defpath}"}
        done = subprocess.run(
            ["sh", "-ec", line], cwd=self.folder, env=environ, input=given, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def checks(self, *words: str) -> dict[Cause, Any]:
        """The findings that do not pass, by code and name."""
        out, err = io.StringIO(), io.StringIO()
        argv = ["check", "--target", "1.35", "--no-aws", "-o", "json", "--kubeconfig", self.config, *words]
        run(argv, out, err, context=CommandContext(out, err, {}))
        assert out.getvalue(), err.getvalue()
        findings = json.loads(out.getvalue())["findings"]
        return {(each["code"], each["subject"]["name"]): each for each in findings if each["status"] != "pass"}

    def rewrites(self, name: str, key: str, was: str, becomes: str) -> None:
        """Edit a ConfigMap of kube-system, as a user with an editor does."""
        text = json.loads(self.does(f"kubectl get cm {name} -n kube-system -o json"))["data"][key]
        assert was in text
        patch = json.dumps({"data": {key: text.replace(was, becomes)}})
        (self.folder / "patch.json").write_text(patch, encoding="utf-8")
        self.does(f"kubectl patch cm {name} -n kube-system --type merge --patch-file patch.json")


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    config = str(tmp_path / "config")
    (tmp_path / "kubectl").symlink_to(required_programs.kubectl_of(required_programs.KUBECTLS[-1]))
    how = ServeSettings(60.0, config, lambda path, url: None, lambda text: None, learned_kubelet_times)
    with served(SourceChoice(demo=True), Connection(), None, how):
        yield Operator(tmp_path, config)


AS_PRINTED: dict[Cause, tuple[int, str]] = {
    ("budget-never-allows", "sale"): (0, "kubectl scale deployment sale -n shop --replicas=4 "),
    ("pod-several-budgets", "loyalty"): (0, "kubectl get pdb team-rewards -n shop -o yaml "),
    ("budget-missing", "rehearsal"): (0, "kubectl create poddisruptionbudget policy-webhook -n policy "),
    ("webhook-down", "images"): (1, "kubectl get validatingwebhookconfiguration images "),
}
"""Which of a finding's remedies is done, and how its command begins."""
BY_HAND: tuple[Cause, ...] = (("dns-kept-flows", "kube-proxy-config"), ("dns-lameduck-short", "coredns"))
"""Their ConfigMaps are edited, as the remedy says."""


@pytest.mark.long
def test_causes_are_gone_once_their_remedies_have_been_carried_out(operator: Operator) -> None:
    operator.does("kubectl create -f -", json.dumps(HOOK))
    operator.rewrites("kube-proxy-config", "config", "iptables", "ipvs")
    before = operator.checks()
    assert {*AS_PRINTED, *BY_HAND} <= before.keys()
    for cause, (at, begins) in AS_PRINTED.items():
        command = before[cause]["remedy"][at]["command"]
        assert command.startswith(begins)
        operator.does(command)
    assert (operator.folder / "images.yaml").exists() and (operator.folder / "team-rewards.yaml").exists()
    assert "iptables" in before[BY_HAND[0]]["remedy"][0]["text"]
    assert "lameduck=20s" in before[BY_HAND[1]]["remedy"][0]["command"]
    operator.rewrites("kube-proxy-config", "config", "ipvs", "iptables")
    operator.rewrites("coredns", "Corefile", "lameduck 5s", "lameduck 20s")
    operator.does("kubectl rollout status deployment sale -n shop --timeout 30s")
    after = operator.checks()
    assert {*AS_PRINTED, *BY_HAND} & after.keys() == set()
    assert after.keys() <= before.keys(), "no remedy has made another cause"
