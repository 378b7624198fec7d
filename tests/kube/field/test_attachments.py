"""Which volumes are attached to a node, as a served cluster lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving import faults
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import BrokenConnection, CutShort, Effect, Fault, FaultyAnswer
from kubectl_eksdoc.kube.field.reads import FOR_GOOD
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus
from kubectl_eksdoc.kubernetes.news import AttachedVolumes
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.acts import ListAttachments
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.plane import ControlPlane
from tests.kube.field.fields import answer_to, field_among

ATTACHMENTS = kinds.VOLUME_ATTACHMENTS.full_name


def an_attachment(name: str, node: str, volume: str) -> Doc:
    source: Doc = {"persistentVolumeName": volume} if volume else {"inlineVolumeSpec": {}}
    spec: Doc = {"attacher": "ebs.csi.aws.com", "nodeName": node, "source": source}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": kinds.VOLUME_ATTACHMENTS.kind}
    return {**kind, "metadata": {"name": name}, "spec": spec, "status": {"attached": True}}


def attach(api: Api, *docs: Doc) -> None:
    def create(plane: ControlPlane) -> None:
        for doc in docs:
            plane.registry.create(ATTACHMENTS, doc)

    api.now(create)


ON_A = ListAttachments("a")


def test_those_of_a_node_until_they_are_gone(api: Api, tmp_path: Path) -> None:
    """Page by page, and without what pods hold inline."""
    attach(api, *(an_attachment(f"csi-{i:02}", "ab"[i % 2], f"pv-{i:02}") for i in range(7)))
    attach(api, an_attachment("inline", "a", ""))
    with field_among(tmp_path, api, page_size=2) as field:
        assert answer_to(field, ON_A) == AttachedVolumes(ON_A, ("pv-00", "pv-02", "pv-04", "pv-06"))
        for name in ("csi-00", "csi-02", "csi-04", "csi-06"):
            api.now(lambda plane, name=name: plane.registry.delete(plane.registry.get(ATTACHMENTS, ("", name))))
        assert answer_to(field, ON_A) == AttachedVolumes(ON_A)
        assert answer_to(field, ListAttachments("nowhere")) == AttachedVolumes(ListAttachments("nowhere"))


REFUSED = Fault(faults.forbidding(ATTACHMENTS), times=FOR_GOOD)


def test_without_the_right_it_is_said_and_everything_else_goes_on(api: Api, tmp_path: Path) -> None:
    """An API server that has just started may not know the roles yet: it is asked a few times."""
    attach(api, an_attachment("csi-1", "a", "pv-1"))
    with field_among(tmp_path, api, REFUSED) as field:
        answer = answer_to(field, ON_A)
        assert isinstance(answer, AttachedVolumes) and answer.refused and not answer.volumes
        assert "list volumeattachments.storage.k8s.io" in answer.unread
        assert answer_to(field, ON_A) == AttachedVolumes(ON_A, ("pv-1",)), "the field goes on"


def test_a_right_that_is_known_a_moment_later(api: Api, tmp_path: Path) -> None:
    attach(api, an_attachment("csi-1", "a", "pv-1"))
    once = Fault(faults.forbidding(ATTACHMENTS), times=FOR_GOOD - 1)
    with field_among(tmp_path, api, once) as field:
        assert answer_to(field, ON_A) == AttachedVolumes(ON_A, ("pv-1",))


@pytest.mark.parametrize(
    "instead",
    [
        FaultyAnswer(ApiStatus(404, "NotFound", "the server could not find the requested resource")),
        FaultyAnswer(ApiStatus(500, "InternalError", "etcdserver: request timed out")),
        BrokenConnection(),
        CutShort(),
    ],
)
def test_what_cannot_be_read_is_unknown_and_nobody_insists(api: Api, tmp_path: Path, instead: Effect) -> None:
    fault = Fault(instead, path="/volumeattachments")
    with field_among(tmp_path, api, fault) as field:
        answer = answer_to(field, ON_A)
    assert isinstance(answer, AttachedVolumes) and answer.unread and not answer.refused and not answer.volumes
