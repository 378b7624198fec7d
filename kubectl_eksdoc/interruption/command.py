"""``kubectl eksdoc interruption``: whether Karpenter hears that EC2 takes a node back.

Belongs here: its flags, what was asked of it, and which of its answers is printed.
Never here: any judgement (that is in interruption), any layout (that is in `report`).
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.cli import opening, options, streams, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import add_command, add_source, non_empty, without_from
from kubectl_eksdoc.cli.parser import Commands, add_flag
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.interruption import KarpenterInstall
from kubectl_eksdoc.report.encode import plain_value, to_json, to_yaml
from kubectl_eksdoc.report.text import clean

from .installs import upgrade
from .repair import (
    AsJson,
    MissingLinks,
    creates,
    helm_values,
    rights_policy,
    steps,
    template,
)

if TYPE_CHECKING:
    from .plan import InterruptionPlan


# What is missing as text that can be piped to a file: a stack, commands, a policy, Helm values.


# The handling of interruptions in sentences.


_FILE = "interruption-values.yaml"
_WHOSE = "aws sts get-caller-identity --query Account --output text"


def printed(what: str, stack: str, missing: MissingLinks, install: KarpenterInstall) -> str:
    """ "" where nothing is missing of what this could make. `stack`: its name."""
    return _PRINTERS[what](stack, missing, install)


def _stack(stack: str, missing: MissingLinks, install: KarpenterInstall) -> str:
    if not missing.in_stack:
        return ""
    return _comments(_about_stack(stack, missing, install)) + to_yaml(plain_value(template(missing)))


def _about_stack(stack: str, missing: MissingLinks, install: KarpenterInstall) -> Iterator[str]:
    yield "Only what is missing, for a stack of its own: to update another one with it, Karpenter's or one of before,"
    yield "deletes the rest of that. Where there is a stack of this name, give this one another name."
    yield creates(stack, missing.region)
    if missing.policy is not None and not missing.queue:
        yield (
            "QueuePolicy replaces the policy of the queue: this one is the current policy with one more statement. If"
        )
        yield "another stack or Terraform keeps that policy, change it there; to delete this stack deletes the policy."
    if missing.key_policy is not None:
        yield "The policy of the queue's key is not in it, as the key is there already: --print commands has it."
    if missing.setting:
        yield f"Karpenter must be configured with the queue as well: --print helm-values > {_FILE}"
        yield upgrade(install, _FILE)
    for each in missing.not_known:
        yield f"Not known, and so not in it: {each}"


def _commands(stack: str, missing: MissingLinks, install: KarpenterInstall) -> str:
    if not missing.anything:
        return ""
    lines = ["#!/bin/sh", *(f"# {clean(line)}" for line in _about_commands(missing)), "set -eu"]
    if missing.region:
        lines.append(
            f"export AWS_REGION={shlex.quote(missing.region)} AWS_DEFAULT_REGION={shlex.quote(missing.region)}"
        )
    if missing.account:
        mine = shlex.quote(missing.account)
        lines.append(f'[ "$({_WHOSE})" = {mine} ] || {{ echo "not the credentials of account {mine}" >&2; exit 1; }}')
    for step in steps(missing):
        lines += ["", f"# {clean(step.about)}", shell(*map(_word, step.words))]
    if missing.setting:
        lines += ["", "# The setting, merged into the values that the release has."]
        values = to_yaml(plain_value(helm_values(missing.queue_name, install)))
        lines += [f"cat > {_FILE} <<'EOF'", values.rstrip("\n"), "EOF", upgrade(install, _FILE)]
    return "\n".join(lines) + "\n"


def _about_commands(missing: MissingLinks) -> Iterator[str]:
    account = f" in account {missing.account}" if missing.account else ""
    yield f"What interruption handling lacks{account}. Existing resources are kept."
    if missing.rights and not missing.role:
        yield f"Which role Karpenter has is not known; it needs {', '.join(missing.rights)}: --print iam"
    for each in missing.not_known:
        yield f"Not known, and so not in it: {each}"


def _word(word: str | AsJson) -> str:
    return word if isinstance(word, str) else json.dumps(_nested(word.document), separators=(",", ":"))


def _nested(value: Any) -> Any:
    """What is `AsJson` within a document is a text there."""
    if isinstance(value, AsJson):
        return json.dumps(_nested(value.document), separators=(",", ":"))
    if isinstance(value, Mapping):
        return {key: _nested(each) for key, each in value.items()}
    return [_nested(each) for each in value] if isinstance(value, (list, tuple)) else value


def _iam(_stack: str, missing: MissingLinks, install: KarpenterInstall) -> str:
    return to_json(plain_value(rights_policy(missing.queue_arn, missing.key)))


def _values(_stack: str, missing: MissingLinks, install: KarpenterInstall) -> str:
    return _comments(_about_values(install)) + to_yaml(plain_value(helm_values(missing.queue_name, install)))


def _about_values(install: KarpenterInstall) -> Iterator[str]:
    version = install.tag or install.version or "(version not known)"
    yield f"To be merged into the values of the chart of Karpenter {version}."
    yield upgrade(install, _FILE)


def _comments(lines: Iterator[str]) -> str:
    return "".join(f"# {clean(line)}\n" for line in lines)


_PRINTERS: Mapping[str, Callable[[str, MissingLinks, KarpenterInstall], str]] = {
    "stack": _stack,
    "commands": _commands,
    "iam": _iam,
    "helm-values": _values,
}


# What was asked of ``interruption``.


PRINTED = ("stack", "commands", "iam", "helm-values")


@frozen
class _Request:
    """`printed`: the document that is asked for, "" for the answer itself. `queue`: "" for the one
    that is set. `accepted`: finding codes that may be unknown; `without`: opt-ins left out."""

    printed: str
    queue: str
    accepted: tuple[str, ...]
    without: tuple[str, ...] = ()

    @staticmethod
    def from_args(args: argparse.Namespace) -> _Request:
        """
        Raises:
            UsageError: something is named.
        """
        if args.words:
            raise UsageError(f"{args.words[0]!r} is not understood: it is about the whole cluster", "Name nothing.")
        return _Request(args.print or "", args.queue or "", args.accept_unknown, without_from(args))

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        return non_empty(
            {
                "queue": self.queue,
                "accept-unknown": list(self.accepted),
                "without": list(self.without),
            }
        )


queue_name = values.Matching("[A-Za-z0-9_-]{1,80}", "is no name of a queue: letters, digits, - and _, at most 80", str)


NAME = "interruption"


# ``kubectl eksdoc interruption``: its flags, and its answer.


_ABOUT = """\
Verify that Karpenter receives interruption events of EC2 (Spot interruptions, scheduled changes), link by link: its
setting, the SQS queue with its policy and key, the EventBridge rules, the IAM permissions of the controller, and its
log. Shows what the next interruption would stop, and which Spot nodes have a notice now. Reads the cluster and AWS, and
changes nothing: --print writes what is missing, for you to deploy.

Examples:
  %(prog)s
  %(prog)s -o wide
  %(prog)s --print stack > interruption.yaml
  %(prog)s --print commands
  %(prog)s --print helm-values > interruption-values.yaml
  %(prog)s --print iam
  %(prog)s --queue my-cluster-interruptions
  %(prog)s --demo
"""

_EXIT_CODES = """\
Exit codes: 0 interruptions are handled, 1 findings that fail, 5 something is unknown; 2 usage, 3 cluster, 4 AWS.
With --print: 0 the document is complete, 1 it is empty and something else fails, 5 something is unknown, so the
document may be incomplete.
"""


def add_to(commands: Commands) -> None:
    """Add ``interruption``."""
    parser = add_command(
        commands,
        NAME,
        "verify Karpenter interruption handling (SQS, EventBridge, IAM)",
        "[flags]",
        _ABOUT,
        _EXIT_CODES,
        run,
    )
    add_source(parser)
    group = parser.add_argument_group("Scope")
    add_flag(
        group,
        "--queue",
        "NAME",
        "interruption queue; default: the queue that Karpenter is configured with, else the cluster's name",
        queue_name,
    )
    options.add_accepted(group, values.codes_of("interruption"), "interruptions")
    options.add_without(group, permissions.PROXY.name)
    group = parser.add_argument_group("Print what is missing (changes nothing)")
    add_flag(
        group,
        "--print",
        "WHAT",
        "stack: a CloudFormation template with only the missing resources, for a separate stack; "
        "commands: the same as AWS CLI and Helm commands; iam: the policy that the controller needs; "
        "helm-values: the setting to merge into your values",
        values.one_of(PRINTED, "document"),
    )


def run(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from .plan import InterruptionOptions
    from .read import NEEDS, look_at_interruption
    from .report import InterruptionReport

    request = _Request.from_args(args)
    InterruptionReport.check(around.options.output)
    with opening.explaining(NAME):
        session = opening.opened(around, NEEDS)
        wish = InterruptionOptions(request.queue, opening.reached_by(around, session))
        plan = look_at_interruption(session, wish, permissions.PROXY.name not in request.without)
    opening.told(session, around)
    if request.printed:
        return _printed(plan, request, around)
    report = InterruptionReport(plan, options=request.given, recognised=session.recognised)
    return opening.answer(report, around, opening.code(plan.findings, request.accepted))


def _printed(plan: InterruptionPlan, request: _Request, around: CommandContext) -> CommandAnswer:
    """
    Raises:
        UsageError: there is no Karpenter for which anything could be made, or nothing says where.
    """

    missing, install = plan.missing, plan.install
    if missing is None or install is None:
        raise UsageError(
            "there is no Karpenter here whose queue could be made, or it could not be read",
            "Run it without --print to see what was found.",
        )
    if not missing.queue_name:
        raise UsageError(
            "which queue Karpenter is to read is not known: its setting is taken from elsewhere",
            "Give --queue NAME; run it without --print to see the source.",
        )
    if not missing.queue_arn and request.printed != "helm-values":
        raise UsageError(
            "in which account and region the queue is to be is not known: AWS was not asked, or did not say",
            "Give --cluster-name, --region and --profile of the cluster of this context.",
        )
    for each in missing.not_known:
        around.note(f"not known, and so not in it: {each}")
    text = printed(request.printed, plan.stack, missing, install)
    beside = missing.beside_stack if request.printed == "stack" else ()
    for each in (*missing.for_a_person, *beside):
        around.note(f"not fixed by it: {each}")
    if not text:
        around.note("nothing is missing that this could make")
    if missing.not_known:
        return CommandAnswer(text, streams.UNKNOWN)
    return CommandAnswer(text, streams.CLEAN if text or not (beside or missing.for_a_person) else streams.FAILS)
