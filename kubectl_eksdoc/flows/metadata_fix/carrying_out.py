"""Any fix, from its first line in the journal to what came of it.

Every part is written down before it is asked for, and looked at before it is asked for again: who goes on with a fix
that was broken off asks only for what is still as it was.
"""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.metadata_acts import Act, OnClass, OnInstances, OnTemplate
from kubectl_eksdoc.core.run.metadata.became import Done, Part
from kubectl_eksdoc.core.run.metadata.kept import to_doc
from kubectl_eksdoc.errors import Stopped
from kubectl_eksdoc.flows.metadata_fix.instances import on_instances
from kubectl_eksdoc.flows.metadata_fix.node_class import on_class
from kubectl_eksdoc.flows.metadata_fix.template import Past, on_template
from kubectl_eksdoc.flows.metadata_fix.world import WATCH_S, FixWorld, note


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
        note(world, {"entry": "refused", "why": "it was told to stop"})
        raise Stopped("it was told to stop before anything was asked for", "Nothing was changed.")
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
            return on_instances(act, world, watch_s)
        case OnTemplate():
            return on_template(act, token, past, world, watch_s)
        case OnClass():
            return on_class(act, world)


def _kept(part: Part) -> Doc:
    return {"what": part.what, "became": part.became.value, "why": part.why}
