"""What was asked of ``coredns-lameduck``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import opening
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions, non_empty, without_from
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model import coredns
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.coredns_lameduck.read import MeasuredBefore
    from kubectl_eksdoc.model.commands import CommandTarget
    from kubectl_eksdoc.session.session import ClusterSession


@dataclass(frozen=True, slots=True)
class LameduckRequest:
    """`accepted`: finding codes that may be unknown; `without`: opt-ins that are left out."""

    options: GlobalOptions
    source: SourceChoice
    accepted: tuple[str, ...]
    without: tuple[str, ...] = ()

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> LameduckRequest:
        """
        Raises:
            UsageError: a word is given, or what was given does not fit together.
        """
        if words:
            raise UsageError(
                f"coredns-lameduck takes no name, and {words[0]!r} is one",
                "It is about CoreDNS in kube-system. To change it: --set lameduck=20s.",
            )
        source = SourceOptions.from_args(args).choice
        return LameduckRequest(GlobalOptions.from_args(args), source, args.accept_unknown, without_from(args))

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        said: dict[str, object] = {"accept-unknown": list(self.accepted), "without": list(self.without)}
        return non_empty(said)


# What every face of ``coredns-lameduck`` reads: the cluster, CoreDNS's objects and pods, and AWS's side of it.


NAME = "coredns-lameduck"
ADDON = coredns.NAME


def reach(request: LameduckRequest, session: ClusterSession) -> CommandTarget:
    """By which words a command that is proposed leads to the same cluster."""
    return opening.reach(request.source, request.options, session.cluster.identity.context)


def measured_on(around: CommandContext) -> MeasuredBefore:
    """What was measured from this machine."""
    from kubectl_eksdoc.host import dns_measurements

    return lambda uid, context: dns_measurements.measured(uid, context, around.environ)
