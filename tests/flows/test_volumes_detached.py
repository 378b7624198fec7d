"""Rehearsed with volumes: a node is done when those of its pods are off it."""

from __future__ import annotations

from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.flows.rehearse import rehearse
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc
from tests.flows.stages import made, web
from tests.simulator.planes import a_node_doc

BLUE = Targeting(nodegroups=("blue",))


def with_volume() -> list[Doc]:
    """Two old nodes with a pod each; the first one's has a volume."""
    docs = web(2, 2)
    (pod,) = (doc for doc in docs if doc["kind"] == "Pod" and doc["metadata"]["name"] == "web-0")
    pod["spec"] = {**pod["spec"], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
    claim: Doc = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "status": {"phase": "Bound"}}
    claim |= {"metadata": {"name": "data", "namespace": "default", "uid": "uid-data"}, "spec": {"volumeName": "pv-0"}}
    volume: Doc = {"kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": "pv-0", "uid": "uid-pv"}}
    volume["spec"] = {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-0"}}
    attachment: Doc = {"kind": "VolumeAttachment", "apiVersion": "storage.k8s.io/v1"}
    source = {"persistentVolumeName": "pv-0"}
    attachment["spec"] = {"attacher": "ebs.csi.aws.com", "nodeName": "old-0", "source": source}
    attachment["metadata"] = {"name": "csi-0", "uid": "uid-csi"}
    return [*docs, claim, volume, attachment, *(a_node_doc(f"new-{i}") for i in range(2))]


def test_they_are_off_the_node_when_it_is_done() -> None:
    plane, stage = made(*with_volume())
    _, rehearsal = rehearse(stage, BLUE, DrainPolicy())
    assert not rehearsal.undone and not [m for m in rehearsal.moments if m.what is Happened.WARNED]
    assert not list(plane.store.list(kinds.VOLUME_ATTACHMENTS.full_name))
    done = {moment.subject: moment.at_s for moment in rehearsal.moments if moment.what is Happened.DONE}
    assert done["old-0"] - done["old-1"] < 60
