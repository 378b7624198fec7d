"""What was asked of ``imds-probe``."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from kubectl_eksdoc.amazon.metadata_service import POD
from kubectl_eksdoc.cli import opening
from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.options import non_empty, since_from
from kubectl_eksdoc.errors import LocalJournalError, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.session.sources import namespace_of

if TYPE_CHECKING:
    from kubectl_eksdoc.imds_probe.affected import Assumed, IntendedOptions
    from kubectl_eksdoc.imds_probe.read import ProbeScope
    from kubectl_eksdoc.imds_probe.sources import EvidenceSource
    from kubectl_eksdoc.session.session import ClusterSession


_PODS, _NODES = ("pod", "pods", "po"), ("node", "nodes", "no")
_WORKLOADS = {
    **dict.fromkeys(("deployment", "deployments", "deploy"), "Deployment"),
    **dict.fromkeys(("daemonset", "daemonsets", "ds"), "DaemonSet"),
    **dict.fromkeys(("statefulset", "statefulsets", "sts"), "StatefulSet"),
}


@frozen
class ImdsProbeRequest:
    """`pod` is a name, "" for all; `workload` a kind and a name; `nodes` and `groups` narrow it down to some.
    `accepted`: finding codes that may be unknown. `earlier`: a file of an earlier answer, "" for none. `assumed`: of
    the next nodes; `intent`: what is meant of all. `evidence`: what else AWS is asked for."""

    pod: str = ""
    nodes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    hops: int = POD
    accepted: tuple[str, ...] = ()
    earlier: str = ""
    assumed: Assumed | None = None
    workload: tuple[str, str] | None = None
    intent: IntendedOptions | None = None
    evidence: tuple[EvidenceSource, ...] = ()
    namespace: str = ""

    @staticmethod
    def from_args(args: argparse.Namespace, around: CommandContext) -> ImdsProbeRequest:
        """
        Raises:
            UsageError: something else than pods and nodes is named, or what was given does not fit together.
        """
        named = []
        for word in args.words:
            kind, slash, name = word.partition("/")
            if not slash or not name or kind not in (*_PODS, *_NODES, *_WORKLOADS):
                hint = "Or deploy/NAME, ds/NAME, sts/NAME. Name none for the whole cluster."
                raise UsageError(f"{word!r} is neither pod/NAME nor node/NAME", hint)
            named.append((kind, name))
        pods = [name for kind, name in named if kind in _PODS]
        nodes = tuple(name for kind, name in named if kind in _NODES)
        workloads = [(_WORKLOADS[kind], name) for kind, name in named if kind in _WORKLOADS]
        alone = [*pods, *workloads]
        if len(alone) > 1 or (alone and (nodes or args.nodegroup)):
            raise UsageError("one pod or workload at a time, and nothing beside it", "For all of them: name none.")
        if workloads and (args.active or args.apply):
            raise UsageError("--active and --apply are of nodes", "Name node/NAME, or --nodegroup NAME.")
        return ImdsProbeRequest(
            pods[0] if pods else "",
            nodes,
            tuple(args.nodegroup),
            args.hops,
            args.accept_unknown,
            since_from(args),
            args.assume,
            workloads[0] if workloads else None,
            args.intent,
            args.evidence,
            around.options.namespace,
        )

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        said: dict[str, object] = {
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
            said["namespace"] = self.namespace
        return non_empty(said)


NAME = "imds-probe"


def scope(request: ImdsProbeRequest, around: CommandContext) -> ProbeScope:
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.imds_probe.read import ProbeScope

    named = bool(request.pod or request.workload)
    there = request.namespace or (namespace_of(around.source, around.connection) if named else "")
    return ProbeScope(request.pod, there, request.nodes, request.groups, request.workload)


_LATEST = 20
"""So many journals are looked at for fixes that were not finished."""


def tell_open(session: ClusterSession, around: CommandContext) -> None:
    """On stderr: the fixes of this cluster that were not finished, by the latest journals of this machine."""
    from kubectl_eksdoc.model.change_journal import METADATA_FIX, unfinished
    from kubectl_eksdoc.wiring.changes import saved_changes

    if not around.source.live or isinstance(session.aws, Unknown):
        return
    keeping = around.edges.keeping("", "", around.environ)
    try:
        latest = saved_changes(keeping.environ, keeping.home, _LATEST)
    except LocalJournalError as error:
        around.note(f"whether fixes were not finished is not known: {error.message}")
        return
    for each in unfinished(latest, session.aws.cluster.arn, METADATA_FIX)[::-1]:
        around.note(f"fix {each.id} ({each.text('fix') or 'unknown'}, {each.text('at')}) was not finished")
        for does, flag in (("continue", "--resume"), ("revert", "--undo")):
            words = ("kubectl", "eksdoc", NAME, "--apply", flag, each.id, *opening.reached_by(around, session))
            around.note(f"  {does} it: {shlex.join(words)}")
