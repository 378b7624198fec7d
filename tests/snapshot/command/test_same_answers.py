"""Every reading command gives the same answer from a snapshot of the demo as from the demo, byte by byte."""

from __future__ import annotations

import json
import re

import pytest

from tests.builders import NOW
from tests.cli.running import Ran, called

QUICK = ("check -o json",)
"""It reads all kinds of answers; the long tests ask the others."""
COMMANDS = (
    *QUICK,
    "drain plan --nodegroup blue -o json",
    "drain plan --nodegroup green -o wide",
    "addon-diff --all -o json",
    "imds-probe -o json",
    "coredns-lameduck -o json",
    "interruption -o json",
    "drain plan --nodegroup blue",
    "rehearse --nodegroup blue -o json",
    "check -o wide",
    "check --target 1.35 -o json",
    "check --symptom credentials -o json",
    "check --changed-since 24h -o json",
    "check --only subnet-addresses,subnet-addresses-nodes",
    "check -o sarif",
    "addon-diff vpc-cni -o wide",
    "addon-diff vpc-cni --to latest -o json",
    "addon-diff vpc-cni --since-when -o json",
    "addon-diff vpc-cni --each-step -o json",
    "addon-diff --all --after -o json",
    "imds-probe -o wide",
    "imds-probe --nodegroup green -o json",
    "coredns-lameduck -o wide",
    "interruption --print stack",
    "interruption --print iam",
)

A_DRY_RUN = (
    "A dry run changes nothing. Carried out, it shows the rollback before it asks",
    "It shows the rollback before it asks",
)
"""What is said of the rollback where a proposed command is a dry run, as it is of the demo alone."""


def ran(command: str, *source: str) -> Ran:
    return called(*command.split(), *source, environ={"COLUMNS": "120"}, now=lambda: NOW)


def as_of_the_demo(text: str, path: str) -> str:
    """The answer with only the words that name the source replaced."""
    for named, demo in (
        (f"--snapshot {path}", "--demo"),
        ('"source": "snapshot"', '"source": "demo"'),
        (f"the snapshot {path}", "the demo"),
    ):
        text = text.replace(named, demo)
    text = text.replace("kubectl eksdoc rehearse ", "kubectl eksdoc drain run ")
    return _MEASURES.sub("", _RUN_OF.sub(r"\1", text.replace(" --demo --dry-run", "").replace(*A_DRY_RUN)))


_RUN_OF = re.compile(r"(kubectl eksdoc drain run [^\"\n]*?) --(?:demo|context demo)\b")
"""A drain of the demo is rehearsed; a run takes no snapshot, and is proposed as it is done live, in the context of
which the snapshot is."""


_MEASURES = re.compile(r'(\n *("command": ")?| )kubectl eksdoc coredns-lameduck --measure(=\w+)?((",)?(?=\n)|(?="))')
"""It takes a live cluster, which the demo is not and a snapshot is of: proposed of a snapshot alone."""


@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=() if each in QUICK else pytest.mark.long) for each in COMMANDS]
)
def test_a_snapshot_answers_as_the_demo(command: str, snapshot: str) -> None:
    of_demo, held = ran(command, "--demo"), ran(command, "--snapshot", snapshot)
    assert held.code == of_demo.code, held.err
    assert len(of_demo.out) > 50
    said, wanted = as_of_the_demo(held.out, snapshot), as_of_the_demo(of_demo.out, snapshot)
    assert said == wanted or ("-o json" in command and hides(json.loads(said), json.loads(wanted)))


def hides(held: object, whole: object) -> bool:
    """Whether they are equal except for digests: a snapshot has no arguments of containers."""
    if isinstance(held, dict) and isinstance(whole, dict):
        return held.keys() == whole.keys() and all(hides(held[key], whole[key]) for key in held)
    if isinstance(held, list) and isinstance(whole, list):
        return len(held) == len(whole) and all(map(hides, held, whole))
    if isinstance(held, str) and isinstance(whole, str):
        before, digest, _ = held.partition("eksdoc-digest:")
        return held == whole or bool(digest and whole.startswith(before))
    return held == whole


@pytest.mark.long
def test_its_age_is_said(snapshot: str) -> None:
    told = ran("drain plan --nodegroup blue", "--snapshot", snapshot).err
    assert "cluster demo-shop" in told
    assert "snapshot of 2026-11-20T08:51:00Z" in told
