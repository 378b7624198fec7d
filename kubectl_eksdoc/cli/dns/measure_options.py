"""The flags of ``coredns-lameduck --measure``: what happens while DNS is asked, for how long, from which pods."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.cli.confirming import Given
from kubectl_eksdoc.errors import UsageError

if TYPE_CHECKING:  # help must not pay for plans
    from kubectl_eksdoc.core.plan.dns.measuring.manner import Manner

WATCH = "watch"
HAPPENINGS = (WATCH, "rollout", "eviction")

WAIT_S = 120.0
_MOST_RATE = 200.0


@dataclass(frozen=True, slots=True)
class Measure:
    """As it was asked for; None and "": the usual. `dry`: ``client``, ``server`` or "" (no dry run). `accepted`:
    finding codes that may be unknown."""

    happening: str
    for_s: float | None
    rate: float | None
    timeout_s: float | None
    image: str
    namespace: str
    wait_s: float
    given: Given
    dry: str
    accepted: tuple[str, ...] = ()

    @property
    def manner(self) -> Manner:
        from kubectl_eksdoc.core.plan.dns.measuring import manner

        happening = manner.Happening(self.happening)
        return manner.Manner(
            happening,
            self.for_s or (manner.CHANGE_S if happening.changes else manner.WATCH_S),
            self.rate or manner.RATE,
            self.timeout_s or manner.TIMEOUT_S,
            self.image or manner.IMAGE,
            self.namespace or manner.NAMESPACE,
            self.wait_s,
        )

    @property
    def flags(self) -> dict[str, object]:
        """As they were given, by the names of the flags."""
        said: dict[str, object] = {
            "measure": self.happening,
            "for": self.for_s,
            "rate": self.rate,
            "answer-timeout": self.timeout_s,
            "image": self.image,
            "probe-namespace": self.namespace,
            "wait-for": values.duration_text(self.wait_s),
            "dry-run": self.dry,
            "accept-unknown": list(self.accepted),
        }
        return {name: value for name, value in said.items() if value}


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Measuring it from pods (makes pods, and deletes them)")
    group.add_argument(
        "--measure",
        type=values.one_of(HAPPENINGS, "thing to happen while DNS is measured", alone=WATCH),
        default=None,
        metavar="[watch|rollout|eviction]",
        help="ask DNS from a pod in each zone over UDP and TCP, while you do something elsewhere (watch, the default), "
        "while the rollout of CoreDNS is restarted, or while one of its pods is evicted",
    )
    group.add_argument(
        "--for",
        dest="measure_for",
        type=_for,
        default=None,
        metavar="TIME",
        help="how long is asked at most (default: 60s; 3m where something is changed, until that is over)",
    )
    group.add_argument(
        "--rate",
        type=_rate,
        default=None,
        metavar="N",
        help="questions a second to each address over each transport (default: 10)",
    )
    group.add_argument(
        "--answer-timeout",
        type=_timeout,
        default=None,
        metavar="TIME",
        help="without an answer for so long, a question is lost (default: 5s, as resolv.conf has it)",
    )
    group.add_argument(
        "--image",
        metavar="IMAGE",
        default="",
        help="what the pods run; it needs Python from 3.10 on (default: python:3.12-alpine of public.ecr.aws)",
    )
    group.add_argument(
        "--probe-namespace", metavar="NAME", default="", help="where the pods are made (default: 'default')"
    )
    group.add_argument(
        "--wait-for",
        type=_wait,
        default=WAIT_S,
        metavar="TIME",
        help="how long the pods may take until they run, pulling the image included (default: "
        f"{values.duration_text(WAIT_S)})",
    )


def _for(text: str) -> float:
    from kubectl_eksdoc.core.plan.dns.measuring.manner import LONGEST_FOR_S

    return _at_most(LONGEST_FOR_S, text)


def _wait(text: str) -> float:
    from kubectl_eksdoc.core.plan.dns.measuring.manner import LONGEST_WAIT_S

    return _at_most(LONGEST_WAIT_S, text)


def _timeout(text: str) -> float:
    from kubectl_eksdoc.core.plan.dns.measuring.manner import LONGEST_TIMEOUT_S

    return _at_most(LONGEST_TIMEOUT_S, text)


def _at_most(longest_s: float, text: str) -> float:
    """What a longer one makes would be taken for left behind by the next measurement."""
    found = values.some_seconds(text)
    if found > longest_s:
        raise argparse.ArgumentTypeError(f"{text} is too long: at most {values.duration_text(longest_s)}")
    return found


def _rate(text: str) -> float:
    found = values.rate(text)
    if found > _MOST_RATE:
        raise argparse.ArgumentTypeError(f"{text} is no measurement, it is a flood: at most {_MOST_RATE:g} a second")
    return found


def measure_from(args: argparse.Namespace, given: Given, dry: str, accepted: tuple[str, ...] = ()) -> Measure | None:
    """None: nothing is to be measured. `given`, `dry` and `accepted` are read by the command, whose other faces have
    them, too.

    Raises:
        UsageError: flags do not go together.
    """
    found = Measure(
        args.measure or WATCH,
        args.measure_for,
        args.rate,
        args.answer_timeout,
        args.image,
        args.probe_namespace,
        args.wait_for,
        given,
        dry,
        accepted,
    )
    if args.measure:
        return found
    if found != Measure(WATCH, None, None, None, "", "", WAIT_S, given, dry, accepted):
        raise UsageError(
            "flags of a measurement are given without --measure",
            "Add --measure, --measure=rollout or --measure=eviction.",
        )
    return None
