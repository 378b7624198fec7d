"""Updates that reset a user's field never pass: on fields of every kind, and as a real server answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.expected import leaves_of
from kubectl_eksdoc.addon_diff.fields import MISSING, value_at
from kubectl_eksdoc.addon_diff.manifests import objects_of
from kubectl_eksdoc.addon_diff.plan import AddonPlan, _predict_objects, findings_of
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, AddonVersionFacts, Mode, changed_paths
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.document_diff import FieldSet, path_tree
from kubectl_eksdoc.kubernetes.managed_fields import read_entries, with_update, without_entries
from kubectl_eksdoc.kubernetes.server_side_apply import AppliedDocument, apply, remove_fields
from kubectl_eksdoc.model.addons import Addon
from kubectl_eksdoc.model.api_objects import Doc, nested_field, object_name
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.model.kinds import Unknown
from tests import raw_facts
from tests.addon_diff.incident import NOW, SCHEMA, a_persons, chart, rich, version
from tests.addon_diff.test_plan import COREFILE, edited, facts, found, planned, without_charts

ENI_TAGS = "ADDITIONAL_ENI_TAGS"


def hand(live: Doc, change: Any, manager: str = "kubectl-edit") -> Doc:
    """A user's update of a DaemonSet: `change` edits its pod template's spec."""
    new: Doc = json.loads(json.dumps(live))
    change(new["spec"]["template"]["spec"])
    return with_update(live, new, manager, NOW, SCHEMA)


def env_of(pod: Doc) -> list[Doc]:
    env: list[Doc] = pod["containers"][0]["env"]
    return env


def without_tags(pod: Doc) -> None:
    env_of(pod)[:] = [each for each in env_of(pod) if each["name"] != ENI_TAGS]


def statuses(live: Doc, mode: Mode) -> list[Finding]:
    return [
        each
        for each in planned(facts(objects=(live,)), AddonUpdateRequest(mode)).findings
        if each.status is not Status.PASS
    ]


def emptied(pod: Doc) -> None:
    """``kubectl set env ds/aws-node ADDITIONAL_ENI_TAGS=`` leaves the entry with its name."""
    (entry,) = [each for each in env_of(pod) if each["name"] == ENI_TAGS]
    del entry["value"]


def without_key() -> Doc:
    """ConfigMap amazon-vpc-cni, from which a user has removed one key."""
    data = {"enable-windows-ipam": "false", "enable-network-policy-controller": "false"}
    names = ("k8s-app", "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version")
    meta = {"name": "amazon-vpc-cni", "namespace": "kube-system", "labels": dict.fromkeys(names, "x")}
    return edited({**COREFILE, "metadata": meta, "data": data}, ("data",), {"enable-windows-ipam": "false"})


def lacks(what: str) -> Doc:
    return hand(rich(), lambda pod: pod["containers"][0].pop(what))


def without_agent() -> Doc:
    """The DaemonSet without the agent, which came with v1.14.0."""
    return hand(rich(), lambda pod: pod["containers"].__delitem__(slice(1, None)))


AGENT, UNKNOWN = "aws-eks-nodeagent", {Status.UNKNOWN}


@pytest.mark.parametrize(
    ("live", "now", "values", "text", "said"),
    [
        (lambda: hand(a_persons(), emptied), "v1.12.0", {}, ENI_TAGS, {Status.FAIL}),
        (lambda: hand(a_persons(), without_tags), "v1.12.0", {}, ENI_TAGS, {Status.FAIL}),
        (lambda: hand(a_persons(), without_tags), "v1.12.6", {}, ENI_TAGS, UNKNOWN),  # of no known schema
        (lambda: lacks("livenessProbe"), "v1.12.0", {}, "livenessProbe", UNKNOWN),
        (lambda: lacks("resources"), "v1.12.0", {}, "resources", {Status.FAIL}),
        (lambda: lacks("securityContext"), "v1.12.0", {}, "securityContext", UNKNOWN),
        (without_agent, "v1.15.1", {}, AGENT, UNKNOWN),
        (without_agent, "v1.12.0", {}, AGENT, set()),
        (without_agent, "v1.15.1", {"nodeAgent": {"enabled": False}}, AGENT, set()),
        (without_key, "v1.15.1", {}, "enable-network-policy-controller", {Status.FAIL}),
    ],
)
def test_what_a_user_emptied_or_removed_comes_back_in_every_mode(
    live: Any, now: str, values: Doc, text: str, said: set[Status]
) -> None:
    for mode in Mode:
        plan = planned(facts(objects=(live(),), current=version(now), values=values), AddonUpdateRequest(mode))
        assert {each.status for each in plan.findings if text in each.message} == said


def test_values_keep_an_emptied_variable_empty() -> None:
    plan = planned(facts(objects=(hand(a_persons(), emptied),)), AddonUpdateRequest())
    (finding,) = [each for each in found(plan, "addon-field-changed-in-every-mode") if ENI_TAGS in each.message]
    assert 'is set to "{}" again' in finding.message
    assert plan.way_out is not None and plan.way_out.values["env"][ENI_TAGS] == ""
    kept = planned(plan.facts, AddonUpdateRequest(Mode.OVERWRITE, plan.way_out.values))
    assert not [each for each in kept.findings if ENI_TAGS in each.message]


def test_a_variable_that_the_call_sets_is_no_loss() -> None:
    asked = AddonUpdateRequest(Mode.OVERWRITE, {"env": {ENI_TAGS: '{"a":"b"}'}})
    plan = planned(facts(objects=(hand(a_persons(), without_tags),)), asked)
    assert not [each for each in plan.findings if ENI_TAGS in each.message]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    ("addon", "kind", "values", "said"),
    [
        ("vpc-cni", "ConfigMap", {}, {Status.UNKNOWN}),
        ("vpc-cni", "ServiceAccount", {}, {Status.UNKNOWN}),
        ("vpc-cni", "CustomResourceDefinition", {}, set()),
        ("coredns", "PodDisruptionBudget", {}, {Status.UNKNOWN}),
        ("coredns", "PodDisruptionBudget", {"podDisruptionBudget": {"enabled": False}}, set()),
        ("coredns", "Service", {}, {Status.UNKNOWN}),
    ],
)
def test_an_object_that_a_user_deleted_comes_back_in_every_mode(
    addon: str, kind: str, values: Doc, said: set[Status], mode: Mode
) -> None:
    gone = next(of for of in objects_of(addon) if of.kind == kind)
    if addon == "vpc-cni":
        known = facts(current=version("v1.18.6"), target=version("v1.19.5"), objects=(), values=values)
    else:
        known = without_charts(addon, objects=(), values=values)
    plan = planned(replace(known, absent=(gone,)), AddonUpdateRequest(mode))
    assert {each.status for each in plan.findings if each.message.endswith(f"every mode: {gone}")} == said


@pytest.mark.parametrize("first", ["false", "true"])
def test_of_a_variable_that_is_there_twice_the_last_counts(first: str) -> None:
    """Appended by a JSON patch: kubelet takes the last, EKS leaves one."""

    def append(pod: Doc) -> None:
        (entry,) = [each for each in env_of(pod) if each["name"] == "ENABLE_POD_ENI"]
        entry["value"] = first
        env_of(pod).append({"name": "ENABLE_POD_ENI", "value": "true"})

    plan = planned(facts(objects=(hand(rich(), append),)), AddonUpdateRequest(Mode.OVERWRITE))
    (change,) = [each for each in plan.changes if each.field.variable == "ENABLE_POD_ENI"]
    assert change.live == "true" and change.by_mode[Mode.OVERWRITE].value == "false"
    assert [each.status for each in found(plan, "addon-field-reset") if "ENABLE_POD_ENI" in each.message] == [
        Status.FAIL
    ]


def test_what_is_there_twice_and_cannot_be_applied_is_unknown() -> None:
    """EKS owns both entries, and it is not known which of them it applies."""
    live = json.loads(json.dumps(rich()))
    env_of(live["spec"]["template"]["spec"]).append({"name": "WARM_ENI_TARGET", "value": "3"})
    nothing = Unknown("no chart of it is known")
    side = AddonVersionFacts("v9.0.0-eksbuild.1", nothing, nothing)
    plan = planned(facts(objects=(live,), target=side, current=side), AddonUpdateRequest(Mode.OVERWRITE))
    assert [each.status for each in found(plan, "addon-object-unread")] == [Status.UNKNOWN]


_RBAC = "rbac.authorization.k8s.io/v1"
_TOLD = {
    Mode.NONE: ("addon-field-conflict", "addon-field-unknown"),
    Mode.OVERWRITE: ("addon-field-reset", "addon-field-unknown"),
    Mode.PRESERVE: ("addon-field-kept", "addon-field-unknown"),
}


@pytest.mark.parametrize(
    ("addon", "api", "kind", "name", "more", "path"),
    [
        *(
            ("coredns", "v1", "ConfigMap", "coredns", {"data": COREFILE["data"]}, f"metadata labels {label}")
            for label in ("app.kubernetes.io/version", "kubernetes.io/name", "k8s-app")
        ),
        ("vpc-cni", _RBAC, "ClusterRole", "aws-node", {"rules": []}, "rules"),
        ("vpc-cni", "apiextensions.k8s.io/v1", "CustomResourceDefinition", "policyendpoints.networking.k8s.aws",
         {"spec": {"scope": "Namespaced"}}, "spec preserveUnknownFields"),
        ("coredns", "v1", "Service", "kube-dns", {"spec": {"internalTrafficPolicy": "Cluster"}},
         "spec internalTrafficPolicy"),
        ("kube-proxy", "v1", "ConfigMap", "kube-proxy", {"data": COREFILE["data"]}, "data kubeconfig"),
    ],
)  # fmt: skip
def test_every_object_of_the_add_on_and_its_labels_are_judged(
    addon: str, api: str, kind: str, name: str, more: Doc, path: str
) -> None:
    namespace = {} if kind.startswith("C") and kind != "ConfigMap" else {"namespace": "kube-system"}
    doc = {"apiVersion": api, "kind": kind, "metadata": {"name": name, **namespace}, **more}
    steps = tuple(path.split(" "))
    assert object_name(doc) in objects_of(addon)
    for mode in Mode:
        plan = planned(without_charts(addon, objects=(edited(doc, steps, "mine"),)), AddonUpdateRequest(mode))
        assert [each for each in plan.findings if steps[-1] in each.message and each.code.name in _TOLD[mode]]


@pytest.mark.parametrize("mode", [Mode.OVERWRITE, Mode.NONE])
@pytest.mark.parametrize(
    ("listed", "item", "name"),
    [
        ("volumeMounts", "/host/opt/cni/bin", "own-bin"),
        ("volumeMounts", "/host/etc/cni/net.d", "own-net"),
        ("ports", 61678, "own-metrics"),
    ],
)
def test_a_name_below_an_entry_with_other_keys_never_passes(listed: str, item: object, name: str, mode: Mode) -> None:
    """A user's own volume at a mount of the add-on, or a port with another name."""

    def rename(pod: Doc) -> None:
        container = pod["containers"][0]
        found = [each for each in container[listed] if item in (each.get("mountPath"), each.get("containerPort"))]
        found[0]["name"] = name

    live = hand(rich(), rename, "kubectl-patch")
    assert [each for each in statuses(live, mode) if f".{listed}[" in each.message and ".name" in each.message]


@pytest.mark.parametrize("addon", ["aws-ebs-csi-driver", "metrics-server", "eks-pod-identity-agent"])
def test_an_add_on_with_more_objects_than_are_known_never_passes(addon: str) -> None:
    live = edited({**COREFILE, "metadata": {"name": "x", "namespace": "kube-system"}}, ("data", "a"), "b", "eks")
    (finding,) = found(planned(without_charts(addon, objects=(live,)), AddonUpdateRequest()), "addon-object-unread")
    assert finding.status is Status.UNKNOWN


_SERVERS = ("uid", "resourceVersion", "creationTimestamp", "generation")


def plain(doc: Doc) -> Doc:
    """The object without the fields that only the server writes."""
    found = without_entries(doc)
    meta = {key: value for key, value in found["metadata"].items() if key not in _SERVERS}
    notes = meta.get("annotations", {})
    meta |= {"annotations": {key: notes[key] for key in notes if not key.startswith("deprecated.")}} if notes else {}
    return {key: value for key, value in {**found, "metadata": meta}.items() if key != "status"}


def taken(case: Doc, mode: Mode) -> bool:
    """The server refused the update for a conflict, or reset a field that a user has set, emptied or removed."""
    answer = case["answers"][mode.value]
    if answer["status"] != 200:
        return bool(answer["status"] == 409)
    live, after, schema = (
        plain(case["live"]),
        plain(answer["result"]),
        schema_of(case["live"]["apiVersion"], case["kind"]),
    )
    users = [entry.fields for owner, entry in read_entries(case["live"]).items() if owner.manager != "eks"]
    for path in changed_paths(live, after, schema):
        was, now = value_at(case["before"], path, schema.root), value_at(live, path, schema.root)
        if was != now and (was != MISSING or any(path in fields for fields in users)):
            return True
    return False


def recorded(addon: str, every: int) -> Iterator[tuple[str, Doc, Doc]]:
    for world in list(raw_facts.lines(f"recordings/ssa-oracle-{addon}.jsonl.gz"))[::every]:
        for case in world["objects"]:
            if case["live"] is not None and nested_field(case["live"], "metadata", "managedFields"):
                yield f"{world['world']} {case['kind']} {case['name']}", world, case


_DNS_VERSIONS = {
    25: "9.3-eksbuild.22",
    26: "9.3-eksbuild.22",
    27: "10.1-eksbuild.35",
    28: "10.1-eksbuild.38",
    29: "11.4-eksbuild.28",
    30: "11.4-eksbuild.33",
    31: "11.4-eksbuild.48",
    32: "11.4-eksbuild.48",
    33: "13.2-eksbuild.19",
    34: "13.2-eksbuild.19",
}
"""Of CoreDNS, in the recorded manifests of each Kubernetes minor version."""


def side(addon: str, of: str) -> AddonVersionFacts:
    """One side of the update; CoreDNS's manifests were recorded by the version of Kubernetes."""
    unknown = Unknown("not known")
    if addon == "vpc-cni":
        return AddonVersionFacts(f"{of}-eksbuild.1", chart(of), unknown)
    return AddonVersionFacts(f"v1.{_DNS_VERSIONS.get(int(of.split('.')[1]), '14.3-eksbuild.11')}", unknown, unknown)


def predicted_histories(addon: str, every: int) -> Iterator[tuple[str, Doc, AddonPlan]]:
    """The predictions for all modes at once; the findings of each mode are those of `findings_of`."""
    for name, world, case in recorded(addon, every):
        now, target = side(addon, world["from"]), side(addon, world["to"])
        known = facts(addon=Addon(addon, now.version, "ACTIVE"), current=now, target=target, objects=(case["live"],))
        predictions, unreadable = _predict_objects(known, {})
        assert not unreadable
        yield name, case, AddonPlan(known, AddonUpdateRequest(), predictions, (), None)


def check_histories(every: Iterable[tuple[str, Doc, AddonPlan]]) -> None:
    """A field that a real server reset never passes, and nearly all fields that it kept do."""
    wrong, quiet, passed = [], 0, 0
    for name, case, plan in every:
        for mode in (Mode.NONE, Mode.OVERWRITE):
            found = findings_of(plan.facts, AddonUpdateRequest(mode), plan.predictions, (), lambda values: ())
            passes = all(each.status is Status.PASS for each in found)
            if taken(case, mode):
                wrong += [f"{name} {mode.value}"] * passes
            else:
                quiet, passed = quiet + 1, passed + passes
    assert wrong == [] and passed > 0.9 * quiet > 0


def test_a_label_of_ones_own_on_the_pods_is_kept() -> None:
    """By an update between two known manifests that name other labels."""
    live = json.loads(json.dumps(rich()))
    live["spec"]["template"]["metadata"]["labels"]["team"] = "net"
    plan = planned(facts(objects=(with_update(rich(), live, "kubectl-edit", NOW, SCHEMA),)), AddonUpdateRequest())
    assert not [each for each in plan.findings if "labels.team" in each.message]


def test_a_write_in_the_name_of_eks_is_a_users() -> None:
    """``kubectl … --field-manager=eks`` updates; EKS applies. To the server these are two owners."""

    def quieter(pod: Doc) -> None:
        for entry in env_of(pod):
            if entry["name"] == "AWS_VPC_K8S_CNI_LOGLEVEL":
                entry["value"] = "ERROR"

    lost = [
        each.message
        for each in statuses(hand(rich(), quieter, "eks"), Mode.OVERWRITE)
        if each.code.name == "addon-field-reset" and "LOGLEVEL" in each.message
    ]
    assert lost == [
        'AWS_VPC_K8S_CNI_LOGLEVEL of container aws-node, set to "ERROR" by eks (Update), is reset to "DEBUG"'
    ]


_DEFAULTED = (
    "creationTimestamp defaultMode dnsPolicy failureThreshold imagePullPolicy internalTrafficPolicy ipFamilies "
    "ipFamilyPolicy maxSurge maxUnavailable periodSeconds progressDeadlineSeconds replicas restartPolicy "
    "revisionHistoryLimit schedulerName scheme serviceAccount sessionAffinity successThreshold targetPort "
    "terminationGracePeriodSeconds terminationMessagePath terminationMessagePolicy timeoutSeconds type"
)
"""The API server gives these a value where they are removed, which is the user's then: another kind of change."""


_OF_OBJECT = (
    "f:apiVersion",
    "f:kind",
    ("f:metadata", "f:name"),
    ("f:metadata", "f:namespace"),
    ("f:spec", "f:selector"),
)
_PAIRS = [("vpc-cni", "v1.12.6", "v1.18.6"), ("vpc-cni", "v1.21.2", "v1.22.4"), ("coredns", "v1.35.0", "v1.36.0")]


@pytest.mark.parametrize(
    ("addon", "old", "new", "every"),
    [
        (*_PAIRS[0], 10),
        (*_PAIRS[2], 8),
        *(pytest.param(*pair, 1, marks=pytest.mark.long) for pair in (*_PAIRS, ("vpc-cni", "v1.15.1", "v1.18.6"))),
    ],
)
def test_what_a_user_removes_of_a_manifest_never_passes(addon: str, old: str, new: str, every: int) -> None:
    """Each field of the manifest is removed by itself."""
    passed, tried, now, target = [], 0, side(addon, old), side(addon, new)
    world = next(each for each in raw_facts.lines(f"recordings/ssa-oracle-{addon}.jsonl.gz") if each["from"] == old)
    for case in (each for each in world["objects"] if each["before"]):
        schema = schema_of(case["before"]["apiVersion"], case["kind"])
        made = apply(None, case["before"], "eks", True, NOW, schema)
        assert isinstance(made, AppliedDocument)
        for path in leaves_of(case["before"], schema)[::every]:
            value = value_at(case["before"], path, schema.root)
            if (
                path[:2] in _OF_OBJECT
                or path[0] in _OF_OBJECT
                or path[-1][2:] in _DEFAULTED.split()
                or value in ({}, [], "")
            ):
                continue
            new_doc = remove_fields(made.doc, FieldSet(path_tree(path)), schema.root)
            live = with_update(made.doc, new_doc, "kubectl-edit", NOW, schema)
            known = facts(addon=Addon(addon, now.version, "ACTIVE"), current=now, target=target, objects=(live,))
            tried += 1
            if all(each.status is Status.PASS for each in planned(known, AddonUpdateRequest(Mode.NONE)).findings):
                passed.append(path)
    assert passed == [] and tried > 2


@pytest.mark.parametrize(("mode", "name"), [(Mode.NONE, "metrics"), (Mode.NONE, "own"), (Mode.OVERWRITE, "own")])
def test_a_port_that_is_there_twice_never_passes(mode: Mode, name: str) -> None:
    """EKS lost the entry to the client that wrote the second one; with OVERWRITE one of two equal entries remains."""

    def twice(pod: Doc) -> None:
        ports = pod["containers"][0]["ports"]
        ports.append({**ports[0], "name": name})

    live = hand(rich(), twice)
    assert [each for each in statuses(live, mode) if "ports[containerPort=61678" in each.message]
