"""An update that was carried out, in sentences."""

from __future__ import annotations

from kubectl_eksdoc.addon_diff.fields import value_of
from kubectl_eksdoc.addon_diff.judging import calls
from kubectl_eksdoc.addon_diff.merging import Missing
from kubectl_eksdoc.addon_diff.modes import Fate
from kubectl_eksdoc.addon_diff.run.ended import Ended
from kubectl_eksdoc.addon_diff.run.outcome import Check, Verdict
from kubectl_eksdoc.drain.run.stages import Stage
from kubectl_eksdoc.render.addon_update.view import Sent, UpdateView
from kubectl_eksdoc.render.text import counted, joined


def head(sent: Sent) -> str:
    """``vpc-cni v1.19.5-eksbuild.1 → v1.20.4-eksbuild.2 with NONE``."""
    if sent.before == sent.target:
        return f"{sent.addon} {sent.target} (the same version) with {sent.mode}"
    return f"{sent.addon} {sent.before} → {sent.target} with {sent.mode}"


def verdict(view: UpdateView) -> str:
    """One sentence without its full stop."""
    ended = view.ended
    if ended is None:
        what = "nothing is sent" if view.guards else "nothing was sent yet"
        return f"{head(view.sent)}: {what}"
    return f"{head(view.sent)}: {_came_of(ended)}"


def _came_of(ended: Ended) -> str:
    if ended.stage in (Stage.FAILED, Stage.CANCELLED):
        changed = len(ended.of(Verdict.OTHER))
        what = "EKS could not do it" if ended.stage is Stage.FAILED else "EKS has cancelled it"
        if changed:
            return f"{what}, and {counted(changed, 'field')} {'is' if changed == 1 else 'are'} other than before"
        rest = ", as far as it could be read" if ended.lacks else ""
        return f"{what}, and no field has changed{rest}"
    if ended.stage is not Stage.SUCCESSFUL:
        return f"{ended.stage.value}; it continues in EKS"
    done = "EKS has done it" if not ended.left else "EKS has done it, but its pods are not new everywhere"
    return f"{done}; {_compared(ended)}"


def _compared(ended: Ended) -> str:
    every = [check for check in ended.checks if check.foretold is not None]
    parts = []
    for verdict in (Verdict.AS_PREDICTED, Verdict.OTHER, Verdict.NOT_PREDICTED, Verdict.NOT_READ):
        count = sum(check.verdict is verdict for check in ended.checks)
        if count == len(every) and verdict is Verdict.AS_PREDICTED and count == len(ended.checks) > 0:
            return "its only field is as predicted" if count == 1 else f"all {count} fields are as predicted"
        if count:
            said = _SAID.get(verdict, verdict.value)
            parts.append(f"{counted(count, 'field')} {'is' if count == 1 else 'are'} {said}")
    return joined(parts) or "no field was to change, and none has"


_SAID = {Verdict.NOT_PREDICTED: "what could not be predicted", Verdict.NOT_READ: "not read"}


def named(check: Check) -> str:
    """Short, for a table: ``DISABLE_TCP_EARLY_DEMUX (init)``, ``.data.Corefile``."""
    field = check.field
    if field.variable:
        return f"{field.variable} (init)" if field.starts_first else field.variable
    return calls(field).removeprefix(".spec.template")


def foretold(check: Check) -> str:
    """What should have become of it."""
    told = check.foretold
    if told is None:
        return "?" if check.verdict is Verdict.NOT_PREDICTED else "kept"
    if told.fate is Fate.UNKNOWN:
        return "?"
    if told.fate in (Fate.RESET, Fate.FOLLOWS):
        return f"→ {value_of(told.value, check.field)}"
    return str(told.fate.value)


def stands(check: Check) -> str:
    """What stands there now."""
    if check.verdict is Verdict.NOT_READ:
        return "?"
    return "nothing" if isinstance(check.found, Missing) else value_of(check.found)
