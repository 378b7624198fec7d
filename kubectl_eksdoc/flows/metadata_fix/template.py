"""A new version of a launch template, and the update of its node group to it, followed until EKS has ended it."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.addons import Issue, Update
from kubectl_eksdoc.core.model.metadata_acts import OnTemplate
from kubectl_eksdoc.core.run.metadata.became import Became, Done, Part, of_group, stage_by_group
from kubectl_eksdoc.core.run.stages import Stage, stage_of
from kubectl_eksdoc.errors import AwsError
from kubectl_eksdoc.flows.metadata_fix.world import REFUSALS, FixWorld, members_after, note, waited


@dataclass(frozen=True, slots=True)
class Past:
    """What is known to have been done before: the number of the version, and EKS's id of the update."""

    number: int = 0
    update: str = ""


def on_template(act: OnTemplate, token: str, past: Past, world: FixWorld, watch_s: float) -> Done:
    """
    Raises:
        JournalError: it cannot be written down.
        AwsError: the version or the update is refused, or nobody knows whether it was begun.
    """
    began_s = world.clock.monotonic()
    number = past.number or _version(act, token, world)
    update = past.update or _begun(act, past, world) or _update(act, number, token, world)
    stage, errors, left = _followed(act, number, update, began_s, world, watch_s)
    part = _group_part(act, number, stage, world)
    names, nodes = members_after(act.group, act.hop_limit, world) if stage is Stage.SUCCESSFUL else ((), ())
    seconds = world.clock.monotonic() - began_s
    made = Part(f"launch template {act.id} version {number}", Became.DONE, f"hop limit {act.hop_limit}")
    return Done(act, seconds, (made, part), left, number, update, stage, errors, nodes, names)


def _version(act: OnTemplate, token: str, world: FixWorld) -> int:
    """One that was made before an answer was lost is found again."""
    known = world.aws.version_of(act, token)
    if isinstance(known, int) and known:
        note(world, {"entry": "version", "number": known})
        return known
    world.journal.write({"entry": "asking", "what": "version"})
    try:
        number = world.aws.new_version(act, token)
    except REFUSALS as error:
        note(world, {"entry": "refused", "what": "version", "why": error.message})
        raise
    except AwsError as error:
        note(world, {"entry": "in-doubt", "what": "version", "why": error.message})
        raise
    note(world, {"entry": "version", "number": number})
    world.tell(f"launch template {act.id}: version {number} is made, and used by nothing yet")
    return number


def _begun(act: OnTemplate, past: Past, world: FixWorld) -> str:
    """An update that was asked for, and whose answer was lost: only of a version that was known to be made before."""
    known = world.aws.update_to(act, past.number) if past.number else ""
    if isinstance(known, Unknown):
        world.tell(
            f"node group {act.group}: whether the update has begun is not known: {known.why} ({known.missing}). It is "
            "asked for again with the same token, by which EKS begins it once"
        )
        return ""
    if known:
        note(world, {"entry": "asked", "update": known})
    return known


def _update(act: OnTemplate, number: int, token: str, world: FixWorld) -> str:
    world.journal.write({"entry": "asking", "what": "update"})
    try:
        update = world.aws.update_group(act, number, token)
    except REFUSALS as error:
        note(world, {"entry": "refused", "what": "update", "why": error.message})
        raise
    except AwsError as error:
        note(world, {"entry": "in-doubt", "what": "update", "why": error.message})
        hint = f"If it has, it goes on in EKS. --resume looks for it first, and begins none beside it. {error.hint}"
        raise AwsError(f"nobody knows whether the update has begun: {error.message}", hint) from error
    note(world, {"entry": "asked", "update": update.id})
    world.tell(f"node group {act.group}: update {update.id} to version {number} has begun")
    return update.id


def _followed(
    act: OnTemplate, number: int, ident: str, began_s: float, world: FixWorld, watch_s: float
) -> tuple[Stage, tuple[Issue, ...], str]:
    """How EKS ended it, or how it stands and why it is followed no longer."""
    stage, said = Stage.ASKED, ""
    while True:
        errors: tuple[Issue, ...] = ()
        try:
            told = world.aws.update(act.group, ident)
            if isinstance(told, Update):
                stage, errors, more = stage_of(told), told.errors, ""
            else:
                stage = stage_by_group(world.aws.group(act.group), number, stage)
                more = f" (by the node group itself: {told.said if isinstance(told, Absent) else told.why})"
            line = f"update {ident}: {stage.value}{more}"
        except AwsError as error:
            line = f"AWS does not answer; the update goes on in EKS: {error.message}"
        if line != said:
            said = line
            world.tell(line)
        if stage.ended:
            return stage, errors, ""
        left = waited(world, began_s, watch_s)
        if left:
            return stage, errors, left


def _group_part(act: OnTemplate, number: int, stage: Stage, world: FixWorld) -> Part:
    try:
        part = of_group(act, number, world.aws.group(act.group))
    except AwsError as error:
        return Part(f"node group {act.group}", Became.UNKNOWN, error.message)
    if part.became is Became.AS_BEFORE and not stage.ended:
        return Part(part.what, Became.PENDING, part.why)
    return part
