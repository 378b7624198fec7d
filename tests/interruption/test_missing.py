"""What a repair makes: only what lacks, whole policies, the right spelling."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.interruption.plan import InterruptionOptions, plan_interruption, stack_name
from kubectl_eksdoc.interruption.repair import (
    allow_statement,
    helm_values,
    key_statement,
    rights_policy,
    steps,
    template,
)
from kubectl_eksdoc.model.kinds import Absent
from kubectl_eksdoc.model.queues import KmsKey, RolePolicies, RuleTarget
from kubectl_eksdoc.render.interruption.printed import printed
from tests.interruption.healthy import (
    ARN,
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

GONE: Any = Absent("there is none")


def resources(plan: Any) -> set[str]:
    return set(template(plan.missing)["Resources"])


def test_each_thing_that_lacks_is_made_alone() -> None:
    spot = tuple(each for each in the_rules() if each.name != "spot interruption")
    assert resources(planned(rules=spot)) == {"SpotInterruptionRule"}
    assert resources(planned(policies=RolePolicies(ROLE))) == {"InterruptionRights"}
    assert resources(planned(queue=a_queue(policy=None))) == {"InterruptionQueuePolicy"}
    assert resources(planned(queue=GONE)) == {"InterruptionQueue", "InterruptionQueuePolicy"}


def test_a_stack_that_is_there_is_never_updated_as_that_would_delete_the_rest_of_it() -> None:
    plan = plan_interruption(facts(queue=GONE), InterruptionOptions(again=("--context", "prod", "--profile", "sre")))
    (command,) = {
        remedy.command for finding in plan.findings for remedy in finding.remedy if " cloudformation " in remedy.command
    }
    assert "cloudformation create-stack --stack-name prod-interruption" in command
    assert command.count("--profile sre") == 3, "to print it, to make it, and to wait for it"
    assert "cloudformation create-stack" in printed("stack", plan.stack, plan.missing, an_install())  # type: ignore[arg-type]


def test_commands_end_with_credentials_of_another_account(tmp_path: Path) -> None:
    plan = planned(queue=GONE)
    script = printed("commands", plan.stack, plan.missing, an_install())  # type: ignore[arg-type]
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
    assert denied is not None and not denied.anything and "queue policy: " in denied.for_a_person[0]
    asked = planned(queue=GONE).missing
    assert asked is not None and (asked.for_a_person, asked.beside_stack) == ((), ())


def test_a_rule_that_is_disabled_is_enabled_by_a_command_and_made_anew_by_a_stack() -> None:
    plan = planned(rules=with_rule("spot interruption", the_rules(), state="DISABLED"))
    assert resources(plan) == {"SpotInterruptionRule"}
    assert [step.words for step in steps(plan.missing)] == [  # type: ignore[arg-type]
        ("aws", "events", "enable-rule", "--name", "spot interruption")
    ]


def test_a_rule_of_somebody_else_is_left_alone() -> None:
    targets = {**told().targets, "spot interruption": (RuleTarget("1", f"{ARN}-other"),)}
    plan = planned(targets=targets)
    words = [step.words[:5] for step in steps(plan.missing)]  # type: ignore[arg-type]
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
    script = printed("commands", plan.stack, plan.missing, an_install())
    assert f"aws kms put-key-policy --key-id {key} --policy-name default --policy" in script


@pytest.mark.parametrize(
    ("version", "values"),
    [
        ("0.31.1", {"settings": {"aws": {"interruptionQueueName": "prod"}}}),
        ("0.32.0", {"settings": {"interruptionQueue": "prod"}}),
        ("0.33.0", {"settings": {"interruptionQueue": "prod"}}),
        ("1.5.0", {"settings": {"interruptionQueue": "prod"}}),
    ],
)
def test_both_spellings_of_helm(version: str, values: dict[str, Any]) -> None:
    assert helm_values("prod", an_install(version)) == values


@pytest.mark.parametrize(
    ("queue", "wish", "name"),
    [
        ("prod", "", "prod-interruption"),
        ("my_cluster.a", "", "my-cluster-a-interruption"),
        ("0prod", "", "k-0prod-interruption"),
        ("q" * 200, "", "q" * 128),
        ("prod", "mine", "mine"),
    ],
)
def test_the_stack_has_a_name_of_its_own(queue: str, wish: str, name: str) -> None:
    assert stack_name(replace(facts(), queue=queue), InterruptionOptions(stack=wish)) == name


def test_without_a_role_that_is_known_the_rights_are_printed_only() -> None:
    plan = planned(an_install(irsa=GONE), identity=GONE)
    assert resources(plan) == set() and plan.missing is not None and plan.missing.not_known
    assert '"sqs:ReceiveMessage"' in printed("iam", plan.stack, plan.missing, an_install())
