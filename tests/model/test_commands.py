"""Commands lead to the cluster that was read, each part of them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.connection import CommandTarget, in_turn, kubectl, saved, shell

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
