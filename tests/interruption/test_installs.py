"""Karpenter installations, read from any objects; their metrics and logs, and the faults of their queue."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.interruption import installs
from kubectl_eksdoc.interruption.plan import InterruptionOptions, plan_interruption, stack_name
from kubectl_eksdoc.interruption.printed import print_document
from kubectl_eksdoc.interruption.repair import (
    allow_statement,
    helm_values,
    key_statement,
    repair_steps,
    rights_policy,
    stack_template,
)
from kubectl_eksdoc.interruption.spot import ALIVE_MESSAGE, log_evidence, received_messages
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.interruption import DeliveryMetrics, KmsKey, QueueSetting, RolePolicies, RuleTarget
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Calls, RoleSource
from tests.builders import a_cluster, a_pod, a_workload
from tests.interruption.healthy import (
    ARN,
    LEADER,
    PLACE,
    ROLE,
    a_queue,
    an_install,
    facts,
    planned,
    statuses,
    the_rules,
    told,
    with_rule,
)

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
    return installs.read_install(OF, deployment, settings, account, pods)


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
    assert found.variable == QueueSetting("prod", "variable INTERRUPTION_QUEUE")
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
    assert install(a_deployment(env=twice)).variable == QueueSetting("prod", "variable INTERRUPTION_QUEUE")
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
    found = installs.karpenter_deployments(a_cluster(pods=[own, by_image, a_pod()], workloads=[idle]))
    assert [(each.namespace, each.name) for each in found] == [
        ("infra", "k"),
        ("kube-system", "karpenter"),
        ("old", "karpenter"),
    ]


def test_whose_role_the_pods_have() -> None:
    pods = [a_pod(calls=Calls(role=RoleSource.POD_IDENTITY)), a_pod("web-2")]
    assert install(a_deployment(), pods=pods).role_by is RoleSource.POD_IDENTITY


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


FAILED = (
    '{"level":"ERROR","time":"2026-11-20T08:50:36Z","message":"failed to create valid sqs provider","error":"no queue"}'
)
DELETES = f'{{"level":"INFO","time":"2026-11-20T08:51:00Z","message":"{ALIVE_MESSAGE}","node":"ip-1"}}'
CONSOLIDATES = '{"level":"INFO","logger":"controller.disruption","message":"disrupting via consolidation delete"}'
CONSOLE = f"2026-11-20T08:51:00.000Z\tINFO\tcontroller.interruption\t{ALIVE_MESSAGE}\t{{}}"
STARTS = '{"logger":"controller.interruption","message":"starting"}'
PANIC = "panic: fetching queue url, AWS.SimpleQueueService.NonExistentQueue: it does not exist [recovered]"
OLD = "karpenter_interruption_received_messages"


@pytest.mark.parametrize(
    ("lines", "failed", "alive"),
    [
        ([FAILED], True, False),
        ([FAILED, DELETES], False, True),
        ([DELETES, FAILED], True, True),
        ([CONSOLE], False, True),
        ([CONSOLIDATES], False, False),
        ([STARTS], False, False),
        ([PANIC], True, False),
        (["panic: something else"], False, False),
        (["panic:", "goroutine 1", "github.com/aws/… sqs.NewSQSProvider"], True, False),
        ([], False, False),
    ],
)
def test_lines(lines: list[str], failed: bool, alive: bool) -> None:
    signs = log_evidence("\n".join(lines))
    assert (bool(signs.failed), bool(signs.alive)) == (failed, alive)


def test_an_error_with_quotes_in_it_is_told_to_its_end() -> None:
    line = FAILED.replace("no queue", 'no \\"prod\\" there')
    assert log_evidence(line).failed.endswith(r"provider: no \"prod\" there")


@given(st.text(), st.lists(st.sampled_from([FAILED, DELETES, PANIC, STARTS, "\x00", '{"message":"'])))
def test_any_text_is_read(text: str, lines: list[str]) -> None:
    signs = log_evidence("\n".join([text, *lines]))
    assert all(isinstance(each, str) and len(each) <= 201 for each in (signs.failed, signs.alive))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('karpenter_interruption_received_messages_total{message_type="spot_interrupted"} 3\n', 3),
        ("karpenter_interruption_received_messages_total 1e+01", 10),
        (f'{OLD}{{message_type="a"}} 1\n{OLD}{{message_type="b"}} 2', 3),
        ("# HELP karpenter_interruption_received_messages_total Count\n", None),
        ("karpenter_interruption_deleted_messages_total 4", None),
        ("karpenter_interruption_received_messages_total NaN", None),
        ("", None),
    ],
)
def test_counters(text: str, count: int | None) -> None:
    assert received_messages(text) == count


def life(**more: Any) -> str:
    plan = planned(**more)
    (link,) = (each for each in plan.links if each.name == "sign of life")
    return link.what


def test_the_surest_sign_is_told() -> None:
    assert ALIVE_MESSAGE in life(logs={LEADER: DELETES})
    given_metrics = facts(figures=DeliveryMetrics())
    counted = {LEADER: "karpenter_interruption_received_messages_total 2"}
    plan = plan_interruption(replace(given_metrics, metrics=counted))
    assert "it has counted 2 messages" in next(e.what for e in plan.links if e.name == "sign of life")
    assert "5 messages were taken" in life(figures=DeliveryMetrics(deleted=5, empty=1))
    assert "a consumer polls" in life()


def test_what_was_said_before_the_queue_was_mended_is_over() -> None:
    def log_of(now: datetime, **more: Any) -> str:
        before = facts(logs={LEADER: FAILED}, **more)
        seen = replace(before, cluster=replace(before.cluster, observed_at=now))
        return statuses(plan_interruption(seen)).get("Karpenter's log", "")

    at = datetime(2026, 11, 20, 8, 50, 36, tzinfo=timezone.utc)
    assert log_of(at + timedelta(minutes=21)) == "", "the queue is there, and fetched from"
    assert log_of(at + timedelta(minutes=19)) == "fail"
    assert log_of(at + timedelta(minutes=21), figures=DeliveryMetrics()) == "fail", "nobody is seen to fetch"
    assert log_of(at + timedelta(minutes=21), queue=Absent("there is none")) == "fail"


def test_a_log_that_was_not_read_may_be_that_of_the_one_that_reads_the_queue() -> None:
    plan = planned(logs={LEADER: "started", "kube-system/karpenter-1": Unknown("forbidden", "get pods/log")})
    assert statuses(plan) == {"Karpenter's log": "unknown"}


@pytest.mark.parametrize("log", [Unknown("forbidden", "get pods/log"), Absent("no such pod")])
def test_without_a_log_it_is_unknown(log: Any) -> None:
    plan = planned(logs={LEADER: log})
    assert statuses(plan) == {"Karpenter's log": "unknown"} and plan.outage.handled is True, "it is seen to fetch"
    blind = planned(logs={LEADER: log}, figures=DeliveryMetrics())
    assert blind.outage.handled is None


def test_without_pods_nobody_hears() -> None:
    plan = planned(an_install(pods=(), replicas=2), logs={})
    assert statuses(plan)["Karpenter's log"] == "unknown"
    asleep = planned(an_install(pods=(), replicas=0), logs={})
    assert statuses(asleep)["Karpenter"] == "fail" and asleep.outage.handled is False


GONE: Any = Absent("there is none")


def resources(plan: Any) -> set[str]:
    return set(stack_template(plan.missing)["Resources"])


def test_each_thing_that_lacks_is_made_alone() -> None:
    spot = tuple(each for each in the_rules() if each.name != "spot interruption")
    assert resources(planned(rules=spot)) == {"SpotInterruptionRule"}
    assert resources(planned(policies=RolePolicies(ROLE))) == {"InterruptionRights"}
    assert resources(planned(queue=a_queue(policy=None))) == {"InterruptionQueuePolicy"}
    assert resources(planned(queue=GONE)) == {"InterruptionQueue", "InterruptionQueuePolicy"}


def test_a_stack_that_is_there_is_never_updated_as_that_would_delete_the_rest_of_it() -> None:
    words = ("--context", "prod", "--profile", "sre")
    plan = plan_interruption(facts(queue=GONE, rules=()), InterruptionOptions(connection_args=words))
    (command,) = (  # only once
        remedy.command for finding in plan.findings for remedy in finding.remedy if " cloudformation " in remedy.command
    )
    assert "cloudformation create-stack --stack-name prod-interruption" in command
    assert command.count("--profile sre") == 3, "to print it, to make it, and to wait for it"
    assert "cloudformation create-stack" in print_document("stack", plan.stack, plan.missing, an_install())  # type: ignore[arg-type]


def test_commands_end_with_credentials_of_another_account(tmp_path: Path) -> None:
    plan = planned(queue=GONE)
    script = print_document("commands", plan.stack, plan.missing, an_install())  # type: ignore[arg-type]
    told = tmp_path / "told"
    aws = tmp_path / "aws"
    aws.write_text(f'#!/bin/sh\n[ "$1" = sts ] && echo 999999999999 || echo "$@" >> {told}\n')
    aws.chmod(0o755)
    around = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ran = subprocess.run(["sh", "-c", script], env=around, capture_output=True, text=True, timeout=30, check=False)
    assert ran.returncode == 1 and "not the credentials of account 111122223333" in ran.stderr
    assert not told.exists()


def test_what_no_document_mends_is_named() -> None:
    deny = {**allow_statement(ARN), "Effect": "Deny"}
    denied = planned(queue=a_queue(policy={"Statement": [allow_statement(ARN), deny]})).missing
    assert denied is not None and not denied.anything and "queue policy: " in denied.manual_fixes[0]
    asked = planned(queue=GONE).missing
    assert asked is not None and (asked.manual_fixes, asked.not_in_stack) == ((), ())


def test_what_is_not_known_is_not_made_but_said() -> None:
    plan = planned(queue=Unknown("denied", "sqs:GetQueueUrl"), policies=RolePolicies(ROLE))
    assert resources(plan) == {"InterruptionRights"}
    assert plan.missing is not None and plan.missing.not_known == ("queue: denied",)
    assert "# Not known, and so not in it: queue: denied" in print_document(
        "stack", plan.stack, plan.missing, an_install()
    )


def test_a_rule_that_is_disabled_is_enabled_by_a_command_and_made_anew_by_a_stack() -> None:
    plan = planned(rules=with_rule("spot interruption", the_rules(), state="DISABLED"))
    assert resources(plan) == {"SpotInterruptionRule"}
    assert [step.words for step in repair_steps(plan.missing)] == [  # type: ignore[arg-type]
        ("aws", "events", "enable-rule", "--name", "spot interruption")
    ]


def test_a_rule_of_somebody_else_is_left_alone() -> None:
    targets = {**told().targets, "spot interruption": (RuleTarget("1", f"{ARN}-other"),)}
    plan = planned(targets=targets)
    words = [step.words[:5] for step in repair_steps(plan.missing)]  # type: ignore[arg-type]
    assert words[0] == ("aws", "events", "put-rule", "--name", "prod-SpotInterruptionRule")


def test_a_policy_that_names_the_rules_that_are_there_gets_a_statement_for_a_new_one() -> None:
    rules = the_rules()
    named = {"ArnEquals": {"aws:SourceArn": [rule.arn for rule in rules]}}
    queue = a_queue(policy={"Statement": [{**allow_statement(ARN), "Condition": named}]})
    assert statuses(planned(queue=queue)) == {}
    fewer = tuple(each for each in rules if each.name != "spot interruption")
    plan = planned(queue=queue, rules=fewer)
    assert statuses(plan) == {"rule: spot interruption": "fail"}
    assert resources(plan) == {"SpotInterruptionRule", "InterruptionQueuePolicy"}


def test_a_key_policy_that_names_the_rules_is_judged_by_them() -> None:
    key = f"arn:aws:kms:{PLACE.region}:{PLACE.account}:key/k"
    named = {"ArnLike": {"aws:SourceArn": [rule.arn for rule in the_rules()]}}
    own = {
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:aws:iam::{PLACE.account}:root"},
        "Action": "kms:*",
        "Resource": "*",
    }
    policy = {"Statement": [own, {**key_statement(), "Condition": named}]}
    rights = RolePolicies(ROLE, (("own", rights_policy(ARN, key)),))
    plan = planned(queue=a_queue(key=key), key=KmsKey(key, "CUSTOMER", policy=policy), policies=rights)
    assert statuses(plan) == {}


def test_the_policy_of_a_key_is_kept_whole() -> None:
    key = f"arn:aws:kms:{PLACE.region}:{PLACE.account}:key/k"
    own = {"Sid": "Root", "Effect": "Allow", "Principal": {"AWS": ROLE}, "Action": "kms:*", "Resource": "*"}
    plan = planned(queue=a_queue(key=key), key=KmsKey(key, "CUSTOMER", policy={"Id": "x", "Statement": own}))
    assert plan.missing is not None and plan.missing.key_policy is not None
    assert plan.missing.key_policy["Id"] == "x" and plan.missing.key_policy["Statement"][0] == own
    script = print_document("commands", plan.stack, plan.missing, an_install())
    assert f"aws kms put-key-policy --key-id {key} --policy-name default --policy" in script


@pytest.mark.parametrize(
    ("version", "values"),
    [
        ("0.31.1", {"settings": {"aws": {"interruptionQueueName": "prod"}}}),
        ("0.32.0", {"settings": {"interruptionQueue": "prod"}}),
        ("1.5.0", {"settings": {"interruptionQueue": "prod"}}),
    ],
)
def test_both_spellings_of_helm(version: str, values: dict[str, Any]) -> None:
    assert helm_values("prod", an_install(version)) == values


@pytest.mark.parametrize(
    ("queue", "name"),
    [
        ("prod", "prod-interruption"),
        ("my_cluster.a", "my-cluster-a-interruption"),
        ("0prod", "k-0prod-interruption"),
        ("q" * 200, "q" * 128),
    ],
)
def test_the_stack_has_a_name_of_its_own(queue: str, name: str) -> None:
    assert stack_name(replace(facts(), queue=queue)) == name


def test_without_a_role_that_is_known_the_rights_are_printed_only() -> None:
    plan = planned(an_install(irsa=GONE), identity=GONE)
    assert resources(plan) == set() and plan.missing is not None and plan.missing.not_known
    assert '"sqs:ReceiveMessage"' in print_document("iam", plan.stack, plan.missing, an_install())
