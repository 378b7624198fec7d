"""``kubectl eksdoc permissions``: its flags, and its answer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import options, values
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.permissions import rights
from kubectl_eksdoc.cli.permissions.request import (
    JOURNAL,
    KARPENTER,
    PROBE,
    PROBE_NAMESPACE,
    PermissionsRequest,
    account,
    subject,
)
from kubectl_eksdoc.cli.permissions.rights import Grown, Invocation
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.coredns import SYSTEM
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

if TYPE_CHECKING:
    from kubectl_eksdoc.model.permissions import OptIn
    from kubectl_eksdoc.permissions import WantedPermissions
    from kubectl_eksdoc.render.look import Look

NAME = "permissions"
_OF_COMMANDS = ("--filename", "--watch")
"""Flags of kubectl that commands have themselves."""

_ABOUT = """\
Print the permissions that commands of this tool need with their flags, and no more: a ClusterRole, Roles for what is
needed in one namespace only, and an IAM policy. Without a command: for all commands that only read, as one role. Broad
permissions are opt-ins (--with). Does not contact the cluster unless --check is given, which shows what you have.

Examples:
  %(prog)s
  %(prog)s --with helm-releases,proxy
  %(prog)s drain run
  %(prog)s drain run --surge-singles
  %(prog)s check addon-diff -o yaml --bind Group:eksdoc | kubectl apply -f -
  %(prog)s addon-diff --apply --iam --cluster-name shop --region eu-west-1 --account 111122223333
  %(prog)s drain run --check
"""

_EXIT_CODES = """\
Exit codes: 0 printed, or with --check: you have all permissions; 1 some are missing, 5 some are unknown; 2 usage,
3 cluster.
Global flags: kubectl eksdoc options
"""


def add_to(commands: argparse._SubParsersAction[Parser], grown: Grown) -> None:
    """Add ``permissions``."""
    parser = commands.add_parser(
        NAME,
        help="print the ClusterRole and IAM policy that a command needs, or check that you have them",
        usage="%(prog)s [COMMAND [flags of it] …] [flags]",
        description=_ABOUT,
        epilog=_EXIT_CODES,
    )
    parser.passes_on = True
    GlobalOptions.add_to(parser, level=LEVELS - 1, own=_OF_COMMANDS)
    SourceOptions.add_early(parser)
    group = parser.add_argument_group("Kubernetes (-o yaml and -o json print objects for kubectl apply -f -)")
    group.add_argument(
        "--bind",
        type=subject,
        action="append",
        default=[],
        metavar="KIND:NAME",
        help="also print bindings: Group:NAME, User:NAME or ServiceAccount:NAMESPACE/NAME; may be repeated",
    )
    options.add_with(group, "also grant these")
    group.add_argument(
        JOURNAL,
        default="",
        metavar="NAME",
        help=f"where runs are written down (default: that of -n, else {JOURNAL_NAMESPACE})",
    )
    group.add_argument(
        PROBE,
        default="",
        metavar="NAME",
        help=f"where a probe's pods are made (default: {PROBE_NAMESPACE})",
    )
    group.add_argument(
        KARPENTER,
        default="",
        metavar="NAME",
        help=f"where Karpenter is installed (default: {SYSTEM})",
    )
    group.add_argument("--check", action="switch", default=False, help="check which of these permissions you have")
    group = parser.add_argument_group("In AWS")
    group.add_argument(
        "--iam",
        action="switch",
        default=False,
        help="print only the IAM policy, for aws iam create-policy --policy-document; --region, "
        "--cluster-name and --account limit its resources",
    )
    group.add_argument(
        "--account", type=account, default=None, metavar="ID", help="account ID of the cluster, twelve digits"
    )
    group.add_argument(
        "--part",
        type=values.count,
        default=0,
        metavar="N",
        help="part N of a policy that is too long for one document",
    )
    parser.set_defaults(leaf=parser, command=partial(run, grown))


def run(grown: Grown, args: argparse.Namespace, words: Sequence[str], around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line or, with --check, the cluster is at fault; the error says which.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.cli.permissions.rights import cautions, doubts, reading, wanted
    from kubectl_eksdoc.render.permissions.report import PermissionsReport

    request = PermissionsRequest.from_args(args, words, grown)
    commands = request.commands or reading()
    found = wanted(commands, request.places, request.opted)
    look = looks.decide(request.options, around.stdout, around.environ)
    doubtful = doubts(commands)
    if request.iam:
        for line in doubtful:
            around.note(line)
        return CommandAnswer(_policy(request, found, look, around))
    if request.check:
        from kubectl_eksdoc.cli.permissions.checking import checked

        return checked(request, found, around)
    PermissionsReport.check(request.options.output)
    warned = cautions(found)
    offered = tuple(
        each for each in wanted(commands, request.places, permissions.NAMES).opt_ins if each not in found.opt_ins
    )
    known = () if request.commands else map(rights.plain, rights.known())
    each = tuple(wanted([one], request.places, request.opted) for one in known)
    view = PermissionsReport(
        role_of(request.commands, [each for each in found.opt_ins if each.name in request.opted]),
        found,
        request.typed,
        request.subjects,
        request.place,
        each,
        __version__,
        doubtful,
        request.more,
        offered,
        warned,
    )
    if request.options.output not in ("table", "wide"):
        for one in (*(f"opt-in {each.said}" for each in found.opt_ins), *warned):
            around.note(one)
    return CommandAnswer(looks.answered(view, request.options, around))


_LONGEST = 150


def role_of(commands: Sequence[Invocation], opted: Sequence[OptIn] = ()) -> str:
    """``eksdoc-reader`` for all that read; ``eksdoc-addon-diff-apply.drain-run`` for two. Roles that grant something
    else have other names, so that none is applied over another one."""
    names = ".".join(dict.fromkeys(each.slug for each in commands)) or "reader"
    found = "-".join(("eksdoc", names, *(("with", *(each.name for each in opted)) if opted else ())))
    if len(found) <= _LONGEST:
        return found
    return f"{found[:_LONGEST]}-{sha256(found.encode()).hexdigest()[:8]}"


def _policy(request: PermissionsRequest, found: WantedPermissions, look: Look, around: CommandContext) -> str:
    """
    Raises:
        UsageError: AWS is not asked, or it is too long for one policy, or has no such part.
    """
    from kubectl_eksdoc.permissions import LONGEST, policies
    from kubectl_eksdoc.render.encode import to_json

    parts = policies(found.actions, request.place)
    if not parts:
        raise UsageError(f"{' and '.join(found.commands)} asks AWS nothing that must be allowed: there is no policy")
    if len(parts) > 1 and not request.part:
        raise UsageError(
            f"the policy is longer than the {LONGEST} characters that a managed policy may have",
            f"It comes in {len(parts)} parts: --part 1 to --part {len(parts)}. A role may have several policies.",
        )
    if request.part > len(parts):
        raise UsageError(f"the policy has no part {request.part}: it comes in {len(parts)}")
    if not request.place.whole:
        lacking = [
            flag
            for flag, value in (
                ("--region", request.place.region),
                ("--cluster-name", request.place.cluster),
                ("--account", request.place.account),
            )
            if not value
        ]
        around.note(f"it allows more than one cluster: give {', '.join(lacking)} to limit it")
    return to_json(parts[max(request.part, 1) - 1], look.ascii)
