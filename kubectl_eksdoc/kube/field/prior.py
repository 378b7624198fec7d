"""What a run notes on the nodes that it changes, and the patches that write it and take it back.

``eksdoc.io/run`` is the run's id, ``eksdoc.io/prior`` what the node was before, as compact JSON: ``unschedulable`` of a
node that the run cordons; in ``labels`` and ``protected`` the labels and annotations that it added, none of which was
there; and ``annotations`` where one of the run's own two was there already (of an earlier run), as it was. ``journal``
is the namespace of the run's journal; ``skipped`` says that the run cordons the node and does not drain it, so that a
rollback without the journal counts what the plan of the run counted. All of it is on the node, so that any machine can
take it back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kubectl_eksdoc.kube.sent import MANAGER
from kubectl_eksdoc.model.journal import JOURNAL, LABELS, PRIOR, PROTECTED, RUN, SKIPPED
from kubectl_eksdoc.model.journal import UNSCHEDULABLE as CORDONED
from kubectl_eksdoc.model.nodes import EXCLUDED_FROM_BALANCERS, PROTECTIONS

_CORDON = "f:unschedulable"

YES = "true"
"""The value of every label and annotation that is added; whoever changes it meanwhile owns it from then on."""

Node = Mapping[str, Any]
"""A node's document, as the server has it."""

_Note = dict[str, Any]


class NoPrior(ValueError):
    """What the node was before cannot be told any more; the message says why."""


class ForeignRun(ValueError):
    """Another run has changed it, of which nobody said that it is over; the message says which."""


def check_ours(node: Node, run: str, over: str) -> None:
    """
    Raises:
        Foreign: another run than `run`, and than `over`, which is, has changed it last.
    """
    other = run_of(node)
    if other not in ("", run, over):
        raise ForeignRun(f"run {other} has changed it meanwhile, and may be draining it")


def run_of(node: Node) -> str:
    """The run that has changed it last, "" for none."""
    return str(_annotations(node).get(RUN, ""))


def unschedulable(node: Node) -> bool:
    return bool((node.get("spec") or {}).get("unschedulable"))


def cordoned(node: Node, run: str, journal: str = "", skipped: bool = False) -> dict[str, Any]:
    """The merge patch that cordons it for `run`, whose journal is in the namespace `journal`; empty where there is
    nothing to do. `skipped`: the plan of the run does not drain it.

    A node that somebody has uncordoned since this run did it keeps the note of what it was before the run.

    Raises:
        NoPrior: it is changed by this run, and the note of that cannot be read; so everywhere here.
    """
    note = _begun(node, run, journal)
    patch: dict[str, Any] = {} if unschedulable(node) else {"spec": {"unschedulable": True}}
    if CORDONED in note:
        return patch
    marked = {SKIPPED: True} if skipped else {}
    return {**patch, **_noted(run, {**note, **marked, CORDONED: unschedulable(node)})}


def excluded(node: Node, run: str, journal: str = "") -> dict[str, Any]:
    """The merge patch that labels it for load balancers to leave it out; empty where it is labelled already."""
    if EXCLUDED_FROM_BALANCERS in _labels(node):
        return {}
    note = _begun(node, run, journal)
    added = sorted({*note.get(LABELS, ()), EXCLUDED_FROM_BALANCERS})
    return _with(_noted(run, {**note, LABELS: added}), "labels", {EXCLUDED_FROM_BALANCERS: YES})


def protected(node: Node, run: str, journal: str = "") -> dict[str, Any]:
    """The merge patch that keeps autoscalers from removing it; empty where there is nothing to do.

    An annotation that is there already, with whatever value, is its user's and stays as it is.
    """
    missing = [key for key in PROTECTIONS if key not in _annotations(node)]
    if not missing:
        return {}
    note = _begun(node, run, journal)
    added = sorted({*note.get(PROTECTED, ()), *missing})
    return _with(_noted(run, {**note, PROTECTED: added}), "annotations", dict.fromkeys(missing, YES))


def restored(node: Node, run: str) -> dict[str, Any]:
    """The merge patch that makes it what it was before `run` drained it; empty where `run` did not begin to.

    Only what the run has changed is taken back: a node that was cordoned before is not uncordoned, nor cordoned again;
    nor is one that somebody uncordoned and cordoned again since, as far as the server says who did.
    """
    if run_of(node) != run:
        return {}
    note = _note(node)
    if CORDONED not in note and LABELS not in note:
        return {}
    patch = _without(node, run, note, (CORDONED, LABELS, SKIPPED))
    if not note.get(CORDONED, True) and not _is_cordoned_by_another(node):
        patch["spec"] = {"unschedulable": None}
    return _with(patch, "labels", _still(_labels(node), note.get(LABELS, ())))


def released(node: Node, run: str) -> dict[str, Any]:
    """The merge patch that takes back `protected`; empty where `run` did not protect it."""
    if run_of(node) != run:
        return {}
    note = _note(node)
    if PROTECTED not in note:
        return {}
    patch = _without(node, run, note, (PROTECTED,))
    return _with(patch, "annotations", _still(_annotations(node), note[PROTECTED]))


def _is_cordoned_by_another(node: Node) -> bool:
    """By managedFields: who writes what is there already owns nothing by that."""
    fields = (node.get("metadata") or {}).get("managedFields") or ()
    managers = {each.get("manager") for each in fields if _CORDON in ((each.get("fieldsV1") or {}).get("f:spec") or {})}
    return bool(managers) and MANAGER["fieldManager"] not in managers


def _begun(node: Node, run: str, journal: str) -> _Note:
    """This run's note on the node, or the beginning of one."""
    if run_of(node) == run and PRIOR in _annotations(node):
        return _note(node)
    there = {key: _annotations(node)[key] for key in (RUN, PRIOR) if key in _annotations(node)}
    named = {JOURNAL: journal} if journal else {}
    return {**named, "annotations": there} if there else named


def _noted(run: str, note: _Note) -> dict[str, Any]:
    text = json.dumps(note, separators=(",", ":"), sort_keys=True)
    return {"metadata": {"annotations": {RUN: run, PRIOR: text}}}


def _without(node: Node, run: str, note: _Note, parts: tuple[str, ...]) -> dict[str, Any]:
    """The patch that notes no more of `parts`, and nothing at all where no other is left."""
    rest = {key: value for key, value in note.items() if key not in parts}
    if rest.keys() & {CORDONED, LABELS, PROTECTED}:
        return _noted(run, rest)
    before = note.get("annotations") or {}
    return {"metadata": {"annotations": {key: before.get(key) for key in (RUN, PRIOR)}}}


def _still(there: Mapping[str, Any], added: list[str]) -> dict[str, None]:
    """What was added and is as it was added, to be taken away."""
    return {key: None for key in added if there.get(key) == YES}


def _with(patch: dict[str, Any], kind: str, changed: Mapping[str, Any]) -> dict[str, Any]:
    meta = patch["metadata"]
    return {**patch, "metadata": {**meta, kind: {**meta.get(kind, {}), **changed}}} if changed else patch


def _note(node: Node) -> _Note:
    text = _annotations(node).get(PRIOR)
    if text is None:
        raise NoPrior(f"the annotation {PRIOR} is not there any more")
    try:
        note = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise NoPrior(f"the annotation {PRIOR} cannot be read: {text!r}") from error
    if not _says_what_was_before(note):
        raise NoPrior(f"the annotation {PRIOR} does not say what was before: {text!r}")
    return dict(note)


def _says_what_was_before(note: object) -> bool:
    if not isinstance(note, dict) or not note.keys() & {CORDONED, LABELS, PROTECTED}:
        return False
    before = note.get("annotations", {})
    added = [note.get(LABELS, []), note.get(PROTECTED, [])]
    return (
        isinstance(note.get(CORDONED, False), bool)
        and isinstance(before, dict)
        and all(isinstance(each, str) for each in before.values())
        and all(isinstance(keys, list) and all(isinstance(key, str) for key in keys) for keys in added)
    )


def _annotations(node: Node) -> Mapping[str, Any]:
    return (node.get("metadata") or {}).get("annotations") or {}


def _labels(node: Node) -> Mapping[str, Any]:
    return (node.get("metadata") or {}).get("labels") or {}
