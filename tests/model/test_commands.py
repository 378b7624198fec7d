"""Commands lead to the cluster that was read; what an ARN tells; what is done about a right that is missing."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.connection import CommandTarget, in_turn, kubectl, saved, shell
from kubectl_eksdoc.model.eks import part_of, partition_of
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.missing_rights import allow, as_read, of_snapshot

REACH = CommandTarget(("--demo",), ("--context", "prod"), ("--demo", "--dry-run"))


@pytest.mark.parametrize(
    ("command", "reached"),
    [
        ("kubectl get pods", "kubectl get pods --context prod"),
        ("kubectl get pdb x -o yaml > x.yaml", "kubectl get pdb x -o yaml --context prod > x.yaml"),
        (
            "kubectl get pdb x -o yaml > x.yaml && kubectl delete pdb x",
            "kubectl get pdb x -o yaml --context prod > x.yaml && kubectl delete pdb x --context prod",
        ),
        (
            "kubectl get ns x -o json | jq . | kubectl replace -f -",
            "kubectl get ns x -o json --context prod | jq . | kubectl replace -f - --context prod",
        ),
        ("kubectl eksdoc check", "kubectl eksdoc check --demo"),
        ("kubectl eksdoc addon-diff x --apply", "kubectl eksdoc addon-diff x --apply --demo --dry-run"),
        ("kubectl eksdoc imds-probe node/a --active", "kubectl eksdoc imds-probe node/a --active --demo --dry-run"),
        ("kubectl eksdoc imds-probe node/a--active", "kubectl eksdoc imds-probe node/a--active --demo"),
        (
            "kubectl eksdoc interruption --print stack > a.yaml && aws cloudformation create-stack",
            "kubectl eksdoc interruption --print stack --demo > a.yaml && aws cloudformation create-stack",
        ),
        ("kubectl get pods --context prod", "kubectl get pods --context prod"),
        ("aws eks list-clusters", "aws eks list-clusters"),
        ("", ""),
    ],
)
def test_each_part_is_led_there(command: str, reached: str) -> None:
    assert REACH.of(command) == reached
    assert REACH.of(reached) == reached


@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc"))), min_size=1, max_size=4))
def test_whatever_stands_in_quotes_is_no_end_of_a_command(names: list[str]) -> None:
    command = shell("kubectl", "get", *names)
    assert shlex.split(REACH.of(command)) == ["kubectl", "get", *names, "--context", "prod"]


@pytest.mark.parametrize("name", ["a && b", "it's | here", 'a "b" > c', "''"])
def test_hostile_names_stay_one_word(name: str) -> None:
    both = in_turn(saved("pdb", name, "shop"), kubectl("delete", "pdb", name, "shop"))
    assert REACH.of(both).count("--context prod") == 2
    assert REACH.of(both).endswith(f"{kubectl('delete', 'pdb', name, 'shop')} --context prod")


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("eu-west-1", "aws"),
        ("us-east-1", "aws"),
        ("cn-north-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
        ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
        ("", "aws"),
    ],
)
def test_the_partition_of_a_region(region: str, partition: str) -> None:
    assert partition_of(region) == partition


def test_a_part_that_is_not_there_is_empty() -> None:
    assert part_of("arn:aws-cn:eks:cn-north-1:1:cluster/a", 1) == "aws-cn" and part_of("prod", 3) == ""


OTHER = Remedy("Look at it.", "kubectl get pods")
UNKNOWN = Finding(
    Code.of_area("drain")[0],
    Severity.HIGH,
    Status.UNKNOWN,
    Subject("Cluster", "prod"),
    "who knows",
    remedy=(allow("list pods"), OTHER),
    missing="list pods",
)


def test_of_a_snapshot_another_one_must_be_taken() -> None:
    assert of_snapshot(UNKNOWN).remedy == (Remedy("Allow list pods, and take the snapshot again."), OTHER)


def test_what_no_right_is_missing_for_stays_as_it_is() -> None:
    found = replace(UNKNOWN, remedy=(OTHER,), missing="pods")
    assert of_snapshot(found) == found
    failing = replace(UNKNOWN, status=Status.FAIL, remedy=(OTHER,), missing="")
    assert of_snapshot(failing) == failing


def test_only_of_a_snapshot() -> None:
    assert as_read([UNKNOWN], Source.LIVE) == as_read([UNKNOWN], Source.DEMO) == (UNKNOWN,)
    assert as_read([UNKNOWN, UNKNOWN], Source.SNAPSHOT) == (of_snapshot(UNKNOWN),) * 2
