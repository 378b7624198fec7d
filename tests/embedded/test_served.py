"""Of which version a served cluster says it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.embedded.stage import version_of, whole
from kubectl_eksdoc.model.cluster import Identity
from tests.builders import a_cluster, a_node


@pytest.mark.parametrize(
    ("read", "said"),
    [("v1.33", "v1.33.0"), ("1.33", "v1.33.0"), ("v1.33.1-eks-1b3e656", "v1.33.1-eks-1b3e656"), ("v1.36.2", "v1.36.2")],
)
def test_a_served_version_has_a_patch(read: str, said: str) -> None:
    assert whole(read) == said


def test_a_dump_is_served_in_the_version_of_its_newest_kubelet() -> None:
    nodes = [a_node("old", version="v1.32.3-eks-473151a"), a_node("new", version="v1.33.1-eks-1b3e656")]
    dump = replace(a_cluster(nodes=nodes), identity=Identity())
    assert version_of(dump) == "v1.33.1-eks-1b3e656"
    assert version_of(replace(dump, identity=Identity(server_version="1.34"))) == "v1.34.0"
    assert version_of(replace(dump, nodes=())) == "", "nothing tells it"
