"""The base for Kustomize: kubectl builds it, and the overlay that is shown names the cluster everywhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from kubectl_eksdoc import __version__
from tests import needed
from tests.contracts.source import ROOT
from tests.reading import yaml_documents
from tools import deployment, registry


def built(folder: Path) -> list[dict[str, Any]]:
    command = [needed.kubectl(), "kustomize", str(folder), "--load-restrictor", "LoadRestrictionsNone"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return yaml_documents(done.stdout)


def container_of(docs: list[dict[str, Any]]) -> dict[str, Any]:
    (cron_job,) = (each for each in docs if each["kind"] == "CronJob")
    (found,) = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_the_base_is_what_the_command_prints_in_a_namespace_of_its_own() -> None:
    base, printed = built(ROOT / "deploy"), yaml_documents(deployment.PATH.read_text(encoding="utf-8"))
    names = {(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", "")) for each in base}
    assert names - {("Namespace", "eksdoc", "")} == {
        (each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", "")) for each in printed
    }
    owner = registry.read().owner
    image = f"ghcr.io/{owner if owner == registry.PLACEHOLDER else owner.lower()}/kubectl-eksdoc:v{__version__}"
    assert container_of(base)["image"] == image
    verbs = {verb for each in base for rule in each.get("rules", ()) for verb in rule["verbs"]}
    assert verbs <= {"get", "list"}, "it reads"


def test_the_overlay_that_is_shown_names_the_cluster(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "in-cluster.md").read_text(encoding="utf-8")
    (overlay,) = re.findall(r"^<!-- file: kustomization\.yaml -->\n```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    base = re.search(r"https://github\.com/\S+//deploy\?ref=v\S+", overlay)
    assert base is not None and base[0].endswith(f"=v{__version__}")
    (tmp_path / "base").symlink_to(ROOT / "deploy")
    (tmp_path / "kustomization.yaml").write_text(overlay.replace(base[0], "base"), encoding="utf-8")
    container = container_of(built(tmp_path))
    assert container["args"] == ["check", "--cluster-name", "prod", "--region", "eu-central-1"]
    assert {each["name"]: each["value"] for each in container["env"]}["AWS_REGION"] == "eu-central-1"
    left = str(container).replace("prod", "")
    assert deployment.CLUSTER not in left and deployment.REGION not in left
