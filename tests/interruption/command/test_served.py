"""``interruption`` over HTTP on both sides: the incident, the resources created as printed, and every part of them
removed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.aws.test_live import prod
from tests.cli.running import document
from tests.interruption.command.incident import (
    QUEUE,
    ROLE,
    SPOT,
    Incident,
    carry_out,
    happened,
    values_in,
)

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
KINDS = {"spot interruption", "rebalance", "state change", "scheduled change"}
RULES = {f"rule: {kind}" for kind in KINDS}
PARSED = {"version", "account", "detail-type", "id", "region", "resources", "source", "time", "detail"}
"""What Karpenter's parser reads of a message (pkg/controllers/interruption/messages, Metadata), and the rest of it."""


@pytest.fixture
def ann(prod: World, tmp_path: Path) -> Iterator[Incident]:
    with happened(prod, tmp_path) as incident:
        yield incident


def test_the_incident(ann: Incident) -> None:
    ran = ann.run()
    assert ran.code == 1 and "receives no Spot interruption events: the links queue" in ran.out
    found = ann.links()
    assert (
        ann.failing() == {"queue", *RULES - {"rule: rebalance"}, "role's rights", "Karpenter's log"}
        and found["handled"] == "no"
    )
    dns = next(each for each in found["findings"] if each["subject"]["name"] == "coredns")
    assert (dns["code"], dns["severity"], dns["status"]) == ("interruption-outage", "critical", "fail")
    assert dns["remedy"][0]["command"].startswith("kubectl eksdoc coredns-lameduck ")


@pytest.mark.long
def test_the_printed_stack_makes_all_of_it(ann: Incident) -> None:
    ann.mended()
    found = ann.links()
    assert {each["status"] for each in found["links"]} == {"pass"} and found["handled"] == "yes"
    assert [each for each in found["findings"] if each["status"] != "pass"] == []
    again = ann.run("--print", "stack")
    assert (again.code, again.out) == (0, "") and "nothing is missing" in again.err
    assert ann.run().code == 0


def send(ann: Incident, detail_type: str = SPOT) -> list[dict[str, Any]]:
    """Send an event of the kind; returns the messages in the queue that Karpenter can read."""
    detail = {"instance-id": "i-0123456789abcdef0", "instance-action": "terminate"}
    source = "aws.health" if "Health" in detail_type else "aws.ec2"
    entry = {"Source": source, "DetailType": detail_type, "Detail": json.dumps(detail)}
    ann.aws.client("events").put_events(Entries=[entry])
    sqs = ann.aws.client("sqs")
    url = sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
    bodies = [json.loads(each["Body"]) for each in sqs.receive_message(QueueUrl=url).get("Messages", ())]
    return [body for body in bodies if body.keys() >= PARSED]


@pytest.mark.long
def test_an_interruption_arrives_as_karpenter_reads_it(ann: Incident) -> None:
    ann.mended()
    (body,) = send(ann)
    assert (body["source"], body["detail-type"], body["detail"]["instance-action"]) == ("aws.ec2", SPOT, "terminate")
    assert body["account"] == "111122223333" and body["region"] == "ap-northeast-2"
    assert len(send(ann, "AWS Health Event")) == 1 and send(ann, "EC2 Fleet Error") == []


def rules_of(ann: Incident, detail_type: str) -> list[str]:
    """The names of the rules. One is of the stack; another may be of the commands that fixed an earlier removal."""
    rules = ann.aws.client("events").list_rules()["Rules"]
    return [each["Name"] for each in rules if detail_type in each.get("EventPattern", "")]


def of_rule(what: str, detail_type: str = SPOT) -> Callable[[Incident, str], None]:
    def undo(ann: Incident, _: str) -> None:
        events = ann.aws.client("events")
        name, *others = rules_of(ann, detail_type)
        for each in others:
            events.remove_targets(Rule=each, Ids=[of["Id"] for of in targets(ann, each)])
            events.delete_rule(Name=each)
        there = targets(ann, name)
        if what == "disabled":
            events.disable_rule(Name=name)
        else:
            events.remove_targets(Rule=name, Ids=[each["Id"] for each in there])
            if what == "gone":
                events.delete_rule(Name=name)

    return undo


def targets(ann: Incident, rule: str) -> list[dict[str, Any]]:
    return list(ann.aws.client("events").list_targets_by_rule(Rule=rule)["Targets"])


def with_policy(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Incident, str], None]:
    def undo(ann: Incident, url: str) -> None:
        sqs = ann.aws.client("sqs")
        policy = json.loads(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]["Policy"])
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(change(policy))})

    return undo


def without_allow(policy: dict[str, Any]) -> dict[str, Any]:
    return {**policy, "Statement": [each for each in policy["Statement"] if each["Effect"] != "Allow"]}


def with_deny(policy: dict[str, Any]) -> dict[str, Any]:
    allow = next(each for each in policy["Statement"] if each["Effect"] == "Allow")
    return {**policy, "Statement": [*policy["Statement"], {**allow, "Sid": "No", "Effect": "Deny"}]}


def without_rights(ann: Incident, _: str) -> None:
    ann.aws.client("iam").delete_role_policy(RoleName=ROLE, PolicyName=f"{QUEUE}-interruption-queue")


def without_queue(ann: Incident, url: str) -> None:
    ann.aws.client("sqs").delete_queue(QueueUrl=url)


REBALANCE = "EC2 Instance Rebalance Recommendation"
UNDONE: dict[str, tuple[Callable[[Incident, str], None], set[str], bool]] = {
    "rule gone": (of_rule("gone"), {"rule: spot interruption"}, True),
    "target gone": (of_rule("no target"), {"rule: spot interruption"}, True),
    "rule disabled": (of_rule("disabled"), {"rule: spot interruption"}, True),
    "only logged, gone": (of_rule("gone", REBALANCE), set(), False),
    "health gone": (of_rule("gone", "AWS Health Event"), {"rule: scheduled change"}, False),
    "policy without the statement": (with_policy(without_allow), {"queue policy"}, True),
    "policy denies": (with_policy(with_deny), {"queue policy"}, True),
    "role without rights": (without_rights, {"role's rights"}, False),
    "queue gone": (without_queue, {"queue"}, True),
}


def wrong_without(what: str, ann: Incident, url: str) -> list[str]:
    """Differences from the expected report if that part, and no other, is removed; then the printed commands create it
    again."""
    undo, broken, undelivered = UNDONE[what]
    undo(ann, url)
    ran = ann.run("-o", "json")
    failing = {each["name"] for each in document(ran.out, "Interruption")["links"] if each["status"] == "fail"}
    wrong = [] if failing == broken and ran.code == bool(broken) else [f"{what}: fails {failing}, exit code {ran.code}"]
    if what != "queue gone" and bool(send(ann)) is undelivered:
        wrong.append(f"{what}: delivered is {undelivered}")
    carry_out(ann.run("--print", "commands").out, ann.aws)
    ann.aws.forget_counts()  # of what was not delivered
    ann.works()
    return wrong if len(send(ann)) == 1 else [*wrong, f"{what}: not delivered after the commands"]


@pytest.mark.long
def test_what_is_removed_is_reported_and_nothing_else_and_the_printed_commands_mend_it(ann: Incident) -> None:
    """One after the other: a part that the commands do not fix is broken for the next one, and at the end."""
    url = ann.mended()
    wrong = [each for what in sorted(set(UNDONE) - {"policy denies"}) for each in wrong_without(what, ann, url)]
    assert wrong == [] and ann.failing() == set()


@pytest.mark.long
def test_what_a_statement_denies_no_repair_takes_back(ann: Incident) -> None:
    undo, broken, _ = UNDONE["policy denies"]
    undo(ann, ann.mended())
    ran = ann.run("-o", "json")
    found = document(ran.out, "Interruption")
    assert {each["name"] for each in found["links"] if each["status"] == "fail"} == broken and ran.code == 1
    assert send(ann) == []
    (finding,) = (each for each in found["findings"] if each["code"] == "interruption-queue-policy")
    assert "Take back what denies it: statement No denies it" in finding["remedy"][0]["text"]
    assert found["missing"]["anything"] is False


@pytest.mark.long
def test_a_policy_of_somebody_else_is_kept_whole(ann: Incident) -> None:
    arn = f"arn:aws:sqs:ap-northeast-2:111122223333:{QUEUE}"
    theirs = {
        "Sid": "Audit",
        "Effect": "Allow",
        "Principal": {"AWS": "111122223333"},
        "Action": "sqs:*",
        "Resource": arn,
    }
    document = json.dumps({"Version": "2008-10-17", "Id": "own", "Statement": [theirs]})
    ann.aws.client("sqs").create_queue(QueueName=QUEUE, Attributes={"Policy": document})
    template = values_in(ann.run("--print", "stack").out)["Resources"]
    assert "InterruptionQueue" not in template
    policy = template["InterruptionQueuePolicy"]["Properties"]["PolicyDocument"]
    assert policy["Statement"][0] == theirs and policy["Id"] == "own" and len(policy["Statement"]) == 2
    url = ann.mended()
    kept = ann.aws.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]["Policy"]
    assert json.loads(kept)["Statement"][0] == theirs and ann.failing() == set()
