"""What may be read and done in the cluster, what may not, and what that costs: the missing first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.kinds import KindRead, ReadState
from kubectl_eksdoc.core.model.permissions import Need, Needs, Permission
from kubectl_eksdoc.core.plan.drain.outcome import PodVerdict
from kubectl_eksdoc.render.drain.verdict import BAD, GOOD, OPEN
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.tui.sheets.sheet import Line, Sheet, of_rows

COLUMNS = (
    Column("VERB"),
    Column("RESOURCE", middle=True, floor=14),
    Column("SCOPE", drop=1),
    Column("WITHOUT IT"),
)

NOT_ASKED = Cell("·", Tone.FAINT)

Denied = Collection[Permission] | None
"""What the cluster says we may not do; None: it was not asked (yet)."""


def sheet(cluster: Cluster, needs: Needs, denied: Denied) -> Sheet:
    rows = [*_plan(cluster, needs.plan), *_run(needs.run, denied)]
    rows.sort(key=lambda row: row[0])
    return of_rows(COLUMNS, [(f"{at}", cells) for at, (_, cells) in enumerate(rows)], fill=len(COLUMNS) - 1)


def _plan(cluster: Cluster, needs: Iterable[Need]) -> Iterator[tuple[int, list[str | Cell]]]:
    for need in needs:
        read = cluster.read_of(need.permission.resource)
        rank, (sign, tone) = (2, GOOD) if read.known else (0, BAD if read.state is ReadState.FORBIDDEN else OPEN)
        said = need.lost if read.state in (ReadState.READ, ReadState.FORBIDDEN) else f"{read.detail}: {need.lost}"
        yield rank, _cells(f"{sign} {need.permission.verb}", tone, need.permission, said)


def _run(needs: Iterable[Need], denied: Denied) -> Iterator[tuple[int, list[str | Cell]]]:
    for need in needs:
        if denied is None:
            yield 3, _cells(f"{NOT_ASKED.text} {need.permission.verb}", Tone.FAINT, need.permission, need.lost)
        else:
            rank, (sign, tone) = (1, BAD) if need.permission in denied else (3, GOOD)
            yield rank, _cells(f"{sign} {need.permission.verb}", tone, need.permission, need.lost)


def _cells(verb: str, tone: Tone | None, permission: Permission, lost: str) -> list[str | Cell]:
    resource = permission.resource
    of = f"{resource.full_name}/{permission.subresource}" if permission.subresource else resource.full_name
    everywhere = "all namespaces" if resource.namespaced else "cluster"
    return [Cell(verb, tone) if tone is not None else verb, of, permission.namespace or everywhere, lost]


def missing(cluster: Cluster, needs: Needs, denied: Denied) -> tuple[Permission, ...]:
    """The rights that we surely lack: what a server does not serve, no right will bring."""
    unread = (need.permission for need in needs.plan if _forbidden(cluster.read_of(need.permission.resource)))
    undone = (need.permission for need in needs.run if denied is not None and need.permission in denied)
    return tuple(dict.fromkeys((*unread, *undone)))


def _forbidden(read: KindRead) -> bool:
    return read.state is ReadState.FORBIDDEN


def about(cluster: Cluster, needs: Needs, denied: Denied, view: DrainView | None) -> list[Line]:
    """What it means for the plan, and what to do."""
    hidden = cluster.unread(*(need.permission.resource for need in needs.plan))
    if not hidden:
        lines: list[Line] = [("✓ All that a plan rests on was read.", Tone.GOOD)]
    else:
        names = ", ".join(read.resource.full_name for read in hidden)
        lines = [
            (f"✗ {counted(len(hidden), 'kind')} not read: {names}.", Tone.BAD),
            "What is not known counts as blocked, never as absent: no budget read is not 'no PDB'.",
        ]
    held = sum(row.verdict is PodVerdict.UNKNOWN for row in view.left) if view is not None else 0
    if held:
        lines.append(
            f"In this plan {counted(held, 'pod')} on marked nodes cannot be judged, and keep their nodes from it."
        )
    if denied:
        said = "; ".join(each.said for each in denied)
        lines += ["", f"Not allowed everywhere: {said}. r asks once more for the namespaces of its pods."]
    if missing(cluster, needs, denied):
        lines += ["", ("y copies the roles that are missing, for an administrator to bind to you.", Tone.FAINT)]
    return lines
