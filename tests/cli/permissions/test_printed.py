"""What ``permissions`` prints: tables, objects for kubectl, policies; offline, and the same every time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.permissions.gathering import Places, reading, wanted
from kubectl_eksdoc.cli.permissions.naming import known, named
from kubectl_eksdoc.cli.rights import lost
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.errors import UsageError
from tests.cli.in_cluster.models import problems
from tests.cli.permissions.granted import Held, held, printed
from tests.cli.run.served import machine
from tests.cli.running import Ran, run_cli
from tests.embedded.clients import worlds
from tests.reading import yaml_documents
from tests.render.test_golden import check_golden

GOLDEN = Path(__file__).parent / "golden"
PRINTED = {
    "drain-run.yaml": "drain run -o yaml --bind Group:ops --bind User:ann",
    "addon-diff.txt": "addon-diff",
    "addon-diff-apply.json": "addon-diff --apply --iam --region eu-west-1 --cluster-name shop --account 111122223333",
    "measure.json": "coredns-lameduck --measure -o json --bind serviceaccount:ops/bot --probe-namespace lab",
}


def said(words: str) -> Ran:
    return run_cli("permissions", *words.split())


@pytest.mark.parametrize("name", PRINTED)
def test_golden(name: str) -> None:
    ran = said(PRINTED[name])
    assert ran.code == 0, ran.err
    check_golden(GOLDEN / name, ran.out.replace(__version__, "VERSION"))


@pytest.mark.parametrize("command", known())
def test_objects_are_as_kubernetes_takes_them_and_grant_what_is_registered(command: str) -> None:
    docs = yaml_documents(said(f"{command} -o yaml --bind Group:ops").out)
    assert [problem for doc in docs for problem in problems(doc)] == []
    assert json.loads(said(f"{command} -o json --bind Group:ops").out)["items"] == docs
    roles = [doc for doc in docs if doc["kind"] in ("Role", "ClusterRole")]
    assert len(docs) == 2 * len(roles)
    granted = {(each.said, each.namespace) for each in held(roles)}
    assert {right for right, _ in granted} == {str(right) for right in rights.in_cluster(command)}
    journal = {str(right) for right in rights.in_cluster(command) if right.journal}
    everywhere = {right for right, where in granted if not where}
    assert {right for right, where in granted if where == "kube-system"} >= journal - everywhere


def test_all_that_read_change_nothing() -> None:
    ran = said("-o yaml")
    (role,) = (doc for doc in yaml_documents(ran.out) if doc["kind"] == "ClusterRole")
    assert role["metadata"]["name"] == "eksdoc-reader"
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} <= {"get", "list", "watch"}
    policy = json.loads(said("--iam").out)
    actions = {action.partition(":")[2] for each in policy["Statement"] for action in each["Action"]}
    assert all(action.startswith(("Describe", "Get", "List")) for action in actions)
    assert not {"drain run", "addon-diff --apply", "check --refresh-insights"} & set(reading())


def test_every_answer_of_aws_says_what_is_lost_without_it() -> None:
    assert {each for each in questions.ALL if not each.free} == set(lost.OF)


def test_codes_are_those_of_drains_and_none_is_left_out() -> None:
    """`list namespaces` is of CoreDNS's place, too, and without it a drain lacks two things."""
    dns = " ".join(said("coredns-lameduck --set -o wide").out.split())
    assert "where an affinity picks namespaces" in dns and "landing-unsure" not in dns
    plan = said("drain plan -o wide").out
    (line,) = (each for each in plan.splitlines() if " namespaces " in each)
    assert "landing-unsure" in line and "metadata.cluster.uid" in line


def test_what_nobody_has_seen_is_said_with_its_doubt() -> None:
    """Not in the policy, and told beside it, whichever way it is printed."""
    policy = said("imds-probe --apply --iam")
    assert "ec2:RunInstances" not in policy.out and "iam:PassRole" not in policy.out
    for text in (policy.err, said("imds-probe --apply").out, said("imds-probe --apply -o wide").out):
        words = " ".join(text.split())
        assert "ec2:RunInstances" in words and "iam:PassRole" in words and "confidence: medium" in words
    assert "RunInstances" not in said("imds-probe").out


def test_who_sends_a_job_has_the_rights_that_it_gets(tmp_path: Path) -> None:
    """Kubernetes lets nobody create a role with rights that they have not."""
    image = ("--image", "reg.example/e:1")
    check = ("check", "--in-cluster", "--schedule", "@daily", "--cluster-name", "lab", "--region", "eu-west-1")
    with worlds.served("small-traps") as (server, _):
        ann = machine(server, tmp_path / "ann")
        for command, words in (
            ("check --in-cluster", check),
            ("check --in-cluster", (*check, "--changed-since", "2h")),
            ("drain run --in-cluster", ("drain", "run", "--nodegroup", "blue", "--in-cluster", "--surge-singles")),
        ):
            ran = ann.run(*words, *image, "-o", "json")
            assert ran.code == 0, ran.err
            roles = [doc for doc in json.loads(ran.out)["items"] if doc["kind"] in ("Role", "ClusterRole")]
            ours = printed(command)
            given = list(held(roles))
            assert given and [each for each in given if not _covers(ours, each)] == []


def _covers(ours: Sequence[Held], one: Held) -> bool:
    """The right itself, there or everywhere."""
    return any(
        each._replace(namespace="") == one._replace(namespace="")
        for each in ours
        if each.namespace in ("", one.namespace)
    )


def test_secrets_are_pointed_out() -> None:
    assert "It may read Secrets" in said("check").out and "It may read Secrets" in said("check -o yaml").out
    assert "Secrets" not in said("drain plan").out


def test_what_is_needed_everywhere_is_not_granted_in_a_namespace_besides() -> None:
    both = wanted(["drain run", "imds-probe --active"], Places("kube-system", "kube-system"))
    assert len(set(both.permissions)) == len(both.permissions)
    everywhere = {each._replace(namespace="") for each in both.permissions if not each.namespace}
    assert not [each for each in both.permissions if each.namespace and each._replace(namespace="") in everywhere]


@pytest.mark.parametrize(
    ("words", "commands"),
    [
        ("", ()),
        ("drain run check", ("drain run", "check")),
        ("addon-diff --apply=true check", ("addon-diff --apply", "check")),
        ("addon-diff --apply=false", ("addon-diff",)),
        ("check --changed-since 24h drain plan", ("check --changed-since", "drain plan")),
        ("check --changed-since=24h --refresh-insights", ("check --changed-since", "check --refresh-insights")),
        ("drain rehearse", ("rehearse",)),
        ("check check", ("check",)),
    ],
)
def test_commands_are_words(words: str, commands: tuple[str, ...]) -> None:
    assert named(words.split()) == commands


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("drain rum", "'drain rum' is no command with rights of its own (did you mean drain run"),
        ("chekc", "did you mean check"),
        ("check --apply", "'check' needs no other rights than without it"),
        ("--apply", "stands before any"),
        ("check --nodegroup blue", "--nodegroup is no flag of 'kubectl eksdoc permissions'"),
        ("drain plan --iam", "asks AWS nothing that must be allowed"),
        ("check --iam --part 2", "the policy has no part 2"),
        ("check --part 1", "--part is of a policy"),
        ("check --iam --check", "leave one of them out"),
        ("check --iam -o yaml", "IAM takes JSON alone"),
        ("check --bind Grup:x", "'Grup:x' is no subject"),
        ("check --bind ServiceAccount:bot", "does not say in which namespace"),
        ("check --account 12", "'12' is no AWS account"),
        ("check --demo", "leave --demo and --snapshot out"),
        ("check --journal-namespace A/b", "is no name of a namespace"),
        ("check -o html", "have no output format 'html'"),
    ],
)
def test_what_was_given_does_not_fit(words: str, why: str) -> None:
    ran = said(words)
    assert (ran.code, ran.out) == (2, "")
    assert why.lower() in ran.err.lower().replace("has no output", "have no output"), ran.err


def test_no_word_alone_is_an_error() -> None:
    with pytest.raises(UsageError):
        named(["drain"])
