"""Compare and swap: one merge patch of exactly the object that was read, or none.

The object's uid and resourceVersion are in the patch, which makes it conditional (409 where somebody wrote meanwhile):
what it was decided by is what is changed, whoever else writes at the same time.

What a run notes on the nodes that it changes, and the patches that write it and take it back.

``eksdoc.io/run`` is the run's id, ``eksdoc.io/prior`` what the node was before, as compact JSON: ``unschedulable`` of a
node that the run cordons; in ``labels`` and ``protected`` the labels and annotations that it added, none of which was
there; and ``annotations`` where one of the run's own two was there already (of an earlier run), as it was. ``journal``
is the namespace of the run's journal; ``skipped`` says that the run cordons the node and does not drain it, so that a
rollback without the journal counts what the plan of the run counted. All of it is on the node, so that any machine can
take it back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from kubectl_eksdoc.errors import ClusterError, Forbidden, Unauthorized
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, Details, LostAnswer, precondition_failed
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import (
    RESTARTED_AT,
    Cordon,
    Delete,
    Evict,
    Exclude,
    OfNode,
    OfPod,
    Protect,
    Release,
    Restart,
    Restore,
)
from kubectl_eksdoc.model.journal import JOURNAL, LABELS, PRIOR, PROTECTED, RUN, SKIPPED, UNSCHEDULABLE
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import EXCLUDED_FROM_BALANCERS, PROTECTIONS, Pod

from .exchanges import Timing
from .requests import MANAGER, MERGE_PATCH, ApiWriter
from .responses import ObjectNotFound
from .transport import Transport

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
    if UNSCHEDULABLE in note:
        return patch
    marked = {SKIPPED: True} if skipped else {}
    return {**patch, **_noted(run, {**note, **marked, UNSCHEDULABLE: unschedulable(node)})}


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
    if UNSCHEDULABLE not in note and LABELS not in note:
        return {}
    patch = _without(node, run, note, (UNSCHEDULABLE, LABELS, SKIPPED))
    if not note.get(UNSCHEDULABLE, True) and not _is_cordoned_by_another(node):
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
    if rest.keys() & {UNSCHEDULABLE, LABELS, PROTECTED}:
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
    if not isinstance(note, dict) or not note.keys() & {UNSCHEDULABLE, LABELS, PROTECTED}:
        return False
    before = note.get("annotations", {})
    added = [note.get(LABELS, []), note.get(PROTECTED, [])]
    return (
        isinstance(note.get(UNSCHEDULABLE, False), bool)
        and isinstance(before, dict)
        and all(isinstance(each, str) for each in before.values())
        and all(isinstance(keys, list) and all(isinstance(key, str) for key in keys) for keys in added)
    )


def _annotations(node: Node) -> Mapping[str, Any]:
    return (node.get("metadata") or {}).get("annotations") or {}


def _labels(node: Node) -> Mapping[str, Any]:
    return (node.get("metadata") or {}).get("labels") or {}


TRIES = 8
"""So often somebody else may be faster. Kubelets write a node every few seconds at most, controllers their objects only
while something moves."""

_AGAIN_S = 0.2
_OURS = frozenset((409, 422))  # what a precondition that does not hold is answered with: a version's, and a uid's

Found = dict[str, Any]
"""An object's document, as the server has it."""


class PodActions:
    """Safe to use from several threads."""

    def __init__(self, transport: Transport, sender: ApiWriter, timing: Timing) -> None:
        self._transport = transport
        self._sender = sender
        self._timing = timing

    def change(
        self, resource: Resource, namespace: str, name: str, uid: str, patch_of: Callable[[Found], Found]
    ) -> ApiStatus | LostAnswer:
        """`patch_of` makes the patch of what was read; an empty one says that it is done already: 200, and nothing is
        sent. What it raises is raised.

        Raises:
            LockLost: as `ApiWriter.send`.
        """
        path = path_to(resource, namespace, name)
        answer: ApiStatus | LostAnswer = ApiStatus(200)
        for _ in range(TRIES):
            there = self._read(resource, path, name, uid)
            if not isinstance(there, dict):
                return there
            patch = patch_of(there)
            if not patch:
                return ApiStatus(200)
            answer = self._sender.send("PATCH", path, MANAGER, exactly(there, patch), MERGE_PATCH).answer
            if isinstance(answer, LostAnswer) or answer.code not in _OURS:
                return answer
            self._timing.sleep(_AGAIN_S * self._timing.chance())
        return answer

    def _read(self, resource: Resource, path: str, name: str, uid: str) -> Found | ApiStatus | LostAnswer:
        """The object with this uid, or why it cannot be had."""
        details = Details(name, resource.group, resource.plural)
        try:
            answer = self._transport.get(path, right=f"get {resource.full_name}")
        except ObjectNotFound as error:
            return ApiStatus(404, "NotFound", error.message, details)
        except Forbidden as error:
            return ApiStatus(403, "Forbidden", error.message, details)
        except Unauthorized as error:
            return ApiStatus(401, "Unauthorized", error.message)
        except ClusterError as error:
            return LostAnswer(error.message)
        there = dict(answer.document)
        found = str((there.get("metadata") or {}).get("uid", ""))
        if found != uid:
            return precondition_failed(resource, name, "UID", uid, found).status
        return there


def exactly(there: Mapping[str, Any], patch: Found) -> Found:
    """The patch, to be refused unless the object is still this one, as it was when it was read."""
    meta = there.get("metadata") or {}
    version = {"uid": meta.get("uid"), "resourceVersion": meta.get("resourceVersion")}
    return {**patch, "metadata": {**patch.get("metadata", {}), **version}}


def path_to(resource: Resource, namespace: str, name: str) -> str:
    return f"{resource.path_in(quote(namespace, safe=''))}/{quote(name, safe='')}"


# Evictions as they are sent: of exactly one pod, by its UID, and never without time to stop.
#
# Source: policy/v1 Eviction; apimachinery meta/v1 DeleteOptions. Without the UID a pod that has come in its place
# would be evicted (kubernetes#138229); a grace period of 0 deletes the object while the containers still run.


def evict(sender: ApiWriter, pod: Pod, grace_s: int | None) -> ApiStatus | LostAnswer:
    return sender.send("POST", f"{path_of(pod)}/eviction", {}, eviction(pod, grace_s)).answer


def eviction(pod: Pod, grace_s: int | None) -> dict[str, Any]:
    """The document; `grace_s` None: the pod has its own time to stop, else a second at least."""
    options: dict[str, Any] = {"preconditions": {"uid": pod.uid}}
    if grace_s is not None:
        options["gracePeriodSeconds"] = max(1, grace_s)
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": options,
    }


def path_of(pod: Pod) -> str:
    return path_to(kinds.PODS, pod.namespace, pod.name)


# Deletions of pods that the user named, as they are sent: of exactly one pod, by its UID, with its own time to stop.
#
# Source: apimachinery meta/v1 DeleteOptions. Budgets are not asked; admission of deletions is. A grace period of 0
# would delete the object while the containers still run.


def delete(sender: ApiWriter, pod: Pod) -> ApiStatus | LostAnswer:
    return sender.send("DELETE", path_of(pod), {}, options(pod)).answer


def options(pod: Pod) -> dict[str, Any]:
    """The document; a pod whose own time is 0 gets a second."""
    asked: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
    if pod.grace_seconds <= 0:
        asked["gracePeriodSeconds"] = 1
    return asked


# Rollout restarts, once in a run: one patch of exactly the workload that was read, or none (`swapping`).
#
# As ``kubectl rollout restart`` does it, by an annotation of the pod template, but with the run's id for its value: so
# that a template that has it already was restarted by this run, and is left as it is.


_RESOURCES = {kinds.DEPLOYMENTS.kind: kinds.DEPLOYMENTS}


class Restarts:
    """Of the run with the id `run`. Safe to use from several threads."""

    def __init__(self, run: str, swapping: PodActions) -> None:
        self._run = run
        self._swapping = swapping

    def restart(self, act: Restart) -> ApiStatus | LostAnswer:
        """200 and nothing is sent where this run has done it already. Raises LockLost: as `ApiWriter.send`."""
        return self._swapping.change(
            _RESOURCES[act.kind],
            act.namespace,
            act.name,
            act.uid,
            lambda there: {} if restarted_by(there) == self._run else restarted(self._run),
        )


def restarted_by(workload: Mapping[str, Any]) -> str:
    """The run, or the time, that was noted by the last restart; "" where there was none."""
    template = (workload.get("spec") or {}).get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(RESTARTED_AT, ""))


def restarted(run: str) -> dict[str, Any]:
    """The merge patch."""
    return {"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: run}}}}}


def workload_path(act: Restart) -> str:
    return path_to(_RESOURCES[act.kind], act.namespace, act.name)


# What a run does to nodes, and what takes it back: one patch of exactly the node that was read, or none.
#
# A node is cordoned, left out by load balancers, or protected from autoscalers. As patches are conditional
# (`swapping`), what is noted as the state before is the state that was changed, whoever else cordons or uncordons at
# the same time. Tests in a JSON patch could not say "this is absent", which an unset field of a node is.


_Marked = Callable[[Node, str, str], dict[str, Any]]
_MARKED: Mapping[type[OfNode], _Marked] = {
    Exclude: excluded,
    Protect: protected,
}


class NodeAnnotations:
    """Of the run with the id `run`, whose journal is in the namespace `journal`. Safe to use from several threads."""

    def __init__(self, run: str, swapping: PodActions, journal: str = "") -> None:
        self._run = run
        self._journal = journal
        self._swapping = swapping

    def done(self, act: OfNode) -> ApiStatus | LostAnswer:
        """What is asked for is done already: 200, and nothing is sent. Raises LockLost: as `ApiWriter.send`."""
        try:
            return self._swapping.change(kinds.NODES, "", act.node, act.uid, lambda node: self._patch(act, node))
        except (NoPrior, ForeignRun) as error:
            code, reason = (422, "Invalid") if isinstance(error, NoPrior) else (409, "Conflict")
            text = f'Node "{act.node}" is left as it is: {error}'
            return ApiStatus(code, reason, text, Details(act.node, "", "Node"))

    def _patch(self, act: OfNode, node: Found) -> Found:
        match act:
            case Restore(_, _, cordon):
                patch = restored(node, self._run)
                return patch if cordon else {key: value for key, value in patch.items() if key != "spec"}
            case Release():
                return released(node, self._run)
            case Cordon(_, _, over, skipped):
                check_ours(node, self._run, over)
                return cordoned(node, self._run, self._journal, skipped)
        return _MARKED[type(act)](node, self._run, self._journal)


# What the API server would say, asked with ``dryRun=All``.
#
# Admission, rights and budgets are those of a real request, and nothing is changed
# (https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run).


DRY = {"dryRun": "All"}


class DryTrial:
    """The port `ports.DryRunField`."""

    def __init__(self, sender: ApiWriter) -> None:
        self._sender = sender

    def would(self, act: Cordon | OfPod) -> ApiStatus | LostAnswer:
        match act:
            case Cordon(node, uid, _):
                return self._patched(
                    path_to(kinds.NODES, "", node), {"metadata": {"uid": uid}, "spec": {"unschedulable": True}}
                )
            case Restart():
                return self._patched(workload_path(act), {"metadata": {"uid": act.uid}, **restarted("dry-run")})
            case Delete(pod):
                document = {**options(pod), "dryRun": ["All"]}
                return self._sender.send("DELETE", path_of(pod), DRY, document).answer
            case Evict(pod, grace_s):
                document = eviction(pod, grace_s)
                document["deleteOptions"]["dryRun"] = ["All"]
                return self._sender.send("POST", f"{path_of(pod)}/eviction", DRY, document).answer

    def _patched(self, path: str, body: dict[str, Any]) -> ApiStatus | LostAnswer:
        return self._sender.send("PATCH", path, {**MANAGER, **DRY}, body, MERGE_PATCH).answer
