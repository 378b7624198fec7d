"""What every flow does that makes short-lived pods: one object that owns them is made first, and removed at the end,
whatever happened between: also after Ctrl-C. Of a process that was killed, the kubelet ends the pods after their
deadline, and the next one removes what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.probe_pods import Owner
from kubectl_eksdoc.errors import ClusterError, Forbidden
from kubectl_eksdoc.flows.ports import ProbeGround

LOOK_S = 1.0
GONE_S = 30.0
"""So long the garbage collector is waited for, in the end."""

T = TypeVar("T")


class Clock(Protocol):
    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> object: ...


@dataclass(frozen=True, slots=True)
class Cleared:
    """How it went to remove `owner`: names of pods that are still `left`, and why it is `not_removed`, "" if it was."""

    owner: str
    left: tuple[str, ...] = ()
    not_removed: str = ""


def owning(
    ground: ProbeGround,
    probe: str,
    manifest: Doc,
    stale: Iterable[Owner],
    clock: Clock,
    tell: Callable[[str], object],
    body: Callable[[Owner], T],
) -> tuple[T, Cleared]:
    """What `body` gives, to which the owner of `probe` is lent, made of `manifest`; `stale` ones are removed before.

    Raises:
        Forbidden, ClusterError: not even the owner can be made; nothing is left.
        what `body` does: all is removed nevertheless, or `tell` hears what is left.
    """
    meta = manifest["metadata"]
    name, namespace = str(meta["name"]), str(meta["namespace"])
    for each in stale:
        refused = ground.remove(each)
        if refused is not None:
            tell(still_there(each.name, namespace, (), refused.why))
    owner = Owner(probe, name, "")
    try:
        owner = _owned(ground, manifest, namespace)
        found = body(owner)
    except BaseException:
        cleared = _removed(owner, ground, clock)
        if cleared.not_removed or cleared.left:
            tell(still_there(name, namespace, cleared.left, cleared.not_removed))
        raise
    return found, _removed(owner, ground, clock)


def still_there(owner: str, namespace: str, left: Sequence[str], not_removed: str) -> str:
    """What is left, and the command that takes it away."""
    command = f"kubectl delete configmap {owner} -n {namespace}"
    if not_removed:
        return f"ConfigMap {owner} and its pods could not be removed ({not_removed}): {command}"
    return f"{len(left)} pods of ConfigMap {owner}, which is deleted, have not gone yet: {', '.join(left)}"


def _owned(ground: ProbeGround, manifest: Doc, namespace: str) -> Owner:
    made = ground.make_owner(manifest)
    if isinstance(made, Owner):
        return made
    if made.missing:
        raise Forbidden(made.why, "", made.missing)
    raise ClusterError(f"nothing can be made in namespace {namespace}: {made.why}")


def _removed(owner: Owner, ground: ProbeGround, clock: Clock) -> Cleared:
    try:
        refused = ground.remove(owner)
        if refused is not None:
            return Cleared(owner.name, (), refused.why)
        begun_s = clock.monotonic()
        while True:
            stands = ground.stands(owner.probe)
            if isinstance(stands, Unknown) and stands.missing:
                return Cleared(owner.name)
            left = () if isinstance(stands, Unknown) else tuple(sorted(stands))
            if not left and not isinstance(stands, Unknown):
                return Cleared(owner.name)
            if clock.monotonic() - begun_s >= GONE_S:
                return Cleared(owner.name, left)
            clock.sleep(LOOK_S)
    except ClusterError as error:
        return Cleared(owner.name, (), error.message)
