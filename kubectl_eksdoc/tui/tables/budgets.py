"""Tables of budgets, of workloads without a budget, of blockers, and of rights."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from kubectl_eksdoc.drain.filter_verdicts import SCALABLE_KINDS
from kubectl_eksdoc.drain.outcome import BudgetVerdict, PodVerdict
from kubectl_eksdoc.drain.policy import EvictionMethod
from kubectl_eksdoc.drain.report.findings import (
    BlockerCause,
    FindingGroup,
    assumed_fixed,
    blocker_causes,
    blocking_subjects,
    commands_of,
    grouped,
)
from kubectl_eksdoc.drain.report.plan import (
    BAD,
    BUDGET_SYMBOLS,
    GOOD,
    UNKNOWN_SYMBOL,
    WARN,
    DrainView,
    current_status,
    short_budget_verdict,
    short_code,
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
from kubectl_eksdoc.report.report import SYMBOLS
from kubectl_eksdoc.report.text import Cell, Column, Tone, format_age, pluralize, time_between

from .pods import Cells, Line, Sheet, cached_per_view, sheet_of_rows, text_sheet

MUST_STAY, MAY_GO, MISSING = "█", "▒", "░"
LEGEND = f"{MUST_STAY} must stay  {MAY_GO} may go  {MISSING} missing"

UNKNOWN_VALUE = "?"

_MAX_BAR_WIDTH = 12

NO_BUDGETS_TEXT = "No PodDisruptionBudget counts a pod on a marked node: the API refuses none of these evictions."
UNREADABLE_TEXT = "? Budgets could not be read: whether one is in the way is not known."


@cached_per_view
def budgets_sheet(view: DrainView, full: bool) -> Sheet:
    """Budgets with pods on marked nodes, the worst first; `full` adds columns for the budget page."""
    columns = [
        Column("BUDGET", cut_middle=True, min_width=24 if full else 21),
        Column("HEADROOM", drop_order=1),
        Column("HEALTHY/NEEDED/EXPECTED", short_title="H/N/E", align_right=True, drop_order=2),
        Column("ALLOWED", align_right=True, short_title="ALLOW"),
        Column("PLAN", align_right=True),
        *(
            [Column("AT ONCE", align_right=True, drop_order=3), Column("ROUNDS", align_right=True, drop_order=4)]
            if full
            else []
        ),
        Column("VERDICT", min_width=14),
        *([Column("WHY", drop_order=5, min_width=34)] if full else []),
    ]
    rows = [(headroom.budget.key, _budget_cells(headroom, full)) for headroom in budget_order(view, full=True)]
    empty_text = NO_BUDGETS_TEXT if view.cluster.read_of(kinds.BUDGETS).known else f"{UNREADABLE_TEXT} ! says why."
    return sheet_of_rows(columns, rows, empty_text, fill_column=len(columns) - 1)


@cached_per_view
def headroom_by_budget(view: DrainView) -> Mapping[str, Headroom]:
    return {each.budget.key: each for each in view.budgets}


def budget_bar(budget: Budget) -> str:
    """``███▒░``: a symbol for each pod, or for a share of the pods of a large budget; "" if the numbers are not
    known."""
    status = current_status(budget)
    if status is None:
        return ""
    must_stay, may_go = min(status.current, status.desired), max(status.current - status.desired, 0)
    missing_pods = max(status.expected - status.current, 0)
    total = must_stay + may_go + missing_pods
    if total > _MAX_BAR_WIDTH:
        # Every non-empty share is visible: it has at least one symbol.
        must_stay, may_go, missing_pods = (
            max(round(part / total * _MAX_BAR_WIDTH), 1) if part else 0 for part in (must_stay, may_go, missing_pods)
        )
    return MUST_STAY * must_stay + MAY_GO * may_go + MISSING * missing_pods


def health_numbers(headroom: Headroom) -> str:
    status = current_status(headroom.budget)
    return UNKNOWN_VALUE if status is None else f"{status.current}/{status.desired}/{status.expected}"


CLOSED_TITLE = "[2] PDBs that allow no eviction now"


@cached_per_view
def closed_budgets(cluster: Cluster) -> list[Budget]:
    """The budgets that allow no eviction now, or whose state is unknown. A budget without pods blocks none."""
    statuses = ((candidate, current_status(candidate)) for candidate in cluster.budgets)
    return [budget for budget, status in statuses if status is None or (status.expected and not status.allowed)]


def closed_budgets_sheet(cluster: Cluster) -> Sheet | None:
    """Before any node is marked: the `closed_budgets`; None if all budgets allow an eviction."""
    if not cluster.read_of(kinds.BUDGETS).known:
        return text_sheet((UNREADABLE_TEXT, "! says why."))
    columns = (
        Column("BUDGET", cut_middle=True, min_width=22),
        Column("HEADROOM", drop_order=1),
        Column("HEALTHY/NEEDED", short_title="H/N", align_right=True),
        Column("RULE", min_width=18),
    )
    rows: list[tuple[str, Cells]] = []
    for budget in sorted(closed_budgets(cluster), key=lambda each: each.key):
        status = current_status(budget)
        if status is None:
            rows.append((budget.key, [budget.key, "", UNKNOWN_VALUE, Cell(f"? {budget.rule}", Tone.UNKNOWN)]))
        else:
            cells: Cells = [budget.key, Cell(budget_bar(budget), Tone.BAD), f"{status.current}/{status.desired}"]
            rows.append((budget.key, [*cells, Cell(f"✗ {budget.rule}", Tone.BAD)]))
    return sheet_of_rows(columns, rows, fill_column=len(columns) - 1) if rows else None


def _budget_cells(headroom: Headroom, full: bool) -> Cells:
    symbol, tone = BUDGET_SYMBOLS[headroom.verdict]
    return [
        headroom.budget.key,
        Cell(budget_bar(headroom.budget), tone if headroom.verdict is not BudgetVerdict.FITS else Tone.GOOD),
        health_numbers(headroom),
        str(headroom.budget.status.allowed),
        str(headroom.to_evict),
        *([str(headroom.per_round), str(headroom.rounds or "·")] if full else []),
        Cell(f"{symbol} {short_budget_verdict(headroom)}", tone),
        *([headroom.why] if full else []),
    ]


# Workloads without a budget: how many of their pods on marked nodes are evicted, in total and at once.


UNGUARDED_COLUMNS = (
    Column("WORKLOAD", cut_middle=True, min_width=14),
    Column("KIND", drop_order=2),
    Column("GO", align_right=True),
    Column("OF", align_right=True),
    Column("AT ONCE", align_right=True),
    Column("WHAT IT MEANS", min_width=24),
)

UNGUARDED_EMPTY_TEXT = "No pod without a budget is evicted."


@frozen
class UnguardedWorkload:
    """`at_once` of the `evicted` pods are evicted in the same round; `workload` None: its replica count is unknown."""

    namespace: str
    kind: str
    name: str
    evicted: int
    at_once: int
    workload: Workload | None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def replicas(self) -> int:
        """0 if unknown."""
        return self.workload.replicas if self.workload is not None else 0


@cached_per_view
def unguarded_workloads(view: DrainView) -> tuple[UnguardedWorkload, ...]:
    """The worst first: workloads that are completely away, then those that lose most pods at once."""
    rounds: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for eviction in view.plan.evictions:
        if not eviction.budget and eviction.eviction_mode.means is not EvictionMethod.RESTART:
            rounds[eviction.pod.namespace, view.app(eviction.pod)][eviction.round] += 1
    workloads = {
        (eviction.namespace, f"{eviction.kind}/{eviction.name}"): eviction for eviction in view.cluster.workloads
    }
    result_rows = []
    for (namespace, app), by_round in rounds.items():
        kind, _, name = app.partition("/")
        if kind and kind != "Job":
            evicted, at_once = sum(by_round.values()), max(by_round.values())
            result_rows.append(
                UnguardedWorkload(namespace, kind, name, evicted, at_once, workloads.get((namespace, app)))
            )
    return tuple(sorted(result_rows, key=lambda eviction: (-_severity_rank(eviction), -eviction.at_once, eviction.key)))


def _severity_rank(unguarded: UnguardedWorkload) -> int:
    if unguarded.replicas > 1 and unguarded.at_once >= unguarded.replicas:
        return 3
    return 2 if unguarded.at_once > 1 else 1 if unguarded.replicas != 1 else 0


def unguarded_sheet(workloads: tuple[UnguardedWorkload, ...]) -> Sheet:
    rows = [(each.key, _unguarded_cells(each)) for each in workloads]
    return sheet_of_rows(UNGUARDED_COLUMNS, rows, UNGUARDED_EMPTY_TEXT, fill_column=len(UNGUARDED_COLUMNS) - 1)


def _unguarded_cells(unguarded: UnguardedWorkload) -> list[str | Cell]:
    replicas = str(unguarded.replicas) if unguarded.workload is not None else "?"
    return [
        unguarded.key,
        unguarded.kind,
        str(unguarded.evicted),
        replicas,
        str(unguarded.at_once),
        _effect_cell(unguarded),
    ]


def _effect_cell(unguarded: UnguardedWorkload) -> Cell:
    if unguarded.workload is None:
        return Cell("? how many it should have is not known", Tone.UNKNOWN)
    if unguarded.replicas == 1:
        return Cell("· down while it moves", Tone.FAINT)
    if unguarded.at_once >= unguarded.replicas:
        return Cell(f"{BAD[0]} all of it goes at once", BAD[1])
    if unguarded.at_once > 1:
        return Cell(f"{WARN[0]} {unguarded.at_once} of {unguarded.replicas} away together", WARN[1])
    return Cell("· one at a time, by this plan", Tone.FAINT)


@cached_per_view
def workloads_to_guard(view: DrainView) -> tuple[Workload, ...]:
    """Workloads with 2 or more replicas that a budget with their own selector would guard exclusively."""
    top_owners = [each for each in view.cluster.workloads if each.owner is None]
    return tuple(
        each.workload
        for each in unguarded_workloads(view)
        if each.workload is not None
        and each.workload.kind in SCALABLE_KINDS
        and each.replicas > 1
        and each.workload.selector.valid
        and not any(_selects_pods_of(each.workload, other) for other in top_owners)
    )


def _selects_pods_of(workload: Workload, other: Workload) -> bool:
    """Whether its selector also matches pods of the other workload: two budgets for one pod refuse every eviction."""
    same_namespace = other.namespace == workload.namespace and other.uid != workload.uid
    return same_namespace and workload.selector.matches(other.template_labels)


def unguarded_lines(view: DrainView) -> list[Line]:
    """Why the missing budgets matter, and remedies."""
    workloads = unguarded_workloads(view)
    if not view.cluster.read_of(kinds.BUDGETS).known:
        return [(UNREADABLE_TEXT, Tone.UNKNOWN), "! says why."]
    if view.cluster.budgets:
        lines: list[Line] = ["No PodDisruptionBudget counts a pod on a marked node."]
    else:
        lines = [("! There is no PodDisruptionBudget in this cluster.", Tone.WARN)]
    lines.append("The API refuses none of these evictions: all replicas on marked nodes may go at the same moment.")
    count = len(workloads_to_guard(view))
    if count:
        lines.append(f"y    copies a budget for each of the {pluralize(count, 'workload')} with 2 replicas and more")
    lines.append("{ }  fewer nodes at once, and so fewer replicas")
    fully_away = sum(each.replicas > 1 and each.at_once >= each.replicas for each in workloads)
    single_replicas = sum(each.replicas == 1 for each in workloads)
    if fully_away:
        lines.append((f"✗ {pluralize(fully_away, 'workload')} would be away as a whole.", Tone.BAD))
    if single_replicas:
        lines.append(f"· {pluralize(single_replicas, 'single replica')} would be down while it moves.")
    return lines


# Blockers, unknown causes and warnings, grouped, the worst first.


BLOCKERS_EMPTY_TEXT = "Nothing blocks, nothing is unknown, nothing is to be warned of."

BLOCKERS_COLUMNS = (
    Column("CAUSE", min_width=19),
    Column("ABOUT", cut_middle=True, min_width=16),
    Column("NODES", align_right=True, drop_order=3),
    Column("FREES", min_width=12),
    Column("SINCE", align_right=True, drop_order=2),
    Column("FIX", min_width=16, drop_order=1),
)


@frozen
class BlockerRow:
    """A row of the blockers page: a `cause` that can be assumed fixed, one that is assumed `fixed`, one that was fixed
    in the cluster (`subject`), or a note. `groups`: its findings."""

    key: str
    groups: tuple[FindingGroup, ...]
    cause: BlockerCause | None = None
    fixed: bool = False
    subject: str = ""

    @property
    def code(self) -> str:
        """The code that can be assumed fixed; "" if it blocks nothing."""
        return self.key if self.cause is not None or self.fixed else ""

    @property
    def commands(self) -> tuple[str, ...]:
        """First the combined command of the cause, then the other commands."""
        combined_command = [self.cause.commands] if self.cause is not None and self.cause.commands else []
        shown_lines = {line for each in combined_command for line in each.splitlines()}
        return (
            *combined_command,
            *(each for each in commands_of(self.groups) if not shown_lines.issuperset(each.splitlines())),
        )


@cached_per_view
def blocker_rows(view: DrainView, order: tuple[str, ...] = ()) -> tuple[BlockerRow, ...]:
    """Assumed fixes, blockers in the order in which fixing them frees nodes, unknown causes, warnings. `order`: codes
    that keep their position when others are assumed fixed."""
    fixed = assumed_fixed(view)
    rows = [BlockerRow(code, groups, fixed=True) for code, groups in fixed]
    rows += [BlockerRow(cause.code, cause.groups, cause) for cause in blocker_causes(view, order)]
    place = {code: index for index, code in enumerate(order)}
    rows.sort(key=lambda row: place.get(row.key, len(place)))
    assumed_codes = {code for code, _ in fixed}
    other_groups = [group for group in finding_groups(view) if group.first.status is not Status.FAIL]
    rows += [
        BlockerRow(f"{index}", (group,))
        for index, group in enumerate(other_groups)
        if group.first.code.name not in assumed_codes
    ]
    return tuple(rows)


def fixed_rows(view: DrainView, fixed: Iterable[tuple[str, str]]) -> tuple[BlockerRow, ...]:
    """Causes that blocked earlier and no longer do."""
    still_blocking = blocking_subjects(view)
    return tuple(BlockerRow(" ".join(each), (), subject=each[1]) for each in fixed if each not in still_blocking)


@cached_per_view
def finding_groups(view: DrainView) -> tuple[FindingGroup, ...]:
    return grouped(view.findings, view)


def blockers_sheet(rows: Sequence[BlockerRow], now: datetime) -> Sheet:
    cells = [(row.key, _blocker_cells(row, now)) for row in rows]
    return sheet_of_rows(BLOCKERS_COLUMNS, cells, BLOCKERS_EMPTY_TEXT, fill_column=len(BLOCKERS_COLUMNS) - 1)


def _blocker_cells(row: BlockerRow, now: datetime) -> Cells:
    if row.subject:
        return [Cell(f"{GOOD[0]} {short_code(row.key.split()[0])}", GOOD[1]), row.subject, "·", "fixed", "·", ""]
    if not row.groups:
        return [Cell(f"· {short_code(row.key)}", Tone.FAINT), "nothing here", "·", "·", "·", ""]
    first, cause = row.groups[0].first, row.cause
    symbol, tone = GOOD if row.fixed else SYMBOLS[first.status]
    names = [
        group.short_name if group.short_name and (group.app or not group.listed_names) else group.about
        for group in row.groups
    ]
    subject = names[0] + (f" +{len(names) - 1}" if len(names) > 1 else "")
    nodes = {node for group in row.groups for node in group.nodes}
    frees = "assumed fixed" if row.fixed else cause.frees_short if cause is not None else "·"
    since = format_age(time_between(cause.since, now)) if cause is not None and cause.since is not None else "·"
    fixes = [remedy.text for group in row.groups for remedy, _ in group.remedies]
    fix = cause.text if cause is not None else fixes[0] if fixes else ""
    cause_cell = Cell(f"{symbol} {short_code(first.code.name)}", tone)
    return [cause_cell, subject, str(len(nodes) or "·"), frees, since, fix]


# Rights in the cluster, and the effect of missing ones; missing rights first.


RIGHTS_COLUMNS = (
    Column("VERB"),
    Column("RESOURCE", cut_middle=True, min_width=14),
    Column("SCOPE", drop_order=1),
    Column("WITHOUT IT"),
)

NOT_ASKED = Cell("·", Tone.FAINT)

DeniedRights = Collection[Permission] | None
"""Rights denied by the cluster; None: not checked (yet)."""


def rights_sheet(cluster: Cluster, needs: PlanPermissions, denied: DeniedRights) -> Sheet:
    rows = [*_plan_rights(cluster, needs.plan), *_run_rights(needs.run, denied)]
    rows.sort(key=lambda row: row[0])
    return sheet_of_rows(
        RIGHTS_COLUMNS, [(f"{at}", cells) for at, (_, cells) in enumerate(rows)], fill_column=len(RIGHTS_COLUMNS) - 1
    )


def _plan_rights(cluster: Cluster, needs: Iterable[NeededPermission]) -> Iterator[tuple[int, list[str | Cell]]]:
    for need in needs:
        read = cluster.read_of(need.permission.resource)
        rank, (symbol, tone) = (
            (2, GOOD) if read.known else (0, BAD if read.state is ReadState.FORBIDDEN else UNKNOWN_SYMBOL)
        )
        lost_features = f"unknown: {', '.join(map(short_code, need.unknown))}" if need.unknown else need.lost
        effect = (
            lost_features if read.state in (ReadState.READ, ReadState.FORBIDDEN) else f"{read.detail}: {lost_features}"
        )
        yield rank, _rights_cells(f"{symbol} {need.permission.verb}", tone, need.permission, effect)


def _run_rights(needs: Iterable[NeededPermission], denied: DeniedRights) -> Iterator[tuple[int, list[str | Cell]]]:
    for need in needs:
        if denied is None:
            yield 3, _rights_cells(f"{NOT_ASKED.text} {need.permission.verb}", Tone.FAINT, need.permission, need.lost)
        else:
            rank, (symbol, tone) = (1, BAD) if need.permission in denied else (3, GOOD)
            yield rank, _rights_cells(f"{symbol} {need.permission.verb}", tone, need.permission, need.lost)


def _rights_cells(verb: str, tone: Tone | None, permission: Permission, lost: str) -> list[str | Cell]:
    resource = permission.resource
    resource_name = f"{resource.full_name}/{permission.subresource}" if permission.subresource else resource.full_name
    default_scope = "all namespaces" if resource.namespaced else "cluster"
    return [Cell(verb, tone) if tone is not None else verb, resource_name, permission.namespace or default_scope, lost]


def missing_rights(cluster: Cluster, needs: PlanPermissions, denied: DeniedRights) -> tuple[Permission, ...]:
    """Rights that are surely missing; a kind that the server does not serve needs no right."""
    forbidden_reads = (
        need.permission for need in needs.plan if cluster.read_of(need.permission.resource).state is ReadState.FORBIDDEN
    )
    denied_actions = (need.permission for need in needs.run if denied is not None and need.permission in denied)
    return tuple(dict.fromkeys((*forbidden_reads, *denied_actions)))


def rights_lines(cluster: Cluster, needs: PlanPermissions, denied: DeniedRights, view: DrainView | None) -> list[Line]:
    """The effect on the plan, and remedies."""
    unread_kinds = cluster.not_read(*(need.permission.resource for need in needs.plan))
    if not unread_kinds:
        lines: list[Line] = [("✓ All that a plan rests on was read.", Tone.GOOD)]
    else:
        names = ", ".join(read.resource.full_name for read in unread_kinds)
        lines = [
            (f"✗ {pluralize(len(unread_kinds), 'kind')} not read: {names}.", Tone.BAD),
            "What is not known counts as blocked, never as absent: no budget read is not 'no PDB'.",
        ]
    unknown_pods = sum(row.verdict is PodVerdict.UNKNOWN for row in view.left) if view is not None else 0
    if unknown_pods:
        lines.append(
            f"In this plan {pluralize(unknown_pods, 'pod')} on marked nodes cannot be judged, and keep their "
            "nodes from it."
        )
    if denied:
        denied_text = "; ".join(each.scoped_right for each in denied)
        lines += ["", f"Not allowed everywhere: {denied_text}. r asks once more for the namespaces of its pods."]
    if missing_rights(cluster, needs, denied):
        lines += ["", ("y copies the roles that are missing, for an administrator to bind to you.", Tone.FAINT)]
    return lines
