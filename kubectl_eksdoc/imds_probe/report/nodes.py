"""Tables of nodes: by cause of their pods' access, one by one, and the fixes to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.amazon.metadata_service import ImdsVerdict, Reach
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.report.report import Foot, Line, Lines, Section, Table, as_it_is
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Drawn,
    Row,
    Title,
    Tone,
    columns_of,
    counted,
    name_column,
    number_column,
)

from ..affected import Effect, IntendedOptions
from ..fix import Fix, FixOptions
from ..plan import GroupPlan, MetadataPlan
from ..sources import MetadataFacts, MetadataService, NodesAlike, instance_of, service_now
from .fix import reach as moved

_TONES = {
    Reach.CUT_OFF: Tone.BAD,
    Reach.V1_ONLY: Tone.WARN,
    Reach.UNKNOWN: Tone.UNKNOWN,
    Reach.REACHABLE: Tone.GOOD,
}


def causes(groups: Sequence[GroupPlan], intent: IntendedOptions | None) -> Drawn:
    columns = columns_of(
        name_column("GROUP", 12),
        Column("MANAGED BY", drop=3),
        number_column("NODES"),
        "NOW",
        "NEXT NODE",
        Column("TOKENS", drop=2),
        number_column("HOPS", 1),
        number_column("BROKEN"),
        number_column("WILL BREAK", short="WILL"),
        number_column("POSSIBLE", short="POSS."),
    )
    rows: list[Row] = []
    for group in groups:
        alike = group.alike
        counts = ((len(group.of(effect)), tone) for effect, tone in _COUNTED.items())
        rows.append(
            [
                alike.label,
                alike.owner.value,
                len(alike.nodes),
                _meant(alike.now, alike.here, intent),
                _meant(alike.next, alike.later, intent),
                *_options(alike),
                *(Cell(str(count or "-"), tone if count else None) for count, tone in counts),
            ]
        )
    return columns, rows


_COUNTED = {Effect.BROKEN: Tone.BAD, Effect.WILL_BREAK: Tone.WARN, Effect.POSSIBLE: Tone.UNKNOWN}


def _meant(service: MetadataService, found: ImdsVerdict, intent: IntendedOptions | None) -> Cell:
    """Restricted access is no alarm if it is intended."""
    cell = _verdict(found.reach, service.options is None)
    met = found.reach is Reach.CUT_OFF and intent is not None and intent.met_by(service.options)
    return Cell("as meant", Tone.GOOD) if met else cell


def reached(reach: Reach) -> Cell:
    return Cell("?" if reach is Reach.UNKNOWN else reach.value, _TONES[reach])


def _verdict(reach: Reach, none: bool) -> Cell:
    return Cell("none", Tone.FAINT) if none else reached(reach)


def _options(alike: NodesAlike) -> list[str]:
    """Current tokens and hops, and the next ones if they differ: ``1 → 2``."""
    now, later = alike.now.options, alike.next.options
    old = _pair(now)
    new = _pair(later) if now is not None and isinstance(later, MetadataOptions) else old
    return [a if a == b else f"{a} → {b}" for a, b in zip(old, new, strict=True)]


def _pair(options: MetadataOptions | Unknown | None) -> tuple[str, str]:
    if options is None:
        return "-", "-"
    if isinstance(options, Unknown):
        return "?", "?"
    if not options.endpoint:
        return "disabled", "-"
    return options.tokens, str(options.hop_limit)


def matters(group: GroupPlan, facts: MetadataFacts) -> bool:
    """Pods of the set have restricted or unknown access, now or later. Nodes that never had the service are left out if
    no pod is affected."""
    if any(each.effect is not Effect.NO_KNOWN_NEED for each in group.affected):
        return True
    alike, intent = group.alike, facts.intent
    reaches = {alike.here.reach, alike.later.reach}
    as_meant = intent is not None and intent.met_by(alike.now.options) and intent.met_by(alike.next.options)
    if as_meant or (facts.assumed is not None and reaches == {Reach.CUT_OFF}):
        return False  # no fix is needed, and the assumption changes nothing
    return alike.now.options is not None and reaches != {Reach.REACHABLE}


def causes_title(plan: MetadataPlan, groups: Sequence[GroupPlan]) -> Title:
    hops, others = plan.hops, len(plan.groups) - len(groups)
    more = f"; {others} more: -o wide" if others else ""
    return Title("Nodes by cause", f": for pods {hops} hop{'' if hops == 1 else 's'} away{more}")


def nodes_table(plan: MetadataPlan) -> Drawn:
    columns = columns_of("NODE", "GROUP", "INSTANCE", "TOKENS", "HOPS", "STATE", "NOW", "NEXT NODE")
    group_of = {node: group.alike for group in plan.groups for node in group.alike.nodes}
    rows: list[Row] = []
    for node in plan.facts.cluster.nodes:
        alike, options = group_of[node.name], service_now(node, plan.facts).options
        state = ("pending" if options.pending else "applied") if isinstance(options, MetadataOptions) else "-"
        rows.append(
            [
                node.name,
                alike.name or "-",
                instance_of(node) or "-",
                *_pair(options),
                state,
                _verdict(alike.here.reach, alike.now.options is None),
                _verdict(alike.later.reach, alike.next.options is None),
            ]
        )
    return columns, rows


# The fixes to choose from: one line for each, and all details on a wide page.


Offered = Sequence[tuple[NodesAlike, FixOptions]]
_TITLE = "What can be done"


def to_choose(offered: Offered, full: bool, live: bool, pods_first: bool) -> Iterator[Section]:
    """`is_live`: a cluster that can be changed. `are_pods_first`: fixes of pods come before those of nodes."""
    shown = [(alike, each) for alike, choice in offered for each in (choice.fixes if full else choice.fixes[:1])]
    # Nodes that never had the service are reported above.
    judged = [each for each in offered if each[0].now.options is not None or each[1].fixes]
    cannot = [f"{alike.label}: {why}" for alike, choice in judged for why in choice.cannot]
    title = Title(_TITLE, f": for each group, what {'the pods are given' if pods_first else 'moves least'} first")
    yield Table(title, _fixes(shown), "fixes", below=cannot if full or not shown else ())
    if full:
        yield from _in_full(shown)
    elif shown:
        more = sum(len(choice.fixes) for _, choice in offered) - len(shown)
        others = f"{counted(more, 'more fix', 'more fixes')}, commands" if more else "Commands"
        apply = "--apply --fix FIX [--nodegroup GROUP]" if live else "ask the live cluster"
        yield Foot(f"{others}, rollback and cautions: -o wide. To have one carried out: {apply}")


def _fixes(shown: Sequence[tuple[NodesAlike, Fix]]) -> Drawn:
    return columns_of(
        name_column("GROUP", 8),
        "FIX",
        "WHEN",
        number_column("NODES"),
        number_column("PODS"),
        number_column("INSTANCES", short="INST."),
        Column("BY", drop=1),
    ), [
        [
            alike.label,
            Cell(each.name, Tone.TITLE),
            Cell(each.when.value, Tone.GOOD if each.when is When.NOW else None),
            *(count or "-" for count in (each.blast.nodes, each.blast.pods, each.blast.instances)),
            "--apply" if each.act is not None else "you",
        ]
        for alike, each in shown
    ]


def _in_full(shown: Sequence[tuple[NodesAlike, Fix]]) -> Iterator[Section]:
    """A caution is printed once."""
    said: set[str] = set()
    for alike, each in shown:
        how = each.blast.how
        lines: list[Line | str] = [f"{each.does}.", f"{how[:1].upper()}{how[1:]}; {each.lasts}."]
        lines += (as_it_is(command, 4) for command in each.commands)
        if each.back:
            lines += ["Rollback:", *(as_it_is(command, 4) for command in each.back)]
        lines += (f"- {caution}" for caution in each.cautions if caution not in said)
        said |= {*each.cautions}
        yield Lines(Title(each.name, f" for {alike.label}: {each.when.value}, {moved(each.blast)}"), lines)
