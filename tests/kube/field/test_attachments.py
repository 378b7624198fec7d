"""Which volumes are attached to a node, as a served cluster lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.acts import ListAttachments
from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.core.rules.news import Attached
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import Answered, Fault
from kubectl_eksdoc.embedded.serving.messages import Reply, Request
from kubectl_eksdoc.kube.field.insisting import FOR_GOOD
from tests.embedded.clients import worlds
from tests.kube.field.fields import among, answer_to, connection, field_on

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


def detach(api: Api, name: str) -> None:
    def delete(plane: ControlPlane) -> None:
        plane.registry.delete(plane.registry.get(ATTACHMENTS, ("", name)))

    api.now(delete)


ON_A = ListAttachments("a")


def test_those_of_a_node_until_they_are_gone(api: Api, tmp_path: Path) -> None:
    """Page by page, and without what pods hold inline."""
    attach(api, *(an_attachment(f"csi-{i:02}", "ab"[i % 2], f"pv-{i:02}") for i in range(7)))
    attach(api, an_attachment("inline", "a", ""))
    with among(api) as server, field_on(connection(server, tmp_path, page_size=2)) as field:
        assert answer_to(field, ON_A) == Attached(ON_A, ("pv-00", "pv-02", "pv-04", "pv-06"))
        for name in ("csi-00", "csi-02", "csi-04", "csi-06"):
            detach(api, name)
        assert answer_to(field, ON_A) == Attached(ON_A)
        assert answer_to(field, ListAttachments("nowhere")) == Attached(ListAttachments("nowhere"))


def test_without_the_right_it_is_said_and_everything_else_goes_on(api: Api, tmp_path: Path) -> None:
    """An API server that has just started may not know the roles yet: it is asked a few times."""
    asked = Unallowed(api)
    with among(asked) as server, field_on(connection(server, tmp_path)) as field:
        (answer,) = [answer_to(field, ON_A)]
        assert isinstance(answer, Attached) and answer.refused and not answer.volumes
        assert "list volumeattachments.storage.k8s.io" in answer.unread
        assert asked.count == FOR_GOOD
        asked.refuses = False
        assert answer_to(field, ON_A) == Attached(ON_A), "the field goes on"


class Unallowed:
    """Attachments must not be listed."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.count = 0
        self.refuses = True

    def handle(self, request: Request) -> Reply:
        if self.refuses and request.path.endswith("/volumeattachments"):
            self.count += 1
            return self._api.handle(with_token(request, worlds.VIEWER_TOKEN, "nothing"))
        return self._api.handle(request)


@pytest.mark.parametrize("code", [404, 500])
def test_what_cannot_be_read_may_be_read_later(api: Api, tmp_path: Path, code: int) -> None:
    ...
