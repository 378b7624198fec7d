"""Discovery of what is built in: whole bodies, as a real kube-apiserver 1.36.2 gave them."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.api import catalogue
from kubectl_eksdoc.embedded.api.catalogue import Build, Catalogue
from tests.fakes import recordings

BUILT_IN = Catalogue()


def test_the_version_follows_from_the_name() -> None:
    said = catalogue.version(Build(git_version="v1.31.4-eks-1b3e656"))
    assert (said["major"], said["minor"], said["minCompatibilityMinor"]) == ("1", "31", "30")
    assert said["gitVersion"] == "v1.31.4-eks-1b3e656"


def test_what_is_no_version_is_refused() -> None:
    with pytest.raises(ValueError, match="'latest' is not a version of Kubernetes"):
        catalogue.version(Build(git_version="latest"))


def test_one_group() -> None:
    listed = {g["name"]: g for g in recordings.document("apis")["groups"]}
    assert catalogue.group(BUILT_IN, "autoscaling") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        **listed["autoscaling"],
    }


def test_finding_one() -> None:
    pods = BUILT_IN.find("", "v1", "pods")
    assert pods is not None
    assert (pods.kind, pods.api_version, pods.root) == ("Pod", "v1", "/api/v1")
    eviction = pods.subresource("eviction")
    assert eviction is not None
    assert (eviction.group, eviction.version, eviction.kind) == ("policy", "v1", "Eviction")
    assert pods.subresource("scale") is None
    assert BUILT_IN.find("apps", "v1", "pods") is None


def test_finding_one_by_what_its_objects_say() -> None:
    scaled = BUILT_IN.of_kind("autoscaling/v1", "HorizontalPodAutoscaler")
    assert scaled == BUILT_IN.find("autoscaling", "v1", "horizontalpodautoscalers")
    assert BUILT_IN.of_kind("v1", "Deployment") is None
