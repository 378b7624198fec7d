"""The flags by which a command is run inside the cluster."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli.confirming import Given
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.core.plan.in_cluster.errand import PROGRAM
from kubectl_eksdoc.errors import UsageError

IN_CLUSTER, APPLY, IMAGE, ROLE = "--in-cluster", "--apply", "--image", "--role-arn"

DEFAULT_IMAGE = f"{PROGRAM}:{__version__}"
"""As the Dockerfile's image is called where nobody gave it a registry."""

OUTPUTS = ("table", "wide", "yaml", "json")
"""Of objects; those of tables are YAML here."""

_ROLE = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+\Z")
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_IMAGE = re.compile(
    rf"(?=.{{1,512}}\Z)(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@{_DIGEST})?\Z"
)
"""As a node takes it (github.com/distribution/reference regexp.go); of any other the API server says nothing, and the
pod waits for ever (InvalidImageName)."""


@dataclass(frozen=True, slots=True)
class Inside:
    """`apply`: the objects are created, and not only shown."""

    apply: bool = False
    image: str = DEFAULT_IMAGE
    role: str = ""


def add_to(group: argparse._ArgumentGroup, what: str) -> None:
    """`what` the Job does, a clause without a subject."""
    group.add_argument(
        IN_CLUSTER,
        action="switch",
        default=False,
        help=f"print the Kubernetes objects that {what} inside the cluster; nothing is done here",
    )
    group.add_argument(APPLY, action="switch", default=False, help=f"with {IN_CLUSTER}: create them, once confirmed")
    group.add_argument(IMAGE, default=None, metavar="IMAGE", help=f"the image of this tool (default: {DEFAULT_IMAGE})")
    group.add_argument(
        ROLE, default=None, metavar="ARN", help="the IAM role of its ServiceAccount (IRSA), for what it asks AWS"
    )


def from_args(args: argparse.Namespace, *more: tuple[str, object]) -> Inside | None:
    """None: it is run here. `more`: flags, each with its value, that mean nothing then.

    Raises:
        UsageError: a flag that means nothing was given, or what is no image or role.
    """
    if not args.in_cluster:
        given = ((APPLY, args.apply), (IMAGE, args.image), (ROLE, args.role_arn), *more)
        for flag, value in given:
            if value:
                raise UsageError(f"{flag} is about what runs inside the cluster", f"Say {IN_CLUSTER}, too.")
        return None
    image, role = DEFAULT_IMAGE if args.image is None else args.image, args.role_arn or ""
    if args.image is not None and not _IMAGE.match(image):
        raise UsageError(
            f"{image!r} is no name of an image",
            f"Write REGISTRY/{DEFAULT_IMAGE}, or REGISTRY/{PROGRAM}@sha256:…; all but the registry in small letters.",
        )
    if role and not _ROLE.match(role):
        raise UsageError(f"{role!r} is no ARN of a role", "Write arn:aws:iam::111122223333:role/NAME.")
    return Inside(args.apply, image, role)


def told_unapplied(given: Given, around: Surroundings) -> None:
    """Whoever has confirmed it in advance may think that it is done."""
    if given.yes or given.expect is not None:
        around.note(f"nothing is created: that takes {APPLY}, too")


def check_output(output: str) -> None:
    """
    Raises:
        UsageError: objects have no such format.
    """
    if output not in OUTPUTS:
        raise UsageError(f"Kubernetes objects have no output format {output!r}", "choose yaml or json")
