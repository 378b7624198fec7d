"""A new add-on needs one record only: completion, addon-diff, imds-probe and check read it from there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from kubectl_eksdoc.addon_diff.manifests import objects_of
from kubectl_eksdoc.amazon.addon_needs import software_of_image
from kubectl_eksdoc.imds_probe.programs import program_of_image
from tests.contracts.source import PACKAGE, ROOT

_PROGRAM = """
import json, sys
import kubectl_eksdoc.knowledge
kubectl_eksdoc.knowledge.__path__ = sys.argv[1:]
from kubectl_eksdoc.cli.completion_command import complete
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.addon_diff.manifests import objects_of, render_values
from kubectl_eksdoc.model.nodes import Calls
from kubectl_eksdoc.imds_probe.programs import ContainerCommand, needs_of, program_of_image
from tests.builders import a_pod
from kubectl_eksdoc.amazon.addon_needs import update_order
from kubectl_eksdoc.amazon.addon_needs import software_of_image

image = "registry.example/team/node-doctor:v1.2.3"
offered = complete(["addon-diff", "node-d"], {"EKSDOC_COMPLETION_OFFLINE": "1", "HOME": "/nowhere"})
program, software = program_of_image(image), software_of_image(image)
pod = a_pod("p", calls=Calls(images=(image,)))
told = {
    "completion": offered.partition(chr(10))[0],
    "addon-diff": [str(each) for each in objects_of("node-doctor")],
    "its values": [each.part for each in render_values("node-doctor", {"replicas": 3})],
    "imds-probe": program and [need.value for need in needs_of(program, pod, ContainerCommand(), True).surely],
    "check": software and update_order(software, Version(1, 2, 3), Version(1, 33), Version(1, 34)).position.value,
}
print(json.dumps(told))
"""
_SOURCE = {"document": "its README", "read": "2026-11-26", "confidence": "medium"}
_RECORD = {
    "name": "node-doctor",
    "eks_addon": True,
    "about": "repairs nodes",
    "images": ["node-doctor"],
    "upgrades": True,
    "source": _SOURCE,
    "applied": {
        "objects": [["apps/v1", "Deployment", "kube-system", "node-doctor"]],
        "values": [["replicas", "Deployment node-doctor", "spec.replicas"]],
    },
    "metadata": {"modes": [{"needs": ["region"]}], "given": {"region": ["AWS_REGION"]}, "fix": "set AWS_REGION"},
    "compatibility": {"promise": "supported", "rows": [["1.2", "1.30", "1.33"], ["1.3", "1.33", "1.34"]]},
}


def _told(folder: Path) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", _PROGRAM, str(folder)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout)
    return told


def test_one_record_serves_four_commands(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE / "knowledge", tmp_path, dirs_exist_ok=True)
    assert (objects_of("node-doctor"), program_of_image("node-doctor"), software_of_image("node-doctor")) == (
        (),
        None,
        None,
    )
    file = tmp_path / "software.json"
    written = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**written, "records": [*written["records"], _RECORD]}), encoding="utf-8")
    assert _told(tmp_path) == {
        "completion": "node-doctor\trepairs nodes",
        "addon-diff": ["Deployment.apps node-doctor"],
        "its values": [{"spec": {"replicas": 3}}],
        "imds-probe": ["its region"],
        "check": "before the control plane",
    }
