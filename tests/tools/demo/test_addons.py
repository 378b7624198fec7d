"""The demo's objects of EKS add-ons, compared with the chart and the server's rules by which EKS would create them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.addon.stand_in import hands
from tests.addon.stand_in.documents import Documents
from tests.addon.stand_in.pod_template import INIT
from tests.addon.stand_in.rendering import Site
from tests.addon.stand_in.service import AddonService, Outcome
from tools.demo import aws_node, incidents, objects, world
from tools.demo.aws.demo_aws import DemoAws

Json = dict[str, Any]

SITE = Site(region=world.REGION, env=world.CNI_OWN, role=f"arn:aws:iam::{world.ACCOUNT}:role/demo-shop-aws-node")
VALUES = '{"env":{"ENABLE_POD_ENI":"true"}}'


def live(objects: Documents, kind: str = "DaemonSet", name: str = "aws-node") -> Json:
    found = objects.get(kind, name)
    assert found is not None
    return found


class Story:
    """The incident, simulated by the stand-in of EKS: the final objects, and the intermediate templates. Mutable."""

    def __init__(self) -> None:
        self.objects, self.templates = Documents(), list[Json]()
        service = AddonService.install(self.objects, "v1.19.0-eksbuild.1", VALUES, SITE)
        self._note()
        hands.patches_init_env(self.objects, aws_node.BY_HAND, "true")
        self._note()
        self.refused: Outcome = service.update("v1.19.5-eksbuild.1", resolve_conflicts="NONE")
        service.update("v1.19.5-eksbuild.1", resolve_conflicts="OVERWRITE")
        self._note()
        hands.patches_init_env(self.objects, aws_node.BY_HAND, "true")
        self._note()

    def _note(self) -> None:
        self.templates.append(live(self.objects)["spec"]["template"])


@pytest.fixture(scope="module")
def story() -> Story:
    return Story()


@pytest.fixture(scope="module")
def demo() -> list[Json]:
    return [*(o for group in objects.objects().values() for o in group), *incidents.others()]


def named(of: list[Json], kind: str, name: str) -> Json:
    (found,) = (o for o in of if o["kind"] == kind and o["metadata"]["name"] == name)
    return found


def in_order(template: Json) -> Json:
    """A copy with volumes and env by name: their order has no meaning."""
    spec = {key: value for key, value in template["spec"].items() if key != "serviceAccount"}
    for where in ("containers", "initContainers"):
        spec[where] = [{**c, "env": sorted(c["env"], key=lambda e: str(e["name"]))} for c in spec[where]]
    return {**template, "spec": {**spec, "volumes": sorted(spec["volumes"], key=lambda v: str(v["name"]))}}


def owners(doc: Json) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in doc["metadata"]["managedFields"]}


@pytest.mark.parametrize(
    ("kind", "name"),
    [("DaemonSet", "aws-node"), ("ConfigMap", "amazon-vpc-cni"), ("ServiceAccount", "aws-node")],
)
def test_the_network_addon_is_what_its_story_makes_of_it(story: Story, demo: list[Json], kind: str, name: str) -> None:
    ours, theirs = named(demo, kind, name), live(story.objects, kind, name)
    assert owners(ours) == owners(theirs)
    for key in ("labels", "annotations"):
        assert ours["metadata"].get(key, {}) == theirs["metadata"].get(key, {})
    assert ours.get("data") == theirs.get("data")
    if kind == "DaemonSet":
        assert ours["spec"]["updateStrategy"] == theirs["spec"]["updateStrategy"]
        assert ours["spec"]["selector"] == theirs["spec"]["selector"]
        assert in_order(ours["spec"]["template"]) == in_order(theirs["spec"]["template"])


def revisions(demo: list[Json]) -> list[Json]:
    """The revisions of aws-node."""
    held = (o for o in demo if o["kind"] == "ControllerRevision" and o["metadata"]["name"].startswith("aws-node-"))
    return sorted(held, key=lambda o: int(o["revision"]))


def test_its_revisions_are_the_templates_of_the_story(story: Story, demo: list[Json]) -> None:
    held = [dict(o["data"]["spec"]["template"]) for o in revisions(demo)]
    assert {each.pop("$patch") for each in held} == {"replace"}
    assert list(map(in_order, held)) == list(map(in_order, story.templates))
    demux = [hands.env_of({"spec": {"template": each}}, INIT)[aws_node.BY_HAND] for each in held]
    assert demux == ["false", "true", "false", "true"]


def test_the_refusal_is_worded_as_eks_would(story: Story) -> None:
    aws, names = DemoAws(), {"name": world.CLUSTER, "addonName": "vpc-cni"}
    (_, ident) = aws.ask("eks", "ListUpdates", names)["updateIds"]
    (error,) = aws.ask("eks", "DescribeUpdate", {**names, "updateId": ident})["update"]["errors"]
    assert (error["errorCode"], error["errorMessage"]) == (
        story.refused.errors[0].code,
        story.refused.errors[0].message,
    )
