"""The output of ``permissions``: tables, objects for kubectl, policies; offline, and the same in every run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kubectl_eksdoc import __version__
from kubectl_eksdoc.check.registry import known_codes
from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.commands import command_parser
from kubectl_eksdoc.cli.rights import RightNamespaces
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.permissions.command.rights import (
    ParserFor,
    parse_commands,
    read_only_commands,
    registered_commands,
    required_permissions,
    without_flags,
)
from kubectl_eksdoc.permissions.grants import READ_ACTION_PREFIXES
from kubectl_eksdoc.permissions.grants import check_held as held_of
from tests.cli.running import Ran, run_cli
from tests.drain.command.served import machine
from tests.embedded.clients import worlds
from tests.examples import one_in
from tests.in_cluster.command.models import problems
from tests.permissions.command.granted_users import Held, held, printed
from tests.report.golden import check_golden
from tests.yaml_reader import yaml_documents

GROWN: ParserFor = lambda path: command_parser(only_path=path)  # noqa: E731
CODE_NAMES = known_codes()
GOLDEN = Path(__file__).parent / "golden"
PRINTED = {
    "drain-run.yaml": "drain run --surge-singles -o yaml --bind Group:ops --bind User:ann",
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


@pytest.mark.parametrize("command", one_in(3, registered_commands()))
def test_objects_are_as_kubernetes_takes_them_and_grant_what_is_registered(command: str) -> None:
    docs = yaml_documents(said(f"{command} -o yaml --bind Group:ops").out)
    assert [problem for doc in docs for problem in problems(doc)] == []
    assert json.loads(said(f"{command} -o json --bind Group:ops").out)["items"] == docs
    roles = [doc for doc in docs if doc["kind"] in ("Role", "ClusterRole")]
    assert len(docs) == 2 * len(roles)
    granted = {(each.said, each.namespace) for each in held(roles)}
    assert {right for right, _ in granted} == {str(right) for right in rights.cluster_rights(command)}
    risky = {right for opt_in in permissions.OPT_INS for right in opt_in.rights}
    assert risky.isdisjoint(right for right, _ in granted)
    journal = {str(right) for right in rights.cluster_rights(command) if right.journal}
    everywhere = {right for right, where in granted if not where}
    assert {right for right, where in granted if where == "kube-system"} >= journal - everywhere


def test_all_that_read_change_nothing() -> None:
    ran = said("-o yaml")
    (role,) = (doc for doc in yaml_documents(ran.out) if doc["kind"] == "ClusterRole")
    assert role["metadata"]["name"] == "eksdoc-reader"
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} <= {"get", "list", "watch"}
    policy = json.loads(said("--iam").out)
    actions = {action.partition(":")[2] for each in policy["Statement"] for action in each["Action"]}
    assert all(action.startswith(READ_ACTION_PREFIXES) for action in actions)
    assert not {"drain run", "addon-diff --apply", "check --refresh-insights"} & {
        each.names[0] for each in read_only_commands()
    }


def test_what_nobody_has_seen_is_said_with_its_doubt() -> None:
    """It is not in the policy, but every output format names it."""
    policy = said("imds-probe --apply --iam")
    assert "ec2:RunInstances" not in policy.out and "iam:PassRole" not in policy.out
    for text in (policy.err, said("imds-probe --apply").out, said("imds-probe --apply -o wide").out):
        words = " ".join(text.split())
        assert "ec2:RunInstances" in words and "iam:PassRole" in words and "confidence: medium" in words
    assert "RunInstances" not in said("imds-probe").out


def test_what_is_needed_everywhere_is_not_granted_in_a_namespace_besides() -> None:
    both = required_permissions(
        [without_flags("drain run"), without_flags("imds-probe --active")],
        RightNamespaces("kube-system", "kube-system"),
    )
    assert len(set(both.permissions)) == len(both.permissions)
    everywhere = {each._replace(namespace="") for each in both.permissions if not each.namespace}
    assert not [each for each in both.permissions if each.namespace and each._replace(namespace="") in everywhere]


def test_what_no_review_is_about_is_unknown() -> None:
    assert {
        each.held for each in held_of(required_permissions([without_flags("drain plan")], RightNamespaces()), ())
    } == {None}


def rights_of(words: str) -> set[str]:
    return {each.said for each in held(yaml_documents(said(f"{words} -o yaml").out))}


@pytest.mark.parametrize(
    ("words", "opt_in", "risk"),
    [
        ("--with helm-releases", "helm-releases", "reads every Secret in the cluster"),
        ("interruption --with proxy", "proxy", "sends HTTP GET requests to every port of every pod"),
        ("drain run --surge-singles", "patch-workloads", "runs any image with any ServiceAccount"),
    ],
)
def test_an_opt_in_is_named_with_its_risk_wherever_it_is_printed(words: str, opt_in: str, risk: str) -> None:
    """In the table, on stderr if objects go into a pipe, in the comments above them, and in the objects themselves."""
    assert f"Opt-in {opt_in} (" in (table := " ".join(said(words).out.split())) and risk in table
    printed = said(f"{words} -o yaml")
    assert f"opt-in {opt_in} (" in printed.err and risk in printed.err
    comment = " ".join(printed.out.partition("\n---")[0].replace("\n#", " ").split())
    assert f"Opt-in {opt_in} (" in comment and risk in comment
    noted = [doc["metadata"].get("annotations", {}).get("eksdoc.io/opt-ins", "") for doc in yaml_documents(printed.out)]
    assert any(opt_in in each and risk in each for each in noted)
    assert f"permissions {words}" in table, "the commands that grant it say it again"


def test_an_opt_in_that_is_not_granted_is_offered() -> None:
    text = " ".join(said("check").out.split())
    assert "Not granted: opt-in helm-releases" in text and "To grant it: --with proxy" in text
    assert "pt-in" not in said("drain plan").out and "Not granted" not in said("check --with proxy,helm-releases").out


def test_a_right_that_maps_roles_is_named_with_its_risk() -> None:
    """In the table, in the comments above objects, and on stderr if they go into a pipe."""
    risk = "patch configmaps in namespace kube-system also changes aws-auth"
    for words in ("drain run", "coredns-lameduck --apply"):
        printed = said(f"{words} -o yaml")
        assert risk in " ".join(said(words).out.split()) and risk in printed.err
        assert risk in " ".join(printed.out.replace("\n#", " ").split())
    assert "--journal-namespace NAME" in " ".join(said("drain run").out.split())
    for words in ("drain run --journal-namespace ops", "drain status", "check"):
        assert "aws-auth" not in (ran := said(f"{words} -o yaml")).out + ran.err


def test_flags_of_a_command_decide_what_it_needs() -> None:
    assert rights_of("check --only kubelet-skew") == {"list nodes", "list pods"}
    assert rights_of("check --without helm-releases --with helm-releases") == rights_of("check --without helm-releases")
    assert "list mutatingadmissionpolicies.admissionregistration.k8s.io" in rights_of("check --target 1.40")
    classes = {"get ec2nodeclasses.karpenter.k8s.aws", "patch ec2nodeclasses.karpenter.k8s.aws"}
    assert classes <= rights_of("imds-probe --apply --fix node-class")
    assert not classes & rights_of("imds-probe --apply --fix instance-options")
    tried, shown = rights_of("drain run --dry-run=server"), rights_of("drain run --dry-run")
    assert tried == rights_of("drain run") and {each.split()[0] for each in shown} == {"get", "list", "watch"}
    assert "eks:UpdateAddon" not in said("addon-diff --apply --dry-run --iam").out
    assert "create pods/eviction" in rights_of("coredns-lameduck --measure=eviction")
    assert not {"create pods/eviction", "patch deployments.apps"} & rights_of("coredns-lameduck --measure")
    actions = said("imds-probe --apply --fix instance-options --iam").out
    assert "ec2:ModifyInstanceMetadataOptions" in actions and "CreateLaunchTemplateVersion" not in actions
    only = said("check --only kubelet-skew --iam").out
    assert "eks:DescribeCluster" in only and "sqs" not in only and "sqs" in said("check --iam").out


NAMED = {
    "": "eksdoc-reader",
    "--with helm-releases,proxy": "eksdoc-reader-with-helm-releases-proxy",
    "check": "eksdoc-check",
    "check --only api-in-helm,kubelet-skew": "eksdoc-check-only-api-in-helm-kubelet-skew",
    "check --target 1.30": "eksdoc-check-target-v1.30",
    "check --in-cluster --kubeconfig-secret s:a": "eksdoc-check-in-cluster-kubeconfig-secret-s-a",
    "drain run --surge-singles": "eksdoc-drain-run-surge-singles",
    "imds-probe --active pod/web": "eksdoc-imds-probe-active-pod",
    "coredns-lameduck --measure=rollout": "eksdoc-coredns-lameduck-measure-rollout",
    "drain run check --with proxy": "eksdoc-drain-run.check-with-proxy",
}


@pytest.mark.long
def test_roles_that_grant_something_else_have_another_name() -> None:
    """So that no role is applied over another one."""
    names = {
        words: {doc["metadata"]["name"] for doc in yaml_documents(said(f"{words} -o yaml").out)} for words in NAMED
    }
    assert names == {words: {name} for words, name in NAMED.items()}
    long = [f"check --only {','.join(CODE_NAMES[:count])}" for count in (40, 41)]
    of_long = [yaml_documents(said(f"{each} -o yaml").out)[0]["metadata"]["name"] for each in long]
    assert len(set(of_long)) == 2 and max(map(len, of_long)) <= 200


def test_what_is_needed_in_one_namespace_is_a_role_there() -> None:
    """For example, Events of nodes (default), and the objects of CoreDNS and of Karpenter."""
    docs = yaml_documents(said("interruption -o yaml --karpenter-namespace karpenter --bind Group:x").out)
    kinds = [(doc["kind"], doc["metadata"].get("namespace", "")) for doc in docs]
    assert kinds == [
        ("ClusterRole", ""),
        ("ClusterRoleBinding", ""),
        ("Role", "default"),
        ("RoleBinding", "default"),
        ("Role", "karpenter"),
        ("RoleBinding", "karpenter"),
    ]
    (role,) = (list(held([doc])) for doc in docs if doc["kind"] == "ClusterRole")
    assert {each.verb for each in role} == {"list"}


@pytest.mark.parametrize(
    ("words", "commands"),
    [
        ("", ()),
        ("drain run check", ("drain run", "check")),
        ("addon-diff --apply=false", ("addon-diff",)),
        ("check --changed-since 24h drain plan", ("check --changed-since", "drain plan")),
        ("check --changed-since=24h --refresh-insights", ("check --changed-since", "check --refresh-insights")),
        ("drain run blue-1 --nodegroup blue -l a=b --surge-singles drain plan", ("drain run", "drain plan")),
        ("drain rehearse", ("rehearse",)),
        ("check check", ("check",)),
    ],
)
def test_commands_are_words(words: str, commands: tuple[str, ...]) -> None:
    assert tuple(name for each in parse_commands(words.split(), GROWN) for name in each.names) == commands


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("changes undo", "a change is resumed or undone with those of the command that began it"),
        ("drain rum", "'drain rum' is no command with rights of its own (did you mean drain run"),
        ("check chekc", "did you mean check"),
        ("check --only nonsense", "'nonsense' is no finding code of check"),
        ("check --with helm", "'helm' is no opt-in (did you mean helm-releases"),
        ("imds-probe aplly", "'aplly' is no name that 'imds-probe' takes (did you mean --apply"),
        ("--apply", "stands before any"),
        ("drain plan --iam", "asks AWS nothing that must be allowed"),
        ("check --iam --part 2", "the policy has no part 2"),
        ("check --iam --check", "leave one of them out"),
        ("check --bind Grup:x", "'Grup:x' is no subject"),
        ("check --bind ServiceAccount:bot", "does not say in which namespace"),
        ("check --demo", "leave --demo and --snapshot out"),
    ],
)
def test_what_was_given_does_not_fit(words: str, why: str) -> None:
    ran = said(words)
    assert (ran.code, ran.out) == (2, "")
    assert why.lower() in ran.err.lower().replace("has no output", "have no output"), ran.err


def _covers(ours: Sequence[Held], one: Held) -> bool:
    """Whether the right itself is granted, in that namespace or everywhere."""
    return any(
        each._replace(namespace="") == one._replace(namespace="")
        for each in ours
        if each.namespace in ("", one.namespace)
    )


@pytest.mark.long
def test_who_sends_a_job_has_the_rights_that_it_gets(tmp_path: Path) -> None:
    """Kubernetes does not let a user create a role with rights that the user does not have."""
    image = ("--image", "reg.example/e:1")
    check = ("check", "--in-cluster", "--schedule", "@daily", "--cluster-name", "lab", "--region", "eu-west-1")
    with worlds.served("small-traps") as (server, _):
        ann = machine(server, tmp_path / "ann")
        drain = ("drain", "run", "--nodegroup", "blue", "--in-cluster")
        for command, words in (
            ("check --in-cluster", check),
            ("check --in-cluster --target 1.40", (*check, "--target", "1.40")),
            ("check --in-cluster --only kubelet-skew,api-in-helm", (*check, "--only", "kubelet-skew,api-in-helm")),
            ("check --in-cluster --with helm-releases", (*check, "--with", "helm-releases")),
            ("drain run --in-cluster --surge-singles", (*drain, "--surge-singles")),
        ):
            ran = ann.run(*words, *image, "-o", "json")
            assert ran.code == 0, ran.err
            roles = [doc for doc in json.loads(ran.out)["items"] if doc["kind"] in ("Role", "ClusterRole")]
            ours = printed(command)
            given = list(held(roles))
            assert given and [each for each in given if not _covers(ours, each)] == []
