"""The OpenAPI index and what kubectl asks of its documents before it writes."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.embedded.api import catalogue
from tests.embedded.api.definitions import ESTABLISHED, a_definition

BUILT_IN = catalogue.of()


def takes(document: dict[str, Any], group: str, version: str, kind: str) -> set[str] | None:
    """The query parameters of the PATCH of a kind, found as kubectl finds them; None without such a PATCH."""
    wanted = {"group": group, "version": version, "kind": kind}
    for path in document["paths"].values():
        if path["patch"]["x-kubernetes-group-version-kind"] == wanted:
            return {parameter["name"] for parameter in path["patch"]["parameters"]}
    return None


@pytest.mark.parametrize(
    ("group", "version", "kind"),
    [
        ("", "v1", "ConfigMap"),
        ("", "v1", "Namespace"),
        ("apps", "v1", "DaemonSet"),
        ("autoscaling", "v2", "HorizontalPodAutoscaler"),
    ],
)
def test_a_patch_takes_what_kubectl_sends(group: str, version: str, kind: str) -> None:
    document = catalogue.document(BUILT_IN, f"apis/{group}/{version}" if group else f"api/{version}")
    assert document is not None
    assert takes(document, group, version, kind) == {"pretty", "dryRun", "fieldManager", "fieldValidation", "force"}


def test_a_definition_changes_its_own_address_alone() -> None:
    added = catalogue.of([a_definition([ESTABLISHED])])
    before, after = catalogue.index(BUILT_IN)["paths"], catalogue.index(added)["paths"]
    assert set(after) - set(before) == {"apis/example.com/v1", "apis/example.com/v1beta1"}
    assert {path: after[path] for path in before} == before
    document = catalogue.document(added, "apis/example.com/v1")
    assert document is not None
    assert "fieldValidation" in (takes(document, "example.com", "v1", "Widget") or ())


@pytest.mark.parametrize("path", ["", "apis/nope/v1", "api/v2", "apis/apps/v1/deployments"])
def test_no_such_document(path: str) -> None:
    assert catalogue.document(BUILT_IN, path) is None
