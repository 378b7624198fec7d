"""Writes of a drain run: conditional merge patches, node annotations, evictions, deletions, rollout restarts, dry runs.

A patch changes exactly the object that was read, or nothing: it has the object's uid and resourceVersion, so that the
API server answers 409 where another client wrote meanwhile. The object that a decision was based on is the one that is
changed.

A run notes on each node that it changes how the node was before. ``eksdoc.io/run`` is the run's id. ``eksdoc.io/prior``
is the state before the run, as compact JSON: ``unschedulable`` of a node that the run cordons; ``labels`` and
``protected``: the labels and annotations that the run added and that were absent before; ``annotations``: the earlier
values of these two annotations, where an earlier run had set them. ``journal`` is the namespace of the run's journal;
``skipped`` says that the run cordons the node and does not drain it, so that a rollback without the journal counts the
same nodes as the plan of the run. The node has all of it, so any machine can roll it back.
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
"""The value of every label and annotation that a run adds. A client that changes it owns it from then on."""

Node = Mapping[str, Any]
"""The document of a node, as the server returned it."""

_Note = dict[str, Any]


class NoPrior(ValueError):
    """The note on the state before the run cannot be read any more; the message says why."""


class ForeignRun(ValueError):
    """Another run has changed the node, and is not known to have ended; the message says which."""


def check_ours(node: Node, run: str, over: str) -> None:
    """Check that no other run is changing the node. `ended_run`: an earlier run that is known to have ended.

    Raises:
        ChangedByOtherRun: the run that changed the node last is neither `run` nor `ended_run`.
    """
    other = run_of(node)
    if other not in ("", run, over):
        raise ForeignRun(f"run {other} has changed it meanwhile, and may be draining it")


def run_of(node: Node) -> str:
    """The run that changed the node last, "" for none."""
    return str(_annotations(node).get(RUN, ""))


def unschedulable(node: Node) -> bool:
    return bool((node.get("spec") or {}).get("unschedulable"))


def cordoned(node: Node, run: str, journal: str = "", skipped: bool = False) -> dict[str, Any]:
    """The merge patch that cordons the node for `run`, whose journal is in the namespace `journal_namespace`; empty
    where nothing has to change. `skipped`: the plan of the run does not drain the node.

    A node that was uncordoned by another client since this run cordoned it keeps the note of its state before the run.

    Raises:
        UnreadablePriorState: this run changed the node, and its note cannot be read. All functions here raise it.
    """
    note = _begun(node, run, journal)
    patch: dict[str, Any] = {} if unschedulable(node) else {"spec": {"unschedulable": True}}
    if UNSCHEDULABLE in note:
        return patch
    marked = {SKIPPED: True} if skipped else {}
    return {**patch, **_noted(run, {**note, **marked, UNSCHEDULABLE: unschedulable(node)})}


def excluded(node: Node, run: str, journal: str = "") -> dict[str, Any]:
    """The merge patch that labels the node so that load balancers exclude it; empty where it has the label already."""
    if EXCLUDED_FROM_BALANCERS in _labels(node):
        return {}
    note = _begun(node, run, journal)
    added = sorted({*note.get(LABELS, ()), EXCLUDED_FROM_BALANCERS})
    return _with(_noted(run, {**note, LABELS: added}), "labels", {EXCLUDED_FROM_BALANCERS: YES})


def protected(node: Node, run: str, journal: str = "") -> dict[str, Any]:
    """The merge patch that keeps autoscalers from removing the node; empty where nothing has to change.

    An annotation that the node has already, with any value, belongs to the user and stays unchanged.
    """
    missing = [key for key in PROTECTIONS if key not in _annotations(node)]
    if not missing:
        return {}
    note = _begun(node, run, journal)
    added = sorted({*note.get(PROTECTED, ()), *missing})
    return _with(_noted(run, {**note, PROTECTED: added}), "annotations", dict.fromkeys(missing, YES))


def restored(node: Node, run: str) -> dict[str, Any]:
    """The merge patch that restores the state before `run` drained the node; empty where `run` did not change it.

    Only changes of the run are undone. A node that was cordoned before is neither uncordoned nor cordoned again. The
    same holds for a node that another client uncordoned and cordoned again since, as far as the server's managedFields
    show.
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
    """The merge patch that undoes `protect_patch`; empty where `run` did not protect the node."""
    if run_of(node) != run:
        return {}
    note = _note(node)
    if PROTECTED not in note:
        return {}
    patch = _without(node, run, note, (PROTECTED,))
    return _with(patch, "annotations", _still(_annotations(node), note[PROTECTED]))


def _is_cordoned_by_another(node: Node) -> bool:
    """By managedFields: a client that writes a value that is already set does not become its owner."""
    fields = (node.get("metadata") or {}).get("managedFields") or ()
    managers = {each.get("manager") for each in fields if _CORDON in ((each.get("fieldsV1") or {}).get("f:spec") or {})}
    return bool(managers) and MANAGER["fieldManager"] not in managers


def _begun(node: Node, run: str, journal: str) -> _Note:
    """This run's note on the node, or a new one."""
    if run_of(node) == run and PRIOR in _annotations(node):
        return _note(node)
    there = {key: _annotations(node)[key] for key in (RUN, PRIOR) if key in _annotations(node)}
    named = {JOURNAL: journal} if journal else {}
    return {**named, "annotations": there} if there else named


def _noted(run: str, note: _Note) -> dict[str, Any]:
    text = json.dumps(note, separators=(",", ":"), sort_keys=True)
    return {"metadata": {"annotations": {RUN: run, PRIOR: text}}}


def _without(node: Node, run: str, note: _Note, parts: tuple[str, ...]) -> dict[str, Any]:
    """The patch that removes `parts` from the note, and the note itself where no other part remains."""
    rest = {key: value for key, value in note.items() if key not in parts}
    if rest.keys() & {UNSCHEDULABLE, LABELS, PROTECTED}:
        return _noted(run, rest)
    before = note.get("annotations") or {}
    return {"metadata": {"annotations": {key: before.get(key) for key in (RUN, PRIOR)}}}


def _still(there: Mapping[str, Any], added: list[str]) -> dict[str, None]:
    """The added keys that still have the added value, with None, which removes them."""
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
"""How often the patch is tried while other clients write the same object. Kubelets write a node every few seconds at
most, controllers write their objects only while something changes."""

_AGAIN_S = 0.2
_OURS = frozenset((409, 422))  # answers to a failed precondition: of the resourceVersion, and of the uid

Found = dict[str, Any]
"""The document of an object, as the server returned it."""


class PodActions:
    """Patches of exactly the object that was read. Safe to use from several threads."""

    def __init__(self, transport: Transport, sender: ApiWriter, timing: Timing) -> None:
        self._transport = transport
        self._sender = sender
        self._timing = timing

    def change(
        self, resource: Resource, namespace: str, name: str, uid: str, patch_of: Callable[[Found], Found]
    ) -> ApiStatus | LostAnswer:
        """Read the object, and send the patch that `make_patch` makes of it. An empty patch means that nothing has to
        change: the result is 200, and nothing is sent. Errors of `make_patch` are passed on.

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
        """The object with this uid, or why it cannot be read."""
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
    """The patch with the uid and resourceVersion of `current`: the server refuses it if the object has changed
    since."""
    meta = there.get("metadata") or {}
    version = {"uid": meta.get("uid"), "resourceVersion": meta.get("resourceVersion")}
    return {**patch, "metadata": {**patch.get("metadata", {}), **version}}


def path_to(resource: Resource, namespace: str, name: str) -> str:
    return f"{resource.path_in(quote(namespace, safe=''))}/{quote(name, safe='')}"


# Evictions of exactly one pod, by its UID, and never with a grace period of 0.
#
# Source: policy/v1 Eviction; apimachinery meta/v1 DeleteOptions. Without the UID a replacement pod of the same name
# would be evicted (kubernetes#138229); a grace period of 0 deletes the object while the containers still run.


def evict(sender: ApiWriter, pod: Pod, grace_s: int | None) -> ApiStatus | LostAnswer:
    return sender.send("POST", f"{path_of(pod)}/eviction", {}, eviction(pod, grace_s)).answer


def eviction(pod: Pod, grace_s: int | None) -> dict[str, Any]:
    """The Eviction; `grace_s` None: the pod's own grace period, else at least one second."""
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


# Deletions of pods that the user named: of exactly one pod, by its UID, with its own grace period.
#
# Source: apimachinery meta/v1 DeleteOptions. PodDisruptionBudgets do not apply; admission of deletions does. A grace
# period of 0 would delete the object while the containers still run.


def delete(sender: ApiWriter, pod: Pod) -> ApiStatus | LostAnswer:
    return sender.send("DELETE", path_of(pod), {}, options(pod)).answer


def options(pod: Pod) -> dict[str, Any]:
    """The DeleteOptions; a pod whose own grace period is 0 gets one second."""
    asked: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
    if pod.grace_seconds <= 0:
        asked["gracePeriodSeconds"] = 1
    return asked


# Rollout restarts, at most once in a run: one conditional patch of the workload (`ConditionalPatches`).
#
# Like ``kubectl rollout restart`` it sets an annotation of the pod template, but the value is the run's id: a template
# that has it already was restarted by this run, and stays unchanged.


_RESOURCES = {kinds.DEPLOYMENTS.kind: kinds.DEPLOYMENTS}


class Restarts:
    """Rollout restarts of the run with the id `run`. Safe to use from several threads."""

    def __init__(self, run: str, swapping: PodActions) -> None:
        self._run = run
        self._swapping = swapping

    def restart(self, act: Restart) -> ApiStatus | LostAnswer:
        """Where this run has restarted the workload already, the result is 200 and nothing is sent. Raises LockLost: as
        `ApiWriter.send`."""
        return self._swapping.change(
            _RESOURCES[act.kind],
            act.namespace,
            act.name,
            act.uid,
            lambda there: {} if restarted_by(there) == self._run else restarted(self._run),
        )


def restarted_by(workload: Mapping[str, Any]) -> str:
    """The run id or the time that the last restart noted; "" where there was none."""
    template = (workload.get("spec") or {}).get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(RESTARTED_AT, ""))


def restarted(run: str) -> dict[str, Any]:
    """The merge patch that restarts the workload."""
    return {"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: run}}}}}


def workload_path(act: Restart) -> str:
    return path_to(_RESOURCES[act.kind], act.namespace, act.name)


# Changes of nodes by a run, and their rollback: one conditional patch of the node.
#
# A node is cordoned, excluded from load balancers, or protected from autoscalers. As patches are conditional
# (`ConditionalPatches`), the noted prior state is the state that was changed, even where another client cordons or
# uncordons at the same time. Tests in a JSON patch could not say "this is absent", which an unset field of a node is.


_Marked = Callable[[Node, str, str], dict[str, Any]]
_MARKED: Mapping[type[OfNode], _Marked] = {
    Exclude: excluded,
    Protect: protected,
}


class NodeAnnotations:
    """Changes by the run with the id `run`, whose journal is in the namespace `journal_namespace`. Safe to use from
    several threads."""

    def __init__(self, run: str, swapping: PodActions, journal: str = "") -> None:
        self._run = run
        self._journal = journal
        self._swapping = swapping

    def done(self, act: OfNode) -> ApiStatus | LostAnswer:
        """Where nothing has to change, the result is 200 and nothing is sent. Raises LockLost: as `ApiWriter.send`."""
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


# Requests with ``dryRun=All``: the API server checks admission, permissions and budgets as for a real request, and
# changes nothing (https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run).


DRY = {"dryRun": "All"}


class DryTrial:
    """The port `ports.DryRunBackend`."""

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
