"""Report of a change of CoreDNS, before and after it, in every format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from kubectl_eksdoc.addon_diff.guards import Guard
from kubectl_eksdoc.addon_diff.outcome import AddonUpdateResult
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.prediction import Mode
from kubectl_eksdoc.addon_diff.report.outcome import (
    OutcomeResult,
    RefusalResult,
    acknowledged,
    guard_lines,
)
from kubectl_eksdoc.amazon.group_updates import Stage
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import printed, printed_corefile
from kubectl_eksdoc.model.api_objects import Conflict, Doc
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    CommandReport,
    Findings,
    Head,
    Line,
    Lines,
    Section,
    Table,
    as_it_is,
    flush,
)
from kubectl_eksdoc.report.result import Count, FindingResult, Printed, Text, WholeSeconds
from kubectl_eksdoc.report.result import Lines as OthersLines
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Row,
    Title,
    Tone,
    columns_of,
    counted,
    joined,
    name_column,
    text_column,
)

from .. import change
from .. import run as dns
from ..change import COREFILE, CorednsChange
from ..lameduck import EditedCorefile
from ..placement_values import CandidateNode, CorednsPlacement
from ..run import PodVerification, Taken, Verified
from .commands import diff, values_diff

# A change of CoreDNS in sentences.


def wished(change: CorednsChange) -> str:
    """``lameduck 20s, no Spot nodes``."""
    wishes = change.wishes
    parts = [f"lameduck {wishes.lameduck_s}s"] if wishes.lameduck_s is not None else []
    if wishes.on_demand:
        parts.append("no Spot nodes")
    if wishes.scale is not None:
        parts.append(f"{wishes.scale.least} to {wishes.scale.most} replicas")
    return joined(parts) or "the Corefile as it was before"


def how(change: CorednsChange) -> str:
    if change.managed:
        return f"by the configuration values of the add-on coredns {change.version}, so that its updates keep it"
    return "by a server-side apply of its ConfigMap: EKS does not manage this CoreDNS"


def verdict(view: DnsChangeReport) -> str:
    """One sentence without its full stop."""
    what = f"CoreDNS: {wished(view.change)}" if view.change is not None else "CoreDNS"
    if view.verified is not None or view.ended is not None or view.applied:
        return f"{what}: {_came_of(view)}"
    if view.guards:
        return f"{what}: nothing is changed"
    if view.change is not None and view.change.nothing:
        return f"{what}: it is so already, and kept where it lasts"
    return f"{what}: nothing was changed yet"


def _came_of(view: DnsChangeReport) -> str:
    ended = view.ended
    if ended is not None and ended.stage in (Stage.FAILED, Stage.CANCELLED):
        return "EKS could not do it, and nothing of it holds"
    if ended is not None and not ended.whole:
        return "it continues in EKS"
    done = "EKS has done it" if ended is not None else "it is applied" if view.applied else "it was made"
    if view.verified is not None:
        return f"{done}; {taken(view.verified)}"
    return f"{done}; no pod takes it up by itself" if view.after else done


def taken(verified: Verified) -> str:
    if verified.unread:
        return f"which pods have taken it up is not known: {verified.unread}"
    if verified.all:
        count = len(verified.stands)
        return "its pod has taken it up" if count == 1 else f"all {count} pods have taken it up"
    parts = []
    for each, said in _SAID.items():
        count = len(verified.of(each))
        if count:
            parts.append(f"{counted(count, 'pod')} {said[count != 1]}")
    return joined(parts)


_SAID = {
    Taken.VERIFIED: ("has taken it up", "have taken it up"),
    Taken.REFUSED: ("has refused it", "have refused it"),
    Taken.NOT_YET: ("has not yet", "have not yet"),
    Taken.UNKNOWN: ("is not known", "are not known"),
}


def command(said: tuple[str, ...]) -> str:
    """A command line for a shell."""
    return shell(*said)


_MOST = 8
_TONES = {
    Taken.VERIFIED: Tone.GOOD,
    Taken.NOT_YET: Tone.WARN,
    Taken.REFUSED: Tone.BAD,
    Taken.UNKNOWN: Tone.UNKNOWN,
}


@frozen
class DnsChangeReport(CommandReport):
    """The report of a change.

    `change` None: the change was sent earlier, and is checked again. `plan`: the plan of the add-on's update, None
    without one; `values` and `mode`: of the request. `resets`: fields of other managers that it resets;
    `acknowledgements`: findings to acknowledge; `changes`: number of changed values or Corefiles. `command`: the
    command that does the same without this tool; `back`: the lines of the rollback. `ended`: the result of the update;
    `applied`: the ConfigMap was changed; `tried`: the result of a dry run. `verified`: which pods have loaded the new
    Corefile, None where this was not checked.
    """

    of = "a change of CoreDNS"

    cluster: Cluster
    change: CorednsChange | None = None
    plan: AddonPlan | None = None
    mode: str = ""
    values: Doc | None = None
    config: Doc | None = None
    resets: tuple[str, ...] = ()
    guards: tuple[Guard, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    weighty: tuple[Finding, ...] = ()
    changes: int = 0
    command: str = ""
    back: tuple[str, ...] = ()
    tried: str = ""
    applied: bool = False
    ended: AddonUpdateResult | None = None
    verified: Verified | None = None
    after: tuple[Finding, ...] = ()
    run: str = ""
    journal: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the verification, of the change, and of the update that makes it."""
        own = self.change.findings if self.change is not None else ()
        return (*self.after, *own, *(self.plan.findings if self.plan is not None else ()))

    def sections(self, full: bool) -> Iterable[Section | None]:
        over = self.ended is not None or self.applied or self.verified is not None
        return _after(self, full) if over else _before(self, full)

    def result(self) -> object:
        return DnsChangeResult.filled(
            self,
            verdict=verdict(self),
            values=printed(self.values),
            config=printed(self.config),
            to_acknowledge=(each.message for each in self.weighty),
        )


def _before(view: DnsChangeReport, full: bool) -> Iterator[Section | None]:
    change = view.change
    assert change is not None, "nothing was done yet"
    yield Head(verdict(view), (f"It is made {how(change)}.",))
    yield _corefile(change)
    yield _values(change, view)
    yield _landing(change.landing, bool(change.refusals), full)
    yield Findings(view.findings)
    yield _sent(view)
    yield _left_to_you(change)
    yield _back(view)
    yield Lines("Nothing is changed", guard_lines(view.guards))
    yield acknowledged(view.weighty, _MOST)


def _after(view: DnsChangeReport, full: bool) -> Iterator[Section | None]:
    stands = view.verified.stands if view.verified is not None else ()
    wants_back = any(each.taken is Taken.REFUSED for each in stands) or (
        view.ended is not None and not view.ended.whole
    )
    lines = [f"{each.code}: {each.message}" for each in view.ended.errors] if view.ended is not None else []
    if view.ended is not None and view.ended.left:
        lines.append(f"It is followed no longer: {view.ended.left}.")
    rolls = view.change is None or bool(set(view.change.set) - {COREFILE})
    rollouts = [str(each) for each in view.ended.rollouts if rolls or not each.done] if view.ended is not None else []
    yield Head(verdict(view))
    yield Lines("What EKS says", lines)
    yield Lines("Rollout", rollouts)
    yield Table("The new Corefile in each pod", _stands(stands), "pods")
    yield Findings(view.after)
    yield _left_to_you(view.change) if view.change is not None else None
    yield _back(view) if wants_back or full else None
    yield Lines(None, list(_written(view)))


def _corefile(change: CorednsChange) -> Section | None:
    if change.corefile is None:
        return None
    lines = _coloured(diff(change.corefile))
    return Lines("Corefile", lines or ["its text stays; it is not in the add-on's values yet"])


def _values(change: CorednsChange, view: DnsChangeReport) -> Section | None:
    after = view.values if view.values is not None else change.values
    if change.before is None or after is None:
        return None
    lines: list[Line | str] = [*_coloured(values_diff(change.before, after))]
    if change.affinity_source:
        lines.append(f"The affinity is given as a whole, made of that of {change.affinity_source}.")
    return Lines(Title("Configuration values", ": today and new, the Corefile left out"), lines)


def _coloured(lines: list[str]) -> list[Line]:
    tones = {"+": Tone.GOOD, "-": Tone.BAD}
    return [Line(line, tone=tones.get(line[:1]), whole=True) for line in lines]


def _landing(found: CorednsPlacement | None, refused: bool, full: bool) -> Section | None:
    if found is None:
        return None
    title = f": {counted(len(found.fitting), 'node')} of {len(found.seats)} in {counted(len(found.zones), 'zone')}"
    columns = columns_of(
        name_column("NODE", 12),
        "ZONE",
        Column("CAPACITY", drop=1),
        text_column("A POD OF COREDNS", 20),
    )
    kept = (
        found.seats if full else [*_one_of_each_zone(found), *[seat for seat in found.seats if not seat.fits][:_MOST]]
    )
    rows: list[Row] = [
        [
            each.node,
            each.zone or "-",
            each.capacity or "-",
            Cell("fits", Tone.GOOD) if each.fits else Cell("; ".join(each.why), Tone.WARN if refused else None),
        ]
        for each in kept
    ]
    left_out = len(found.seats) - len(kept)
    return Table(Title("Where it may run", title), (columns, rows), "nodes", left_out=left_out)


def _one_of_each_zone(found: CorednsPlacement) -> list[CandidateNode]:
    return list({seat.zone: seat for seat in reversed(found.fitting)}.values())[::-1]


def _sent(view: DnsChangeReport) -> Section | None:
    if not view.command:
        return None
    lines: list[Line | str] = []
    if view.mode:
        lines.append(f"One UpdateAddon of coredns to the version that it has, with {view.mode}.")
        if view.mode == "OVERWRITE":
            lines.append("Another client owns what is set, so only OVERWRITE keeps it.")
        for each in view.resets:
            lines.append(f"It also resets {each}, which another client has set (--accept-reset).")
    for held in view.conflicts:
        lines.append(f"{held.field} is taken from {held.owner} (--force-conflicts), who may write it again.")
    others = "becomes another" if view.changes == 1 else "become others"
    lines.append(f"{counted(view.changes, 'value')} {others}. The same without this tool:")
    return Lines("What is sent", [*lines, as_it_is(view.command)])


def _left_to_you(change: CorednsChange) -> Section | None:
    if not change.not_done:
        return None
    said = "The Deployment of a CoreDNS that EKS does not manage is not changed here: do it where it is declared, or"
    return Lines("Left to you", [said, *(as_it_is(command(each)) for each in change.not_done)])


def _back(view: DnsChangeReport) -> Section:
    return Lines("Rollback", [as_it_is(each) for each in view.back])


def _stands(stands: tuple[PodVerification, ...]) -> tuple[list[Column], list[Row]]:
    return columns_of(
        name_column("POD", 16),
        name_column("NODE", 10, drop=1),
        "TAKEN UP",
        Column("BY", drop=2),
        text_column("WHY", 20),
    ), [
        [
            each.pod.partition("/")[2],
            each.node or "-",
            Cell(each.taken.value, _TONES[each.taken]),
            each.by or "-",
            each.why or "-",
        ]
        for each in stands
    ]


def _written(view: DnsChangeReport) -> Iterator[Line]:
    if view.verified is not None:
        left = f": {view.verified.left}" if view.verified.left else ""
        yield flush(f"Checked for {duration(view.verified.seconds)}{left}.", 0)
    if view.journal:
        yield as_it_is(f"Journal: {view.journal}", 0)


# A change of CoreDNS as ``-o json`` and ``-o yaml`` print it.


class _Conflict(Printed):
    field: Text
    owner: Text


class _Replicas(Printed):
    least: Count
    most: Count


class _Wished(Printed):
    called = {"replicas": "scale"}

    lameduck_seconds: Count | None
    on_demand: bool
    replicas: _Replicas | None


class _Corefile(Printed):
    before: str
    after: str
    reloads: bool
    """CoreDNS reloads it by itself."""

    @classmethod
    def of(cls, facts: EditedCorefile) -> _Corefile:
        return cls.filled(facts, before=printed_corefile(facts.before), after=printed_corefile(facts.after))


class _Node(Printed):
    called = {"name": "node", "why_not": "why"}

    name: Text
    zone: Text | None
    capacity: Text | None
    why_not: OthersLines


class _Landing(Printed):
    """The nodes on which a pod of CoreDNS could run."""

    called = {"nodes": "seats"}

    enough: bool
    zones: OthersLines
    nodes: tuple[_Node, ...]
    unknown: OthersLines


class _Change(Printed):
    """The request, and the resulting change."""

    called = {"addon_version": "version", "wished": "wishes"}

    managed: bool
    """EKS manages CoreDNS as an add-on."""
    addon_version: Text | None
    wished: _Wished
    corefile: _Corefile | None
    values_of_today: dict[str, Any] | None
    affinity_source: Text | None
    landing: _Landing | None
    nothing: bool
    """Nothing changes: the request is in effect already, and persists."""
    left_to_you: OthersLines

    @classmethod
    def of(cls, facts: change.CorednsChange) -> _Change:
        return cls.filled(
            facts,
            values_of_today=printed(facts.before),
            nothing=not facts.refusals and facts.nothing,
            left_to_you=map(command, facts.not_done),
        )


class _Pod(Printed):
    namespace: Text
    name: Text
    node: Text | None
    taken: dns.Taken
    by: Text | None
    why: Text | None
    missing: OthersLines

    @classmethod
    def of(cls, facts: dns.PodVerification) -> _Pod:
        namespace, _, name = facts.pod.partition("/")
        return cls.filled(facts, namespace=namespace, name=name)


class _Verified(Printed):
    """Which pods run the new Corefile."""

    called = {"pods": "stands"}

    all: bool
    seconds: WholeSeconds
    left: Text | None
    unread: Text | None
    pods: tuple[_Pod, ...]


class DnsChangeResult(CommandResult):
    """A change of CoreDNS before or after it is made: kubectl eksdoc coredns-lameduck --set … -o json."""

    called = {"refusals": "guards", "way_back": "back", "outcome": "ended"}

    kind: Literal["DnsChange"]
    recognised: Text | None
    run: Text | None
    journal: Text | None
    verdict: Text
    change: _Change | None
    mode: Mode | None
    """How conflicts are resolved."""
    values: dict[str, Any] | None
    """The complete document of the request; null where EKS is not asked."""
    config: dict[str, Any] | None
    """The part of the ConfigMap that is applied; null: none."""
    resets: OthersLines
    """Fields of other managers that the request resets, too."""
    conflicts: tuple[_Conflict, ...]
    changes: Count
    """Number of changed values or Corefiles."""
    command: Text | None
    refusals: tuple[RefusalResult, ...]
    to_acknowledge: OthersLines
    way_back: OthersLines
    tried: Text | None
    applied: bool
    outcome: OutcomeResult | None
    """Null where nothing was sent."""
    verified: _Verified | None
    """Null where it was not checked."""
    findings: tuple[FindingResult, ...]
