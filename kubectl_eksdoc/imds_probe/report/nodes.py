"""Tables of nodes: by cause of their pods' access, one by one, and the fixes to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.amazon.metadata_service import ImdsReach, ImdsVerdict
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.report.report import Footer, Line, Section, Table, TextBlock, verbatim_line
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Row,
    TableData,
    Title,
    Tone,
    as_columns,
    name_column,
    number_column,
    pluralize,
)

from ..affected import Effect, IntendedOptions
from ..fix import Fix, FixOptions
from ..plan import GroupPlan, MetadataPlan
from ..sources import MetadataFacts, MetadataService, NodeSet, current_service, instance_id
from .fix import blast_text as moved

_TONES = {
    ImdsReach.UNREACHABLE: Tone.BAD,
    ImdsReach.V1_ONLY: Tone.WARN,
    ImdsReach.UNKNOWN: Tone.UNKNOWN,
    ImdsReach.REACHABLE: Tone.GOOD,
}


def causes_table(groups: Sequence[GroupPlan], intent: IntendedOptions | None) -> TableData:
    columns = as_columns(
        name_column("GROUP", 12),
        Column("MANAGED BY", drop_order=3),
        number_column("NODES"),
        "NOW",
        "NEXT NODE",
        Column("TOKENS", drop_order=2),
        number_column("HOPS", 1),
        number_column("BROKEN"),
        number_column("WILL BREAK", short_title="WILL"),
        number_column("POSSIBLE", short_title="POSS."),
    )
    rows: list[Row] = []
    for group in groups:
        node_set = group.node_set
        counts = ((len(group.with_effect(effect)), tone) for effect, tone in _EFFECT_TONES.items())
        rows.append(
            [
                node_set.label,
                node_set.owner.value,
                len(node_set.nodes),
                _verdict_cell(node_set.now, node_set.verdict_now, intent),
                _verdict_cell(node_set.next, node_set.verdict_next, intent),
                *_option_cells(node_set),
                *(Cell(str(count or "-"), tone if count else None) for count, tone in counts),
            ]
        )
    return columns, rows


_EFFECT_TONES = {Effect.BROKEN: Tone.BAD, Effect.WILL_BREAK: Tone.WARN, Effect.POSSIBLE: Tone.UNKNOWN}


def _verdict_cell(service: MetadataService, verdict: ImdsVerdict, intent: IntendedOptions | None) -> Cell:
    """Restricted access is no alarm if it is intended."""
    cell = _reach_or_none_cell(verdict.reach, service.options is None)
    is_intended = verdict.reach is ImdsReach.UNREACHABLE and intent is not None and intent.is_met_by(service.options)
    return Cell("as meant", Tone.GOOD) if is_intended else cell


def reach_cell(reach: ImdsReach) -> Cell:
    return Cell("?" if reach is ImdsReach.UNKNOWN else reach.value, _TONES[reach])


def _reach_or_none_cell(reach: ImdsReach, has_no_service: bool) -> Cell:
    return Cell("none", Tone.FAINT) if has_no_service else reach_cell(reach)


def _option_cells(node_set: NodeSet) -> list[str]:
    """Current tokens and hops, and the next ones if they differ: ``1 → 2``."""
    current, next_options = node_set.now.options, node_set.next.options
    current_texts = _tokens_and_hops(current)
    next_texts = (
        _tokens_and_hops(next_options)
        if current is not None and isinstance(next_options, MetadataOptions)
        else current_texts
    )
    return [
        before if before == after else f"{before} → {after}"
        for before, after in zip(current_texts, next_texts, strict=True)
    ]


def _tokens_and_hops(options: MetadataOptions | Unknown | None) -> tuple[str, str]:
    if options is None:
        return "-", "-"
    if isinstance(options, Unknown):
        return "?", "?"
    if not options.endpoint:
        return "disabled", "-"
    return options.tokens, str(options.hop_limit)


def is_shown(group: GroupPlan, facts: MetadataFacts) -> bool:
    """Pods of the set have restricted or unknown access, now or later. Nodes that never had the service are left out if
    no pod is affected."""
    if any(each.effect is not Effect.NO_KNOWN_NEED for each in group.affected):
        return True
    node_set, intent = group.node_set, facts.intent
    reach_values = {node_set.verdict_now.reach, node_set.verdict_next.reach}
    is_intended = (
        intent is not None and intent.is_met_by(node_set.now.options) and intent.is_met_by(node_set.next.options)
    )
    if is_intended or (facts.assumed is not None and reach_values == {ImdsReach.UNREACHABLE}):
        return False  # no fix is needed, and the assumption changes nothing
    return node_set.now.options is not None and reach_values != {ImdsReach.REACHABLE}


def causes_title(plan: MetadataPlan, groups: Sequence[GroupPlan]) -> Title:
    hops, other_count = plan.hops, len(plan.groups) - len(groups)
    suffix = f"; {other_count} more: -o wide" if other_count else ""
    return Title("Nodes by cause", f": for pods {hops} hop{'' if hops == 1 else 's'} away{suffix}")


def nodes_table(plan: MetadataPlan) -> TableData:
    columns = as_columns("NODE", "GROUP", "INSTANCE", "TOKENS", "HOPS", "STATE", "NOW", "NEXT NODE")
    set_by_node = {node: group.node_set for group in plan.groups for node in group.node_set.nodes}
    rows: list[Row] = []
    for node in plan.facts.cluster.nodes:
        node_set, options = set_by_node[node.name], current_service(node, plan.facts).options
        state = ("pending" if options.pending else "applied") if isinstance(options, MetadataOptions) else "-"
        rows.append(
            [
                node.name,
                node_set.name or "-",
                instance_id(node) or "-",
                *_tokens_and_hops(options),
                state,
                _reach_or_none_cell(node_set.verdict_now.reach, node_set.now.options is None),
                _reach_or_none_cell(node_set.verdict_next.reach, node_set.next.options is None),
            ]
        )
    return columns, rows


# The fixes to choose from: one line for each, and all details on a wide page.


OfferedFixes = Sequence[tuple[NodeSet, FixOptions]]
_TITLE = "What can be done"


def fix_sections(offered: OfferedFixes, full: bool, is_live: bool, are_pods_first: bool) -> Iterator[Section]:
    """`is_live`: a cluster that can be changed. `are_pods_first`: fixes of pods come before those of nodes."""
    shown_fixes = [
        (node_set, fix) for node_set, options in offered for fix in (options.fixes if full else options.fixes[:1])
    ]
    # Nodes that never had the service are reported above.
    with_fixes = [fix for fix in offered if fix[0].now.options is not None or fix[1].fixes]
    cannot = [f"{node_set.label}: {reason}" for node_set, options in with_fixes for reason in options.cannot]
    title = Title(_TITLE, f": for each group, what {'the pods are given' if are_pods_first else 'moves least'} first")
    yield Table(title, _fix_table(shown_fixes), "fixes", notes=cannot if full or not shown_fixes else ())
    if full:
        yield from _fix_details(shown_fixes)
    elif shown_fixes:
        hidden_count = sum(len(options.fixes) for _, options in offered) - len(shown_fixes)
        other_text = f"{pluralize(hidden_count, 'more fix', 'more fixes')}, commands" if hidden_count else "Commands"
        apply = "--apply --fix FIX [--nodegroup GROUP]" if is_live else "ask the live cluster"
        yield Footer(f"{other_text}, rollback and cautions: -o wide. To have one carried out: {apply}")


def _fix_table(shown: Sequence[tuple[NodeSet, Fix]]) -> TableData:
    return as_columns(
        name_column("GROUP", 8),
        "FIX",
        "WHEN",
        number_column("NODES"),
        number_column("PODS"),
        number_column("INSTANCES", short_title="INST."),
        Column("BY", drop_order=1),
    ), [
        [
            node_set.label,
            Cell(each.name, Tone.TITLE),
            Cell(each.when.value, Tone.GOOD if each.when is When.NOW else None),
            *(count or "-" for count in (each.blast.nodes, each.blast.pods, each.blast.instances)),
            "--apply" if each.action is not None else "you",
        ]
        for node_set, each in shown
    ]


def _fix_details(shown: Sequence[tuple[NodeSet, Fix]]) -> Iterator[Section]:
    """A caution is printed once."""
    shown_cautions: set[str] = set()
    for node_set, fix in shown:
        how_text = fix.blast.how
        lines: list[Line | str] = [f"{fix.does}.", f"{how_text[:1].upper()}{how_text[1:]}; {fix.lasts}."]
        lines += (verbatim_line(command, 4) for command in fix.commands)
        if fix.rollback:
            lines += ["Rollback:", *(verbatim_line(command, 4) for command in fix.rollback)]
        lines += (f"- {caution}" for caution in fix.cautions if caution not in shown_cautions)
        shown_cautions |= {*fix.cautions}
        yield TextBlock(Title(fix.name, f" for {node_set.label}: {fix.when.value}, {moved(fix.blast)}"), lines)
