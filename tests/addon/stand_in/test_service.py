"""The result for a user's settings in each mode: the incident, on the DaemonSet of a recorded cluster."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.model.api_objects import Doc
from tests import raw_facts
from tests.addon.stand_in import hands
from tests.addon.stand_in.documents import Documents
from tests.addon.stand_in.pod_template import INIT
from tests.addon.stand_in.service import AddonService

DEMUX = '.spec.template.spec.initContainers[name="aws-vpc-cni-init"].env[name="DISABLE_TCP_EARLY_DEMUX"].value'
POD_ENI = '.spec.template.spec.containers[name="aws-node"].env[name="ENABLE_POD_ENI"].value'
REFUSED = "Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts: "
BOTH = [f"DaemonSet.apps aws-node - {POD_ENI}", f"DaemonSet.apps aws-node - {DEMUX}"]


@pytest.mark.parametrize(
    ("mode", "status", "after", "owners"),
    [("OVERWRITE", "Successful", "false", 0), ("PRESERVE", "Successful", "true", 2), ("NONE", "Failed", "true", 2)],
)
def test_the_incident(mode: Any, status: str, after: str, owners: int) -> None:
    kinds = ("daemonsets", "configmaps", "serviceaccounts")
    docs = (doc for kind in kinds for doc in raw_facts.recorded("rich", kind))
    service = AddonService(
        Documents(*(doc for doc in docs if doc["metadata"]["namespace"] == "kube-system")), "v1.19.5-eksbuild.1"
    )
    outcome = service.update("v1.12.6-eksbuild.1", resolve_conflicts=mode)
    live: Doc | None = service.objects.get("DaemonSet", "aws-node")
    assert live is not None and outcome.status == status
    said = (hands.env_of(live, INIT)["DISABLE_TCP_EARLY_DEMUX"], hands.env_of(live)["ENABLE_POD_ENI"])
    assert said == (after, after) and (service.version == "v1.12.6-eksbuild.1") is (status != "Failed")
    assert (
        len({"kubectl-set", "kubectl-patch"} & {each["manager"] for each in live["metadata"]["managedFields"]})
        == owners
    )
    assert [line for each in outcome.errors for line in each.message.splitlines()[-2:]] == (
        [
            f"{REFUSED}{BOTH[0]}",
            BOTH[1],
        ]
        if mode == "NONE"
        else []
    )


FILES = sorted(Path(__file__).parent.glob("*.py"))
ALLOWED = tuple(
    f"kubectl_eksdoc.{name}" for name in ("model.api_objects", "kubernetes.api.", "kubernetes.", "embedded.")
)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_imports_nothing_but_the_servers_rules_and_the_embedded_server(path: Path) -> None:
    ours = [name for name in _imported(path) if name.startswith("kubectl_eksdoc")]
    assert [name for name in ours if not name.startswith(ALLOWED)] == []
