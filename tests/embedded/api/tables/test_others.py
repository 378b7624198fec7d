"""What is shown of nodes and namespaces, and of what has no columns of its own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.embedded.api.tables.showing import CREATED, an_object, shown

Doc = dict[str, Any]


@pytest.mark.parametrize(
    ("node", "status", "roles"),
    [
        (an_object(status={"conditions": [{"type": "Ready", "status": "True"}]}), "Ready", "<none>"),
        (an_object(status={"conditions": [{"type": "Ready", "status": "Unknown"}]}), "NotReady", "<none>"),
        (an_object(spec={"unschedulable": True}), "Unknown,SchedulingDisabled", "<none>"),
        (
            an_object(
                meta={"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "infra"}},
                spec={"unschedulable": True},
                status={"conditions": [{"type": "Ready", "status": "True"}]},
            ),
            "Ready,SchedulingDisabled",
            "infra,worker",
        ),
    ],
)
def test_a_node(node: Doc, status: str, roles: str) -> None:
    said = shown("nodes.v1", node)
    assert (said["Status"], said["Roles"]) == (status, roles)
    assert (said["Internal-IP"], said["OS-Image"], said["Kernel-Version"]) == ("<none>", "<unknown>", "<unknown>")


def test_a_namespace() -> None:
    said = shown("namespaces.v1", an_object(status={"phase": "Active"}))
    assert said == {"Name": "one", "Status": "Active", "Age": "5m20s"}


@pytest.mark.parametrize(
    "resource",
    [
        "roles.v1.rbac.authorization.k8s.io",
        "services.v1",
    ],
)
def test_what_has_no_columns_of_its_own(resource: str) -> None:
    assert shown(resource, an_object()) == {"Name": "one", "Created At": CREATED}
