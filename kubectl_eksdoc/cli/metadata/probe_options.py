"""The flags of ``imds-probe --active``: on which nodes, with which pods, how it is confirmed."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.cli.confirm_options import given_from
from kubectl_eksdoc.cli.confirming import NODES, Given
from kubectl_eksdoc.errors import UsageError

WAIT_S = 90.0


@dataclass(frozen=True, slots=True)
class Active:
    """`image` and `namespace` "": the usual ones. `dry`: ``client``, ``server`` or "" (no dry run)."""

    every: bool
    image: str
    namespace: str
    wait_s: float
    given: Given
    dry: str

    @property
    def flags(self) -> dict[str, object]:
        """As they were given, by the names of the flags."""
        said: dict[str, object] = {
            "active": True,
            "all-nodes": self.every,
            "image": self.image,
            "probe-namespace": self.namespace,
            "wait-for": values.duration_text(self.wait_s),
            "dry-run": self.dry,
        }
        return {name: value for name, value in said.items() if value}


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Measuring it from pods (makes pods, and deletes them)")
    group.add_argument(
        "--active",
        action="switch",
        default=False,
        help="ask the service from two pods on one node of each kind: on a network of their own, and on the node's",
    )
    group.add_argument("--all-nodes", action="switch", default=False, help="on every node, not one of each kind")
    group.add_argument(
        "--image",
        metavar="IMAGE",
        default="",
        help="what the pods run; it needs a shell and curl (default: Amazon Linux 2023 of public.ecr.aws)",
    )
    group.add_argument(
        "--probe-namespace",
        metavar="NAME",
        default="",
        help="where the pods are made (default: that of pod/NAME if one is named, else 'default'); one whose pod "
        "security allows the host's network tells more",
    )
    group.add_argument(
        "--wait-for",
        type=values.some_seconds,
        default=WAIT_S,
        metavar="TIME",
        help=f"how long the pods of a node may take, pulling the image included (default: "
        f"{values.duration_text(WAIT_S)})",
    )


def active_from(args: argparse.Namespace, named: bool) -> Active | None:
    """None: nothing is to be measured. `named`: a pod or nodes are.

    Raises:
        UsageError: flags do not go together.
    """
    dry = "" if args.dry == "none" else str(args.dry)
    found = Active(args.all_nodes, args.image, args.probe_namespace, args.wait_for, given_from(args, NODES), dry)
    if args.active:
        if found.every and named:
            raise UsageError("--all-nodes excludes pod/NAME and node/NAME", "Give one of them.")
        return found
    if found != Active(False, "", "", WAIT_S, Given(), ""):
        raise UsageError(
            "flags that make or change something are given without --active and without --apply",
            "Add --active to measure it from pods, or --apply --fix NAME to mend it.",
        )
    return None
