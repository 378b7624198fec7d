"""The policies that ``permissions --iam`` prints, and an AWS that allows only the actions of one of them."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from kubectl_eksdoc.model import aws_operations as questions
from tests.cli.running import run_cli
from tests.permissions.command.sites import Line

if TYPE_CHECKING:
    from tests.aws.world.server import World

CALLED = {action: f"{each.service}:{each.operation}" for each in questions.ALL for action in each.actions}
"""As botocore names what an action of IAM allows."""


def asks_aws(line: Line) -> bool:
    return not line.command.startswith(("drain", "rehearse"))


@cache
def policy(command: str) -> frozenset[str]:
    """The actions of IAM; `command` with its flags."""
    ran = run_cli("permissions", *command.split(), "--iam")
    assert ran.code == 0, ran.err
    return frozenset(action for each in json.loads(ran.out)["Statement"] for action in each["Action"])


def allow(aws: World, actions: frozenset[str] | set[str]) -> None:
    """Allow these actions and no others."""
    aws.deny(*(call for action, call in CALLED.items() if action not in actions))


def calls(aws: World) -> set[str]:
    """The requested actions, except those that need no right."""
    free = {f"{each.service}:{each.operation}" for each in questions.ALL if each.needs_no_permission}
    return {f"{each.service}:{each.operation}" for each in aws.calls} - free
