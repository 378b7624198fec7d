"""Requests of ``imds-probe``, read from its flags."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from kubectl_eksdoc.amazon.metadata_service import POD_HOPS
from kubectl_eksdoc.cli import answers, options, values
from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.options import NODES, ConfirmationFlags, given_flags, since_from_args
from kubectl_eksdoc.cli.parser import add_flag, add_switch, add_text
from kubectl_eksdoc.errors import LocalJournalError, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.session.sources import default_namespace

if TYPE_CHECKING:
    from kubectl_eksdoc.session.session import ClusterSession

    from ..affected import AssumedOptions, IntendedOptions
    from ..read import ProbeScope
    from ..sources import EvidenceSource


_POD_WORDS, _NODE_WORDS = ("pod", "pods", "po"), ("node", "nodes", "no")
_WORKLOAD_KINDS = {
    **dict.fromkeys(("deployment", "deployments", "deploy"), "Deployment"),
    **dict.fromkeys(("daemonset", "daemonsets", "ds"), "DaemonSet"),
    **dict.fromkeys(("statefulset", "statefulsets", "sts"), "StatefulSet"),
}


@frozen
class ImdsProbeRequest:
    """`pod` is a name, "" for all; `workload` a kind and a name; `nodes` and `groups` restrict the check. `accepted`:
    codes of findings that may be unknown. `earlier`: the file of an earlier result, "" for none. `assumed`: options of
    the next nodes; `intent`: the intended options of all. `evidence`: additional AWS sources."""

    pod: str = ""
    nodes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    hops: int = POD_HOPS
    accepted: tuple[str, ...] = ()
    earlier: str = ""
    assumed: AssumedOptions | None = None
    workload: tuple[str, str] | None = None
    intent: IntendedOptions | None = None
    evidence: tuple[EvidenceSource, ...] = ()
    namespace: str = ""

    @staticmethod
    def from_args(args: argparse.Namespace, context: CommandContext) -> ImdsProbeRequest:
        """Read the request from the flags.

        Raises:
            UsageError: a target is neither a pod, a workload nor a node, or the flags exclude each other.
        """
        targets = []
        for word in args.words:
            kind, slash, name = word.partition("/")
            if not slash or not name or kind not in (*_POD_WORDS, *_NODE_WORDS, *_WORKLOAD_KINDS):
                hint = "Or deploy/NAME, ds/NAME, sts/NAME. Name none for the whole cluster."
                raise UsageError(f"{word!r} is neither pod/NAME nor node/NAME", hint)
            targets.append((kind, name))
        pods = [name for kind, name in targets if kind in _POD_WORDS]
        nodes = tuple(name for kind, name in targets if kind in _NODE_WORDS)
        workloads = [(_WORKLOAD_KINDS[kind], name) for kind, name in targets if kind in _WORKLOAD_KINDS]
        single_targets = [*pods, *workloads]
        if len(single_targets) > 1 or (single_targets and (nodes or args.nodegroup)):
            raise UsageError("one pod or workload at a time, and nothing beside it", "For all of them: name none.")
        if workloads and (args.active or args.apply):
            raise UsageError("--active and --apply are of nodes", "Name node/NAME, or --nodegroup NAME.")
        return ImdsProbeRequest(
            pods[0] if pods else "",
            nodes,
            tuple(args.nodegroup),
            args.hops,
            args.accept_unknown,
            since_from_args(args),
            args.assume,
            workloads[0] if workloads else None,
            args.intent,
            args.evidence,
            context.options.namespace,
        )

    @property
    def options(self) -> dict[str, object]:
        """The options of the result, by the names of the flags."""
        flags: dict[str, object] = {
            "pod": self.pod,
            "workload": "/".join(self.workload or ()),
            "node": list(self.nodes),
            "nodegroup": list(self.groups),
            "hops": self.hops,
            "accept-unknown": list(self.accepted),
            "assume": str(self.assumed or ""),
            "intent": str(self.intent or ""),
            "evidence": ",".join(each.value for each in self.evidence),
            "since": self.earlier,
        }
        if self.pod or self.workload:
            flags["namespace"] = self.namespace
        return given_flags(flags)


NAME = "imds-probe"


def scope_of(request: ImdsProbeRequest, context: CommandContext) -> ProbeScope:
    """The scope of the request.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from ..read import ProbeScope

    is_named = bool(request.pod or request.workload)
    namespace = request.namespace or (default_namespace(context.source, context.connection) if is_named else "")
    return ProbeScope(request.pod, namespace, request.nodes, request.groups, request.workload)


_MAX_JOURNALS = 20
"""Number of journals that are searched for unfinished fixes."""


def note_unfinished_fixes(session: ClusterSession, context: CommandContext) -> None:
    """Note on stderr the unfinished fixes of this cluster, by the latest journals of this machine."""
    from kubectl_eksdoc.model.change_journal import METADATA_FIX, unfinished_changes
    from kubectl_eksdoc.wiring.runs import saved_changes

    if not context.source.live or isinstance(session.aws, Unknown):
        return
    location = context.edges.journal_location("", "", context.environ)
    try:
        latest = saved_changes(location.environ, location.home, _MAX_JOURNALS)
    except LocalJournalError as error:
        context.note(f"whether fixes were not finished is not known: {error.message}")
        return
    for change in unfinished_changes(latest, session.aws.cluster.arn, METADATA_FIX)[::-1]:
        context.note(f"fix {change.id} ({change.text('fix') or 'unknown'}, {change.text('at')}) was not finished")
        for verb, flag in (("continue", "--resume"), ("revert", "--undo")):
            words = ("kubectl", "eksdoc", NAME, "--apply", flag, change.id, *answers.session_flags(context, session))
            context.note(f"  {verb} it: {shlex.join(words)}")


# Flags of ``imds-probe --apply`` and ``--active``: the fix, its confirmation, the time to follow it.


WATCH_FOR_S = 3600.0


@frozen
class FixRequest:
    """`name` is "" with `resume` or `undo`, the ID of a fix that was started before. `dry_run`: "" (none), ``client``
    or ``server``."""

    name: str
    dry_run: str
    confirmation: ConfirmationFlags
    watch_s: float
    resume: str = ""
    undo: str = ""


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Apply a fix (--active verifies it from pods)")
    add_switch(group, "--apply", "apply the fix that --fix names and verify the result")
    add_text(
        group,
        "--fix",
        "NAME",
        "fix to apply: instance-options, node-class or template-version, as listed without --apply",
    )
    add_flag(
        group,
        "--watch-for",
        "TIME",
        "stop following after this time; a node group update continues in EKS "
        f"(default: {values.format_duration(WATCH_FOR_S)})",
        values.some_seconds,
        WATCH_FOR_S,
    )
    add_text(
        group,
        "--resume",
        "ID",
        "resume an interrupted fix from its journal on this machine; completed steps are not repeated",
    )
    add_text(
        group,
        "--undo",
        "ID",
        "revert what a fix changed, from its journal on this machine; later changes by other clients are kept",
    )
    group = parser.add_argument_group("Confirmation and dry run")
    options.add_confirmation(group, NODES, "exactly N nodes are tested, changed or replaced")
    options.add_dry_run(group, "show what would be done", "ask EC2 or the API server whether it would accept it")


def fix_from(args: argparse.Namespace, request: ImdsProbeRequest) -> FixRequest | None:
    """None without --apply.

    Raises:
        UsageError: the flags exclude each other.
    """
    fix = FixRequest(
        args.fix,
        options.dry_run_from_args(args),
        options.confirmation_from_args(args, NODES),
        args.watch_for,
        args.resume,
        args.undo,
    )
    if not args.apply:
        if (fix.name, fix.watch_s, fix.resume, fix.undo) != ("", WATCH_FOR_S, "", ""):
            raise UsageError("flags that carry a fix out are given without --apply", "Add --apply if you mean it.")
        return None
    named_flags = [
        flag for flag, value in (("--fix", fix.name), ("--resume", fix.resume), ("--undo", fix.undo)) if value
    ]
    if not named_flags:
        hint = "imds-probe without --apply tells which there are."
        raise UsageError("--apply wants one fix: --fix NAME", hint)
    if len(named_flags) > 1:
        raise UsageError(
            f"--apply does one thing: {' and '.join(named_flags)} do not go together", "Leave one of them away."
        )
    if fix.undo and (args.active or request.nodes or request.groups):
        raise UsageError("--undo reverts a fix as it was carried out: no other nodes, and no --active")
    if args.active and fix.name == "node-class":
        raise UsageError(
            "--active proves a fix on nodes that run, and after node-class Karpenter makes others",
            "Leave --active away, and probe once the new nodes are there: imds-probe --active.",
        )
    if request.pod:
        raise UsageError("--apply is of nodes, and a pod is named", "Name its node, or its group: --nodegroup NAME.")
    if fix.resume and (fix.dry_run or request.nodes or request.groups):
        raise UsageError("--resume continues a fix as it was started: no other nodes, and no dry run")
    return fix


# Flags of ``imds-probe --active``: the nodes, the pods, the confirmation.


WAIT_S = 90.0


@frozen
class ActiveProbeRequest:
    """`image` and `namespace`: "" for the defaults. `dry_run`: ``client``, ``server`` or "" (none)."""

    is_every_node: bool
    image: str
    namespace: str
    wait_s: float
    confirmation: ConfirmationFlags
    dry_run: str

    @property
    def flags(self) -> dict[str, object]:
        """The flags that were given, by name."""
        return options.given_flags(
            {
                "active": True,
                "all-nodes": self.is_every_node,
                "image": self.image,
                "probe-namespace": self.namespace,
                "wait-for": values.format_duration(self.wait_s),
                "dry-run": self.dry_run,
            }
        )


def add_active_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Test from pods (creates and deletes pods)")
    add_switch(
        group,
        "--active",
        "test IMDS from two pods on one node of each kind: one in the pod network and one in the host network",
    )
    add_switch(group, "--all-nodes", "test on every node, not on one node of each kind")
    add_text(
        group,
        "--image",
        "IMAGE",
        "image of the test pods; needs a shell and curl (default: Amazon Linux 2023 of public.ecr.aws)",
    )
    add_text(
        group,
        "--probe-namespace",
        "NAME",
        "namespace of the test pods (default: the namespace of pod/NAME, else 'default'); pod "
        "security must allow hostNetwork for the full test",
    )
    add_flag(
        group,
        "--wait-for",
        "TIME",
        f"timeout for the pods of a node, including the image pull (default: {values.format_duration(WAIT_S)})",
        values.some_seconds,
        WAIT_S,
    )


def active_from(args: argparse.Namespace, has_targets: bool) -> ActiveProbeRequest | None:
    """None without --active. `has_targets`: a pod or nodes are named.

    Raises:
        UsageError: the flags exclude each other.
    """
    confirmation, dry_run = options.confirmation_from_args(args, NODES), options.dry_run_from_args(args)
    active = ActiveProbeRequest(args.all_nodes, args.image, args.probe_namespace, args.wait_for, confirmation, dry_run)
    if args.active:
        if active.is_every_node and has_targets:
            raise UsageError("--all-nodes excludes pod/NAME and node/NAME", "Give one of them.")
        return active
    if active != ActiveProbeRequest(False, "", "", WAIT_S, ConfirmationFlags(), ""):
        raise UsageError(
            "flags that make or change something are given without --active and without --apply",
            "Add --active to test it from pods, or --apply --fix NAME to fix it.",
        )
    return None
