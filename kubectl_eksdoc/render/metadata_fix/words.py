"""A fix in sentences."""

from __future__ import annotations

from kubectl_eksdoc.core.model.metadata_acts import Act, OnClass, OnInstances, OnTemplate
from kubectl_eksdoc.core.plan.metadata.fixes.fix import Blast
from kubectl_eksdoc.core.run.metadata.became import Became, Done
from kubectl_eksdoc.core.run.stages import Stage
from kubectl_eksdoc.render.metadata_fix.view import FixView
from kubectl_eksdoc.render.text import counted, joined


def head(act: Act) -> str:
    """What is done, a clause."""
    match act:
        case OnInstances(each):
            hops = sorted({one.hop_limit for one in each})
            return f"a hop limit of {' or '.join(map(str, hops))} for {counted(len(each), 'running instance')}"
        case OnTemplate():
            return f"a hop limit of {act.hop_limit} in a new version of launch template {act.id} for {act.group}"
        case OnClass():
            return f"a hop limit of {act.hop_limit} in EC2NodeClass {act.name}"


def action(act: Act) -> str:
    """As it is typed back for: ``change 3 nodes``, ``replace 3 nodes``."""
    return "change" if isinstance(act, OnInstances) else "replace"


def reach(blast: Blast) -> str:
    """``replaces 3 nodes, evicts 12 pods``."""
    found = []
    if blast.nodes:
        found.append(f"replaces {counted(blast.nodes, 'node')}")
    if blast.pods:
        found.append(f"{'evicts' if blast.nodes else 'restarts'} {counted(blast.pods, 'pod')}")
    if blast.instances:
        found.append(f"changes {counted(blast.instances, 'instance')}")
    return ", ".join(found) or "moves nothing"


def verdict(view: FixView) -> str:
    """One sentence without its full stop."""
    what = head(view.act)
    what = what[:1].upper() + what[1:]
    if view.done is None:
        return f"{what}: nothing was changed{'' if view.forbidden else ' yet'}"
    return f"{what}: {_came_of(view.done)}"


def _came_of(done: Done) -> str:
    if done.stage in (Stage.FAILED, Stage.CANCELLED):
        return (
            f"EKS has {'not brought the update to its end' if done.stage is Stage.FAILED else 'cancelled the update'}"
        )
    counts = [f"{len(done.of(each))} {each.value}" for each in Became if done.of(each)]
    if len(counts) == 1 and done.whole:
        return "done" if done.of(Became.DONE) else counts[0]
    return joined(counts)


def proof(done: Done) -> str:
    """By what it is known, a sentence."""
    if done.proofs:
        return "Asked from pods on the nodes:"
    return "That is what AWS or the API server says of it now; no pod was asked."
