"""Any fix, from its first line in the journal to what came of it.

Every part is written down before it is asked for, and looked at before it is asked for again: who goes on with a fix
that was broken off asks only for what is still as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from kubectl_eksdoc.amazon.metadata_service import Reach
from kubectl_eksdoc.errors import ClusterError, Stopped
from kubectl_eksdoc.flows.metadata_fix.steps import Past, on_class, on_instances, on_template
from kubectl_eksdoc.flows.metadata_fix.world import WATCH_S, FixWorld, note
from kubectl_eksdoc.flows.metadata_probe import Clock, prepared, probed
from kubectl_eksdoc.flows.ports import ProbeGround
from kubectl_eksdoc.imds_probe.probing.pods import Manner
from kubectl_eksdoc.imds_probe.probing.result import ProbedNode
from kubectl_eksdoc.imds_probe.run import Became, Done, Part, to_doc
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.metadata import Act, OnClass, OnInstances, OnTemplate
from kubectl_eksdoc.model.nodes import Node


def carry_out(act: Act, begun: Doc, token: str, world: FixWorld, watch_s: float = WATCH_S) -> Done:
    """`begun`: what more is written down of it before anything is asked for; `token` names this fix and no other.

    Raises:
        Stopped: it was told to stop before anything was asked for.
        JournalError: it cannot be written down; nothing was asked for.
        Drifted: it is not as it was; nothing was done.
        AwsError, ClusterError: it is refused; nothing was done.
    """
    world.journal.write({"entry": "begun", **begun, "token": token, "act": to_doc(act)})
    if world.told():
        note(world, {"entry": "refused", "why": "it was stopped"})
        raise Stopped("it was stopped before anything was requested", "Nothing was changed.")
    return go_on(act, token, world, watch_s)


def go_on(act: Act, token: str, world: FixWorld, watch_s: float = WATCH_S, past: Past = Past()) -> Done:
    """With what was begun before. Raises: as `carry_out`."""
    done = _done(act, token, world, watch_s, past)
    if world.prove is not None and done.whole and not isinstance(act, OnClass):
        done = replace(done, proofs=world.prove(_there(act, done)))
    note(world, {"entry": "ended", "left": done.left, "parts": [_kept(part) for part in done.parts]})
    return done


def _there(act: Act, done: Done) -> tuple[str, ...]:
    """The nodes that have it now; those of a class come one by one, later."""
    return act.nodes if isinstance(act, OnInstances) else done.members


def _done(act: Act, token: str, world: FixWorld, watch_s: float, past: Past) -> Done:
    match act:
        case OnInstances():
            return on_instances(act, world, watch_s, past)
        case OnTemplate():
            return on_template(act, token, past, world, watch_s)
        case OnClass():
            return on_class(act, world, past)


def _kept(part: Part) -> Doc:
    return {"what": part.what, "became": part.became.value, "why": part.why}


# Whether pods reach the service after a fix: asked from pods, by the active probe.


_BECAME = {Reach.REACHABLE: Became.DONE, Reach.UNKNOWN: Became.UNKNOWN}


def proofs(
    nodes: Iterable[Node],
    ground: ProbeGround,
    probe: str,
    manner: Manner,
    every: bool,
    clock: Clock,
    told: Callable[[], int],
    tell: Callable[[str], object],
) -> tuple[Part, ...]:
    """Of one node of each kind, or of `every` one. What cannot be asked is not known, and takes nothing back."""
    try:
        plan = prepared(nodes, ground, probe, manner, every=every)
        if not plan.pods:
            return (Part("pods", Became.UNKNOWN, "there is no node on which one can ask"),)
        found = probed(plan, ground, clock, told, tell)
    except ClusterError as error:
        return (Part("pods", Became.UNKNOWN, error.message),)
    parts = [_part(each) for each in found.nodes]
    if found.not_removed or found.left:
        parts.append(Part(f"ConfigMap {found.owner}", Became.UNKNOWN, "what the probe made is still there: delete it"))
    return tuple(parts)


def _part(each: ProbedNode) -> Part:
    reach, why = each.v4.reach, each.v4.why
    said = f"{reach.value}: {why}" if why else reach.value
    return Part(f"a pod on {each.node}", _BECAME.get(reach, Became.OTHER), said)
