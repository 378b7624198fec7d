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
from kubectl_eksdoc.changes.applying import SavedChangeRequest
from kubectl_eksdoc.cli import answers, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import ConfirmationFlags, CountedItem, require_typed
from kubectl_eksdoc.cli.parser import add_flag, add_switch
from kubectl_eksdoc.errors import (
    LocalJournalError,
    UsageError,
)
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import PROGRAM
from kubectl_eksdoc.model.change_journal import PLACEMENT

if TYPE_CHECKING:  # help must not load changes
    from .apply import PlacementResult
    from .objects import InClusterCommand
    from .roles import ManifestReport


# The flags with which a command runs inside the cluster.


IN_CLUSTER, APPLY, IMAGE, ROLE = "--in-cluster", "--apply", "--image", "--role-arn"

_RELEASED = f"ghcr.io/OWNER/kubectl-eksdoc:v{__version__}"
_LOCAL = f"{PROGRAM}:{__version__}"
"""The tag that ``make image`` builds."""
DEFAULT_IMAGE = _LOCAL if "/OWNER/" in _RELEASED else _RELEASED
"""OWNER is a placeholder until the first release."""

OBJECT_COUNT = CountedItem("object", "objects", "--expect-changes", "objects")

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


def add_to(group: argparse._ArgumentGroup, workload: str) -> None:
    """Add the flags; `workload` runs the command, with its article: ``a Job``."""
    add_switch(group, IN_CLUSTER, f"print the Kubernetes objects of {workload} that runs this inside the cluster")
    add_switch(group, APPLY, f"with {IN_CLUSTER}: create them, once confirmed")
    add_flag(group, IMAGE, "IMAGE", f"the image of this tool (default: {DEFAULT_IMAGE})")
    add_flag(group, ROLE, "ARN", "IAM role of the ServiceAccount (IRSA), for its AWS requests")


def from_args(args: argparse.Namespace, *other_flags: tuple[str, object]) -> InClusterOptions | None:
    """The options, or None where the command runs on this machine. `other_flags`: flags with their values that are only
    valid with ``--in-cluster``.

    Raises:
        UsageError: a flag is only valid with ``--in-cluster``, or an image or role is not valid.
    """
    if not args.in_cluster:
        flag_values = ((APPLY, args.apply), (IMAGE, args.image), (ROLE, args.role_arn), *other_flags)
        for flag, value in flag_values:
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


def note_not_applied(confirmation: ConfirmationFlags, context: CommandContext) -> None:
    """A user who confirmed in advance may believe that the objects are created."""
    if confirmation.yes or confirmation.expected is not None:
        context.note(f"nothing is created: that takes {APPLY}, too")


def check_output(output: str) -> None:
    """Check that objects have this output format.

    Raises:
        UsageError: objects have no such format.
    """
    if output not in OUTPUTS:
        raise UsageError(f"Kubernetes objects have no output format {output!r}", "choose yaml or json")


# Objects are printed, or checked, confirmed and created.


_LOCAL_IMAGE_NOTE = (
    f"the image is called {_LOCAL}: build it from the Dockerfile, push it to where your nodes pull from, and "
    "name it with --image"
)


@frozen
class InClusterRequest:
    """A command that is ready to run in the cluster.

    `command`: the command whose rights create the objects. `confirm` raises unless the user confirms. `dry`:
    ``client``, ``server`` or "". `kube_context`: the context of the cluster; `kubectl_args`: the arguments with which
    kubectl reaches it.
    """

    command: str
    options: InClusterOptions
    in_cluster_command: InClusterCommand
    manifests: ManifestReport
    confirm: Callable[[], object]
    kube_context: str = ""
    kubectl_args: tuple[str, ...] = ()
    dry: str = ""


def show_or_create(request: InClusterRequest, context: CommandContext) -> CommandAnswer:
    """Print the objects, or create them after a confirmation.

    Raises:
        UsageError: an object exists already, or the typed confirmation is wrong.
        Forbidden, ClusterError: the server rejects an object.
    """
    from .apply import Placement, check_creatable
    from .objects import belongs_to
    from .roles import delete_command

    if request.options.image == _LOCAL:
        context.note(_LOCAL_IMAGE_NOTE)
    docs = request.manifests.docs
    if not request.options.apply or request.dry == "client":
        return _show(request, context)
    deletion_command = delete_command(request.in_cluster_command, request.kubectl_args)
    with answers.explain_forbidden(request.command):
        object_creator = context.edges.open_object_creator(context.connection)
        check_creatable(docs, object_creator, partial(belongs_to, errand=request.in_cluster_command), deletion_command)
        if request.dry:
            context.note(f"the server would create all {len(docs)} objects; nothing shows that the image can be pulled")
            return _show(request, context)
        request.confirm()
        as_lines = context.options.output in ("table", "wide")
        report = (lambda line: context.write_data(f"{line}\n")) if as_lines else context.note
        journal, command = applying.new_journal(context), request.in_cluster_command
        change_text = f"{OBJECT_COUNT.count_text(len(docs))} of {command.name} in {command.namespace}"
        first_entry = applying.first_entry(PLACEMENT, change_text, journal.id, request.kube_context, context)
        with applying.open_environment(journal, 0.0, context) as change_world:
            begin_entry = {**first_entry, "objects": list(docs), "away": deletion_command, "command": request.command}
            result = applying.run_change(
                Placement(docs, object_creator, report, deletion_command), begin_entry, change_world, journal, context
            )
        if not result.whole:
            return _stopped(result, context)
    for line in request.manifests.step_lines:
        context.note(line)
    return _show(request, context, quiet=as_lines)


def _stopped(result: PlacementResult, context: CommandContext) -> CommandAnswer:
    context.note(f"{result.left}. {result.created_text}")
    return CommandAnswer("", streams.STOPPED)


def _show(request: InClusterRequest, context: CommandContext, quiet: bool = False) -> CommandAnswer:
    return CommandAnswer("" if quiet else answers.render_report(request.manifests, context), streams.CLEAN)


def again(change: SavedChangeRequest, command_context: CommandContext) -> CommandAnswer:
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
    docs, delete_command, context = (
        saved.first_entry.get("objects"),
        saved.text("away"),
        saved.text("cluster", "context"),
    )
    if not isinstance(docs, list):
        raise LocalJournalError(f"the journal of change {change.id} cannot be understood: it names no objects")
    applying.check_context(saved, command_context)
    count, verb = len(docs), "delete" if change.undo else "create"
    command_context.note(f"{saved.text('what')}, begun at {saved.text('at')}:")
    require_typed(
        f"{change.id} {count}", f"to {verb} {OBJECT_COUNT.count_text(count)} in {context}", command_context.prompt
    )
    object_creator, journal = (
        command_context.edges.open_object_creator(command_context.connection),
        applying.saved_journal(change.id, command_context),
    )
    with answers.explain_forbidden(command) if command in rights.BY_COMMAND else nullcontext():
        if change.undo:
            result = applying.revert_change(
                Removal(docs, object_creator, command_context.note, delete_command), journal, command_context
            )
        else:
            with applying.open_environment(journal, 0.0, command_context) as change_world:
                result = applying.resume_change(
                    Placement(docs, object_creator, command_context.note, delete_command, resumed=True),
                    saved,
                    change_world,
                    command_context,
                )
    return CommandAnswer("") if result.whole else _stopped(result, command_context)
