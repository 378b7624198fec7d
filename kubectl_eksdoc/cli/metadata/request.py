"""What was asked of ``imds-probe``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import opening
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions, non_empty, since_from
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.imds_probe.assumed import Assumed, Intent
    from kubectl_eksdoc.imds_probe.read import Scope


_PODS, _NODES = ("pod", "pods", "po"), ("node", "nodes", "no")
_WORKLOADS = {
    **dict.fromkeys(("deployment", "deployments", "deploy"), "Deployment"),
    **dict.fromkeys(("daemonset", "daemonsets", "ds"), "DaemonSet"),
    **dict.fromkeys(("statefulset", "statefulsets", "sts"), "StatefulSet"),
}


@dataclass(frozen=True, slots=True)
class Request:
    """`pod` is a name, "" for all; `workload` a kind and a name; `nodes` and `groups` narrow it down to some.
    `accepted`: finding codes that may be unknown. `earlier`: a file of an earlier answer, "" for none. `assumed`: of
    the next nodes; `intent`: what is meant of all. `evidence`: CloudWatch is asked."""

    options: GlobalOptions
    source: SourceChoice
    pod: str
    nodes: tuple[str, ...]
    groups: tuple[str, ...]
    hops: int
    accepted: tuple[str, ...]
    earlier: str
    assumed: Assumed | None
    workload: tuple[str, str] | None
    intent: Intent | None
    evidence: bool

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> Request:
        """
        Raises:
            UsageError: something else than pods and nodes is named, or what was given does not fit together.
        """
        named = [_named(word) for word in words]
        pods = [name for kind, name in named if kind in _PODS]
        nodes = tuple(name for kind, name in named if kind in _NODES)
        workloads = [(_WORKLOADS[kind], name) for kind, name in named if kind in _WORKLOADS]
        alone = [*pods, *workloads]
        if len(alone) > 1 or (alone and (nodes or args.nodegroup)):
            raise UsageError("one pod or workload at a time, and nothing beside it", "For all of them: name none.")
        if workloads and (args.active or args.apply):
            raise UsageError("--active and --apply are of nodes", "Name node/NAME, or --nodegroup NAME.")
        return Request(
            GlobalOptions.from_args(args),
            SourceOptions.from_args(args).choice,
            pods[0] if pods else "",
            nodes,
            tuple(args.nodegroup),
            args.hops,
            args.accept_unknown,
            since_from(args),
            args.assume,
            workloads[0] if workloads else None,
            args.intent,
            args.evidence is not None,
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
            "evidence": "cloudwatch" if self.evidence else "",
            "since": self.earlier,
        }
        if self.pod or self.workload:
            said["namespace"] = self.options.namespace
        return non_empty(said)


def _named(word: str) -> tuple[str, str]:
    kind, slash, name = word.partition("/")
    if not slash or not name or kind not in (*_PODS, *_NODES, *_WORKLOADS):
        hint = "Or deploy/NAME, ds/NAME, sts/NAME. Name none for the whole cluster."
        raise UsageError(f"{word!r} is neither pod/NAME nor node/NAME", hint)
    return kind, name


NAME = "imds-probe"


def scope(request: Request) -> Scope:
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.imds_probe.read import Scope
    from kubectl_eksdoc.session.sources import namespace_of

    options = request.options
    named = bool(request.pod or request.workload)
    there = options.namespace or (namespace_of(request.source, options.connection) if named else "")
    return Scope(request.pod, there, request.nodes, request.groups, request.workload)


def reached_by(request: Request, session: opening.WasRead) -> tuple[str, ...]:
    """The words that lead to the same cluster once more."""
    return opening.with_aws(request.source, request.options, session.cluster.identity.context)
