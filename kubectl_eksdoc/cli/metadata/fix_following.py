"""A fix that this process carries out, or goes on with: written down, followed, and what came of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import exits
from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli.confirming import confirm
from kubectl_eksdoc.cli.metadata import request as reading
from kubectl_eksdoc.cli.metadata.fix_options import FixRequest
from kubectl_eksdoc.cli.metadata.probing import Active, manner_of
from kubectl_eksdoc.cli.metadata.request import Request
from kubectl_eksdoc.cli.probe_pods import ClockAround
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import AwsError, Drifted, LocalJournalError

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.aws.believing import Believed
    from kubectl_eksdoc.flows.metadata_fix.steps import Past
    from kubectl_eksdoc.flows.metadata_fix.world import FixWorld
    from kubectl_eksdoc.imds_probe.run import Done, Part
    from kubectl_eksdoc.model.api_objects import Doc
    from kubectl_eksdoc.model.asked import Absent, Unknown
    from kubectl_eksdoc.model.aws.machines import Instance
    from kubectl_eksdoc.model.metadata import Act
    from kubectl_eksdoc.render.metadata_fix import FixView
    from kubectl_eksdoc.session.session import ClusterSession
    from kubectl_eksdoc.wiring.runs import Keeping


def carried_out(
    request: Request,
    fix: FixRequest,
    active: Active | None,
    session: ClusterSession,
    act: Act,
    view: FixView,
    around: Surroundings,
) -> Answer:
    """`active`: with which pods it is proved, None without any.

    Raises:
        JournalError: it cannot be written down; nothing was done.
        AwsError, ClusterError: it is refused.
    """
    from kubectl_eksdoc.flows.metadata_fix.carrying_out import carry_out

    keeping = around.edges.keeping(around.edges.new_run_id(around.now()), "", around.environ)
    begun = _begun(view, session, keeping, around)
    with _followed(request, active, session, keeping, around) as edges:
        around.note(f"fix {keeping.run}, journal {_path(keeping)}")
        try:
            done = carry_out(act, begun, _token(keeping.run), edges, fix.watch_s)
        except AwsError:
            _tell_resume(keeping.run, request, session, around)
            raise
    return _answer(request, session, replace(view, run=keeping.run, journal=_path(keeping), done=done), done, around)


def _token(run: str) -> str:
    """By which EC2 and EKS know the same request again."""
    return f"eksdoc-{run}"


def _path(keeping: Keeping) -> str:
    from kubectl_eksdoc.host.journals import FIXES
    from kubectl_eksdoc.wiring.changes import journal_of

    return str(journal_of(keeping, FIXES).path)


def _begun(view: FixView, session: ClusterSession, keeping: Keeping, around: Surroundings) -> Doc:
    """The first line of the journal: what somebody else needs who goes on with it, or back."""
    from kubectl_eksdoc.render.text import rfc3339

    eks = session.believed.cluster
    return {
        "run": keeping.run,
        "at": rfc3339(around.now()),
        "tool": __version__,
        "who": f"{keeping.who}@{keeping.host}",
        "cluster": {"name": eks.name, "arn": eks.arn, "context": session.cluster.identity.context},
        "fix": view.name,
        "wayBack": list(view.back),
        **({"undoes": view.undoes} if view.undoes else {}),
    }


@contextmanager
def _followed(
    request: Request, active: Active | None, session: ClusterSession, keeping: Keeping, around: Surroundings
) -> Iterator[FixWorld]:
    """The edges, while the process takes Ctrl-C as a word to stop between two steps."""
    from kubectl_eksdoc.aws.metadata_changes import MetadataChanges
    from kubectl_eksdoc.flows.metadata_fix.world import FixWorld
    from kubectl_eksdoc.host.journals import FIXES
    from kubectl_eksdoc.wiring.changes import journal_of, node_classes_of

    aws = session.believed

    def tell(line: str) -> None:
        around.note(f"{around.now():%H:%M:%S}Z  {line}")

    with around.edges.told_to_stop() as told, closing(node_classes_of(request.options.connection)) as classes:
        yield FixWorld(
            MetadataChanges(aws),
            classes,
            journal_of(keeping, FIXES),
            around.edges.clock,
            around.sleep,
            told,
            tell,
            lambda group: _members(group, request, aws, around),
            None if active is None else lambda nodes: _proofs(nodes, request, active, told, tell, around),
        )


def _proofs(
    names: Sequence[str],
    request: Request,
    active: Active,
    told: Callable[[], int],
    tell: Callable[[str], object],
    around: Surroundings,
) -> tuple[Part, ...]:
    from kubectl_eksdoc.flows.metadata_fix.carrying_out import proofs
    from kubectl_eksdoc.model import kinds

    manner, connection = manner_of(request, active), request.options.connection
    ground = around.edges.open_ground(connection, manner.namespace)
    cluster = around.open_reader(request.source, connection, None).read((kinds.NODES,))
    nodes = [node for node in cluster.nodes if node.name in names]
    probe = around.edges.new_probe_id()
    return proofs(nodes, ground, probe, manner, active.every, ClockAround(around), told, tell)


def _members(
    group: str, request: Request, aws: Believed, around: Surroundings
) -> Mapping[str, Instance | Absent | Unknown] | Unknown:
    """The nodes of a group as they are now, each with its instance."""
    from kubectl_eksdoc.aws.metadata_changes import MetadataChanges
    from kubectl_eksdoc.errors import ClusterError
    from kubectl_eksdoc.imds_probe.sources import instance_of
    from kubectl_eksdoc.model import kinds
    from kubectl_eksdoc.model.asked import Unknown

    try:
        cluster = around.open_reader(request.source, request.options.connection, None).read((kinds.NODES,))
    except ClusterError as error:
        return Unknown(error.message)
    ids = {node.name: instance_of(node) for node in cluster.nodes if node.group == group}
    told = MetadataChanges(aws).instances([ident for ident in ids.values() if ident])
    unnamed = Unknown("its providerID names no instance")
    return {name: told.get(ident, unnamed) for name, ident in ids.items()}


def tried(act: Act, request: Request, session: ClusterSession) -> tuple[bool, tuple[str, ...]]:
    """As `flows.metadata_fix.steps.tried`."""
    from kubectl_eksdoc.aws.metadata_changes import MetadataChanges
    from kubectl_eksdoc.flows.metadata_fix.steps import tried as asked
    from kubectl_eksdoc.wiring.changes import node_classes_of

    aws = MetadataChanges(session.believed)
    with closing(node_classes_of(request.options.connection)) as classes:
        return asked(act, _token("dry-run"), aws, classes)


def resumed(
    request: Request, fix: FixRequest, active: Active | None, session: ClusterSession, around: Surroundings
) -> Answer:
    """A fix that was begun before, gone on with: what is as it was meant to be is left alone.

    Raises:
        LocalJournalError: this machine has no journal of it, or none that can be understood.
        Drifted: it is of another cluster, or not as it was.
    """
    from kubectl_eksdoc.flows.metadata_fix.carrying_out import go_on
    from kubectl_eksdoc.render.metadata_fix import FixView
    from kubectl_eksdoc.render.metadata_fix.table import action, head

    keeping = around.edges.keeping(fix.resume, "", around.environ)
    begun, act, past = read_fix(keeping, session)
    back = tuple(map(str, begun.get("wayBack", ())))
    options = request.given | {"apply": True, "resume": fix.resume}
    view = FixView(
        str(begun.get("fix", "")),
        act,
        session.cluster,
        options,
        back=back,
        run=fix.resume,
        recognised=session.recognised,
    )
    around.note(f"{head(act)}, begun at {begun.get('at', 'a time that was not written down')}:")
    confirm(session.cluster.identity, len(act.nodes), f"go on to {action(act)}", fix.given, around.ask)
    with _followed(request, active, session, keeping, around) as edges:
        done = go_on(act, str(begun.get("token", "")), edges, fix.watch_s, past)
    return _answer(request, session, replace(view, journal=_path(keeping), done=done), done, around)


def read_fix(keeping: Keeping, session: ClusterSession) -> tuple[Doc, Act, Past]:
    """The first line of its journal, what it does, and what is known to have been done.

    Raises:
        LocalJournalError: this machine has no journal of it, or none that can be understood.
        Drifted: it is of another cluster.
    """
    from kubectl_eksdoc.flows.metadata_fix.steps import past_of
    from kubectl_eksdoc.host.journals import FIXES, read_update
    from kubectl_eksdoc.imds_probe.run import from_doc
    from kubectl_eksdoc.wiring.changes import folder_of

    entries = read_update(folder_of(keeping, FIXES), keeping.run)
    begun = next((each for each in entries if each.get("entry") == "begun"), {})
    try:
        act, past = from_doc(begun["act"]), past_of(entries)
        arn, token = str(begun["cluster"]["arn"]), begun["token"]
    except (KeyError, TypeError, ValueError) as error:
        raise LocalJournalError(f"the journal of fix {keeping.run} cannot be understood: {error!r}") from error
    if not isinstance(token, str) or arn != session.believed.cluster.arn:
        raise Drifted(f"fix {keeping.run} is of {arn}", "Name the context of that cluster.")
    return begun, act, past


def _answer(request: Request, session: ClusterSession, view: FixView, done: Done, around: Surroundings) -> Answer:
    if not done.whole and view.run:
        _tell_resume(view.run, request, session, around)
    view = replace(view, back=_back_of(view.back, done))
    if done.number:  # by hand it is what a line before has told
        known = tuple(line.replace('"$VERSION"', str(done.number)) for line in view.back)
        view = replace(view, back=known)
    if not done.proofs:
        nodes = [f"node/{name}" for name in done.act.nodes[:1]] if not done.nodes else []
        asks = ["kubectl", "eksdoc", "imds-probe", *nodes, "--active", *reading.reached_by(request, session)]
        view = replace(view, from_pod=shlex.join(asks))
    return Answer(rendered(request, view, around), code(done))


def _back_of(lines: Sequence[str], done: Done) -> tuple[str, ...]:
    """Of what this fix has changed itself: what another client has set since is not reverted by its rollback."""
    from kubectl_eksdoc.model.metadata import OnInstances

    if not isinstance(done.act, OnInstances):
        return tuple(lines) if done.changed or not done.whole else ()
    others = {one.instance for one in done.act.each} - {*done.changed}
    return tuple(line for line in lines if others.isdisjoint(line.split()))


def _tell_resume(run: str, request: Request, session: ClusterSession, around: Surroundings) -> None:
    around.note("continue it:")
    words = reading.reached_by(request, session)
    around.note(f"  {shlex.join(['kubectl', 'eksdoc', 'imds-probe', '--apply', '--resume', run, *words])}")


def rendered(request: Request, view: FixView, around: Surroundings) -> str:
    from kubectl_eksdoc.render.metadata_fix import FORMATS

    look = looks.decide(request.options, around.stdout, around.environ)
    return FORMATS.render(view, request.options.output, look)


def preview(request: Request, view: FixView, around: Surroundings) -> str:
    """Before anything is asked; it is no answer, so it goes to stderr."""
    from kubectl_eksdoc.render.metadata_fix import FORMATS

    look = looks.decide(request.options, around.stderr, around.environ)
    return FORMATS.render(view, "wide" if request.options.output == "wide" else "table", look)


def code(done: Done) -> int:
    """What was broken off or failed was not brought to its end; then what is known to differ matters more than what is
    not known."""
    if not done.whole:
        return exits.STOPPED
    if done.differs:
        return exits.FAILS
    return exits.UNKNOWN if done.lacks else exits.CLEAN
