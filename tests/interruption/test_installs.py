"""Karpenter out of its objects, whatever they look like."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.interruption import installs
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.interruption import Setting
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Calls, RoleBy
from tests.builders import a_cluster, a_pod, a_workload

OF = ObjectName("apps/v1", "Deployment", "kube-system", "karpenter")
IMAGE = "public.ecr.aws/karpenter/controller:1.5.0@sha256:0123"
LABEL = {"app.kubernetes.io/name": "karpenter"}
NOTHING = Absent("there is none")


def a_deployment(**container: Any) -> dict[str, Any]:
    sidecar = {"name": "proxy", "image": "envoy:1", "env": [{"name": "INTERRUPTION_QUEUE", "value": "no"}]}
    spec = {"containers": [sidecar, {"name": "controller", "image": IMAGE, **container}], "serviceAccountName": "karp"}
    meta = {"annotations": {"meta.helm.sh/release-name": "karp"}, "labels": {"app.kubernetes.io/version": "1.4.0"}}
    return {"metadata": meta, "spec": {"replicas": 2, "template": {"spec": spec}}}


def install(deployment: Any, settings: Any = NOTHING, account: Any = NOTHING, pods: Any = ()) -> Any:
    return installs.installed(OF, deployment, settings, account, pods)


def test_what_the_chart_makes() -> None:
    env = [{"name": "CLUSTER_NAME", "value": "prod"}, {"name": "INTERRUPTION_QUEUE", "value": "prod"}]
    ports = [{"name": "http", "containerPort": 8081}, {"name": "http-metrics", "containerPort": 8080}]
    account = {"metadata": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/k"}}}
    found = install(a_deployment(env=env, ports=ports), account=account)
    assert (str(found.version), found.tag, found.container, found.cluster_name) == (
        "v1.5.0",
        "1.5.0",
        "controller",
        "prod",
    )
    assert found.variable == Setting("prod", "variable INTERRUPTION_QUEUE")
    assert (found.service_account, found.irsa, found.release) == ("karp", "arn:aws:iam::1:role/k", "karp")
    assert (found.metrics_port, found.replicas) == (8080, 2)


@pytest.mark.parametrize(
    ("args", "queue"),
    [
        (["--interruption-queue=prod"], "prod"),
        (["-interruption-queue", "prod"], "prod"),
        (["--interruption-queue"], ""),
        (["--interruption-queue-of-others=x"], None),
        (["$(ARGS)"], None),
    ],
)
def test_arguments(args: list[str], queue: str | None) -> None:
    said = install(a_deployment(args=args)).argument
    assert isinstance(said, Absent) if queue is None else said.queue == queue


def test_an_argument_that_is_taken_from_a_variable_is_not_known() -> None:
    assert isinstance(install(a_deployment(args=["--interruption-queue=$(Q)"])).argument, Unknown)


@pytest.mark.parametrize(
    ("container", "said"),
    [
        (
            {"env": [{"name": "INTERRUPTION_QUEUE", "valueFrom": {"secretKeyRef": {"name": "s", "key": "q"}}}]},
            "Secret s, key q",
        ),
        ({"envFrom": [{"configMapRef": {"name": "c"}}]}, "ConfigMap c"),
    ],
)
def test_a_value_from_elsewhere_is_not_known(container: dict[str, Any], said: str) -> None:
    found = install(a_deployment(**container)).variable
    assert isinstance(found, Unknown) and said in found.why


def test_the_config_map_of_older_versions() -> None:
    data = {"data": {"aws.interruptionQueueName": "old"}}
    assert install(a_deployment(), data).config_map.queue == "old"
    assert isinstance(install(a_deployment(), {"data": {}}).config_map, Absent)


def test_of_one_variable_twice_the_last_counts_and_one_made_of_others_is_not_known() -> None:
    twice = [{"name": "INTERRUPTION_QUEUE", "value": each} for each in ("old", "prod")]
    assert install(a_deployment(env=twice)).variable == Setting("prod", "variable INTERRUPTION_QUEUE")
    made = [{"name": "INTERRUPTION_QUEUE", "value": "q-$(CLUSTER_NAME)"}]
    assert isinstance(install(a_deployment(env=made)).variable, Unknown)


def test_the_version_is_that_of_the_image_then_of_the_label() -> None:
    assert str(install(a_deployment(image="mirror/karpenter/controller:latest")).version) == "v1.4.0"
    assert install({}).version is None


def test_where_karpenter_runs() -> None:
    labels = {**LABEL, "pod-template-hash": "abc"}
    own = a_pod("karpenter-abc-1", "kube-system", owner="ReplicaSet/karpenter-abc", labels=labels)
    by_image = a_pod(
        "k-abc-1", "infra", owner="ReplicaSet/k-abc", labels={"pod-template-hash": "abc"}, calls=Calls(images=(IMAGE,))
    )
    idle = a_workload("Deployment/karpenter", "old", template_labels=LABEL)
    found = installs.deployments(a_cluster(pods=[own, by_image, a_pod()], workloads=[idle]))
    assert [(each.namespace, each.name) for each in found] == [
        ("infra", "k"),
        ("kube-system", "karpenter"),
        ("old", "karpenter"),
    ]


def test_whose_role_the_pods_have() -> None:
    pods = [a_pod(calls=Calls(role=RoleBy.POD_IDENTITY)), a_pod("web-2")]
    assert install(a_deployment(), pods=pods).role_by is RoleBy.POD_IDENTITY


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "spec",
                    "template",
                    "containers",
                    "env",
                    "name",
                    "value",
                    "valueFrom",
                    "args",
                    "ports",
                    "metadata",
                    "data",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(["spec", "metadata"]), ANY), st.dictionaries(st.just("data"), ANY), ANY)
def test_any_documents_are_read(deployment: dict[str, Any], settings: dict[str, Any], containers: Any) -> None:
    install(deployment, settings, settings)
    install({"spec": {"template": {"spec": {"containers": containers}}}})
