"""Each link of the chain: existing, missing, and unknown resources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.amazon import interruption
from kubectl_eksdoc.interruption.installs import Link, effective_setting, helm_upgrade_command
from kubectl_eksdoc.interruption.plan import InterruptionOptions, plan_interruption
from kubectl_eksdoc.interruption.repair import allow_statement, event_pattern, key_statement, rights_policy
from kubectl_eksdoc.model.findings import Code, Severity, Status, Subject
from kubectl_eksdoc.model.interruption import (
    EVENT_DELIVERY,
    DeliveryMetrics,
    EventRule,
    KmsKey,
    QueueSetting,
    RolePolicies,
    RuleTarget,
)
from kubectl_eksdoc.model.kinds import NOT_REQUESTED, Absent, Unknown
from kubectl_eksdoc.model.nodes import RoleSource
from tests.builders import a_cluster
from tests.interruption.healthy import (
    ARN,
    PLACE,
    ROLE,
    a_queue,
    a_spot_node,
    an_install,
    codes_of,
    facts,
    planned,
    statuses,
    the_rules,
    told,
    with_rule,
)

DENIED = Unknown("IAM does not allow it", "sqs:GetQueueUrl")
NOTHING: Any = Absent("there is none")


MAP = QueueSetting("prod", "ConfigMap karpenter-global-settings, aws.interruptionQueueName")
NEW = QueueSetting("prod", "variable INTERRUPTION_QUEUE")


@pytest.mark.parametrize(
    ("version", "variable", "config_map", "status"),
    [
        ("0.31.0", NOTHING, MAP, ""),
        ("0.31.0", NEW, NOTHING, "fail"),  # it does not look there yet
        ("0.32.1", NOTHING, MAP, ""),
        ("0.32.1", NEW, NOTHING, ""),
        ("0.33.0", NOTHING, MAP, "fail"),  # the old key, silently ignored
        ("0.33.0", NEW, MAP, ""),
        ("1.5.0", QueueSetting("", NEW.where), NOTHING, "fail"),
        ("1.5.0", Unknown("it is taken from Secret x"), NOTHING, "unknown"),
        ("1.5.0", NOTHING, Unknown("forbidden", "get configmaps"), "fail"),
        ("0.31.0", NOTHING, Unknown("forbidden", "get configmaps"), "unknown"),
        ("", NOTHING, MAP, "unknown"),
        ("", NEW, MAP, ""),
    ],
)
def test_both_spellings_of_the_setting(version: str, variable: Any, config_map: Any, status: str) -> None:
    plan = planned(an_install(version, variable=variable, config_map=config_map))
    assert statuses(plan).get("setting", "") == status


def test_an_ignored_key_is_named_with_the_one_that_counts() -> None:
    plan = planned(an_install("0.33.0", variable=NOTHING, config_map=MAP))
    (finding,) = (each for each in plan.findings if each.code.name == "interruption-setting")
    assert "Karpenter v0.33.0 ignores that silently" in finding.message and MAP.where in finding.message
    assert "settings.interruptionQueue" in finding.remedy[0].text and "--reuse-values" in finding.remedy[0].command
    old = planned(an_install("0.31.0", variable=NOTHING))
    (finding,) = (each for each in old.findings if each.code.name == "interruption-setting")
    assert "settings.aws.interruptionQueueName" in finding.remedy[0].text


@pytest.mark.parametrize(
    ("tag", "version", "chart"),
    [
        ("1.5.0", "1.5.0", "1.5.0"),
        ("v0.33.0", "0.33.0", "v0.33.0"),
        ("", "1.5.0", "1.5.0"),
        ("latest", "0.34.1", "v0.34.1"),
        ("", "", "CHART-VERSION"),
    ],
)
def test_helm_is_never_left_to_take_the_newest_chart(tag: str, version: str, chart: str) -> None:
    install = replace(an_install(version), tag=tag)
    assert f" --version {chart} -n kube-system --reuse-values " in helm_upgrade_command(install, "values.yaml")


def test_an_argument_wins_over_the_variable() -> None:
    said = effective_setting(an_install(argument=QueueSetting("other", "argument --interruption-queue")))
    assert said.queue == "other"


def test_an_argument_that_is_empty_switches_it_off_whatever_the_variable_says() -> None:
    plan = planned(an_install(argument=QueueSetting("", "argument --interruption-queue")))
    assert statuses(plan) == {"setting": "fail"}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (ARN, "prod"),
        ("https://sqs.eu-west-1.amazonaws.com/111122223333/prod", "prod"),
        ("prod ", "prod"),
        ("prod.fifo", "prod.fifo"),
        ("a queue", ""),
        ("x" * 81, ""),
    ],
)
def test_an_arn_or_a_url_is_no_name_and_the_name_in_it_is_proposed(written: str, name: str) -> None:
    install = an_install(variable=QueueSetting(written, "variable INTERRUPTION_QUEUE"))
    assert effective_setting(install).queue == name
    assert statuses(planned(install)) == ({} if written == name else {"setting": "fail"})


def test_a_queue_of_an_unknown_name_is_nobodys_fault() -> None:
    install = an_install(variable=Unknown("it is taken from Secret x"))
    plan = plan_interruption(replace(facts(install), queue="", told=replace(told(), queue=NOT_REQUESTED)))
    found = statuses(plan)
    assert set(found.values()) == {"unknown", "-"} and "queue" in found and SPOT_LINK in found
    assert plan.outage.handled is None and codes_of(plan, "fail") == []


def test_another_queue_than_the_wanted_one() -> None:
    plan = plan_interruption(facts(), InterruptionOptions("other"))
    assert statuses(plan) == {"setting": "fail"}
    assert any("--queue other --print " in remedy.command for each in plan.findings for remedy in each.remedy)
    (said,) = [each for each in plan.findings if each.status is Status.FAIL]
    assert "Karpenter deletes every message that it reads: no other consumer may read or need other" in said.evidence


SPOT = "spot interruption"
SPOT_LINK = f"rule: {SPOT}"
ELSEWHERE = (RuleTarget("1", f"{ARN}-other"),)


def rules_with(**more: Any) -> dict[str, Any]:
    return {"rules": with_rule(SPOT, the_rules(), **more)}


def targets_with(targets: Any) -> dict[str, Any]:
    return {"targets": {**told().targets, SPOT: targets}}


MAY_ALL = {"Effect": "Allow", "Principal": {"AWS": ROLE}, "Action": "sqs:*", "Resource": ARN}
OPEN = a_queue(policy={"Statement": [allow_statement(ARN), MAY_ALL]})

CASES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "no queue": ({"queue": NOTHING}, {"queue": "fail", "queue policy": "-"}),
    "queue not known": ({"queue": DENIED}, {"queue": "unknown", "queue policy": "-", "sign of life": "unknown"}),
    "no policy": ({"queue": a_queue(policy=None)}, {"queue policy": "fail"}),
    "policy cannot be read": ({"queue": a_queue(policy=Unknown("no JSON"))}, {"queue policy": "unknown"}),
    "policy denies": (
        {"queue": a_queue(policy={"Statement": [allow_statement(ARN), {**allow_statement(ARN), "Effect": "Deny"}]})},
        {"queue policy": "fail"},
    ),
    "condition is not understood": (
        {"queue": a_queue(policy={"Statement": [{**allow_statement(ARN), "Condition": {"X": {"y": "z"}}}]})},
        {"queue policy": "unknown"},
    ),
    "rules not known": ({"rules": DENIED}, {f"rule: {rule.name}": "unknown" for rule in the_rules()}),
    "no rule": ({"rules": tuple(each for each in the_rules() if each.name != SPOT)}, {SPOT_LINK: "fail"}),
    "rule disabled": (rules_with(state="DISABLED"), {SPOT_LINK: "fail"}),
    "rule narrowed": (
        rules_with(pattern={"source": ["aws.ec2"], "detail": {"instance-id": ["i-1"]}}),
        {SPOT_LINK: "unknown"},
    ),
    "pattern cannot be read": (rules_with(pattern=Unknown("no JSON")), {SPOT_LINK: "unknown"}),
    "no target": (targets_with(()), {SPOT_LINK: "fail"}),
    "another target": (targets_with(ELSEWHERE), {SPOT_LINK: "fail"}),
    "targets not known": (targets_with(DENIED), {SPOT_LINK: "unknown"}),
    "shaped": (targets_with((RuleTarget("1", ARN, True),)), {SPOT_LINK: "fail"}),
    "deliveries failed": ({"figures": DeliveryMetrics(failed={SPOT: 3}, empty=1)}, {"deliveries": "fail"}),
    "no figures": ({"figures": DENIED}, {"deliveries": "unknown", "sign of life": "unknown"}),
    "never seen": ({"figures": DeliveryMetrics()}, {"sign of life": "unknown"}),
    "no rights": ({"policies": RolePolicies(ROLE)}, {"role's rights": "fail"}),
    "role gone": ({"policies": NOTHING}, {"role's rights": "fail"}),
    "policies not known": ({"policies": DENIED}, {"role's rights": "unknown"}),
    "a policy unread": (
        {"policies": RolePolicies(ROLE, (("own", rights_policy(ARN)),), (DENIED,))},
        {"role's rights": "unknown"},
    ),
    "bounded": (
        {"policies": RolePolicies(ROLE, (("own", rights_policy(ARN)),), boundary={"Statement": []})},
        {"role's rights": "fail"},
    ),
    "boundary unread": (
        {"policies": RolePolicies(ROLE, (("own", rights_policy(ARN)),), boundary=DENIED)},
        {"role's rights": "unknown"},
    ),
    "queue allows the role": ({"policies": RolePolicies(ROLE), "queue": OPEN}, {}),
    "queue allows the role, and its boundary does not": (
        {"policies": RolePolicies(ROLE, boundary={"Statement": []}), "queue": OPEN},
        {"role's rights": "fail"},
    ),
    "queue allows the role, whose boundary is unread": (
        {"policies": RolePolicies(ROLE, boundary=DENIED), "queue": OPEN},
        {"role's rights": "unknown"},
    ),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_what_lacks_is_said_and_nothing_else(case: str) -> None:
    aws, expected = CASES[case]
    plan = planned(**aws)
    assert statuses(plan) == expected
    assert bool(codes_of(plan, "fail")) is ("fail" in expected.values())
    assert bool(codes_of(plan, "unknown")) is ("unknown" in expected.values())


KEY = f"arn:aws:kms:{PLACE.region}:{PLACE.account}:key/k"
DELEGATES = {
    "Effect": "Allow",
    "Principal": {"AWS": f"arn:aws:iam::{PLACE.account}:root"},
    "Action": "kms:*",
    "Resource": "*",
}
WITH_KEY = RolePolicies(ROLE, (("own", rights_policy(ARN, KEY)),))


@pytest.mark.parametrize(
    ("key", "policies", "expected"),
    [
        (KmsKey(KEY, "CUSTOMER", policy={"Statement": [DELEGATES, key_statement()]}), WITH_KEY, {}),
        (KmsKey(KEY, "CUSTOMER", policy={"Statement": [DELEGATES]}), WITH_KEY, {"queue key": "fail"}),
        (KmsKey(KEY, "CUSTOMER", policy={"Statement": [key_statement()]}), WITH_KEY, {"role's rights": "fail"}),
        (KmsKey(KEY, "CUSTOMER", policy={"Statement": [DELEGATES, key_statement()]}), None, {"role's rights": "fail"}),
        (KmsKey(KEY, "CUSTOMER", False, {"Statement": [DELEGATES, key_statement()]}), WITH_KEY, {"queue key": "fail"}),
        (KmsKey(KEY, "AWS"), WITH_KEY, {"queue key": "fail"}),
        (KmsKey(KEY, "CUSTOMER", policy=DENIED), WITH_KEY, {"queue key": "unknown", "role's rights": "unknown"}),
        (DENIED, WITH_KEY, {"queue key": "unknown"}),
        (Absent("gone"), WITH_KEY, {"queue key": "fail"}),
    ],
)
def test_the_key_of_the_queue(key: Any, policies: Any, expected: dict[str, str]) -> None:
    more = {} if policies is None else {"policies": policies}
    assert statuses(planned(queue=a_queue(key=KEY), key=key, **more)) == expected


@pytest.mark.parametrize(
    ("install", "identity", "status"),
    [
        (an_install(irsa=NOTHING), ROLE, ""),
        (an_install(irsa=NOTHING), NOTHING, "unknown"),
        (an_install(irsa=Unknown("forbidden", "get serviceaccounts")), NOTHING, "unknown"),
        (an_install(role_by=RoleSource.KEYS), ROLE, "unknown"),
        (an_install(irsa=NOTHING), DENIED, "unknown"),
    ],
)
def test_whose_role_it_is(install: Any, identity: Any, status: str) -> None:
    plan = planned(install, identity=identity)
    assert statuses(plan).get("role's rights", "") == status


def test_the_fifth_rule_is_wanted_from_v1_10_on() -> None:
    four = the_rules("1.9.0")
    assert statuses(planned(an_install("1.9.0"), rules=four)) == {}
    reserved = a_spot_node("reserved-0", labels={"karpenter.sh/capacity-type": "reserved"})
    plan = planned(an_install("1.10.0"), a_cluster(nodes=[a_spot_node(), reserved], pods=[]), rules=four)
    assert statuses(plan) == {"rule: capacity reservation": "fail"} and plan.outage.handled is True
    without = planned(an_install("1.10.0"), rules=four)
    assert statuses(without) == {"rule: capacity reservation": "-"}, "no node is of a reservation"


def test_a_rule_for_what_karpenter_only_logs_is_no_failure() -> None:
    plan = planned(rules=tuple(rule for rule in the_rules() if rule.name != "rebalance"))
    assert statuses(plan) == {"rule: rebalance": "-"} and codes_of(plan, "fail") == []
    assert plan.to_queue["rebalance"] is False and plan.to_queue["spot interruption"] is True
    assert plan.missing is not None and not plan.missing.anything


def test_the_two_halves_are_two_verdicts_and_a_poll_proves_the_second_alone() -> None:
    one = {**event_pattern(interruption.spot_notice()), "resources": ["arn:aws:ec2:::instance/i-1"]}
    narrowed = with_rule("spot interruption", the_rules(), pattern=one)
    plan = planned(rules=narrowed)
    assert plan.to_queue["spot interruption"] is None and plan.to_queue["state change"] is True
    assert plan.to_karpenter is True and plan.outage.handled is None
    unread = planned(
        queue=a_queue(policy=Unknown("denied", "sqs:GetQueueAttributes")), figures=DeliveryMetrics(deleted=3)
    )
    assert set(unread.to_queue.values()) == {None} and unread.to_karpenter is True and unread.outage.handled is None


def test_a_policy_that_names_rules_is_judged_for_each_of_them() -> None:
    """Only the Spot rule may send: Spot notices arrive, and the other events do not."""
    spot = PLACE.arn("events", "rule/spot interruption")
    only = {**allow_statement(ARN), "Condition": {"ArnEquals": {"aws:SourceArn": spot}}}
    plan = planned(queue=a_queue(policy={"Statement": [only]}))
    assert plan.outage.handled is True and plan.to_queue["spot interruption"] is True
    said = [next(each.what for each in of.links if each.name == "queue policy") for of in (plan, planned())]
    assert "for 1 of 4 rules (" in said[0] and "rules" not in said[1]
    assert statuses(plan) == {
        "rule: rebalance": "-",
        "rule: state change": "fail",
        "rule: scheduled change": "fail",
    }


@pytest.mark.parametrize("version", ["0.31.4", "0.32.1", "1.5.0"])
def test_only_what_the_controller_calls_is_asked_of_its_role(version: str) -> None:
    """sqs:GetQueueAttributes is in the templates of v0.31 and v0.32, and their code never calls it."""
    setting = {"variable": NOTHING, "config_map": MAP} if version.startswith("0.31") else {}
    statement = {"Effect": "Allow", "Action": ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]}
    policies = RolePolicies(ROLE, (("own", {"Statement": [{**statement, "Resource": ARN}]}),))
    plan = planned(an_install(version, **setting), policies=policies)
    assert statuses(plan) == {} and plan.outage.handled is True


def test_a_rule_for_whatever_comes_delivers_too() -> None:
    whole = EventRule("all", PLACE.arn("events", "rule/all"), {"source": [{"prefix": "aws."}]})
    assert statuses(planned(rules=(whole,), targets={"all": (RuleTarget("1", ARN),)})) == {}


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ("prod", False),
        ("Karpenter-prod", False),
        ("prod-karpenter-queue", False),
        ("staging", True),
        ("pre-prod", True),
    ],
)
def test_a_queue_with_another_name_may_be_that_of_another_cluster(queue: str, said: bool) -> None:
    """Karpenter deletes every message that it reads, for any cluster."""
    plan = plan_interruption(replace(facts(), queue=queue))
    found = [each for each in plan.findings if each.status is Status.PASS and each.subject.name == queue]
    assert [("another cluster" in each.message, bool(each.remedy)) for each in found] == [(True, True)] * said


@pytest.mark.parametrize("code", ["interruption-queue", "interruption-rule", "interruption-rights"])
def test_what_fails_of_the_chain_has_one_root_cause(code: str) -> None:
    link = Link(Code.of(code), Subject("Queue", "prod"), Status.FAIL, "it is not there")
    found = link.finding(Severity.HIGH)
    assert found is not None and found.root_cause == EVENT_DELIVERY
    unsure = replace(link, status=Status.UNKNOWN, missing="sqs:GetQueueUrl").finding(Severity.HIGH)
    assert unsure is not None and unsure.root_cause is None, "a right that is missing is its own cause"
