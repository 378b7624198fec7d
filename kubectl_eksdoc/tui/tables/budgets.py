"""Tables of budgets, of workloads without a budget, of blockers, and of rights."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from kubectl_eksdoc.drain.filter_verdicts import SCALED_BY_HAND
from kubectl_eksdoc.drain.outcome import BudgetVerdict, PodVerdict
from kubectl_eksdoc.drain.policy import Means
from kubectl_eksdoc.drain.report.findings import (
    Cause,
    Group,
    assumed_fixed,
    causes_of,
    commands_of,
    grouped,
    in_the_way,
)
from kubectl_eksdoc.drain.report.plan import (
    BAD,
    BUDGET_SIGN,
    GOOD,
    OPEN,
    WARN,
    DrainView,
    budget_in_brief,
    in_brief,
    status_of,
)
from kubectl_eksdoc.drain.report.rows import budget_order
from kubectl_eksdoc.drain.result import Headroom
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.model.permissions import NeededPermission, Permission, PlanPermissions
from kubectl_eksdoc.model.workloads import Workload
from kubectl_eksdoc.report.report import SIGNS
from kubectl_eksdoc.report.text import Cell, Column, Tone, age, between, counted

from .pods import Cells, Line, Sheet, of_rows, once_a_view, text_sheet

MUST_STAY, MAY_GO, MISSING = "█", "▒", "░"
KEY = f"{MUST_STAY} must stay  {MAY_GO} may go  {MISSING} missing"

UNKNOWN = "?"

_LONGEST = 12

NOTHING = "No PodDisruptionBudget counts a pod on a marked node: the API refuses none of these evictions."
UNREAD = "? Budgets could not be read: whether one is in the way is not known."


@once_a_view
def sheet(view: DrainView, full: bool) -> Sheet:
    """Budgets with pods on marked nodes, the worst first; `full` adds columns for the budget page."""
    columns = [
        Column("BUDGET", middle=True, floor=24 if full else 21),
        Column("HEADROOM", drop=1),
        Column("HEALTHY/NEEDED/EXPECTED", short="H/N/E", right=True, drop=2),
        Column("ALLOWED", right=True, short="ALLOW"),
        Column("PLAN", right=True),
        *([Column("AT ONCE", right=True, drop=3), Column("ROUNDS", right=True, drop=4)] if full else []),
        Column("VERDICT", floor=14),
        *([Column("WHY", drop=5, floor=34)] if full else []),
    ]
    rows = [(headroom.budget.key, _cells(headroom, full)) for headroom in budget_order(view, full=True)]
    nothing = NOTHING if view.cluster.read_of(kinds.BUDGETS).known else f"{UNREAD} ! says why."
    return of_rows(columns, rows, nothing, fill=len(columns) - 1)


@once_a_view
def headrooms(view: DrainView) -> Mapping[str, Headroom]:
    return {each.budget.key: each for each in view.budgets}


def bar(budget: Budget) -> str:
    """``███▒░``: a symbol for each pod, or for a share of the pods of a large budget; "" if the numbers are not
    known."""
    status = status_of(budget)
    if status is None:
        return ""
    stay, go = min(status.current, status.desired), max(status.current - status.desired, 0)
    lack = max(status.expected - status.current, 0)
    total = stay + go + lack
    if total > _LONGEST:
        # Every non-empty share is visible: it has at least one symbol.
        stay, go, lack = (max(round(part / total * _LONGEST), 1) if part else 0 for part in (stay, go, lack))
    return MUST_STAY * stay + MAY_GO * go + MISSING * lack


def numbers(headroom: Headroom) -> str:
    status = status_of(headroom.budget)
    return UNKNOWN if status is None else f"{status.current}/{status.desired}/{status.expected}"


CLOSED = "[2] PDBs that allow no eviction now"


@once_a_view
def closed(cluster: Cluster) -> list[Budget]:
    """The budgets that allow no eviction now, or whose state is unknown. A budget without pods blocks none."""
    numbers = ((each, status_of(each)) for each in cluster.budgets)
    return [budget for budget, known in numbers if known is None or (known.expected and not known.allowed)]


def closed_sheet(cluster: Cluster) -> Sheet | None:
    """Before any node is marked: the `closed_budgets`; None if all budgets allow an eviction."""
    if not cluster.read_of(kinds.BUDGETS).known:
        return text_sheet((UNREAD, "! says why."))
    columns = (
        Column("BUDGET", middle=True, floor=22),
        Column("HEADROOM", drop=1),
        Column("HEALTHY/NEEDED", short="H/N", right=True),
        Column("RULE", floor=18),
    )
    rows: list[tuple[str, Cells]] = []
    for budget in sorted(closed(cluster), key=lambda each: each.key):
        status = status_of(budget)
        if status is None:
            rows.append((budget.key, [budget.key, "", UNKNOWN, Cell(f"? {budget.rule}", Tone.UNKNOWN)]))
        else:
            cells: Cells = [budget.key, Cell(bar(budget), Tone.BAD), f"{status.current}/{status.desired}"]
            rows.append((budget.key, [*cells, Cell(f"✗ {budget.rule}", Tone.BAD)]))
    return of_rows(columns, rows, fill=len(columns) - 1) if rows else None


def _cells(headroom: Headroom, full: bool) -> Cells:
    sign, tone = BUDGET_SIGN[headroom.verdict]
    return [
        headroom.budget.key,
        Cell(bar(headroom.budget), tone if headroom.verdict is not BudgetVerdict.FITS else Tone.GOOD),
        numbers(headroom),
        str(headroom.budget.status.allowed),
        str(headroom.to_evict),
        *([str(headroom.per_round), str(headroom.rounds or "·")] if full else []),
        Cell(f"{sign} {budget_in_brief(headroom)}", tone),
        *([headroom.why] if full else []),
    ]


# Workloads without a budget: how many of their pods on marked nodes are evicted, in total and at once.


COLUMNS = (
    Column("WORKLOAD", middle=True, floor=14),
    Column("KIND", drop=2),
    Column("GO", right=True),
    Column("OF", right=True),
    Column("AT ONCE", right=True),
    Column("WHAT IT MEANS", floor=24),
)

UNGUARDED_NOTHING = "No pod without a budget is evicted."


@frozen
class Unguarded:
    """`at_once` of the `evicted` pods are evicted in the same round; `workload` None: its replica count is unknown."""

    namespace: str
    kind: str
    name: str
    going: int
    at_once: int
    workload: Workload | None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def replicas(self) -> int:
        """0 if unknown."""
        return self.workload.replicas if self.workload is not None else 0


@once_a_view
def unguarded(view: DrainView) -> tuple[Unguarded, ...]:
    """The worst first: workloads that are completely away, then those that lose most pods at once."""
    rounds: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for each in view.plan.evictions:
        if not each.budget and each.manner.means is not Means.RESTART:
            rounds[each.pod.namespace, view.app(each.pod)][each.round] += 1
    known = {(each.namespace, f"{each.kind}/{each.name}"): each for each in view.cluster.workloads}
    found = []
    for (namespace, app), by_round in rounds.items():
        kind, _, name = app.partition("/")
        if kind and kind != "Job":
            going, at_once = sum(by_round.values()), max(by_round.values())
            found.append(Unguarded(namespace, kind, name, going, at_once, known.get((namespace, app))))
    return tuple(sorted(found, key=lambda each: (-_badness(each), -each.at_once, each.key)))


def _badness(each: Unguarded) -> int:
    if each.replicas > 1 and each.at_once >= each.replicas:
        return 3
    return 2 if each.at_once > 1 else 1 if each.replicas != 1 else 0


def unguarded_sheet(found: tuple[Unguarded, ...]) -> Sheet:
    rows = [(each.key, _unguarded_cells(each)) for each in found]
    return of_rows(COLUMNS, rows, UNGUARDED_NOTHING, fill=len(COLUMNS) - 1)


def _unguarded_cells(each: Unguarded) -> list[str | Cell]:
    of = str(each.replicas) if each.workload is not None else "?"
    return [each.key, each.kind, str(each.going), of, str(each.at_once), _means(each)]


def _means(each: Unguarded) -> Cell:
    if each.workload is None:
        return Cell("? how many it should have is not known", Tone.UNKNOWN)
    if each.replicas == 1:
        return Cell("· down while it moves", Tone.FAINT)
    if each.at_once >= each.replicas:
        return Cell(f"{BAD[0]} all of it goes at once", BAD[1])
    if each.at_once > 1:
        return Cell(f"{WARN[0]} {each.at_once} of {each.replicas} away together", WARN[1])
    return Cell("· one at a time, by this plan", Tone.FAINT)


@once_a_view
def starters(view: DrainView) -> tuple[Workload, ...]:
    """Workloads with 2 or more replicas that a budget with their own selector would guard exclusively."""
    tops = [each for each in view.cluster.workloads if each.owner is None]
    return tuple(
        each.workload
        for each in unguarded(view)
        if each.workload is not None
        and each.workload.kind in SCALED_BY_HAND
        and each.replicas > 1
        and each.workload.selector.valid
        and not any(_also(each.workload, other) for other in tops)
    )


def _also(workload: Workload, other: Workload) -> bool:
    """Whether its selector also matches pods of the other workload: two budgets for one pod refuse every eviction."""
    near = other.namespace == workload.namespace and other.uid != workload.uid
    return near and workload.selector.matches(other.template_labels)


def about(view: DrainView) -> list[Line]:
    """Why the missing budgets matter, and remedies."""
    found = unguarded(view)
    if not view.cluster.read_of(kinds.BUDGETS).known:
        return [(UNREAD, Tone.UNKNOWN), "! says why."]
    if view.cluster.budgets:
        lines: list[Line] = ["No PodDisruptionBudget counts a pod on a marked node."]
    else:
        lines = [("! There is no PodDisruptionBudget in this cluster.", Tone.WARN)]
    lines.append("The API refuses none of these evictions: all replicas on marked nodes may go at the same moment.")
    count = len(starters(view))
    if count:
        lines.append(f"y    copies a budget for each of the {counted(count, 'workload')} with 2 replicas and more")
    lines.append("{ }  fewer nodes at once, and so fewer replicas")
    whole = sum(each.replicas > 1 and each.at_once >= each.replicas for each in found)
    single = sum(each.replicas == 1 for each in found)
    if whole:
        lines.append((f"✗ {counted(whole, 'workload')} would be away as a whole.", Tone.BAD))
    if single:
        lines.append(f"· {counted(single, 'single replica')} would be down while it moves.")
    return lines


# Blockers, unknown causes and warnings, grouped, the worst first.


BLOCKERS_NOTHING = "Nothing blocks, nothing is unknown, nothing is to be warned of."

BLOCKERS_COLUMNS = (
    Column("CAUSE", floor=19),
    Column("ABOUT", middle=True, floor=16),
    Column("NODES", right=True, drop=3),
    Column("FREES", floor=12),
    Column("SINCE", right=True, drop=2),
    Column("FIX", floor=16, drop=1),
)


@frozen
class ToDo:
    """A row of the blockers page: a `cause` that can be assumed fixed, one that is assumed `fixed`, one that was fixed
    in the cluster (`subject`), or a note. `groups`: its findings."""

    key: str
    groups: tuple[Group, ...]
    cause: Cause | None = None
    fixed: bool = False
    about: str = ""

    @property
    def code(self) -> str:
        """The code that can be assumed fixed; "" if it blocks nothing."""
        return self.key if self.cause is not None or self.fixed else ""

    @property
    def commands(self) -> tuple[str, ...]:
        """First the combined command of the cause, then the other commands."""
        first = [self.cause.commands] if self.cause is not None and self.cause.commands else []
        known = {line for each in first for line in each.splitlines()}
        return (*first, *(each for each in commands_of(self.groups) if not known.issuperset(each.splitlines())))


@once_a_view
def to_do(view: DrainView, order: tuple[str, ...] = ()) -> tuple[ToDo, ...]:
    """Assumed fixes, blockers in the order in which fixing them frees nodes, unknown causes, warnings. `order`: codes
    that keep their position when others are assumed fixed."""
    fixed = assumed_fixed(view)
    rows = [ToDo(code, groups, fixed=True) for code, groups in fixed]
    rows += [ToDo(cause.code, cause.groups, cause) for cause in causes_of(view, order)]
    place = {code: at for at, code in enumerate(order)}
    rows.sort(key=lambda row: place.get(row.key, len(place)))
    taken = {code for code, _ in fixed}
    others = [group for group in groups_of(view) if group.first.status is not Status.FAIL]
    rows += [ToDo(f"{at}", (group,)) for at, group in enumerate(others) if group.first.code.name not in taken]
    return tuple(rows)


def ticked_off(view: DrainView, fixed: Iterable[tuple[str, str]]) -> tuple[ToDo, ...]:
    """Causes that blocked earlier and no longer do."""
    still = in_the_way(view)
    return tuple(ToDo(" ".join(each), (), about=each[1]) for each in fixed if each not in still)


@once_a_view
def groups_of(view: DrainView) -> tuple[Group, ...]:
    return grouped(view.findings, view)


def blockers_sheet(rows: Sequence[ToDo], now: datetime) -> Sheet:
    cells = [(row.key, _to_do_cells(row, now)) for row in rows]
    return of_rows(BLOCKERS_COLUMNS, cells, BLOCKERS_NOTHING, fill=len(BLOCKERS_COLUMNS) - 1)


def _to_do_cells(row: ToDo, now: datetime) -> Cells:
    if row.about:
        return [Cell(f"{GOOD[0]} {in_brief(row.key.split()[0])}", GOOD[1]), row.about, "·", "fixed", "·", ""]
    if not row.groups:
        return [Cell(f"· {in_brief(row.key)}", Tone.FAINT), "nothing here", "·", "·", "·", ""]
    first, cause = row.groups[0].first, row.cause
    sign, tone = GOOD if row.fixed else SIGNS[first.status]
    names = [group.short if group.short and (group.app or not group.listed) else group.about for group in row.groups]
    about = names[0] + (f" +{len(names) - 1}" if len(names) > 1 else "")
    nodes = {node for group in row.groups for node in group.nodes}
    frees = "assumed fixed" if row.fixed else cause.frees_in_brief if cause is not None else "·"
    since = age(between(cause.since, now)) if cause is not None and cause.since is not None else "·"
    fixes = [remedy.text for group in row.groups for remedy, _ in group.remedies]
    fix = cause.text if cause is not None else fixes[0] if fixes else ""
    said = Cell(f"{sign} {in_brief(first.code.name)}", tone)
    return [said, about, str(len(nodes) or "·"), frees, since, fix]


# Rights in the cluster, and the effect of missing ones; missing rights first.


RIGHTS_COLUMNS = (
    Column("VERB"),
    Column("RESOURCE", middle=True, floor=14),
    Column("SCOPE", drop=1),
    Column("WITHOUT IT"),
)

NOT_ASKED = Cell("·", Tone.FAINT)

Denied = Collection[Permission] | None
"""Rights denied by the cluster; None: not checked (yet)."""


def rights_sheet(cluster: Cluster, needs: PlanPermissions, denied: Denied) -> Sheet:
    rows = [*_plan(cluster, needs.plan), *_run(needs.run, denied)]
    rows.sort(key=lambda row: row[0])
    return of_rows(
        RIGHTS_COLUMNS, [(f"{at}", cells) for at, (_, cells) in enumerate(rows)], fill=len(RIGHTS_COLUMNS) - 1
    )


def _plan(cluster: Cluster, needs: Iterable[NeededPermission]) -> Iterator[tuple[int, list[str | Cell]]]:
    for need in needs:
        read = cluster.read_of(need.permission.resource)
        rank, (sign, tone) = (2, GOOD) if read.known else (0, BAD if read.state is ReadState.FORBIDDEN else OPEN)
        lost = f"unknown: {', '.join(map(in_brief, need.unknown))}" if need.unknown else need.lost
        said = lost if read.state in (ReadState.READ, ReadState.FORBIDDEN) else f"{read.detail}: {lost}"
        yield rank, _rights_cells(f"{sign} {need.permission.verb}", tone, need.permission, said)


def _run(needs: Iterable[NeededPermission], denied: Denied) -> Iterator[tuple[int, list[str | Cell]]]:
    for need in needs:
        if denied is None:
            yield 3, _rights_cells(f"{NOT_ASKED.text} {need.permission.verb}", Tone.FAINT, need.permission, need.lost)
        else:
            rank, (sign, tone) = (1, BAD) if need.permission in denied else (3, GOOD)
            yield rank, _rights_cells(f"{sign} {need.permission.verb}", tone, need.permission, need.lost)


def _rights_cells(verb: str, tone: Tone | None, permission: Permission, lost: str) -> list[str | Cell]:
    resource = permission.resource
    of = f"{resource.full_name}/{permission.subresource}" if permission.subresource else resource.full_name
    everywhere = "all namespaces" if resource.namespaced else "cluster"
    return [Cell(verb, tone) if tone is not None else verb, of, permission.namespace or everywhere, lost]


def missing(cluster: Cluster, needs: PlanPermissions, denied: Denied) -> tuple[Permission, ...]:
    """Rights that are surely missing; a kind that the server does not serve needs no right."""
    unread = (
        need.permission for need in needs.plan if cluster.read_of(need.permission.resource).state is ReadState.FORBIDDEN
    )
    undone = (need.permission for need in needs.run if denied is not None and need.permission in denied)
    return tuple(dict.fromkeys((*unread, *undone)))


def rights_about(cluster: Cluster, needs: PlanPermissions, denied: Denied, view: DrainView | None) -> list[Line]:
    """The effect on the plan, and remedies."""
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
