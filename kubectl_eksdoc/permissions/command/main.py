"""``kubectl eksdoc permissions``: flags, and the answer of the command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import astuple
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.amazon.iam import ClusterArnParts
from kubectl_eksdoc.cli import answers, options, streams, values
from kubectl_eksdoc.cli.commands import command_parser
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import add_command, add_source_early, given_flags, opt_ins_from_args
from kubectl_eksdoc.cli.parser import Commands, add_flag, add_switch, add_text
from kubectl_eksdoc.cli.rights import RightNamespaces
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import SYSTEM_NAMESPACE
from kubectl_eksdoc.model.journal import is_namespace
from kubectl_eksdoc.model.permissions import OptInRight
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

from ..grants import (
    MAX_POLICY_SIZE,
    SUBJECT_KINDS,
    RbacSubject,
    RequiredPermissions,
    check_held,
    policies,
)
from . import rights
from .rights import (
    Invocation,
    ParserFor,
    cautions,
    iam_notes,
    read_only_commands,
    required_permissions,
)

if TYPE_CHECKING:
    from kubectl_eksdoc.report.text import Appearance


# The request of ``permissions``.


PROBE_NAMESPACE = "default"
JOURNAL, PROBE, KARPENTER = "--journal-namespace", "--probe-namespace", "--karpenter-namespace"


@frozen
class PermissionsRequest:
    """`commands`: none for all commands that only read. `opt_ins`: names of opt-ins. `part`: part of the policy, from
    1; 0 for the complete policy."""

    commands: tuple[Invocation, ...]
    places: RightNamespaces
    opt_ins: tuple[str, ...]
    subjects: tuple[RbacSubject, ...]
    place: ClusterArnParts
    iam: bool = False
    part: int = 0
    check: bool = False

    @staticmethod
    def from_args(args: argparse.Namespace, parser_for: ParserFor, context: CommandContext) -> PermissionsRequest:
        """The request from the parsed arguments and options.

        Raises:
            UsageError: a word is not a command, or flags do not fit together.
        """
        if not context.source.live:
            raise UsageError("rights are of the tool, whatever it reads: leave --demo and --snapshot out")
        options = context.options
        places = RightNamespaces(
            args.journal_namespace or options.namespace or JOURNAL_NAMESPACE,
            args.probe_namespace or PROBE_NAMESPACE,
            args.karpenter_namespace or SYSTEM_NAMESPACE,
        )
        request = PermissionsRequest(
            rights.parse_commands(args.words, parser_for),
            places,
            opt_ins_from_args(args),
            tuple(args.bind),
            ClusterArnParts(options.region, args.account or "", options.cluster_name),
            args.iam,
            args.part,
            args.check,
        )
        for name in astuple(places):
            if not is_namespace(name):
                raise UsageError(f"{name!r} is no name of a namespace")
        if request.part and not request.iam:
            raise UsageError("--part is of a policy", "Say --iam, too.")
        for flag, is_given in (("--check", request.check), ("--bind", bool(request.subjects))):
            if request.iam and is_given:
                raise UsageError(f"--iam prints a policy, and {flag} is about the cluster", "Leave one of them out.")
        if request.check and request.subjects:
            raise UsageError("--check asks, and --bind prints", "Leave one of them out.")
        if request.iam and options.output not in ("table", "json"):
            raise UsageError(f"a policy has no output format {options.output!r}: IAM takes JSON alone")
        return request

    @property
    def given_options(self) -> dict[str, object]:
        """The given options by flag name."""
        return given_flags(
            {
                "commands": list(self.command_texts),
                "with": list(self.opt_ins),
                "journal-namespace": self.places.journal,
                "probe-namespace": self.places.probe,
                "karpenter-namespace": self.places.karpenter,
            }
        )

    @property
    def command_texts(self) -> tuple[str, ...]:
        """The commands, quoted for a shell."""
        return tuple(shell(*each.words) for each in self.commands)

    @property
    def other_args(self) -> tuple[str, ...]:
        """The arguments other than the commands that select the same rights."""
        defaults = (JOURNAL_NAMESPACE, PROBE_NAMESPACE, SYSTEM_NAMESPACE)
        namespaces = zip((JOURNAL, PROBE, KARPENTER), astuple(self.places), defaults, strict=True)
        flag_args = [word for flag, name, default in namespaces if name != default for word in (flag, name)]
        return (*(("--with", ",".join(self.opt_ins)) if self.opt_ins else ()), *flag_args)


account = values.MatchingText("[0-9]{12}", "is no AWS account: twelve digits", str)


def subject(text: str) -> RbacSubject:
    """``Group:eksdoc``, ``User:ann``, ``ServiceAccount:NAMESPACE/NAME``; the kind in any case.

    Raises:
        argparse.ArgumentTypeError: it is none of these.
    """
    kind_text, _, name = text.partition(":")
    kind = next((each for each in SUBJECT_KINDS if each.lower() == kind_text.lower()), "")
    if not kind or not name:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no subject: {', '.join(f'{each}:NAME' for each in SUBJECT_KINDS)}"
        )
    if kind != "ServiceAccount":
        return RbacSubject(kind, name)
    namespace, _, name = name.partition("/")
    if not name or not is_namespace(namespace):
        raise argparse.ArgumentTypeError(f"{text!r} does not say in which namespace: ServiceAccount:NAMESPACE/NAME")
    return RbacSubject(kind, name, namespace)


NAME = "permissions"
_KUBECTL_FLAGS = ("--filename", "--watch")
"""Flags of kubectl that some commands define themselves."""

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
"""


def add_to(commands: Commands) -> None:
    """Add the parser of ``permissions``."""
    parser = add_command(
        commands,
        NAME,
        "print the ClusterRole and IAM policy that a command needs, or check that you have them",
        "[COMMAND [flags of it] …] [flags]",
        _ABOUT,
        _EXIT_CODES,
        partial(run, lambda path: command_parser(only_path=path)),
        own_flags=_KUBECTL_FLAGS,
    )
    parser.accepts_unknown_flags = True
    add_source_early(parser)
    group = parser.add_argument_group("Kubernetes (-o yaml and -o json print objects for kubectl apply -f -)")
    add_flag(
        group,
        "--bind",
        "KIND:NAME",
        "also print bindings: Group:NAME, User:NAME or ServiceAccount:NAMESPACE/NAME; may be repeated",
        subject,
        action="append",
        default=[],
    )
    options.add_with_flag(group, "also grant these")
    add_text(group, JOURNAL, "NAME", f"namespace of the journals (default: that of -n, else {JOURNAL_NAMESPACE})")
    add_text(group, PROBE, "NAME", f"namespace of test pods (default: {PROBE_NAMESPACE})")
    add_text(group, KARPENTER, "NAME", f"where Karpenter is installed (default: {SYSTEM_NAMESPACE})")
    add_switch(group, "--check", "check which of these permissions you have")
    group = parser.add_argument_group("In AWS")
    add_switch(
        group,
        "--iam",
        "print only the IAM policy, for aws iam create-policy --policy-document; --region, "
        "--cluster-name and --account limit its resources",
    )
    add_flag(group, "--account", "ID", "account ID of the cluster, twelve digits", account)
    add_flag(group, "--part", "N", "part N of a policy that is too long for one document", values.count, 0)


def run(parser_for: ParserFor, args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Print the permissions or the IAM policy, or check the permissions.

    Raises:
        EksdocError: the command line is wrong, or with --check the cluster cannot be asked; the error says which.
    """
    # Imported late: help and usage errors must not load what only an answer needs.
    from ..report import PermissionsReport

    request = PermissionsRequest.from_args(args, parser_for, context)
    commands = request.commands or read_only_commands()
    required = required_permissions(commands, request.places, request.opt_ins)
    appearance = answers.appearance_for(context)
    iam_texts = iam_notes(commands)
    if request.iam:
        for line in iam_texts:
            context.note(line)
        return CommandAnswer(_policy(request, required, appearance, context))
    if request.check:
        return check_permissions(request, required, context)
    PermissionsReport.check_format(context.options.output)
    caution_texts = cautions(required)
    available_opt_ins = tuple(
        each
        for each in required_permissions(commands, request.places, permissions.OPT_IN_NAMES).opt_ins
        if each not in required.opt_ins
    )
    command_names = () if request.commands else map(rights.without_flags, rights.registered_commands())
    each = tuple(required_permissions([text], request.places, request.opt_ins) for text in command_names)
    report = PermissionsReport(
        role_name(request.commands, [each for each in required.opt_ins if each.name in request.opt_ins]),
        required,
        request.command_texts,
        request.subjects,
        request.place,
        each,
        __version__,
        iam_texts,
        request.other_args,
        available_opt_ins,
        caution_texts,
    )
    if context.options.output not in ("table", "wide"):
        for text in (*(f"opt-in {each.description}" for each in required.opt_ins), *caution_texts):
            context.note(text)
    return answers.report_answer(report, context)


_MAX_NAME = 150


def role_name(commands: Sequence[Invocation], opt_ins: Sequence[OptInRight] = ()) -> str:
    """``eksdoc-reader`` for all commands that only read; ``eksdoc-addon-diff-apply.drain-run`` for two commands.

    Roles with other rights have other names, so that applying one does not overwrite another.
    """
    names = ".".join(dict.fromkeys(each.slug for each in commands)) or "reader"
    name = "-".join(("eksdoc", names, *(("with", *(each.name for each in opt_ins)) if opt_ins else ())))
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[:_MAX_NAME]}-{sha256(name.encode()).hexdigest()[:8]}"


def _policy(
    request: PermissionsRequest, required: RequiredPermissions, appearance: Appearance, context: CommandContext
) -> str:
    """The IAM policy, or one part of it, as JSON.

    Raises:
        UsageError: no AWS request is needed, or the policy is too long for one document, or has no such part.
    """
    from kubectl_eksdoc.report.encode import to_json

    parts = policies(required.actions, request.place)
    if not parts:
        raise UsageError(f"{' and '.join(required.commands)} asks AWS nothing that must be allowed: there is no policy")
    if len(parts) > 1 and not request.part:
        raise UsageError(
            f"the policy is longer than the {MAX_POLICY_SIZE} characters that a managed policy may have",
            f"It comes in {len(parts)} parts: --part 1 to --part {len(parts)}. A role may have several policies.",
        )
    if request.part > len(parts):
        raise UsageError(f"the policy has no part {request.part}: it comes in {len(parts)}")
    if not request.place.is_complete:
        missing_flags = [
            flag
            for flag, value in (
                ("--region", request.place.region),
                ("--cluster-name", request.place.cluster),
                ("--account", request.place.account),
            )
            if not value
        ]
        context.note(f"it allows more than one cluster: give {', '.join(missing_flags)} to limit it")
    return to_json(parts[max(request.part, 1) - 1], appearance.ascii)


# ``permissions --check``: which of the rights the user has, as the cluster reports it.


def check_permissions(
    request: PermissionsRequest, required: RequiredPermissions, context: CommandContext
) -> CommandAnswer:
    """Check which of the permissions the user has.

    Raises:
        ClusterError: the cluster cannot be asked; the error says why.
        UsageError: there is no such output format.
    """
    from kubectl_eksdoc.model.cluster import Cluster, Source
    from kubectl_eksdoc.report.identity import identity_line

    from ..report import PermissionCheckReport

    PermissionCheckReport.check_format(context.options.output)
    edges = context.edges
    identity = edges.identity_of(context.connection, context.aws)
    results = check_held(required, edges.review_permissions(context.connection, required.permissions))
    cluster = Cluster(identity=identity, source=Source.LIVE, observed_at=context.now())
    context.note(identity_line(cluster, context.now(), answers.appearance_for(context, context.stderr)))
    if required.iam_actions:
        context.note("of AWS nothing was asked: whether IAM allows the actions shows when they are needed")
    report = PermissionCheckReport(results, cluster, options=request.given_options, tool_version=__version__)
    states = [each.held for each in results]
    return answers.report_answer(
        report, context, streams.FAILS if False in states else streams.UNKNOWN if None in states else 0
    )
