"""Printed commands repeat the flags for the kubeconfig, profile, region and cluster: each printed command selects the
same cluster and account. Commands printed for the demo use the demo, and can be run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.aws.test_live import prod
from tests.cli.running import run_cli
from tests.permissions.command.granted_users import Held
from tests.permissions.command.served_users import desk
from tests.permissions.command.sites import MADE
from tools.same_answers import OF_THE_DEMO

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
EVERYTHING = (Held("*", "*", "*"), Held("*", "/metrics"))
PROFILE = "ann"

_OURS = ("--kubeconfig", "--tls-server-name", "--profile", "--region", "--cluster-name")
WANTED = {
    # A drain sends no requests to AWS.
    "kubectl eksdoc drain": _OURS[:2],
    "kubectl eksdoc rehearse": _OURS[:2],
    "kubectl eksdoc": _OURS,
    "kubectl": _OURS[:2],
    "aws": ("--profile", "--region"),
    "eksctl": ("--profile", "--region"),
    "helm template": (),
    "helm": ("--kubeconfig", "--kube-tls-server-name"),
}
"""By what a command begins with, the first that fits."""

_HOLD_COMMANDS = {"command", "commands", "verify", "wayBack", "undo", "next"}
"""Fields of results; in other texts a command stands behind "Rollback: "."""
_BETWEEN = re.compile(r" (?:&&|\|) (?=(?:kubectl|aws|eksctl|helm) )")


def commands(told: object, field: str = "") -> Iterator[str]:
    """The single commands of a line that runs several one after the other."""
    if isinstance(told, dict):
        for name, each in told.items():
            yield from commands(each, str(name))
    elif isinstance(told, list):
        for each in told:
            yield from commands(each, field)
    elif isinstance(told, str):
        whole = told if field in _HOLD_COMMANDS else told.partition("Rollback: ")[2]
        yield from (each for each in _BETWEEN.split(whole) if each.startswith(("kubectl ", "aws ", "eksctl ", "helm ")))


def lacking(command: str) -> list[str]:
    wanted = next(flags for begins, flags in WANTED.items() if f"{command} ".startswith(f"{begins} "))
    return [flag for flag in wanted if flag not in command]


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("rich", "drain plan --nodegroup blue"),
        ("rich", "rehearse --nodegroup blue"),
        ("rich", "check --target 1.30"),
        ("rich", "check --symptom dns"),
        ("rich", "addon-diff --all"),
        ("rich", "addon-diff coredns --apply --dry-run"),
        ("rich", "coredns-lameduck --set lameduck=20s"),
        ("rich", "coredns-lameduck --set lameduck=20s --apply --dry-run"),
        ("incident", "interruption"),
        ("incident", "check --symptom dns"),
    ],
)
def test_each_command_names_whom_the_user_named(
    place: str, words: str, prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MADE[place](prod).served() as site:
        ann = desk(site, prod, tmp_path, monkeypatch)
        keys = prod.environ()
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        (tmp_path / "aws").write_text(
            f"[profile {PROFILE}]\naws_access_key_id = {keys['AWS_ACCESS_KEY_ID']}\naws_secret_access_key = secret\n"
        )
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws"))
        ann.reaching = (*ann.reaching, "--profile", PROFILE)
        ran, _ = ann.run(f"{words} -o json", EVERYTHING)
    printed = list(commands(json.loads(ran.out)))
    assert printed, ran.err
    assert {command: flags for command in printed if (flags := lacking(command))} == {}


ON_THE_DEMO = tuple(each for each in OF_THE_DEMO if each not in ("", "options", "drain"))
NO_QUESTION = re.compile(r"kubectl eksdoc(?: [a-z-]+)* (?:--help|options)|kubectl eksdoc(?:-\w+| COMMAND)")


_FILES = ("manifests/", "values-of-before.json")
"""The user's own, and what is written by what comes before."""


def proposed(words: str) -> Iterator[str]:
    """The printed commands of this tool: from the JSON, and from the command lines in the text."""
    ran = run_cli(*shlex.split(words), "--demo", "-o", "json")
    printed = list(commands(json.loads(ran.out))) if ran.out.startswith("{") else []
    page = run_cli(*shlex.split(words), "--demo", "-o", "wide") if printed else ran
    lines = [each.strip(" →-") for each in (*page.out.splitlines(), *ran.err.splitlines())]
    ours = (each for each in (*printed, *lines) if each.startswith("kubectl eksdoc"))
    yield from (each for each in dict.fromkeys(ours) if not NO_QUESTION.match(each))


@pytest.mark.long
@pytest.mark.parametrize("words", ON_THE_DEMO)
def test_what_is_proposed_on_the_demo_asks_the_demo(words: str) -> None:
    every = list(proposed(words))
    assert [each for each in every if "--demo" not in each] == []
    asked = [each for each in every if not any(name in each for name in _FILES)]
    codes = {each: run_cli(*shlex.split(each.partition(" > ")[0])[2:]).code for each in asked}
    assert {each: code for each, code in codes.items() if code in (2, 3, 4, 70)} == {}


def test_a_drain_is_rehearsed_on_the_demo() -> None:
    """`drain run` does not accept the demo."""
    found = list(proposed("check --target 1.34"))
    assert any(each.startswith("kubectl eksdoc rehearse --nodegroup blue") for each in found)
    assert not [each for each in found if " drain run " in each]
