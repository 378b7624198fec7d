"""Flags of ``kubectl eksdoc imds-probe``, and the choice of its answer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.amazon.metadata_service import HOST_HOPS, POD_HOPS
from kubectl_eksdoc.cli import answers, options, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import add_command, add_source
from kubectl_eksdoc.cli.parser import Commands, add_flag
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.fleet import command as fleet_options
from kubectl_eksdoc.fleet.command import MemberFlags, run_fleet
from kubectl_eksdoc.model.api_objects import IMDS_PROBE

from . import request as fix_options
from . import request as reading
from .request import ImdsProbeRequest

if TYPE_CHECKING:
    from kubectl_eksdoc.model.baseline import SavedResult
    from kubectl_eksdoc.session.session import ClusterSession

    from ..affected import AssumedOptions, IntendedOptions
    from ..plan import MetadataPlan
    from ..read import ProbeScope
    from ..sources import EvidenceSource


# The answer without a measurement or a change.


def check_access(request: ImdsProbeRequest, context: CommandContext) -> CommandAnswer:
    """Check the access and report it.

    Raises:
        EksdocError: a file, the cluster or AWS is at fault; the error says which.
    """
    # Imported late: help and usage errors must not load what only an answer needs.
    from kubectl_eksdoc.baseline.side import SnapshotOrigin

    from ..fix_choice import offered_fixes
    from ..plan import as_saved_result, compare_with_earlier, pod_access
    from ..read import vpc_id
    from ..report.access import ImdsReport

    ImdsReport.check_format(context.options.output)
    scope = reading.scope_of(request, context)

    def read_earlier(context: CommandContext) -> SavedResult:
        session, plan = read_plan(request, scope, context)
        return as_saved_result(SnapshotOrigin(request.earlier, __version__, request.options), session.cluster, plan)

    earlier = options.earlier_result(request.earlier, IMDS_PROBE, reading.NAME, read_earlier, context)
    with answers.explain_forbidden(reading.NAME):
        session, plan = read_plan(request, scope, context)
    answers.note_session(session, context)
    options.note_comparison(earlier, context)
    reading.note_unfinished_fixes(session, context)
    pod = pod_access(plan, plan.facts.cluster.pods[0]) if request.pod else None
    comparison = compare_with_earlier(earlier, session.cluster, plan, request.options) if earlier is not None else None
    are_named = bool(request.groups or request.nodes)
    kubectl = answers.kubectl_flags(context, session)
    fixes = offered_fixes(plan, session.cluster, vpc_id(session), session.profile, are_named, kubectl)
    report = ImdsReport(plan, pod, fixes, options=request.options, recognised=session.recognised, since=comparison)
    return answers.report_answer(report, context, answers.exit_code_of_findings(plan.findings, request.accepted))


def read_plan(
    request: ImdsProbeRequest, scope: ProbeScope, context: CommandContext
) -> tuple[ClusterSession, MetadataPlan]:
    """Read the facts and plan.

    Raises:
        EksdocError: the cluster or AWS is at fault; the error says which.
    """
    from ..read import NEEDS, plan_imds_access

    session = answers.open_session(context, NEEDS)
    target = answers.command_target(context, session)
    cluster = scope.restrict(session.cluster)
    is_host_network = request.workload is not None and all(pod.calls.host_network for pod in cluster.pods)
    hops = HOST_HOPS if is_host_network else request.hops
    plan = plan_imds_access(session, hops, cluster, target, request.assumed, request.intent, request.evidence)
    return session, plan


NAME = reading.NAME

_ABOUT = """\
Find pods that cannot reach the instance metadata service (IMDS), and why: hop limit and token mode of each node, what
sets them, what new nodes will have, which pods are affected, and the fixes.
Reads the cluster and AWS, and changes nothing. After a typed confirmation, --active tests IMDS from pods that it
creates and deletes, and --apply applies one of the fixes.

Examples:
  %(prog)s
  %(prog)s deploy/aws-load-balancer-controller -n kube-system
  %(prog)s pod/cart-6c5d76cf77-xqb86 -n shop
  %(prog)s --nodegroup green -o wide
  %(prog)s --hops 3
  %(prog)s --assume hops=1,tokens=required
  %(prog)s --intent hops=1
  %(prog)s --fleet 'prod-*' -o wide
  %(prog)s --active
  %(prog)s --nodegroup green --apply --fix instance-options --active
  %(prog)s node/ip-10-0-1-7.eu-west-1.compute.internal --active --dry-run
  %(prog)s --demo
"""

_EXIT_CODES = """\
Exit codes: 0 no pod is affected, 1 findings that fail, 5 something is unknown; 2 usage, 3 cluster, 4 AWS.
With --apply: 0 applied and verified, 1 the result differs, or nothing was started, 5 something is unknown,
6 interrupted, failed or still running, 7 the state changed after the preview.
With --active: 0 pods reach IMDS, 1 they do not, 5 not tested; 7 the expected number is wrong, 130 interrupted.
"""


def add_to(commands: Commands) -> None:
    """Add the parser of ``imds-probe``."""
    parser = add_command(
        commands,
        NAME,
        "find pods that cannot reach the instance metadata service, and fix them",
        "[pod/NAME | deploy/NAME | ds/NAME | sts/NAME | node/NAME ...] [flags]",
        _ABOUT,
        _EXIT_CODES,
        run,
    )
    add_source(parser)
    group = parser.add_argument_group("Scope")
    _add_scope(group)
    options.add_accept_unknown(group, values.finding_codes("imds", "imds_probe"), "the metadata service")
    options.add_since(parser)
    fix_options.add_active_to(parser)
    fix_options.add_to(parser)
    fleet_options.add_to(parser)


def _add_scope(group: argparse._ArgumentGroup) -> None:
    add_flag(
        group,
        "--nodegroup",
        "NAME",
        "check only nodes of this managed node group, NodePool or eksctl node group; may be repeated",
        action="append",
        default=[],
    )
    add_flag(
        group,
        "--hops",
        "N",
        "hops from a pod to IMDS: 2 in a normal pod network, 3 with a nested network (nested "
        f"containers, some overlays); default: {POD_HOPS}",
        _parse_hops,
        POD_HOPS,
    )
    add_flag(
        group,
        "--assume",
        "WHAT",
        "predict which pods break if new nodes have these options: hops=N,tokens=required|optional "
        "(such as hops=1,tokens=required), or ami=AL2023",
        _parse_assumed,
    )
    add_flag(
        group,
        "--intent",
        "WHAT",
        "intended options, hops=N,tokens=required|optional, or a file or tag:NAME (of the cluster) with these: "
        "with hops=1, pods that cannot reach IMDS and are not affected are fine, fixes of pods come first, and nodes "
        "with a higher hop limit are a finding",
        _parse_intent,
    )
    add_flag(
        group,
        "--evidence",
        "SOURCES",
        "one or more of cloudwatch (requests without a token of each instance in 14 days; AWS charges for two "
        "metrics an instance), cloudtrail (events with the node role, of at most 10 nodes) and iam (services that node "
        "roles were last used for), with commas; none names a pod",
        _parse_evidence,
        (),
    )


def _parse_hops(text: str) -> int:
    hops = values.count(text)
    if not 1 <= hops <= 64:
        raise argparse.ArgumentTypeError(f"{text} is no number of hops; EC2 takes 1 to 64")
    return hops


def _parse_intent(text: str) -> IntendedOptions:
    from kubectl_eksdoc.files import open_file

    from ..affected import TAG_PREFIX, IntendedOptions

    if text.startswith(TAG_PREFIX) and text != TAG_PREFIX:
        return IntendedOptions(tag=text.removeprefix(TAG_PREFIX))
    source = text
    if "=" not in text:
        try:
            with open_file(text) as file:
                source = file.read(_MAX_INTENT_BYTES).decode("utf-8", "replace")
        except OSError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is no intent, and no file: {error.strerror}") from error
    intent = IntendedOptions.parse(source)
    if intent is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no intent; write hops=1 or hops=1,tokens=required")
    return intent


_MAX_INTENT_BYTES = 1000


def _parse_evidence(text: str) -> tuple[EvidenceSource, ...]:
    from ..sources import EvidenceSource

    sources = {each.value: each for each in EvidenceSource}
    names = text.split(",")
    if unknown_names := [each for each in names if each not in sources]:
        raise argparse.ArgumentTypeError(
            f"{unknown_names[0]!r} is no source of evidence; write one of {','.join(sources)}"
        )
    return tuple(dict.fromkeys(sources[each] for each in names))


def _parse_assumed(text: str) -> AssumedOptions:
    from ..affected import AssumedOptions, parse_options

    message = f"{text!r} assumes nothing that is known; write hops=1,tokens=required or ami=AL2023"
    options = parse_options(text, ("hops", "tokens", "ami"))
    if options is None:
        raise argparse.ArgumentTypeError(message)
    hops = int(options["hops"]) if "hops" in options else None
    return AssumedOptions(hops, options.get("tokens", ""), options.get("ami", "").upper())


def run(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Run the command.

    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    fleet = fleet_options.fleet_from(args, context, ("active", "apply", "since"))
    request = ImdsProbeRequest.from_args(args, context)
    if request.assumed is not None and (args.apply or args.active):
        raise UsageError("--assume is a what-if: it cannot be used with --apply or --active")
    if request.intent is not None and args.active and not args.apply:
        raise UsageError("--active measures what pods find, whatever is meant: --intent does not go with it")
    if request.evidence and (args.active or args.apply):
        raise UsageError("--evidence is of the answer without --active and --apply")
    fix = fix_options.fix_from(args, request)
    active = fix_options.active_from(args, bool(args.words)) if fix is None or args.active else None
    if fix is not None or active is not None:
        options.check_without_since("--apply" if fix is not None else "--active", request.earlier)
    if fix is not None:
        from .fixing import apply_fix

        return apply_fix(request, fix, active, context)
    if active is not None:
        from .probing import run_active_probe

        return run_active_probe(request, active, context)
    if fleet is not None:
        if args.words:
            raise UsageError(
                f"{args.words[0]} is of one cluster, and --fleet names many", "Name neither pods nor nodes."
            )
        joined_flags = ("accept-unknown",)
        return run_fleet(fleet, MemberFlags(NAME, IMDS_PROBE, request.options, comma_separated=joined_flags), context)
    return check_access(request, context)
