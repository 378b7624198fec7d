"""Objects that a field manager has applied are found in all kinds; a kind that cannot be listed is unknown and
named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.kube.config import ApiAccess, open_access
from kubectl_eksdoc.kube.reader import AppliedSearch
from kubectl_eksdoc.kube.single_objects import METADATA_ONLY, SingleObjects, list_objects
from kubectl_eksdoc.kube.target import process_credential_context
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, ObjectName
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Absent, Unknown
from tests.fakes.apiserver import ApiServer, Reply, json_reply, refused

LABELS = {"app.kubernetes.io/name": "aws-node", "team": "net"}
ROLE = ObjectName("rbac.authorization.k8s.io/v1", "Role", "kube-system", "aws-node-leader")
ROLES, MAPS, SECRETS = "/apis/rbac.authorization.k8s.io/v1/roles", "/api/v1/configmaps", "/api/v1/secrets"


@pytest.fixture
def access(config: str) -> ApiAccess:
    return open_access(Connection(kubeconfig=config), process_credential_context())


def an_object(name: str, *managers: tuple[str, str], **labels: str) -> Doc:
    entries = [{"manager": manager, "operation": operation} for manager, operation in managers]
    return {"metadata": {"name": name, "namespace": "kube-system", "labels": labels, "managedFields": entries}}


def a_list(*items: Doc, token: str = "") -> Reply:
    kind = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
    return json_reply({**kind, "metadata": {"continue": token}, "items": list(items)})


def group(name: str, *resources: tuple[str, str, str]) -> tuple[str, list[Doc]]:
    told = [{"name": plural, "kind": kind, "namespaced": True, "verbs": v.split()} for plural, kind, v in resources]
    return name, told


def discovery(server: ApiServer, *groups: tuple[str, list[Doc]]) -> None:
    """Script the server's discovery: a group without resources does not answer; the first group is the core."""
    versions = [{"groupVersion": f"{name}/v1"} for name, _ in groups[1:]]
    names = [{"preferredVersion": each, "versions": [each]} for each in versions]
    server.script("/api", *[json_reply({"versions": ["v1"]})] * 2)
    server.script("/apis", *[json_reply({"groups": names})] * 2)
    for name, told in groups:
        answer = json_reply({"resources": told}) if told else refused("no", "BadRequest", 400)
        server.script(f"/apis/{name}/v1" if name else "/api/v1", *[answer] * 2)


CORE = group("", ("configmaps", "ConfigMap", "get list"), ("secrets", "Secret", "list"), ("pods", "Pod", "list"))
RBAC = group("rbac.authorization.k8s.io", ("roles", "Role", "get list"), ("reviews", "Review", "create"))


def test_all_kinds_are_listed_by_their_metadata_and_only_what_eks_applied_is_kept(
    server: ApiServer, config: str
) -> None:
    discovery(server, CORE, RBAC, group("metrics.k8s.io", ("pods", "PodMetrics", "list")))
    server.script(ROLES, a_list(an_object(ROLE.name, ("eks", "Apply"), ("kubectl", "Update"), **LABELS)))
    server.script(MAPS, a_list(an_object("own", ("kubectl", "Update")), an_object("by-name", ("eks", "Update"))))
    server.script(SECRETS, a_list(an_object("bare")))
    objects = SingleObjects(Connection(kubeconfig=config))

    def asked() -> list[str]:
        return sorted(each.path for each in server.requests if each.header("Accept") == METADATA_ONLY)

    found = objects.applied_by("eks")
    assert found == AppliedObjects({ROLE: {"app.kubernetes.io/name": "aws-node"}}), "no label but those that name it"
    assert asked() == [MAPS, ROLES], "no pods, nothing measured, and no kind that manifests of add-ons do not have"
    bare = ObjectName("v1", "Secret", "kube-system", "bare")
    assert objects.applied_by("eks", others=True) == AppliedObjects({bare: {}}, frozenset({bare}))
    assert asked() == [MAPS, SECRETS, ROLES]


def test_what_cannot_be_listed_is_named(server: ApiServer, access: ApiAccess) -> None:
    discovery(server, CORE, RBAC, group("wgpolicyk8s.io"))
    server.script(ROLES, refused("nobody may", "Forbidden", 403))
    server.script(SECRETS, refused("no", "BadRequest", 400))
    server.script(MAPS, a_list(an_object("a"), token="next"), a_list(an_object("b")))
    search = AppliedSearch(Transport(access), list_objects, 1, max_objects=1)
    found, others = search.applied_by("eks"), search.applied_by("eks", others=True)
    assert isinstance(found, AppliedObjects) and isinstance(others, AppliedObjects)
    unlisted = {**found.unlisted, **others.unlisted}
    assert sorted(unlisted) == ["*.wgpolicyk8s.io", "configmaps", "roles.rbac.authorization.k8s.io", "secrets"]
    assert unlisted["roles.rbac.authorization.k8s.io"].missing == "list roles.rbac.authorization.k8s.io"
    assert "more than" in unlisted["configmaps"].why


def test_an_object_that_was_found_is_read_with_the_right_to_list(server: ApiServer, config: str) -> None:
    discovery(server, CORE, RBAC)
    whole = {**an_object(ROLE.name, ("eks", "Apply")), "rules": []}
    server.script(ROLES, a_list(an_object(ROLE.name, ("eks", "Apply"))))
    server.script(MAPS, a_list())
    server.script(SECRETS, a_list())
    objects = SingleObjects(Connection(kubeconfig=config))
    objects.applied_by("eks")
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles"
    server.script(path, json_reply({"items": [whole]}), json_reply({"items": []}))
    found = objects.read_object(ROLE)
    assert isinstance(found, dict) and (found["rules"], found["kind"]) == ([], "Role")
    assert server.asked(path)[0].query == {"fieldSelector": f"metadata.name={ROLE.name}", "limit": "1"}
    other = ObjectName("v1", "ConfigMap", "karpenter", "settings")  # it was not listed before: a read may still find it
    server.script("/api/v1/namespaces/karpenter/configmaps/settings", json_reply({"metadata": {"name": "settings"}}))
    assert isinstance(objects.read_object(other), dict)
    server.script(f"{path}", json_reply({"items": []}))
    assert isinstance(objects.read_object(replace(ROLE, name="of-a-manifest")), Absent), "a manifest names it"


def test_a_search_ends_in_time(server: ApiServer, access: ApiAccess) -> None:
    discovery(server, CORE, RBAC)
    seconds = iter([0.0, *[100.0] * 9])
    found = AppliedSearch(Transport(access), list_objects, 500, clock=lambda: next(seconds)).applied_by("eks")
    assert isinstance(found, AppliedObjects)
    assert sorted(found.unlisted) == ["configmaps", "roles.rbac.authorization.k8s.io"]
    assert {each.why for each in found.unlisted.values()} == {"it was not listed within 60 s"}


def test_nothing_is_known_without_discovery(server: ApiServer, config: str) -> None:
    server.script("/api", refused("nobody may", "Forbidden", 403))
    found = SingleObjects(Connection(kubeconfig=config)).applied_by("eks")
    assert isinstance(found, Unknown) and found.missing == "get /api"
