"""EKS's message of a conflict: which fields it names."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.addon_diff.explaining import fields_in
from kubectl_eksdoc.addon_diff.manifests import known_of

FIELD = "ConfigMap coredns - .data.Corefile"


@pytest.mark.parametrize("message", [f"Conflicts found: {FIELD}.", f"{FIELD}\\nand so on", f"({FIELD})", FIELD])
def test_a_full_stop_behind_a_field_is_none_of_it(message: str) -> None:
    assert fields_in(message) == (FIELD,)


def test_a_reference_that_is_no_object_is_taken_as_it_stands() -> None:
    variable = {"name": "MY_NODE_NAME", "valueFrom": {"fieldRef": "spec.nodeName"}}
    spec = {"template": {"spec": {"containers": [{"name": "aws-node", "env": [variable]}]}}}
    pods = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "aws-node"}, "spec": spec}
    assert "DaemonSet aws-node" in known_of("", [pods]).objects
