"""A past update of an add-on in sentences, and what is done about it as commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from kubectl_eksdoc.addon_diff.aftermath.facts import Aftermath, ChangedField, Recreating, State, Templated
from kubectl_eksdoc.addon_diff.aftermath.timeline import Step, Untold
from kubectl_eksdoc.addon_diff.fields import some_of
from kubectl_eksdoc.addon_diff.judging import calls
from kubectl_eksdoc.kubernetes.keeping import printed
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import Update, UpdateHistory
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.render.addon import commands
from kubectl_eksdoc.render.text import counted, rfc3339


def verdict(found: Aftermath) -> str:
    """``vpc-cni: the update of 2026-10-17T08:11:00Z to v1.19.5-eksbuild.1 with OVERWRITE took 1 field …``."""
    name, update = found.facts.now.addon.name, found.facts.update
    if isinstance(update, Unknown):
        return f"{name}: it is not known how it was updated"
    if isinstance(update, Absent):
        return f"{name}: EKS tells of no update of it"
    missed = sum(len(each.missed) for each in found.earlier)
    before = f"; {counted(missed, 'field')} that an earlier one took {_is(missed)} not back" if missed else ""
    return f"{name}: {_named(update)} {_did(found)}{before}"


def _named(update: Update) -> str:
    version, mode = update.parameter("AddonVersion"), update.parameter("ResolveConflicts")
    when = f" of {rfc3339(update.begun)}" if update.begun is not None else ""
    to = f" to {version}" if version else ""
    return f"the update{when}{to} with {mode or 'NONE, as none was named,'}"


def _did(found: Aftermath) -> str:
    lost, missed = found.lost, [change for change in found.lost if change.missed]
    unknown = any(each.status is Status.UNKNOWN for each in found.findings)
    if lost:
        took = f"took {counted(len(lost), 'field')} that another client had set"
        if not missed:
            return f"{took}; {'it was' if len(lost) == 1 else 'all of them were'} set again since"
        return took if len(missed) == len(lost) else f"{took}; {len(missed)} of them {_is(len(missed))} not back"
    took = "reset nothing that is known to be set by another client"
    return f"{took}, but not all of it is known" if unknown else took


def _is(many: int) -> str:
    return "is" if many == 1 else "are"


def about(found: Aftermath) -> Iterator[str]:
    """What else is to be known of the update, in sentences."""
    update, history = found.facts.update, found.facts.history
    if not isinstance(update, Update):
        return
    later = [each for each in _known(history) if update.begun and each.begun and each.begun > update.begun]
    said = f"Update {update.id}: {update.status}"
    yield said + (f"; {'; '.join(f'{each.code}: {each.message}' for each in update.errors)}" if update.errors else ".")
    if later:
        yield f"{counted(len(later), 'update')} came after it."
    if isinstance(history, UpdateHistory) and history.unseen:
        yield f"EKS lists {counted(history.unseen, 'update')} more, which were not checked."
    for each in found.templated:
        yield _step(each)


def _known(history: UpdateHistory | Unknown) -> list[Update]:
    return [each for each in history.updates if isinstance(each, Update)] if isinstance(history, UpdateHistory) else []


def _step(each: Templated) -> str:
    step = each.step
    if isinstance(step, Step):
        sure = f"{step.why}; confidence: {step.sure.value}"
        return f"{each.of}: its pod template went from revision {step.before.number} to {step.after.number} ({sure})."
    if isinstance(step, Untold):
        return f"{each.of}: the result for its pod template is unknown: {step.why}."
    return f"{each.of}: its pod template stayed as it was: {step.why}."


STATES = {State.GONE: "not back", State.BACK: "back", State.OTHER: "otherwise"}


def named(change: ChangedField) -> str:
    """Short, for a table: ``DISABLE_TCP_EARLY_DEMUX (init)``, ``.spec.containers[name="coredns"].args``."""
    field = change.field
    if field.variable:
        return f"{field.variable} (init)" if field.starts_first else field.variable
    return calls(field).removeprefix(".spec.template")


def patch_command(each: Templated, context: str) -> str:
    """For a shell; "" where nothing is to be patched. It names the context, so that no other cluster is patched."""
    if each.patch is None:
        return ""
    words = [
        "kubectl",
        *(("--context", context) if context else ()),
        *(("-n", each.of.namespace) if each.of.namespace else ()),
        "patch",
        each.of.kind.lower(),
    ]
    secret = printed(each.patch) != each.patch  # then it is a file of one's own
    patch = ("--patch-file", "patch.json") if secret else ("-p", commands.as_json(each.patch))
    return shlex.join([*words, each.of.name, "--type", "strategic", *patch])


def rolls(each: Templated) -> str:
    """What the patch does to the pods of the object, a sentence; "" where that is not known."""
    rollout = each.rollout
    if rollout is None:
        return ""
    if rollout.waits:
        return "Its pods are replaced only when each of them is deleted (updateStrategy OnDelete)."
    pods = "its pods" if rollout.pods is None else f"its {counted(rollout.pods, 'pod')}"
    on = ", one on each node" if each.of.kind == "DaemonSet" else ""
    return f"It replaces {pods}{on}, {rollout.at_a_time} at a time: none of them has to be deleted."


OWNER = (
    "The client that sends it then owns these fields: the next update with OVERWRITE takes them "
    "again, unless the configuration values hold them."
)


def behind(each: Templated) -> str:
    """Pods that a roll-out has not come to, "" where there are none."""
    pods = each.rollout.behind if each.rollout is not None else None
    if not pods:
        return ""
    some = some_of(pods)
    return f"{each.of}: {counted(len(pods), 'pod')} not of its newest template yet: {some}."


def to_recreate(rule: Recreating) -> str:
    """``DISABLE_TCP_EARLY_DEMUX (init): none; …``."""
    of = f"{rule.field.variable} (init)" if rule.field.starts_first else rule.field.variable
    if isinstance(rule.pods, Unknown):
        return f"{of}: not known: {rule.pods.why}."
    which = ", ".join(rule.pods) if rule.pods else "none"
    return f"{of}: {which}; {rule.says} ({rule.source}; confidence: {rule.sure.value})."
