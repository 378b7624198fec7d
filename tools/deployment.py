"""``deploy/check.yaml``: the output of ``check --in-cluster``, as a base for Kustomize; overlays set the cluster."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import yaml

from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.main import run

PATH = Path(__file__).resolve().parents[1] / "deploy" / "check.yaml"
NAMESPACE = "eksdoc"
CLUSTER, REGION = "CLUSTER", "us-east-1"
"""The values that an overlay replaces; pods that keep them fail, as there is no such cluster."""

_HEAD = f"""\
# Written by `make docs` from: kubectl eksdoc check --in-cluster --schedule "0 6 * * *" -n {NAMESPACE} -o yaml
# It reads; none of its rights changes anything. An overlay replaces {CLUSTER} and {REGION}: docs/in-cluster.md.
"""
_KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "x", "user": {}}],
    "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    "current-context": "x",
}


def check() -> str:
    """Sends no request: the role and the CronJob do not depend on the cluster."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config"
        config.write_text(yaml.safe_dump(_KUBECONFIG), encoding="utf-8")
        words = ["check", "--in-cluster", "--schedule", "0 6 * * *", "-n", NAMESPACE, "-o", "yaml"]
        words += ["--cluster-name", CLUSTER, "--region", REGION, "--kubeconfig", str(config)]
        out, err = io.StringIO(), io.StringIO()
        code = run(words, out, err, context=CommandContext(out, err, {"HOME": folder, "PATH": ""}))
    if code:
        raise ValueError(f"check --in-cluster ends with exit code {code}: {err.getvalue()}")
    return _HEAD + "---\n" + out.getvalue().partition("\n---\n")[2]
