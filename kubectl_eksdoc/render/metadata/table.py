"""``-o table``: one line and one sentence for each cause, then what is found. ``-o wide``: every node, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.amazon.metadata_service import Reach, Verdict
from kubectl_eksdoc.imds_probe.affected import Effect
from kubectl_eksdoc.imds_probe.assumed import Intent
from kubectl_eksdoc.imds_probe.judging import NODES
from kubectl_eksdoc.imds_probe.plan import GroupPlan, MetadataPlan
from kubectl_eksdoc.imds_probe.sources import MetadataFacts, NodesAlike, Service, instance_of, service_now
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.machines import MetadataOptions
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Finding, Severity
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.metadata import MetadataView
from kubectl_eksdoc.render.metadata_fix.table import to_choose
from kubectl_eksdoc.render.since import screen
from kubectl_eksdoc.render.since.screen import marking
from kubectl_eksdoc.render.tables import MARGIN, Cell, Column, Row, Title, drawn, findings, titled
from kubectl_eksdoc.render.text import counted, shown, wrap

# The metadata service in sentences.


_KINDS = {
    NodeOwner.MANAGED: "managed node group",
    NodeOwner.EKSCTL: "eksctl's node group",
    NodeOwner.KARPENTER: "NodePool",
    NodeOwner.AUTO_MODE: "Auto Mode NodePool",
    NodeOwner.FARGATE: "Fargate",
    NodeOwner.HYBRID: "hybrid nodes",
    NodeOwner.SELF_MANAGED: "self-managed nodes",
}
_DO = {
    Reach.REACHABLE: "reach it",
    Reach.V1_ONLY: "get no token, and are answered without one only",
    Reach.CUT_OFF: "cannot reach IMDS",
    Reach.UNKNOWN: "may or may not reach it",
}


def group_name(alike: NodesAlike) -> str:
    """``managed node group blue``."""
    return " ".join(filter(None, (_KINDS[alike.owner], alike.name or alike.scaling_group)))


def in_short(plan: MetadataPlan) -> str:
    """The first line."""
    if not plan.groups:
        return "No nodes: nothing to reach an instance metadata service from."
    nodes = sum(len(group.alike.nodes) for group in plan.groups)
    cut = _nodes(plan, Reach.CUT_OFF)
    parts = [f"Pods on {cut} of {counted(nodes, 'node')} cannot reach the instance metadata service"]
    for reach, text in ((Reach.V1_ONLY, "they are answered without a token only"), (Reach.UNKNOWN, "it is not known")):
        count = _nodes(plan, reach)
        if count:
            parts.append(f"on {count} {text}")
    without = sum(len(group.alike.nodes) for group in plan.groups if group.alike.now.options is None)
    if without:
        parts.append(f"{without} {'has' if without == 1 else 'have'} none")
    return f"{', '.join(parts)}; {pods(plan)}."


def _nodes(plan: MetadataPlan, reach: Reach) -> int:
    """Without those that never had any: Fargate's and hybrid ones."""
    groups = (group.alike for group in plan.groups if group.alike.now.options is not None)
    return sum(len(alike.nodes) for alike in groups if alike.here.reach is reach)


def pods(plan: MetadataPlan) -> str:
    """``2 pods are broken now, 1 will break, 31 may need it``."""
    broken, breaking, possible, _ = (sum(len(group.of(each)) for group in plan.groups) for each in Effect)
    found = []
    if broken:
        found.append(f"{counted(broken, 'pod')} {'is' if broken == 1 else 'are'} broken now")
    if breaking:
        found.append(f"{counted(breaking, 'pod')} will break")
    if possible:
        found.append(f"{counted(possible, 'pod')} may need it")
    return ", ".join(found) or _unaffected(plan)


def _unaffected(plan: MetadataPlan) -> str:
    """Where pods are cut off and have what they need otherwise, that is no fault."""
    if plan.facts.intent is not None:
        missed = [each for each in plan.findings if each.code.name == "imds-intent-missed"]
        met = "not all nodes have" if missed else "no node is known to have other options than"
        return f"no pod is known to be affected, and {met} what is meant ({plan.facts.intent})"
    recommended = ", which is what AWS recommends for pods with roles of their own"
    cut = any(group.alike.here.reach is Reach.CUT_OFF and group.alike.now.options is not None for group in plan.groups)
    return f"no pod is known to be affected{recommended if cut else ''}"


def sentence(group: GroupPlan) -> str:
    """All of one group: what its pods find, whose doing that is, and what the next node brings."""
    alike = group.alike
    head = f"{group_name(alike)} ({counted(len(alike.nodes), 'node')})"
    if alike.now.options is None:
        return f"{head}: there is none, as {alike.now.by}."
    here = f"{head}: pods {_DO[alike.here.reach]}, as {alike.here.why}"
    return f"{here}{_cause(alike)}. {_next(alike)}"


def _cause(alike: NodesAlike) -> str:
    if isinstance(alike.now.options, Unknown) or isinstance(alike.next.options, Unknown):
        return ""
    if alike.by_hand:
        return "; new nodes get other options"
    return f" ({_by(alike)})"


def _by(alike: NodesAlike) -> str:
    """Whose doing the next node's options are, each with its own or all at once."""
    by = alike.next.by
    return by if by.startswith(("hop limit by", "tokens by")) else f"by {by}"


def _next(alike: NodesAlike) -> str:
    if alike.next.options is None or alike.later.reach is Reach.UNKNOWN:
        return f"The next node: not known, as {alike.later.why}."
    if not alike.by_hand and not isinstance(alike.now.options, Unknown):
        return "The next node will be the same."
    how = "still " if alike.later.reach is alike.here.reach else ""
    return f"On the next node they {how}{_DO[alike.later.reach]}, as {alike.later.why} ({_by(alike)})."


_TONES = {
    Reach.CUT_OFF: Tone.BAD,
    Reach.V1_ONLY: Tone.WARN,
    Reach.UNKNOWN: Tone.UNKNOWN,
    Reach.REACHABLE: Tone.GOOD,
}
_FORMATS = "Every node, and all evidence: -o wide; for a program: -o json"


def table(view: MetadataView, look: Look) -> str:
    """What somebody must look at."""
    return _text(view, look, full=False)


def wide(view: MetadataView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: MetadataView, look: Look, full: bool) -> str:
    beside = screen.section(view.since, view.plan.facts.cluster.observed_at, look, full, view.tool_version)
    if view.pod is not None and not full:
        told = wrap(shown(view.pod.sentence, look), look.columns)
        return "\n".join([*told, *([""] if beside else []), *beside]) + "\n"
    first = view.pod.sentence if view.pod is not None else in_short(view.plan)
    facts, found = view.plan.facts, view.plan.findings
    groups = [each for each in view.plan.groups if full or _matters(each, facts)]
    sections = [
        [look.paint(line, Tone.TITLE) for line in wrap(shown(first, look), look.columns)],
        beside,
        drawn(_causes_title(view.plan, groups), _causes(groups, facts.intent), look, full),
        titled(Title("Why"), list(_why(groups, look)), look) if full else [],
        drawn(Title("Nodes"), _table_nodes(view), look, full) if full else [],
        findings(found if full else _in_short(found), "", look, full, named=True, mark=marking(view.since)),
        *to_choose(view.offered, look, full, facts.cluster.source is not Source.SNAPSHOT, facts.intent is not None),
        [] if full else wrap(_last(found), look.columns),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _in_short(found: Iterable[Finding]) -> list[Finding]:
    """What it says, whose nodes' doing it is, and what to do first."""
    return [
        replace(each, evidence=tuple(line for line in each.evidence if line.startswith(NODES)), remedy=each.remedy[:1])
        for each in found
    ]


def _last(found: Iterable[Finding]) -> str:
    """What passes, and where all the rest is."""
    passed = [each.message for each in found if each.severity is Severity.INFO]
    return "".join(f"{each[:1].upper()}{each[1:]}. " for each in passed) + _FORMATS


def _causes(groups: Sequence[GroupPlan], intent: Intent | None) -> tuple[list[Column], list[Row]]:
    columns = [
        Column("GROUP", floor=12, middle=True),
        Column("MADE BY", drop=3),
        Column("NODES", right=True),
        Column("NOW"),
        Column("NEXT NODE"),
        Column("TOKENS", drop=2),
        Column("HOPS", right=True, drop=1),
        Column("BROKEN", right=True),
        Column("WILL BREAK", right=True, short="WILL"),
        Column("POSSIBLE", right=True, short="POSS."),
    ]
    return columns, [_table_cause(group, intent) for group in groups]


def _table_cause(group: GroupPlan, intent: Intent | None) -> Row:
    alike = group.alike
    tokens, hops = _options(alike)
    counts = [len(group.of(each)) for each in (Effect.BROKEN, Effect.WILL_BREAK, Effect.POSSIBLE)]
    return [
        alike.label,
        alike.owner.value,
        str(len(alike.nodes)),
        _meant(alike.now, alike.here, intent),
        _meant(alike.next, alike.later, intent),
        tokens,
        hops,
        *(Cell(str(count or "-"), tone if count else None) for count, tone in zip(counts, _COUNTED, strict=True)),
    ]


_COUNTED = (Tone.BAD, Tone.WARN, Tone.UNKNOWN)


def _meant(service: Service, found: Verdict, intent: Intent | None) -> Cell:
    """That pods are cut off is no alarm where it is meant."""
    cell = _verdict(found.reach, service.options is None)
    met = found.reach is Reach.CUT_OFF and intent is not None and intent.met_by(service.options)
    return Cell("as meant", Tone.GOOD) if met else cell


def _verdict(reach: Reach, none: bool) -> Cell:
    return Cell("none", Tone.FAINT) if none else Cell("?" if reach is Reach.UNKNOWN else reach.value, _TONES[reach])


def _options(alike: NodesAlike) -> tuple[str, str]:
    """Of now, and of the next where that is something else: ``1 → 2``."""
    now, later = alike.now.options, alike.next.options
    if now is None:
        return "-", "-"
    tokens, hops = _pair(now)
    if not isinstance(later, MetadataOptions):
        return tokens, hops
    then = _pair(later)
    return _change(tokens, then[0]), _change(hops, then[1])


def _change(old: str, new: str) -> str:
    return old if old == new else f"{old} → {new}"


def _pair(options: MetadataOptions | Unknown | None) -> tuple[str, str]:
    if options is None:
        return "-", "-"
    if isinstance(options, Unknown):
        return "?", "?"
    if not options.endpoint:
        return "disabled", "-"
    return options.tokens, str(options.hop_limit)


def _why(groups: Sequence[GroupPlan], look: Look) -> Iterator[str]:
    for group in groups:
        yield from wrap(shown(sentence(group), look), look.columns, MARGIN, MARGIN * 2)


def _matters(group: GroupPlan, facts: MetadataFacts) -> bool:
    """Some of its pods do not reach the service, or will not, or nobody knows. Of nodes that never had one nobody is
    affected as a rule."""
    if any(each.effect is not Effect.NO_KNOWN_NEED for each in group.affected):
        return True
    alike, intent = group.alike, facts.intent
    reaches = {alike.here.reach, alike.later.reach}
    as_meant = intent is not None and intent.met_by(alike.now.options) and intent.met_by(alike.next.options)
    if as_meant or (facts.assumed is not None and reaches == {Reach.CUT_OFF}):
        return False  # nothing is to be done there, and nothing changes by what is assumed
    return alike.now.options is not None and reaches != {Reach.REACHABLE}


def _causes_title(plan: MetadataPlan, groups: Sequence[GroupPlan]) -> Title:
    hops, others = plan.hops, len(plan.groups) - len(groups)
    more = f"; {others} more: -o wide" if others else ""
    return Title("Nodes by cause", f": for pods {hops} hop{'' if hops == 1 else 's'} away{more}")


def _table_nodes(view: MetadataView) -> tuple[list[Column], list[Row]]:
    columns = [Column(name) for name in ("NODE", "GROUP", "INSTANCE", "TOKENS", "HOPS", "STATE", "NOW", "NEXT NODE")]
    group_of = {node: group.alike for group in view.plan.groups for node in group.alike.nodes}
    rows: list[Row] = []
    for node in view.plan.facts.cluster.nodes:
        alike, options = group_of[node.name], service_now(node, view.plan.facts).options
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
