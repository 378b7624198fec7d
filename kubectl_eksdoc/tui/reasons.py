"""Why a key does nothing now: a key that is not available says so instead of being silent."""

from __future__ import annotations

from kubectl_eksdoc.tui.keymap import HelpPart, KeyBinding, ScreenPage
from kubectl_eksdoc.tui.model import Model

_NEED_PLAN = ("move_node", "pin", "pin_last", "compare", "run", "dry_run")
_NEED_FACTS = ("command", "run", "by_hand")
_NOTHING_READ = "nothing is read yet"

NO_CONTEXTS = "x: a dump and the demo have no other contexts"


def why_not(key: KeyBinding, model: Model, page: ScreenPage) -> str:
    """One clause, "" where the key does what it says."""
    if key.action == "nothing":
        return "k9s kills with it, so here it does nothing, and nothing here deletes a pod"
    if key.pages and page not in key.pages:
        there = " and ".join(f"[{each.value}]" for each in key.pages)
        return f"{key.words} is a key of {there}"
    if model.facts is None and (
        key.part in (HelpPart.MARK, HelpPart.PLAN) or key.action in (*_NEED_PLAN, *_NEED_FACTS)
    ):
        return _NOTHING_READ
    if key.action == "rights" and (model.facts is None or model.old):
        return _NOTHING_READ
    if model.old and (key.action in _NEED_PLAN or key.action in _NEED_FACTS):
        return "this is an old view: nothing is planned or done before the cluster is read"
    if key.action == "undo" and not model.choice.past:
        return "there is nothing to undo"
    if key.action == "redo" and not model.choice.future:
        return "there is nothing to redo"
    if key.action in _NEED_PLAN and model.view is None:
        return "there is no plan yet: mark nodes first"
    if key.action in ("run", "dry_run") and model.stale:
        return "the plan is still being made"
    policy = model.choice.ask.policy
    if key.action in ("run", "dry_run") and (policy.assume_fixed or policy.assume_budgets):
        return "this plan assumes a cause fixed that is not: space on [4] undoes that, then it can be run"
    if key.action in ("run", "dry_run") and model.view is not None and not model.view.wave_of:
        return "no node in the plan can be drained: [4] says why"
    if key.action == "command" and not model.choice.ask.marked:
        return "no node is marked, so there is no command to copy"
    return ""
