"""Single objects of the served cluster: as they are, not there, or not to be seen."""

from __future__ import annotations

from pathlib import Path

from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.kube.single_objects import SingleObjects
from kubectl_eksdoc.model.api_objects import ObjectName, named
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Absent
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.raw_facts import recorded

AWS_NODE = ObjectName("apps/v1", "DaemonSet", "kube-system", "aws-node")
CRD = "apiextensions.k8s.io/v1"


def test_an_object_comes_with_its_owners(tmp_path: Path) -> None:
    dumped = next(item for item in recorded("rich", "daemonsets") if item["metadata"]["name"] == "aws-node")
    with worlds.served("rich", ManualTime(), pace=None) as (server, _):
        config = kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN))
        objects = SingleObjects(Connection(kubeconfig=config))
        found, missing = objects.one(AWS_NODE), objects.one(ObjectName("v1", "ConfigMap", "kube-system", "no-such"))
        names = ("nodepools.karpenter.sh", "no-such")
        of_cluster = [objects.one(ObjectName(CRD, "CustomResourceDefinition", "", name)) for name in names]
        objects.close()
    assert isinstance(found, dict) and named(found) == AWS_NODE
    assert found["metadata"]["managedFields"] == dumped["metadata"]["managedFields"]
    assert found["spec"] == dumped["spec"] and isinstance(missing, Absent)
    assert [isinstance(each, Absent) for each in of_cluster] == [False, True]
