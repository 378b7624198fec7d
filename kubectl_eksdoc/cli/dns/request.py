"""What was asked of ``coredns-lameduck``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import opening
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions, without_from
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model import coredns, permissions
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.coredns_lameduck.deployed import DnsFacts
    from kubectl_eksdoc.flows.dns import MeasuredBefore
    from kubectl_eksdoc.model.commands import Reach
    from kubectl_eksdoc.wiring.dns import DnsWorld


@dataclass(frozen=True, slots=True)
class Request:
    """`accepted`: finding codes that may be unknown; `without`: opt-ins that are left out."""

    options: GlobalOptions
    source: SourceChoice
    accepted: tuple[str, ...]
    without: tuple[str, ...] = ()

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> Request:
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
        return Request(GlobalOptions.from_args(args), source, args.accept_unknown, without_from(args))

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        said: dict[str, object] = {"accept-unknown": list(self.accepted), "without": list(self.without)}
        return {name: value for name, value in said.items() if value}


# What every face of ``coredns-lameduck`` reads: the cluster, CoreDNS's objects and pods, and AWS's side of it.


NAME = "coredns-lameduck"
ADDON = coredns.NAME


def opened(request: Request, around: Surroundings) -> DnsWorld:
    """
    Raises:
        EksdocError: as `wiring.dns.open_dns`.
    """
    from kubectl_eksdoc.coredns_lameduck.deployed import OBJECTS
    from kubectl_eksdoc.flows.dns import KINDS
    from kubectl_eksdoc.wiring.dns import DnsReading

    return opening.opened(around.open_dns, request, around, DnsReading(KINDS, OBJECTS))


def reach(request: Request, world: DnsWorld) -> Reach:
    """By which words a command that is proposed leads to the same cluster."""
    return opening.reach(request.source, request.options, world.cluster.identity.context)


def measured_on(around: Surroundings) -> MeasuredBefore:
    """What was measured from this machine."""
    from kubectl_eksdoc.host import dns_measurements

    return lambda uid, context: dns_measurements.measured(uid, context, around.environ)


def facts_of(
    world: DnsWorld,
    again: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
    measured: MeasuredBefore = lambda uid, context: None,
) -> DnsFacts:
    """With a look into its pods, and at who hears of Spot notices; `again`: the words that lead to the same cluster;
    `without`: opt-ins that are left out; `measured`: as of `flows.dns.dns_facts`.

    Raises:
        ClusterError, AwsError: something cannot be asked at all.
    """
    from kubectl_eksdoc.flows.dns import dns_facts, with_notices, with_pods
    from kubectl_eksdoc.flows.interruption import look_at_interruption
    from kubectl_eksdoc.interruption.plan import InterruptionPlan, Wish

    def looked() -> InterruptionPlan:
        karpenter = replace(world.karpenter(), proxied=permissions.PROXY.name not in without)
        return look_at_interruption(karpenter.cluster, karpenter.around, Wish(again=again))

    facts = dns_facts(world.cluster, world.objects, world.addon(ADDON), world.auto_mode, measured)
    return with_pods(with_notices(facts, looked), world.inside)
