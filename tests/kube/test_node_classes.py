"""EC2NodeClasses over HTTP: read, patched as they were read, by the rights one has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.access import RbacRule, restricted
from kubectl_eksdoc.errors import Drifted, Forbidden
from kubectl_eksdoc.imds_probe.run import class_patch, of_class
from kubectl_eksdoc.kube.single_objects import LiveNodeClasses
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.change_journal import Became
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.metadata import OnClass
from kubectl_eksdoc.wiring.changes import node_classes_of
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.kube.classes import served_classes

ACT = OnClass("default", 1, 2, ("n0",))
GROUPS, PLURALS = ("karpenter.k8s.aws",), ("ec2nodeclasses",)
READER = restricted("reader", (RbacRule(("get",), PLURALS, GROUPS),))


@contextmanager
def cluster(tmp_path: Path) -> Iterator[Callable[[str], LiveNodeClasses]]:
    """One with the demo's EC2NodeClass and what defines it, for whoever has the token."""
    with served_classes({"reader": READER}) as (server, _), ExitStack() as closed:

        def opened(token: str) -> LiveNodeClasses:
            config = kubeconfigs.one(tmp_path / token, server.url(token))
            return closed.enter_context(closing(node_classes_of(Connection(kubeconfig=config))))

        yield opened


def read(classes: LiveNodeClasses) -> Doc:
    found = classes.one("default")
    assert isinstance(found, dict)
    return found


def test_it_is_patched_as_it_was_read(tmp_path: Path) -> None:
    with cluster(tmp_path) as opened:
        classes = opened(worlds.ADMIN_TOKEN)
        before = read(classes)
        tried = classes.patch("default", class_patch(ACT, before), dry=True)
        assert of_class(ACT, tried).became is Became.DONE and read(classes) == before, "a dry run changes nothing"
        classes.patch("default", class_patch(ACT, before))
        after = read(classes)
        assert of_class(ACT, after).became is Became.DONE
        assert at(after, "spec", "metadataOptions", "httpTokens") == "required"
        with pytest.raises(Drifted):
            classes.patch("default", class_patch(ACT, before))


def test_what_is_not_there_and_what_may_not_be(tmp_path: Path) -> None:
    with cluster(tmp_path) as opened:
        assert isinstance(opened(worlds.ADMIN_TOKEN).one("gone"), Absent)
        unknown = opened(worlds.DRAINER_TOKEN).one("default")
        assert isinstance(unknown, Unknown) and unknown.missing == "get ec2nodeclasses.karpenter.k8s.aws"
        reader = opened("reader")
        with pytest.raises(Forbidden) as error:
            reader.patch("default", class_patch(ACT, read(reader)))
        assert error.value.missing == "patch ec2nodeclasses.karpenter.k8s.aws"
