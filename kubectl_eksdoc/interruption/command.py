"""``kubectl eksdoc interruption``: verify that Karpenter receives EC2 interruption events.

Belongs here: its flags, the request, and which of its answers is printed. Never here: verdicts (`interruption`), layout
(`report`; for --print, `printed`).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import answers, options, streams, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import add_command, add_source, given_flags, without_from_args
from kubectl_eksdoc.cli.parser import Commands, add_flag
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import permissions

if TYPE_CHECKING:
    from .plan import InterruptionPlan


# The request of ``interruption``.


DOCUMENTS = ("stack", "commands", "iam", "helm-values")


@frozen
class _Request:
    """`document`: the document to print, or "" for the report. `queue`: "" for the configured one. `accepted`: finding
    codes that may be unknown; `without`: opt-ins left out."""

    document: str
    queue: str
    accepted: tuple[str, ...]
    without: tuple[str, ...] = ()

    @staticmethod
    def from_args(args: argparse.Namespace) -> _Request:
        """The request from parsed arguments.

        Raises:
            UsageError: an object is named.
        """
        if args.words:
            raise UsageError(f"{args.words[0]!r} is not understood: it is about the whole cluster", "Name nothing.")
        return _Request(args.print or "", args.queue or "", args.accept_unknown, without_from_args(args))

    @property
    def given_options(self) -> dict[str, object]:
        """The given options by flag name."""
        return given_flags(
            {
                "queue": self.queue,
                "accept-unknown": list(self.accepted),
                "without": list(self.without),
            }
        )


queue_name = values.MatchingText(
    "[A-Za-z0-9_-]{1,80}", "is no name of a queue: letters, digits, - and _, at most 80", str
)


NAME = "interruption"


# ``kubectl eksdoc interruption``: flags, and the answer of the command.


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
    """Add the parser of ``interruption``."""
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
    options.add_accept_unknown(group, values.finding_codes("interruption"), "interruptions")
    options.add_without_flag(group, permissions.PROXY.name)
    group = parser.add_argument_group("Print what is missing (changes nothing)")
    add_flag(
        group,
        "--print",
        "WHAT",
        "stack: a CloudFormation template with only the missing resources, for a separate stack; "
        "commands: the same as AWS CLI and Helm commands; iam: the policy that the controller needs; "
        "helm-values: the setting to merge into your values",
        values.one_of(DOCUMENTS, "document"),
    )


def run(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Print the report, or one of the documents.

    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    # Imported late: help and usage errors must not load what only an answer needs.
    from .plan import InterruptionOptions
    from .read import NEEDS, read_interruption
    from .report import InterruptionReport

    request = _Request.from_args(args)
    InterruptionReport.check_format(context.options.output)
    with answers.explain_forbidden(NAME):
        session = answers.open_session(context, NEEDS)
        interruption_options = InterruptionOptions(request.queue, answers.session_flags(context, session))
        plan = read_interruption(session, interruption_options, permissions.PROXY.name not in request.without)
    answers.note_session(session, context)
    if request.document:
        return _print_document(plan, request, context)
    report = InterruptionReport(plan, options=request.given_options, recognised=session.recognised)
    return answers.report_answer(report, context, answers.exit_code_of_findings(plan.findings, request.accepted))


def _print_document(plan: InterruptionPlan, request: _Request, context: CommandContext) -> CommandAnswer:
    """Print one of the documents.

    Raises:
        UsageError: there is no Karpenter to repair, or the place of its queue is unknown.
    """
    from .printed import print_document

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
    if not missing.queue_arn and request.document != "helm-values":
        raise UsageError(
            "in which account and region the queue is to be is not known: AWS was not asked, or did not say",
            "Give --cluster-name, --region and --profile of the cluster of this context.",
        )
    for each in missing.not_known:
        context.note(f"not known, and so not in it: {each}")
    text = print_document(request.document, plan.stack, missing, install)
    not_in_stack = missing.not_in_stack if request.document == "stack" else ()
    for each in (*missing.manual_fixes, *not_in_stack):
        context.note(f"not fixed by it: {each}")
    if not text:
        context.note("nothing is missing that this could make")
    if missing.not_known:
        return CommandAnswer(text, streams.UNKNOWN)
    return CommandAnswer(text, streams.CLEAN if text or not (not_in_stack or missing.manual_fixes) else streams.FAILS)
