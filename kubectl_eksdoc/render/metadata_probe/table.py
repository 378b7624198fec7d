"""``-o table``: a line for each node that was probed, why, and what is found. ``-o wide``: every request, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubectl_eksdoc.amazon.metadata_service import Reach
from kubectl_eksdoc.imds_probe.probing.diagnosis import Answers, Cause, diagnosis
from kubectl_eksdoc.imds_probe.probing.pods import manifests
from kubectl_eksdoc.imds_probe.probing.result import Probed, ProbedNode, ProbePlan
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.metadata import Ask, Family, Seen, Step
from kubectl_eksdoc.render.formats import Formats
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.metadata_probe import ProbeView
from kubectl_eksdoc.render.roles import manifest_formats
from kubectl_eksdoc.render.tables import Cell, Column, Row, Title, drawn, findings, told
from kubectl_eksdoc.render.text import counted, shown, wrap

# The active probe in sentences.


_DO = (
    (Reach.CUT_OFF, "unreachable"),
    (Reach.V1_ONLY, "answered without a token only"),
    (Reach.UNKNOWN, "not known"),
    (Reach.REACHABLE, "reached"),
)


def in_short(view: ProbeView) -> str:
    """The first line."""
    plan, probed = view.plan, view.probed
    if probed is None:
        return would(plan)
    parts = []
    for reach, what in _DO:
        count = sum(node.v4.reach is reach for node in probed.nodes)
        if count:
            parts.append(f"{what} on {count}")
    said = ", ".join(parts) or "no node could be asked"
    ended = " It was interrupted." if probed.interrupted else ""
    return f"Measured from pods on {counted(len(probed.nodes), 'node')}: the metadata service is {said}.{ended}"


def would(plan: ProbePlan) -> str:
    """What would be made."""
    if not plan.pods:
        return "No node can be probed: nothing would be made."
    namespace, deadline = plan.manner.namespace, plan.manner.deadline_s
    return (
        f"This would make {counted(len(plan.pods), 'pod')} on {counted(len(plan.nodes), 'node')}, and the ConfigMap "
        f"that owns them, in namespace {namespace}. All of it is deleted at the end; a pod that is forgotten ends by "
        f"itself after {deadline} s."
    )


def about(plan: ProbePlan) -> list[str]:
    """What somebody should know before it is made."""
    told = [f"image: {plan.manner.image}; it needs a shell and curl"]
    told.append("each pod asks for a token and the id of the instance, on IPv4 and IPv6; no credentials are read")
    told.append("they are bound to their nodes past the scheduler: none is preempted for them, no autoscaler wakes up")
    if plan.no_host:
        told.append(f"nothing runs on the network of a node: {plan.no_host}; another one: --probe-namespace NAME")
    if plan.stale:
        names = ", ".join(owner.name for owner in plan.stale)
        told.append(f"removed first, as a probe that was killed has left it: {names}")
    if plan.others:
        names = ", ".join(owner.name for owner in plan.others)
        told.append(f"left alone, as another probe may be running: {names}")
    return told


_TONES = {
    Reach.CUT_OFF: Tone.BAD,
    Reach.V1_ONLY: Tone.WARN,
    Reach.UNKNOWN: Tone.UNKNOWN,
    Reach.REACHABLE: Tone.GOOD,
}


def table(view: ProbeView, look: Look) -> str:
    """What somebody must look at."""
    return _text(view, look, full=False)


def wide(view: ProbeView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: ProbeView, look: Look, full: bool) -> str:
    head = [look.paint(line, Tone.TITLE) for line in wrap(shown(in_short(view), look), look.columns)]
    if view.probed is None:
        sections = [head, *_before(view, look, full)]
    else:
        sections = [head, *_after(view, view.probed, look, full)]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _before(view: ProbeView, look: Look, full: bool) -> Iterator[list[str]]:
    yield drawn(Title("Nodes", " that are alike, and which of them would be probed"), _choice(view.plan), look, full)
    yield told(Title("What would be made"), about(view.plan), look)
    refused = [f"{name}: {why.why}" for name, why in view.refused.items()]
    yield told(Title("Refused by the server"), refused, look)


def _choice(plan: ProbePlan) -> tuple[list[Column], list[Row]]:
    columns = [
        Column("GROUP", floor=12, middle=True),
        Column("MADE BY", drop=1),
        Column("NODES", right=True),
        Column("PROBED", floor=16, middle=True),
    ]
    rows: list[Row] = []
    for each in plan.likes:
        more = f" and {len(each.chosen) - 1} more" if len(each.chosen) > 1 else ""
        probed = f"{each.chosen[0]}{more}" if each.chosen else Cell(f"none: {each.why_not}", Tone.FAINT)
        rows.append([each.group or f"({each.owner.value})", each.owner.value, str(len(each.nodes)), probed])
    return columns, rows


def _after(view: ProbeView, probed: Probed, look: Look, full: bool) -> Iterator[list[str]]:
    yield drawn(Title("Nodes", ": what pods on them measured"), _nodes(view.plan, probed), look, full)
    if full:
        yield drawn(Title("Requests"), _requests(probed), look, full)
    yield findings(view.findings, "", look, full, named=True)


def _nodes(plan: ProbePlan, probed: Probed) -> tuple[list[Column], list[Row]]:
    columns = [
        Column("GROUP", floor=8, middle=True),
        Column("NODE", floor=20, middle=True),
        Column("PODS"),
        Column("CAUSE"),
        Column("NODE ITSELF", short="ITSELF"),
        Column("IPV6", drop=1),
        Column("ANSWER", right=True, drop=2),
    ]
    return columns, [_node(node, plan) for node in probed.nodes]


def _node(node: ProbedNode, plan: ProbePlan) -> Row:
    likes = plan.likes_of(node.node)
    cause = "-" if node.v4.cause is Cause.NONE else node.v4.cause.value
    return [
        likes.group or f"({likes.owner.value})",
        node.node,
        _reach(node.v4.reach),
        "?" if node.v4.cause is Cause.UNKNOWN else cause,
        _reach(diagnosis(node.host, node.host).reach),
        _v6(node),
        _slowest(node.own),
    ]


def _reach(reach: Reach) -> Cell:
    return Cell("?" if reach is Reach.UNKNOWN else reach.value, _TONES[reach])


def _v6(node: ProbedNode) -> Cell:
    """Where the node itself is not answered either, it is switched off, as it is by default."""
    off = node.options is not None and not node.options.ipv6
    if node.v6.cause in (Cause.NODE, Cause.DISABLED) or (off and node.v6.reach is not Reach.REACHABLE):
        return Cell("off", Tone.FAINT)
    return _reach(Reach.UNKNOWN if node.v6.cause is Cause.UNKNOWN else node.v6.reach)


def _slowest(answers: Answers) -> str:
    """The longest that an answer on IPv4 took."""
    if isinstance(answers, Unknown):
        return "-"
    times = [step.total for step in answers.v4.steps if step.answered]
    return f"{max(times):.1f} ms" if times else "-"


def _requests(probed: Probed) -> tuple[list[Column], list[Row]]:
    columns = [Column(name) for name in ("NODE", "FROM", "ADDRESS", "REQUEST", "ANSWER", "CONNECTED", "TOTAL", "TOLD")]
    rows: list[Row] = []
    for node in probed.nodes:
        for network, answers in (("pod", node.own), ("node", node.host)):
            if isinstance(answers, Unknown):
                rows.append([node.node, network, "-", "-", "?", "-", "-", answers.why])
                continue
            for family in Family:
                seen = answers.of(family)
                rows += [[node.node, network, family.value, *_step(step, seen)] for step in seen.steps]
    return columns, rows


_ASKED = {Ask.V1: "GET without token", Ask.TOKEN: "PUT token", Ask.V2: "GET with token"}


def _step(step: Step, seen: Seen) -> list[str]:
    answer = str(step.code) if step.answered else f"none (curl {step.exit})"
    stood = "no" if step.stood is None else f"{step.stood:.1f} ms"
    told = seen.instance if step.code == 200 and step.ask is not Ask.TOKEN else ""
    return [_ASKED[step.ask], answer, stood, f"{step.total:.1f} ms", told or "-"]


# What a probe would make, as kubectl takes it.


def _objects(view: ProbeView) -> Iterable[Doc]:
    return manifests(view.plan.probe, view.plan.pods, view.plan.manner)


MANIFESTS: Formats[ProbeView] = manifest_formats(_objects)
