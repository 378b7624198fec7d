"""Redaction of a page removes no data of facts, and keeps only fields that are explicitly listed."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from kubectl_eksdoc.amazon.sockets import sockets_named_in
from kubectl_eksdoc.amazon.written_kinds import LAST_APPLIED
from kubectl_eksdoc.embedded.demo.reader import list_document, scene_responses, snapshot_kind
from kubectl_eksdoc.kubernetes.redaction import Digester, Redactor, is_digest
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import READ_BY_NAME, Resource, Unknown
from kubectl_eksdoc.objects.collector import FactCollector
from kubectl_eksdoc.objects.karpenter import BY_RESOURCE
from kubectl_eksdoc.objects.redacted_pages import SnapshotRedactor
from kubectl_eksdoc.objects.redaction import FIELDS_BY_RESOURCE
from tests.host import dumps

NOBODY = Identity()
BY_PLURAL = {resource.plural: resource for resource in BY_RESOURCE}


def keeping() -> SnapshotRedactor:
    return SnapshotRedactor(Redactor(Digester(b"a key")))


def pages(name: str) -> dict[Resource, bytes]:
    if name == "demo":
        objects = scene_responses("objects", "")
        return {
            resource: list_document(resource, objects.get(snapshot_kind(resource), {}).values())
            for resource in kinds.ALL
        }
    found = {BY_PLURAL[stem]: held for stem, held in dumps.lists_of(name).items() if stem in BY_PLURAL}
    return {resource: dumps.compact({**held, "kind": f"{resource.kind}List"}) for resource, held in found.items()}


def read(of: dict[Resource, bytes]) -> Cluster:
    collector = FactCollector(Source.LIVE)
    for resource, page in of.items():
        collector.add_page(resource, page, "a page")
    return collector.cluster(NOBODY, None)


def judged(facts: Any) -> Any:
    """The facts, with a workload's container arguments reduced to the sockets that they name: nothing else of them is
    used."""
    if not (isinstance(facts, tuple) and facts and hasattr(facts[0], "host")):
        return facts
    return [
        (
            replace(each, host=replace(each.host, socket_arguments=())),
            [n.socket for n in sockets_named_in(each.host.socket_arguments)],
        )
        for each in facts
    ]


LARGE = [pytest.param(name, marks=pytest.mark.long) for name in ("medium", "landing")]


@pytest.mark.parametrize("name", [*LARGE, "small-traps", "rich", "demo"])
def test_facts_are_the_same(name: str) -> None:
    whole, keep = pages(name), keeping()
    kept = read({resource: keep.page(resource, page) for resource, page in whole.items()})
    before = read(whole)
    for field in fields(Cluster):
        assert judged(getattr(kept, field.name)) == judged(getattr(before, field.name)), field.name
    assert len(before.pods) > 10


def test_every_kind_that_is_read_has_a_shape() -> None:
    assert {*BY_RESOURCE, *READ_BY_NAME} <= set(FIELDS_BY_RESOURCE)
    assert not [resource for resource in FIELDS_BY_RESOURCE if resource.kind == "Secret"]


def test_a_field_that_nobody_named_is_left_out() -> None:
    for resource in FIELDS_BY_RESOURCE:
        one = {"metadata": {"name": "web-0", "notes": "hidden"}, "hidden": "hidden", "stringData": {"a": "hidden"}}
        page = json.dumps({"items": [one]}).encode()
        assert b"hidden" not in keeping().page(resource, page), resource.kind


@pytest.mark.parametrize(
    ("plural", "spec"),
    [
        ("volumeattachments", {"source": {"inlineVolumeSpec": {"csi": {"volumeAttributes": {"password": "hidden"}}}}}),
        ("customresourcedefinitions", {"versions": [{"name": "v1", "schema": {"default": "hidden"}}]}),
        ("persistentvolumes", {"csi": {"volumeAttributes": {"password": "hidden"}}, "flexVolume": {"a": "hidden"}}),
    ],
)
def test_what_people_write_deep_in_a_field_is_left_out(plural: str, spec: dict[str, Any]) -> None:
    page = json.dumps({"items": [{"metadata": {"name": "one"}, "spec": spec}]}).encode()
    assert b"hidden" not in keeping().page(BY_PLURAL[plural], page)


def one_pod(**spec: Any) -> dict[str, Any]:
    page = {"items": [{"metadata": {"name": "web-0"}, "spec": {"containers": [{"name": "web", **spec}]}}]}
    (kept,) = json.loads(keeping().page(BY_PLURAL["pods"], json.dumps(page).encode()))["items"]
    container: dict[str, Any] = kept["spec"]["containers"][0]
    return container


def test_values_of_variables_are_digests_but_for_those_that_are_judged() -> None:
    secret = {"secretKeyRef": {"name": "db", "key": "password"}}
    given = [
        {"name": "DB_PASSWORD", "value": "hunter2"},
        {"name": "AWS_REGION", "value": "eu-west-1"},
        {"name": "DB", "valueFrom": secret},
        {"name": "EMPTY", "value": ""},
        {"name": "ME", "value": "$(POD_NAME)"},
        "no variable",
    ]
    told, region, source, empty, reference = one_pod(env=given)["env"]
    assert told["name"] == "DB_PASSWORD"
    assert is_digest(told["value"])
    assert (region["value"], source["valueFrom"], empty["value"]) == ("eu-west-1", secret, "")
    assert reference["value"] == "$(POD_NAME)"


def test_words_probes_and_hooks_keep_what_is_judged() -> None:
    headers = [{"name": "Authorization", "value": "Basic c2VjcmV0"}]
    kept = one_pod(
        command=["/bin/server", "--interruption-queue=prod", "--password", "hunter2"],
        readinessProbe={"httpGet": {"path": "/ready", "port": 8181, "httpHeaders": headers}, "periodSeconds": 3},
        livenessProbe={"exec": {"command": ["curl", "-u", "me:hunter2"]}},
        lifecycle={"preStop": {"exec": {"command": ["/bin/sleep", "5"]}}},
    )
    assert kept["command"][1:3] == ["--interruption-queue=prod", "--password"]
    assert is_digest(kept["command"][3])
    assert kept["readinessProbe"] == {"periodSeconds": 3, "httpGet": {"port": 8181, "path": "/ready"}}
    assert all(is_digest(word) for word in kept["livenessProbe"]["exec"]["command"] if word != "-u")
    assert kept["lifecycle"] == {"preStop": {"exec": {"command": ["/bin/sleep", "5"]}}}


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "text",
        [[]],
    ],
)
def test_what_has_another_form_takes_nothing_with_it(wrong: Any) -> None:
    for name in ("env", "command", "args", "readinessProbe", "lifecycle"):
        assert one_pod(**{name: wrong})["name"] == "web"


@pytest.mark.parametrize(
    "applied", ['{"spec": "hidden"}', '{"spec": {"template": {"spec": {"containers": 1}}}}', "[", "5"]
)
def test_what_was_applied_may_be_anything(applied: str) -> None:
    doc = {"metadata": {"name": "web", "annotations": {LAST_APPLIED: applied}}, "spec": {"replicas": 1}}
    kept = keeping().history(kinds.DEPLOYMENTS, doc)
    assert isinstance(kept, dict)
    assert kept["spec"] == {"replicas": 1}
    assert "hidden" not in str(kept)


def test_an_object_of_another_form_is_unknown_and_takes_nothing_with_it() -> None:
    of = ObjectName("apps/v1", "Deployment", "kube-system", "coredns")
    assert isinstance(keeping().document(of, {"metadata": {"name": "coredns"}, "spec": "none"}), Unknown)


SECRETS = ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ASIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("plural", ["pods", "nodepools"])
def test_labels_and_messages_are_kept_without_secrets(plural: str, secret: str) -> None:
    one = {
        "metadata": {"name": "web-0", "labels": {"app": "web", "by": secret}},
        "status": {
            "message": secret,
            "conditions": [{"type": "Ready", "message": f"denied: password=hunter2 {secret}"}],
        },
    }
    kept = keeping().page(BY_PLURAL[plural], json.dumps({"items": [one]}).encode()).decode()
    assert secret not in kept
    assert "hunter2" not in kept
    assert '"app":"web"' in kept
