"""``--in-cluster``: Kubernetes objects run the command inside the cluster instead of this machine.

Belongs here: its flags, and how the objects are shown, confirmed and created. Never here: what runs in the cluster
(each command decides that), the documents of the objects.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.changes import applying
from kubectl_eksdoc.changes.applying import Again
from kubectl_eksdoc.cli import opening, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import ConfirmationFlags, CountedThing, typed_back
from kubectl_eksdoc.cli.parser import add_flag, add_switch
from kubectl_eksdoc.errors import (
    LocalJournalError,
    UsageError,
)
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import PROGRAM
from kubectl_eksdoc.model.change_journal import PLACEMENT

if TYPE_CHECKING:  # help must not load changes
    from .apply import Placed
    from .objects import InClusterCommand
    from .roles import RoleManifests


# The flags with which a command runs inside the cluster.


IN_CLUSTER, APPLY, IMAGE, ROLE = "--in-cluster", "--apply", "--image", "--role-arn"

_RELEASED = f"ghcr.io/OWNER/kubectl-eksdoc:v{__version__}"
_LOCAL = f"{PROGRAM}:{__version__}"
"""The tag that ``make image`` builds."""
DEFAULT_IMAGE = _LOCAL if "/OWNER/" in _RELEASED else _RELEASED
"""OWNER is a placeholder until the first release."""

OBJECTS = CountedThing("object", "objects", "--expect-changes", "objects")

OUTPUTS = ("table", "wide", "yaml", "json")
"""Output formats of objects; the table formats print YAML here."""

_ROLE = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+\Z")
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_IMAGE = re.compile(
    rf"(?=.{{1,512}}\Z)(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@{_DIGEST})?\Z"
)
"""An image reference that a node accepts (github.com/distribution/reference regexp.go). The API server does not reject
others, and the pod waits forever (InvalidImageName)."""


@frozen
class InClusterOptions:
    """`apply`: create the objects instead of only printing them."""

    apply: bool = False
    image: str = DEFAULT_IMAGE
    role: str = ""


def add_to(group: argparse._ArgumentGroup, what: str) -> None:
    """Add the flags; `workload` runs the command, with its article: ``a Job``."""
    add_switch(group, IN_CLUSTER, f"print the Kubernetes objects of {what} that runs this inside the cluster")
    add_switch(group, APPLY, f"with {IN_CLUSTER}: create them, once confirmed")
    add_flag(group, IMAGE, "IMAGE", f"the image of this tool (default: {DEFAULT_IMAGE})")
    add_flag(group, ROLE, "ARN", "IAM role of the ServiceAccount (IRSA), for its AWS requests")


def from_args(args: argparse.Namespace, *more: tuple[str, object]) -> InClusterOptions | None:
    """The options, or None where the command runs on this machine. `other_flags`: flags with their values that are only
    valid with ``--in-cluster``.

    Raises:
        UsageError: a flag is only valid with ``--in-cluster``, or an image or role is not valid.
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
            f"Write REGISTRY/{_LOCAL}, or REGISTRY/{PROGRAM}@sha256:…; all but the registry in small letters.",
        )
    if role and not _ROLE.match(role):
        raise UsageError(f"{role!r} is no ARN of a role", "Write arn:aws:iam::111122223333:role/NAME.")
    return InClusterOptions(args.apply, image, role)


def told_unapplied(given: ConfirmationFlags, around: CommandContext) -> None:
    """A user who confirmed in advance may believe that the objects are created."""
    if given.yes or given.expect is not None:
        around.note(f"nothing is created: that takes {APPLY}, too")


def check_output(output: str) -> None:
    """Check that objects have this output format.

    Raises:
        UsageError: objects have no such format.
    """
    if output not in OUTPUTS:
        raise UsageError(f"Kubernetes objects have no output format {output!r}", "choose yaml or json")


# Objects are printed, or checked, confirmed and created.


_OWN_IMAGE = (
    f"the image is called {_LOCAL}: build it from the Dockerfile, push it to where your nodes pull from, and "
    "name it with --image"
)


@frozen
class InClusterReady:
    """A command that is ready to run in the cluster.

    `command`: the command whose rights create the objects. `confirm` raises unless the user confirms. `dry`:
    ``client``, ``server`` or "". `kube_context`: the context of the cluster; `kubectl_args`: the arguments with which
    kubectl reaches it.
    """

    command: str
    inside: InClusterOptions
    errand: InClusterCommand
    manifests: RoleManifests
    confirm: Callable[[], object]
    context: str = ""
    reached_by: tuple[str, ...] = ()
    dry: str = ""


def shown_or_created(ready: InClusterReady, around: CommandContext) -> CommandAnswer:
    """Print the objects, or create them after a confirmation.

    Raises:
        UsageError: an object exists already, or the typed confirmation is wrong.
        Forbidden, ClusterError: the server rejects an object.
    """
    from .apply import Placement, tried
    from .objects import is_ours
    from .roles import taken_away

    if ready.inside.image == _LOCAL:
        around.note(_OWN_IMAGE)
    docs = ready.manifests.docs
    if not ready.inside.apply or ready.dry == "client":
        return _shown(ready, around)
    away = taken_away(ready.errand, ready.reached_by)
    with opening.explaining(ready.command):
        ground = around.edges.open_placing(around.connection)
        tried(docs, ground, partial(is_ours, errand=ready.errand), away)
        if ready.dry:
            around.note(f"the server would create all {len(docs)} objects; nothing shows that the image can be pulled")
            return _shown(ready, around)
        ready.confirm()
        as_lines = around.options.output in ("table", "wide")
        tell = (lambda line: around.say(f"{line}\n")) if as_lines else around.note
        written, errand = applying.new_journal(around), ready.errand
        what = f"{OBJECTS.said(len(docs))} of {errand.name} in {errand.namespace}"
        first = applying.first_line(PLACEMENT, what, written.id, ready.context, around)
        with applying.world(written, 0.0, around) as world:
            begun = {**first, "objects": list(docs), "away": away, "command": ready.command}
            done = applying.carried(Placement(docs, ground, tell, away), begun, world, written, around)
        if not done.whole:
            return _broken_off(done, around)
    for line in ready.manifests.rows:
        around.note(line)
    return _shown(ready, around, quiet=as_lines)


def _broken_off(done: Placed, around: CommandContext) -> CommandAnswer:
    around.note(f"{done.left}. {done.there}")
    return CommandAnswer("", streams.STOPPED)


def _shown(ready: InClusterReady, around: CommandContext, quiet: bool = False) -> CommandAnswer:
    return CommandAnswer("" if quiet else opening.answered(ready.manifests, around), streams.CLEAN)


def again(change: Again, around: CommandContext) -> CommandAnswer:
    """Resume or undo an earlier creation: create the remaining objects, or delete the created ones.

    Raises:
        LocalJournalError: this machine has no journal of it, or the journal cannot be read.
        Drifted: the change is of another cluster.
        UsageError: the typed confirmation is wrong.
        Forbidden, ClusterError: the server rejects an object.
    """
    from kubectl_eksdoc.cli import rights

    from .apply import Placement, Removal

    saved = change.saved
    command = saved.text("command")
    docs, away, context = saved.begun.get("objects"), saved.text("away"), saved.text("cluster", "context")
    if not isinstance(docs, list):
        raise LocalJournalError(f"the journal of change {change.id} cannot be understood: it names no objects")
    applying.check_context(saved, around)
    count, does = len(docs), "delete" if change.undo else "create"
    around.note(f"{saved.text('what')}, begun at {saved.text('at')}:")
    typed_back(f"{change.id} {count}", f"to {does} {OBJECTS.said(count)} in {context}", around.ask)
    ground, written = around.edges.open_placing(around.connection), applying.journal(change.id, around)
    with opening.explaining(command) if command in rights.BY_COMMAND else nullcontext():
        if change.undo:
            done = applying.reverted(Removal(docs, ground, around.note, away), written, around)
        else:
            with applying.world(written, 0.0, around) as world:
                done = applying.continued(Placement(docs, ground, around.note, away, again=True), saved, world, around)
    return CommandAnswer("") if done.whole else _broken_off(done, around)
