"""``kubectl eksdoc coredns-lameduck``: flags, and the answer of the command."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.cli import answers, options, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import CHANGES, add_command, add_source
from kubectl_eksdoc.cli.parser import Commands
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model import permissions

from . import change_options, file
from .change_options import LameduckRequest

NAME = change_options.NAME

_ABOUT = """\
Check whether DNS lookups survive the loss of a CoreDNS pod or its node: how long CoreDNS keeps serving after SIGTERM,
how long it has to and how long it can, where its pods run, whether lookups fail now, and the fixes in order.
Reads the cluster and AWS, and changes nothing. --set, --place and --autoscale show a change; --apply makes it
after a typed confirmation, so that add-on updates keep it. --measure sends DNS queries from pods that it creates and
deletes, while CoreDNS pods end.

Examples:
  %(prog)s
  %(prog)s -o wide
  %(prog)s --set lameduck=20s
  %(prog)s --set lameduck=20s --apply
  %(prog)s --place on-demand --autoscale 3:10 --apply --dry-run
  %(prog)s --measure=rollout
  %(prog)s -f Corefile --coredns-version 1.13.1
  %(prog)s --demo
"""

_EXIT_CODES = """\
Exit codes: 0 lookups survive, 1 findings that fail, 5 something is unknown; 2 usage, 3 cluster, 4 AWS.
With --apply: 0 applied, and every pod has loaded it; 1 refused, or the result differs, 5 something is unknown, 6 it
failed, is still running, or a pod has not loaded it yet, 7 the state changed after the preview.
With --measure: 0 all queries were answered, 1 answers were lost or late, 5 something is unknown; 130 interrupted.
"""


def add_to(commands: Commands) -> None:
    """Add the parser of ``coredns-lameduck``."""
    parser = add_command(
        commands,
        NAME,
        "check and fix CoreDNS graceful shutdown and placement",
        "[flags]",
        _ABOUT,
        _EXIT_CODES,
        run,
        own_flags=(file.FILE,),
    )
    add_source(parser)
    group = parser.add_argument_group("Scope")
    options.add_accept_unknown(group, values.finding_codes("dns", "dns_change", "dns_measure", "addon"), "CoreDNS")
    options.add_without_flag(group, permissions.PROXY.name)
    file.add_to(parser)
    change_options.add_to(parser)
    change_options.add_measurement(parser)
    change_options.add_confirmation(parser)


def run(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Check CoreDNS, a file, make a change or measure, as the arguments request.

    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    request = LameduckRequest.from_args(args)
    confirmation, dry_run = options.confirmation_from_args(args, CHANGES), options.dry_run_from_args(args)
    measure = change_options.measurement_request_from(args, confirmation, dry_run, request.accepted)
    change_request, apply_options = (
        change_options.change_request_from(args),
        change_options.apply_options_from(args, confirmation, dry_run, bool(measure)),
    )
    if file.is_requested(args):
        if measure is not None or change_request is not None or apply_options is not None:
            raise UsageError("-f reads a file alone: nothing is measured or changed with it")
        return file.run(args, request.accepted, context)
    if measure is not None:
        from .measuring import measure_dns

        return measure_dns(measure, context)
    if change_request is not None or apply_options is not None:
        from .changing import change_coredns

        return change_coredns(request, change_request, apply_options, context)
    # Imported late: help and usage errors must not load what only an answer needs.
    from ..plan import plan_dns
    from ..read import NEEDS, complete_facts, read_notices
    from ..report.plan import LameduckReport

    LameduckReport.check_format(context.options.output)
    with answers.explain_forbidden(NAME):
        session = answers.open_session(context, NEEDS)
        command_target, proxied = (
            answers.command_target(context, session),
            permissions.PROXY.name not in request.without,
        )
        facts = complete_facts(
            session,
            lambda: read_notices(session, command_target.eksdoc, proxied),
            change_options.measurement_lookup(context),
        )
        plan = plan_dns(facts, command_target)
    answers.note_session(session, context)
    report = LameduckReport(plan, options=request.given_options, recognised=session.recognised)
    return answers.report_answer(report, context, answers.exit_code_of_findings(plan.findings, request.accepted))
