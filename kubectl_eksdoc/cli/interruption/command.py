"""``kubectl eksdoc interruption``: its flags, and its answer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import exits, opt_in_options, rights, saying, unknown_options, values
from kubectl_eksdoc.cli.interruption import reading
from kubectl_eksdoc.cli.interruption.request import PRINTED, Request, queue_name, stack_name
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.model import opt_ins
from kubectl_eksdoc.errors import Forbidden, UsageError

if TYPE_CHECKING:  # help must not pay for plans
    from kubectl_eksdoc.core.model.codes import Code
    from kubectl_eksdoc.core.plan.interruption.plan import InterruptionPlan

NAME = reading.NAME

_ABOUT = """\
Say whether Karpenter hears that EC2 takes a node back (Spot interruptions, scheduled changes), link by link: the
setting, by its version; the queue, its policy and its key; the rules of EventBridge; the rights of the controller; its
log. Says what the next interruption takes, and which Spot node has its notice now. Reads the cluster and AWS, and
changes nothing: what is missing is printed, for you to deploy.

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
With --print: 0 all that it can make is in it, 1 there is nothing in it, and something else fails, 5 something is not
known, so it may lack something.
Global flags: kubectl eksdoc options
"""


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``interruption``."""
    parser = commands.add_parser(
        NAME,
        help="whether Karpenter receives Spot interruption events, and what is missing",
        usage="%(prog)s [flags]",
        description=_ABOUT,
        epilog=_EXIT_CODES,
    )
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    SourceOptions.add_to(parser)
    group = parser.add_argument_group("What is judged")
    group.add_argument(
        "--queue",
        type=queue_name,
        default=None,
        metavar="NAME",
        help="the queue that is to be read; default: what Karpenter is configured with, else the cluster's name",
    )
    unknown_options.add_accepted(group, _codes, "interruptions")
    opt_in_options.add_without(group, opt_ins.PROXY.name)
    group = parser.add_argument_group("What is missing, as a document on stdout (nothing is changed)")
    group.add_argument(
        "--print",
        type=values.one_of(PRINTED, "document"),
        default=None,
        metavar="WHAT",
        help="stack: a CloudFormation template with only what is missing, for a stack of its own; commands: the "
        "same as commands of awscli and helm; iam: what the controller needs; helm-values: the setting, to be merged",
    )
    group.add_argument(
        "--stack-name",
        type=stack_name,
        default=None,
        metavar="NAME",
        help="of the stack; never that of Karpenter's own, of which it would delete the rest",
    )
    parser.set_defaults(leaf=parser, command=run)


def _codes() -> tuple[Code, ...]:
    from kubectl_eksdoc.core.model import interruption_codes

    return interruption_codes.ALL


def run(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """
    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.core.plan.interruption.plan import Wish
    from kubectl_eksdoc.flows.interruption import look_at_interruption
    from kubectl_eksdoc.render.interruption import FORMATS, InterruptionView

    request = Request.from_args(args, words)
    options = request.options
    FORMATS.check(options.output)
    try:
        world = reading.opened(request, around)
        wish = Wish(request.queue, request.stack, reading.reached_by(request, world))
        plan = look_at_interruption(world.cluster, world.around, wish)
    except Forbidden as error:
        raise rights.explained(error, NAME) from error
    saying.told(world, options, around)
    if request.printed:
        return _printed(plan, request, around)
    view = InterruptionView(plan, request.given, world.recognised)
    look = looks.decide(options, around.stdout, around.environ)
    return Answer(FORMATS.render(view, options.output, look), saying.code(plan.findings, request.accepted))


def _printed(plan: InterruptionPlan, request: Request, around: Surroundings) -> Answer:
    """
    Raises:
        UsageError: there is no Karpenter for which anything could be made, or nothing says where.
    """
    from kubectl_eksdoc.render.interruption.printing import printed

    missing, install = plan.missing, plan.install
    if missing is None or install is None:
        raise UsageError(
            "there is no Karpenter here whose queue could be made, or it could not be looked at",
            "Without --print it is said what was found.",
        )
    if not missing.queue_name:
        raise UsageError(
            "which queue Karpenter is to read is not known: its setting is taken from elsewhere",
            "Give --queue NAME; without --print it is said from where.",
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
        around.note(f"not mended by it: {each}")
    if not text:
        around.note("nothing is missing that this could make")
    if missing.not_known:
        return Answer(text, exits.UNKNOWN)
    return Answer(text, exits.CLEAN if text or not (beside or missing.for_a_person) else exits.FAILS)
