"""The preview of a CoreDNS change: on the built-in cluster, in every format and width."""

from __future__ import annotations

import json
from functools import cache

import pytest

from tests.broken_documents import accepted
from tests.cli.running import Ran, Terminal, called, document, judge
from tests.yaml_reader import yaml_of

ALL = ("--set", "lameduck=20s", "--place", "on-demand", "--autoscale", "3:10")


@cache
def ran(*argv: str, columns: int = 80) -> Ran:
    environ = {"COLUMNS": str(columns), "NO_COLOR": "1"}
    return called("coredns-lameduck", "--demo", *argv, environ=environ, out=Terminal())


def shown(*argv: str, columns: int = 80) -> str:
    return ran(*argv, columns=columns).out


@pytest.mark.long
@pytest.mark.parametrize("columns", [80, 120])
def test_it_fits_the_terminal_but_for_commands(columns: int) -> None:
    for argv in (ALL, ("--set", "lameduck=30s"), ("--place", "on-demand")):
        text = shown(*argv, columns=columns)
        wide = [line for line in text.splitlines() if len(line) > columns]
        assert all(line.lstrip().startswith(("aws eks", "kubectl", "printf")) for line in wide), wide


def test_the_page_says_what_where_and_how_back() -> None:
    text = shown(*ALL)
    for part in ("COREFILE", "+        lameduck 20s", "CONFIGURATION VALUES", "+  minReplicas: 3", "WHERE IT MAY RUN"):
        assert part in text
    for part in ("WHAT IS SENT", "aws eks update-addon", "ROLLBACK", "Take two steps"):
        assert part in text
    assert "12 nodes of 15 in 3 zones" in text
    assert "→" not in shown(*ALL, "--ascii") and shown(*ALL, "--ascii").isascii()


@pytest.mark.parametrize("argv", [ALL, ("--set", "lameduck=30s"), ("--autoscale", "2:4")])
@pytest.mark.long
def test_documents_are_as_the_schema_says(argv: tuple[str, ...]) -> None:
    told = document(shown(*argv, "-o", "json"), "DnsChange")
    assert yaml_of(shown(*argv, "-o", "yaml")) == told
    assert told["verified"] is None and told["outcome"] is None and told["applied"] is False


def test_its_schema_refuses_what_is_broken() -> None:
    free = ("metadata.options", "values", "config", "change.valuesOfToday")
    loose = accepted(judge("DnsChange"), json.loads(shown(*ALL, "-o", "json")), free)
    assert {each for each in loose if not each.endswith((".namespace", ".command"))} == set()


def test_what_is_shown_is_what_would_be_sent() -> None:
    told = json.loads(shown(*ALL, "--apply", "--dry-run", "-o", "json"))
    assert told["changes"] == 4 and set(told["values"]) == {
        "affinity",
        "autoScaling",
        "corefile",
        "topologySpreadConstraints",
    }
    assert json.loads(told["command"].rpartition("--configuration-values ")[2].strip("'")) == told["values"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--set", "lameduck=20"), "20 has no unit: CoreDNS would refuse it"),
        (("--autoscale", "1:3"), "at least 2 replicas"),
        (("--apply",), "--apply wants to know what"),
        (("--set", "lameduck=20s", "--yes"), "without --apply"),
        (("--set", "lameduck=20s", "--apply"), "--apply is of the live cluster"),
        (("--set", "lameduck=20s", "--apply", "--resume", "x"), "takes no new settings"),
        (("--apply", "--resume", "x", "--yes"), "takes no flags of a new one"),
    ],
)
def test_what_does_not_go_together_is_said(argv: tuple[str, ...], said: str) -> None:
    found = ran(*argv)
    assert found.code == 2 and said in found.err and found.out == "", found.err
