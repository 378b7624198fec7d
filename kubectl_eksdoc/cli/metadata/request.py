"""What was asked of ``imds-probe``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.since_options import since_from
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for plans
    from kubectl_eksdoc.core.plan.metadata.assumed import Assumed

_PODS, _NODES = ("pod", "pods", "po"), ("node", "nodes", "no")


@dataclass(frozen=True, slots=True)
class Request:
    """`pod` is a name, "" for all; `nodes` and `groups` narrow it down to some. `accepted`: finding codes that may be
    unknown. `earlier`: a file of an earlier answer, "" for none."""

    options: GlobalOptions
    source: SourceChoice
    pod: str
    nodes: tuple[str, ...]
    groups: tuple[str, ...]
    hops: int
    accepted: tuple[str, ...]
    earlier: str = ""
    assumed: Assumed | None = None

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> Request:
        """
        Raises:
            UsageError: something else than pods and nodes is named, or what was given does not fit together.
        """
        named = [_named(word) for word in words]
        pods = [name for kind, name in named if kind in _PODS]
        nodes = tuple(name for kind, name in named if kind in _NODES)
        if len(pods) > 1 or (pods and (nodes or args.nodegroup)):
            raise UsageError("one pod at a time, and nothing beside it", "For all of them: name none.")
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
        )

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        said: dict[str, object] = {
            "pod": self.pod,
            "node": list(self.nodes),
            "nodegroup": list(self.groups),
            "hops": self.hops,
            "accept-unknown": list(self.accepted),
            "assume": str(self.assumed or ""),
            "since": self.earlier,
        }
        if self.pod:
            said["namespace"] = self.options.namespace
        return {name: value for name, value in said.items() if value}


def _named(word: str) -> tuple[str, str]:
    kind, slash, name = word.partition("/")
    if not slash or not name or kind not in (*_PODS, *_NODES):
        raise UsageError(f"{word!r} is neither pod/NAME nor node/NAME", "Name none for the whole cluster.")
    return kind, name
