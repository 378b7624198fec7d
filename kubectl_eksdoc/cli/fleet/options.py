"""The flags of a fleet, and what makes no sense beside them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions
from kubectl_eksdoc.errors import UsageError

AT_ONCE = 8
MOST_AT_ONCE = 64
TIMEOUT_S = 180.0

_OF_ONE = (
    "context",
    "cluster",
    "user",
    "server",
    "token",
    "certificate_authority",
    "client_certificate",
    "client_key",
    "tls_server_name",
)
"""Fields of a connection that lead to one cluster, or prove who somebody is to one: what is given for one must never
reach another."""


@dataclass(frozen=True, slots=True)
class FleetChoice:
    """`text`: which clusters, as it was given."""

    text: str
    at_once: int = AT_ONCE
    timeout_s: float = TIMEOUT_S

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        more = {"fleet-at-once": self.at_once} if self.at_once != AT_ONCE else {}
        late = {"fleet-timeout": values.duration_text(self.timeout_s)} if self.timeout_s != TIMEOUT_S else {}
        return {"fleet": self.text, **more, **late}


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Many clusters at once")
    group.add_argument(
        "--fleet",
        metavar="CONTEXTS|GLOB|FILE",
        default=None,
        help="contexts with commas between them, a pattern such as 'prod-*', or a file that lists them (also @FILE): "
        "names, or entries with name, context, kubeconfig, cluster-name, region, profile, snapshot. The exit code is "
        "that of the worst",
    )
    group.add_argument(
        "--fleet-at-once",
        type=_at_once,
        default=None,
        metavar="N",
        help=f"so many clusters are judged at a time, each by a process of its own; default: {AT_ONCE}",
    )
    group.add_argument(
        "--fleet-timeout",
        type=values.some_seconds,
        default=None,
        metavar="TIME",
        help=f"longest wait for one cluster; default: {values.duration_text(TIMEOUT_S)}",
    )


def _at_once(text: str) -> int:
    found = values.count(text)
    if not 1 <= found <= MOST_AT_ONCE:
        raise argparse.ArgumentTypeError(f"{text} is no number of clusters from 1 to {MOST_AT_ONCE}")
    return found


def fleet_from(args: argparse.Namespace, beside: Iterable[str] = ()) -> FleetChoice | None:
    """None: one cluster is asked. `beside`: what of the command's own flags is about one cluster, by their names in the
    arguments.

    Raises:
        UsageError: flags do not go together.
    """
    if args.fleet is None:
        for dest in ("fleet_at_once", "fleet_timeout"):
            if getattr(args, dest) is not None:
                raise UsageError(f"{_flag(dest)} is of --fleet, and no fleet is named", "Add --fleet: which clusters.")
        return None
    if not SourceOptions.from_args(args).choice.live:
        flag = "--demo" if getattr(args, "demo", False) else "--snapshot"
        raise UsageError(
            f"{flag} is one cluster, and --fleet names many",
            "A file for --fleet may name snapshots: entries with name and snapshot.",
        )
    options = GlobalOptions.from_args(args)
    of_one = [name for name in _OF_ONE if getattr(options.connection, name)]
    of_one += ["cluster_name"] if options.cluster_name else []
    if of_one:
        raise UsageError(
            f"{_flag(of_one[0])} is of one cluster, and --fleet names many",
            "Leave it out; a file for --fleet may say more of each cluster.",
        )
    for dest in beside:
        if getattr(args, dest) != args.leaf.get_default(dest):
            raise UsageError(
                f"{_flag(dest)} is for one cluster at a time, and --fleet names many", "Give --context instead."
            )
    return FleetChoice(args.fleet, args.fleet_at_once or AT_ONCE, args.fleet_timeout or TIMEOUT_S)


def _flag(dest: str) -> str:
    return f"--{dest.replace('_', '-')}"
