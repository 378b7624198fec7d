"""A served cluster with the demo's EC2NodeClass and its CustomResourceDefinition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.requests import ServedUser, TokenUsers
from kubectl_eksdoc.model.api_objects import nested_field
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.embedded.clients import worlds
from tools.demo.incidents import others

_PLURAL = "ec2nodeclasses.karpenter.k8s.aws"


@contextmanager
def served_classes(users: Mapping[str, ServedUser] | None = None) -> Iterator[tuple[SimulatedApiServer, ControlPlane]]:
    """`users`: additional users, by their tokens."""
    plane = worlds.plane_of("small-traps", pace=None)
    for doc in others():
        if doc["kind"] == "CustomResourceDefinition":
            plane.load("customresourcedefinitions.apiextensions.k8s.io", [doc])
        elif doc["kind"] == "EC2NodeClass":
            plane.load(_PLURAL, [doc])
    access = TokenUsers({**worlds.SETUP.access.users, **(users or {})})
    with serving(Api(plane, ApiSetup(access), ManualTime())) as server:
        yield server, plane


def hop_limit_of(plane: ControlPlane) -> int:
    """The EC2NodeClass's httpPutResponseHopLimit in the cluster."""
    (item,) = plane.store.list(_PLURAL)
    return int(nested_field(item.doc, "spec", "metadataOptions", "httpPutResponseHopLimit"))
