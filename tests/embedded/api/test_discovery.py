"""Discovery of what is built in: whole bodies, as a real kube-apiserver 1.36.2 gave them."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.api import catalogue
from kubectl_eksdoc.embedded.api.catalogue import Build, Catalogue
from tests.embedded.contract.comparing import without_hashes
from tests.fakes import recordings

BUILT_IN = Catalogue()
RECORDED_BUILD = Build(
    git_version="v1.36.2",
    git_commit="98b35193b2ac7a23a673325f5e9b830ecd5ba406",
    build_date="2026-08-01T00:00:00Z",
    go_version="go1.27.3",
)


def test_version() -> None:
    assert catalogue.version(RECORDED_BUILD) == recordings.document("version")


def test_the_version_follows_from_the_name() -> None:
    said = catalogue.version(Build(git_version="v1.31.4-eks-1b3e656"))
    assert (said["major"], said["minor"], said["minCompatibilityMinor"]) == ("1", "31", "30")
    assert said["gitVersion"] == "v1.31.4-eks-1b3e656"


def test_what_is_no_version_is_refused() -> None:
    with pytest.raises(ValueError, match="'latest' is not a version of Kubernetes"):
        catalogue.version(Build(git_version="latest"))


def test_api() -> None:
    assert catalogue.api_versions("192.0.2.2:16443") == recordings.document("api")


def test_apis() -> None:
    assert catalogue.group_list(BUILT_IN) == recordings.document("apis")


def test_one_group() -> None:
    listed = {g["name"]: g for g in recordings.document("apis")["groups"]}
    assert catalogue.group(BUILT_IN, "autoscaling") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        **listed["autoscaling"],
    }


@pytest.mark.parametrize("name", ["", "nope.example.com"])
def test_no_such_group(name: str) -> None:
    assert catalogue.group(BUILT_IN, name) is None


@pytest.mark.parametrize(
    ("exchange", "group", "version"),
    [("api v1 resources", "", "v1"), ("apps v1 resources", "apps", "v1"), ("policy v1 resources", "policy", "v1")],
)
def test_resources(exchange: str, group: str, version: str) -> None:
    assert catalogue.resource_list(BUILT_IN, group, version) == without_hashes(recordings.document(exchange))


@pytest.mark.parametrize(("group", "version"), [("", "v2"), ("apps", "v1beta1"), ("nope", "v1")])
def test_no_such_resources(group: str, version: str) -> None:
    assert catalogue.resource_list(BUILT_IN, group, version) is None


def test_every_resource_is_listed_once() -> None:
    keys = [(s.group, s.version, s.plural) for s in BUILT_IN.served]
    assert len(keys) == len(set(keys))
    assert {version for group in BUILT_IN.groups() for version in BUILT_IN.versions(group)} == {"v1", "v2"}


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
