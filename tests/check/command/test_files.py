"""Manifests without a cluster: only the named files are read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run_cli

OLD = "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: ValidatingAdmissionPolicy\nmetadata:\n  name: x\n"
NEW = OLD.replace("v1beta1", "v1")
TEMPLATE = "{{- if .Values.on }}\n" + OLD + "{{- end }}\n"
CHART = """{{- range .Values.names }}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1beta3
kind: FlowSchema
metadata:
  name: {{ . }}
{{- end }}
"""
UNTOLD = "{{- if .Values.on }}\n" + OLD.replace("admissionregistration.k8s.io/v1beta1", "{{ .Values.api }}")
WAY = ("--from", "1.33", "--target", "1.34")


@pytest.mark.parametrize(("text", "code"), [(OLD, 1), (NEW, 0), (TEMPLATE, 1), (CHART, 1), (UNTOLD, 5)])
def test_files_are_judged_alone(text: str, code: int, tmp_path: Path) -> None:
    path = tmp_path / "it.yaml"
    path.write_text(text)
    ran = run_cli("check", "-f", str(tmp_path), *WAY, "-o", "json")
    told: dict[str, Any] = json.loads(ran.out)
    assert ran.code == code, ran.err
    assert ran.err == "manifests alone, no cluster was read\n"
    assert told["metadata"]["source"] == "file" and told["metadata"]["options"]["from"] == "1.33"
    assert {each["subject"]["name"] for each in told["findings"]} == ({str(path)} if code else set())


def test_where_nothing_is_upgraded_no_step_of_a_control_plane_is_spoken_of(tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text(OLD)
    same = run_cli("check", "-f", str(tmp_path), "--from", "1.34", "--target", "1.34")
    said = "Nothing to upgrade: the manifests were checked against Kubernetes 1.34. Not yet: 1 cause before they are"
    assert same.code == 1 and said in same.out and "control plane" not in same.out
    (tmp_path / "it.yaml").write_text(NEW)
    for form in ("table", "wide", "markdown", "html"):
        well = run_cli("check", "-f", str(tmp_path), "--from", "1.34", "--target", "1.34", "-o", form)
        assert well.code == 0 and "control plane" not in well.out, form


LIST = """apiVersion: v1
kind: List
items:
- apiVersion: policy/v1beta1
  kind: PodDisruptionBudget
"""
BROKEN = NEW + "---\n" + NEW + "  x: [\n"


@pytest.mark.parametrize(("text", "line"), [(LIST, 4), (BROKEN, 10), (NEW + "---\n" + TEMPLATE, 7)])
def test_sarif_leads_to_the_line(text: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text(text)
    told = json.loads(run_cli("check", "-f", str(tmp_path), *WAY, "-o", "sarif").out)
    (result,) = told["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": line}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (WAY, "none are given"),
        ((*WAY, "-f", "x", "--demo"), "--demo does"),
        (("--demo", "--refresh-insights"), "live cluster"),
        ((*WAY, "-f", "x", "--symptom", "dns"), "--symptom does"),
        ((*WAY, "-f", "x", "--only", "kubelet-skew"), "manifests alone"),
        ((*WAY, "-f", "nowhere"), "cannot be opened"),
        (("--from", "1.34", "--target", "1.33", "-f", "/dev/null"), "no upgrade path to the target"),
    ],
)
def test_what_files_cannot_tell_is_refused(words: tuple[str, ...], why: str) -> None:
    ran = run_cli("check", *words)
    assert ran.code == 2 and why in ran.err


def test_manifests_alone_load_nothing_of_clusters(tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text(NEW)
    words = ["check", "-f", str(tmp_path), *WAY]
    run = f"from kubectl_eksdoc.cli.main import run; run({words!r}, sys.stdout, sys.stderr)"
    script = f"import sys; {run}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "Nothing to do" in ran.stdout, ran.stderr
    of_clusters = (
        *("objects.karpenter", "model.nodes", "model.journal", "model.machines", "check.symptoms"),
        *("cli.rights.commands", "amazon.addon_needs", "model.coredns", "aws"),
    )
    loaded = set(ran.stdout.split())
    assert [each for each in of_clusters if f"kubectl_eksdoc.{each}" in loaded] == []


def test_each_check_that_is_proposed_can_be_run(tmp_path: Path) -> None:
    """No file causes an unknown fact about the target: the command ended with exit code 2."""
    (tmp_path / "it.yaml").write_text(OLD)
    ran = run_cli("check", "-f", str(tmp_path), "--from", "1.33", "--target", "1.40", "-o", "json")
    causes = json.loads(ran.out)["causes"]
    assert {each["subject"]["kind"] for each in causes} == {"API", "Kubernetes"}
    commands = [each["do"]["command"] for each in causes if "eksdoc check" in each["do"]["command"]]
    assert commands and {run_cli(*each.split()[2:]).code for each in commands} == {1}


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("chart/templates/a.yaml", UNTOLD, "helm template --kube-version 1.34 {}/chart"),
        ("kustomization.yaml", "resources: [https://example.com/it]\n", "kubectl kustomize {}"),
        ("a.yaml.gotmpl", UNTOLD, "helm template --kube-version 1.34 CHART"),
    ],
)
def test_what_makes_the_objects_is_proposed_with_the_same_versions(
    name: str, text: str, command: str, tmp_path: Path
) -> None:
    (tmp_path / "chart" / "templates").mkdir(parents=True)
    (tmp_path / "chart" / "templates" / "b.yaml").write_text(NEW)
    (tmp_path / name).write_text(text)
    (found,) = json.loads(run_cli("check", "-f", str(tmp_path), *WAY, "-o", "json").out)["findings"]
    (remedy,) = found["remedy"]
    begin, end = remedy["command"].split(" | ")
    assert begin == command.format(tmp_path)
    words = end.split()[2:]
    assert words[words.index("--from") + 1] == "1.33" and words[words.index("--target") + 1] == "1.34"


def test_what_has_long_been_refused_is_as_bad_as_what_will_be(tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text("apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata:\n  name: x\n")
    ran = run_cli("check", "-f", str(tmp_path), *WAY)
    assert ran.code == 1 and "Not yet: 1 cause before the control plane's step." in ran.out
    ran = run_cli("check", "-f", str(tmp_path), *WAY, "--fail-on", "high", "-o", "json")
    (found,) = json.loads(ran.out)["findings"]
    assert (ran.code, found["severity"]) == (1, "high") and "not served since 1.25" in found["message"]


def test_a_file_of_suppressions_of_the_cluster_fits_its_manifests_too(tmp_path: Path) -> None:
    """Findings that manifests cannot have are neither refused nor reported as out of date."""
    (tmp_path / "it.yaml").write_text(OLD)
    accepted = tmp_path / "accepted.txt"
    entry = "- {{code: {}, reason: it is known, until: 2099-12-31}}\n"
    accepted.write_text(entry.format("support-extended") + entry.format("api-in-manifest"))
    ran = run_cli("check", "-f", str(tmp_path), *WAY, "--suppressions", str(accepted))
    assert ran.code == 0, ran.err
    assert "1 finding suppressed" in ran.out and "OUT OF DATE" not in ran.out
