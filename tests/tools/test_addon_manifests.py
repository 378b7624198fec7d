"""New manifests of add-ons are found in clones, and the weekly workflow runs the tool with its current arguments."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.yaml_reader import yaml_of
from tools import addon_manifests
from tools.registry import ROOT

DAEMON_SET = (
    "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: aws-node, namespace: kube-system}\nspec: {template: {spec: "
    "{containers: [{name: aws-node, image: 'x/amazon-k8s-cni:%s'}]}}}\n"
)


def a_clone(root: Path, **texts: str) -> Path:
    """A bare clone, as in the workflow; each tag has its manifest."""
    manifest = root / "config" / "master" / "aws-k8s-cni.yaml"
    manifest.parent.mkdir(parents=True)
    (root / "pkg" / "addons" / "default").mkdir(parents=True)
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run([*git, "init", "-q"], check=True)
    for tag, text in {"v0": "", **texts}.items():
        manifest.write_text(text)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", tag], check=True)
        subprocess.run([*git, "tag", tag.replace("_", ".")], check=True)
    return root / ".git"


def test_versions_that_are_not_known_are_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cni = a_clone(tmp_path / "cni", v1_18_1=DAEMON_SET % "v1.18.1", v1_99_0=DAEMON_SET % "v1.99.0")
    words = [str(cni), str(a_clone(tmp_path / "eksctl")), "--check"]
    assert (addon_manifests.main(words), capsys.readouterr().out) == (1, "new: vpc-cni v1.99.0\n")


def test_the_weekly_workflow_names_the_two_clones() -> None:
    (job,) = yaml_of((ROOT / ".github" / "workflows" / "data.yml").read_text(encoding="utf-8"))["jobs"].values()
    script = "\n".join(step.get("run", "") for step in job["steps"])
    (words,) = re.findall(r"python -m tools\.addon_manifests (.*)", script)
    args = addon_manifests.parser().parse_args(shlex.split(words))
    assert not args.check
    cloned = re.search(r"for name in (\S+) (\S+); do", script)
    assert cloned
    assert [f"clones/{each.partition('/')[2]}" for each in cloned.groups()] == [str(args.cni), str(args.eksctl)]
