"""Manifests without a cluster: nothing but the files that are named is read."""

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
UNTOLD = "{{- if .Values.on }}\n" + OLD.replace("admissionregistration.k8s.io/v1beta1", "{{ .Values.api }}")
WAY = ("--from", "1.33", "--target", "1.34")


@pytest.mark.parametrize(("text", "code"), [(OLD, 1), (NEW, 0), (TEMPLATE, 1), (UNTOLD, 5)])
def test_files_are_judged_alone(text: str, code: int, tmp_path: Path) -> None:
    path = tmp_path / "it.yaml"
    path.write_text(text)
    ran = run_cli("check", "-f", str(tmp_path), *WAY, "-o", "json")
    told: dict[str, Any] = json.loads(ran.out)
    assert ran.code == code, ran.err
    assert ran.err == "manifests alone, no cluster was read\n"
    assert told["metadata"]["source"] == "file" and told["metadata"]["options"]["from"] == "1.33"
    assert {each["subject"]["name"] for each in told["findings"]} == ({str(path)} if code else set())


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_no_cluster_is_called_unknown_where_none_was_to_be_read(form: str, tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text(OLD)
    said = run_cli("check", "-f", str(tmp_path), *WAY, "-o", form).out
    assert "Upgrade check of manifests" in said and "manifests alone, no cluster was read" in said
    assert "unknown cluster" not in said and "cluster unknown" not in said


def test_what_has_long_been_refused_is_as_bad_as_what_will_be(tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text("apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata:\n  name: x\n")
    ran = run_cli("check", "-f", str(tmp_path), *WAY, "--fail-on", "high", "-o", "json")
    (found,) = json.loads(ran.out)["findings"]
    assert (ran.code, found["severity"]) == (1, "high") and "not served since 1.25" in found["message"]


@pytest.mark.parametrize("output", ["table", "wide", "junit", "sarif", "yaml", "html", "markdown"])
def test_every_format_takes_them(output: str, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(OLD)
    ran = run_cli("check", "-f", str(tmp_path), *WAY, "-o", output)
    assert ran.code == 1 and "old.yaml" in ran.out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (WAY, "none are given"),
        ((*WAY, "-f", "x", "--demo"), "--demo does"),
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
        *("objects.karpenter", "model.pods", "model.nodes", "model.journal", "model.aws.machines", "check.symptoms"),
        *("cli.rights.commands", "amazon.upgrades.software", "model.coredns", "aws"),
    )
    loaded = set(ran.stdout.split())
    assert [each for each in of_clusters if f"kubectl_eksdoc.{each}" in loaded] == []
