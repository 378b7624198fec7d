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
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse, StatusDetails, precondition_failed
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import (
    RESTARTED_AT_ANNOTATION,
    Cordon,
    Delete,
    Evict,
    Exclude,
    NodeChange,
    PodChange,
    Protect,
    Release,
    Restart,
    Restore,
)
from kubectl_eksdoc.model.journal import (
    JOURNAL_KEY,
    LABELS_KEY,
    PRIOR_ANNOTATION,
    PROTECTED_KEY,
    RUN_ANNOTATION,
    SKIPPED_KEY,
    UNSCHEDULABLE_KEY,
)
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import EXCLUDE_FROM_LOAD_BALANCERS, SCALE_DOWN_PROTECTIONS, Pod

from .exchanges import Timing
from .requests import FIELD_MANAGER, MERGE_PATCH, ApiWriter
from .responses import ObjectNotFound
from .transport import Transport

_CORDON = "f:unschedulable"

ADDED_VALUE = "true"
"""The value of every label and annotation that a run adds. A client that changes it owns it from then on."""

Node = Mapping[str, Any]
"""The document of a node, as the server returned it."""

_Note = dict[str, Any]


class UnreadablePriorState(ValueError):
    """The note on the state before the run cannot be read any more; the message says why."""


class ChangedByOtherRun(ValueError):
    """Another run has changed the node, and is not known to have ended; the message says which."""


def check_own_run(node: Node, run: str, ended_run: str) -> None:
    """Check that no other run is changing the node. `ended_run`: an earlier run that is known to have ended.

    Raises:
        ChangedByOtherRun: the run that changed the node last is neither `run` nor `ended_run`.
    """
    last_run = run_on_node(node)
    if last_run not in ("", run, ended_run):
        raise ChangedByOtherRun(f"run {last_run} has changed it meanwhile, and may be draining it")


def run_on_node(node: Node) -> str:
    """The run that changed the node last, "" for none."""
    return str(_annotations(node).get(RUN_ANNOTATION, ""))


def is_unschedulable(node: Node) -> bool:
    return bool((node.get("spec") or {}).get("unschedulable"))


def cordon_patch(node: Node, run: str, journal_namespace: str = "", skipped: bool = False) -> dict[str, Any]:
    """The merge patch that cordons the node for `run`, whose journal is in the namespace `journal_namespace`; empty
    where nothing has to change. `skipped`: the plan of the run does not drain the node.

    A node that was uncordoned by another client since this run cordoned it keeps the note of its state before the run.

    Raises:
        UnreadablePriorState: this run changed the node, and its note cannot be read. All functions here raise it.
    """
    note = _note_or_new(node, run, journal_namespace)
    patch: dict[str, Any] = {} if is_unschedulable(node) else {"spec": {"unschedulable": True}}
    if UNSCHEDULABLE_KEY in note:
        return patch
    skipped_note = {SKIPPED_KEY: True} if skipped else {}
    return {**patch, **_note_patch(run, {**note, **skipped_note, UNSCHEDULABLE_KEY: is_unschedulable(node)})}


def exclude_patch(node: Node, run: str, journal_namespace: str = "") -> dict[str, Any]:
    """The merge patch that labels the node so that load balancers exclude it; empty where it has the label already."""
    if EXCLUDE_FROM_LOAD_BALANCERS in _labels(node):
        return {}
    note = _note_or_new(node, run, journal_namespace)
    added = sorted({*note.get(LABELS_KEY, ()), EXCLUDE_FROM_LOAD_BALANCERS})
    return _extend_metadata(
        _note_patch(run, {**note, LABELS_KEY: added}), "labels", {EXCLUDE_FROM_LOAD_BALANCERS: ADDED_VALUE}
    )


def protect_patch(node: Node, run: str, journal_namespace: str = "") -> dict[str, Any]:
    """The merge patch that keeps autoscalers from removing the node; empty where nothing has to change.

    An annotation that the node has already, with any value, belongs to the user and stays unchanged.
    """
    missing = [key for key in SCALE_DOWN_PROTECTIONS if key not in _annotations(node)]
    if not missing:
        return {}
    note = _note_or_new(node, run, journal_namespace)
    added = sorted({*note.get(PROTECTED_KEY, ()), *missing})
    return _extend_metadata(
        _note_patch(run, {**note, PROTECTED_KEY: added}), "annotations", dict.fromkeys(missing, ADDED_VALUE)
    )


def restore_patch(node: Node, run: str) -> dict[str, Any]:
    """The merge patch that restores the state before `run` drained the node; empty where `run` did not begin to drain
    it, also if it protected the node.

    Only changes of the run are undone. A node that was cordoned before is neither uncordoned nor cordoned again. The
    same holds for a node that another client uncordoned and cordoned again since, as far as the server's managedFields
    show.
    """
    if run_on_node(node) != run:
        return {}
    note = _read_note(node)
    if UNSCHEDULABLE_KEY not in note and LABELS_KEY not in note:
        return {}
    patch = _remove_parts_patch(node, run, note, (UNSCHEDULABLE_KEY, LABELS_KEY, SKIPPED_KEY))
    if not note.get(UNSCHEDULABLE_KEY, True) and not _is_cordoned_by_another(node):
        patch["spec"] = {"unschedulable": None}
    return _extend_metadata(patch, "labels", _unchanged(_labels(node), note.get(LABELS_KEY, ())))


def release_patch(node: Node, run: str) -> dict[str, Any]:
    """The merge patch that undoes `protect_patch`; empty where `run` did not protect the node."""
    if run_on_node(node) != run:
        return {}
    note = _read_note(node)
    if PROTECTED_KEY not in note:
        return {}
    patch = _remove_parts_patch(node, run, note, (PROTECTED_KEY,))
    return _extend_metadata(patch, "annotations", _unchanged(_annotations(node), note[PROTECTED_KEY]))


def _is_cordoned_by_another(node: Node) -> bool:
    """By managedFields: a client that writes a value that is already set does not become its owner."""
    fields = (node.get("metadata") or {}).get("managedFields") or ()
    managers = {each.get("manager") for each in fields if _CORDON in ((each.get("fieldsV1") or {}).get("f:spec") or {})}
    return bool(managers) and FIELD_MANAGER["fieldManager"] not in managers


def _note_or_new(node: Node, run: str, journal_namespace: str) -> _Note:
    """This run's note on the node, or a new one."""
    if run_on_node(node) == run and PRIOR_ANNOTATION in _annotations(node):
        return _read_note(node)
    earlier_annotations = {
        key: _annotations(node)[key] for key in (RUN_ANNOTATION, PRIOR_ANNOTATION) if key in _annotations(node)
    }
    new_note = {JOURNAL_KEY: journal_namespace} if journal_namespace else {}
    return {**new_note, "annotations": earlier_annotations} if earlier_annotations else new_note


def _note_patch(run: str, note: _Note) -> dict[str, Any]:
    text = json.dumps(note, separators=(",", ":"), sort_keys=True)
    return {"metadata": {"annotations": {RUN_ANNOTATION: run, PRIOR_ANNOTATION: text}}}


def _remove_parts_patch(node: Node, run: str, note: _Note, parts: tuple[str, ...]) -> dict[str, Any]:
    """The patch that removes `parts` from the note, and the note itself where no other part remains."""
    remaining = {key: value for key, value in note.items() if key not in parts}
    if remaining.keys() & {UNSCHEDULABLE_KEY, LABELS_KEY, PROTECTED_KEY}:
        return _note_patch(run, remaining)
    earlier_annotations = note.get("annotations") or {}
    return {
        "metadata": {"annotations": {key: earlier_annotations.get(key) for key in (RUN_ANNOTATION, PRIOR_ANNOTATION)}}
    }


def _unchanged(current: Mapping[str, Any], added: list[str]) -> dict[str, None]:
    """The added keys that still have the added value, with None, which removes them."""
    return {key: None for key in added if current.get(key) == ADDED_VALUE}


def _extend_metadata(patch: dict[str, Any], kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    metadata = patch["metadata"]
    return {**patch, "metadata": {**metadata, kind: {**metadata.get(kind, {}), **values}}} if values else patch


def _read_note(node: Node) -> _Note:
    text = _annotations(node).get(PRIOR_ANNOTATION)
    if text is None:
        raise UnreadablePriorState(f"the annotation {PRIOR_ANNOTATION} is not there any more")
    try:
        note = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadablePriorState(f"the annotation {PRIOR_ANNOTATION} cannot be read: {text!r}") from error
    if not _is_valid_note(note):
        raise UnreadablePriorState(f"the annotation {PRIOR_ANNOTATION} does not say what was before: {text!r}")
    return dict(note)


def _is_valid_note(note: object) -> bool:
    if not isinstance(note, dict) or not note.keys() & {UNSCHEDULABLE_KEY, LABELS_KEY, PROTECTED_KEY}:
        return False
    earlier_annotations = note.get("annotations", {})
    added = [note.get(LABELS_KEY, []), note.get(PROTECTED_KEY, [])]
    return (
        isinstance(note.get(UNSCHEDULABLE_KEY, False), bool)
        and isinstance(earlier_annotations, dict)
        and all(isinstance(each, str) for each in earlier_annotations.values())
        and all(isinstance(keys, list) and all(isinstance(key, str) for key in keys) for keys in added)
    )


def _annotations(node: Node) -> Mapping[str, Any]:
    return (node.get("metadata") or {}).get("annotations") or {}


def _labels(node: Node) -> Mapping[str, Any]:
    return (node.get("metadata") or {}).get("labels") or {}


MAX_TRIES = 8
"""How often the patch is tried while other clients write the same object. Kubelets write a node every few seconds at
most, controllers write their objects only while something changes."""

_RETRY_PAUSE_S = 0.2
_PRECONDITION_FAILED = frozenset((409, 422))  # answers to a failed precondition: of the resourceVersion, and of the uid

ObjectDoc = dict[str, Any]
"""The document of an object, as the server returned it."""


class ConditionalPatches:
    """Patches of exactly the object that was read. Safe to use from several threads."""

    def __init__(self, transport: Transport, sender: ApiWriter, timing: Timing) -> None:
        self._transport = transport
        self._sender = sender
        self._timing = timing

    def patch(
        self, resource: Resource, namespace: str, name: str, uid: str, make_patch: Callable[[ObjectDoc], ObjectDoc]
    ) -> ApiStatus | LostResponse:
        """Read the object, and send the patch that `make_patch` makes of it. An empty patch means that nothing has to
        change: the result is 200, and nothing is sent. Errors of `make_patch` are passed on.

        Raises:
            LockLost: as `ApiWriter.send`.
        """
        path = path_to(resource, namespace, name)
        status: ApiStatus | LostResponse = ApiStatus(200)
        for _ in range(MAX_TRIES):
            current = self._read(resource, path, name, uid)
            if not isinstance(current, dict):
                return current
            changes = make_patch(current)
            if not changes:
                return ApiStatus(200)
            status = self._sender.send(
                "PATCH", path, FIELD_MANAGER, conditional_patch(current, changes), MERGE_PATCH
            ).status
            if isinstance(status, LostResponse) or status.code not in _PRECONDITION_FAILED:
                return status
            self._timing.sleep(_RETRY_PAUSE_S * self._timing.chance())
        return status

    def _read(self, resource: Resource, path: str, name: str, uid: str) -> ObjectDoc | ApiStatus | LostResponse:
        """The object with this uid, or why it cannot be read."""
        details = StatusDetails(name, resource.group, resource.plural)
        try:
            response = self._transport.get(path, right=f"get {resource.full_name}")
        except ObjectNotFound as error:
            return ApiStatus(404, "NotFound", error.message, details)
        except Forbidden as error:
            return ApiStatus(403, "Forbidden", error.message, details)
        except Unauthorized as error:
            return ApiStatus(401, "Unauthorized", error.message)
        except ClusterError as error:
            return LostResponse(error.message)
        current = dict(response.document)
        current_uid = str((current.get("metadata") or {}).get("uid", ""))
        if current_uid != uid:
            return precondition_failed(resource, name, "UID", uid, current_uid).status
        return current


def conditional_patch(current: Mapping[str, Any], patch: ObjectDoc) -> ObjectDoc:
    """The patch with the uid and resourceVersion of `current`: the server refuses it if the object has changed
    since."""
    metadata = current.get("metadata") or {}
    version = {"uid": metadata.get("uid"), "resourceVersion": metadata.get("resourceVersion")}
    return {**patch, "metadata": {**patch.get("metadata", {}), **version}}


def path_to(resource: Resource, namespace: str, name: str) -> str:
    return f"{resource.path_in(quote(namespace, safe=''))}/{quote(name, safe='')}"


# Evictions of exactly one pod, by its UID, and never with a grace period of 0.
#
# Source: policy/v1 Eviction; apimachinery meta/v1 DeleteOptions. Without the UID a replacement pod of the same name
# would be evicted (kubernetes#138229); a grace period of 0 deletes the object while the containers still run.


def send_eviction(sender: ApiWriter, pod: Pod, grace_s: int | None) -> ApiStatus | LostResponse:
    return sender.send("POST", f"{pod_path_of(pod)}/eviction", {}, eviction_document(pod, grace_s)).status


def eviction_document(pod: Pod, grace_s: int | None) -> dict[str, Any]:
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


def pod_path_of(pod: Pod) -> str:
    return path_to(kinds.PODS, pod.namespace, pod.name)


# Deletions of pods that the user named: of exactly one pod, by its UID, with its own grace period.
#
# Source: apimachinery meta/v1 DeleteOptions. PodDisruptionBudgets do not apply; admission of deletions does. A grace
# period of 0 would delete the object while the containers still run.


def send_deletion(sender: ApiWriter, pod: Pod) -> ApiStatus | LostResponse:
    return sender.send("DELETE", pod_path_of(pod), {}, deletion_document(pod)).status


def deletion_document(pod: Pod) -> dict[str, Any]:
    """The DeleteOptions; a pod whose own grace period is 0 gets one second."""
    document: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
    if pod.grace_seconds <= 0:
        document["gracePeriodSeconds"] = 1
    return document


# Rollout restarts, at most once in a run: one conditional patch of the workload (`ConditionalPatches`).
#
# Like ``kubectl rollout restart`` it sets an annotation of the pod template, but the value is the run's id: a template
# that has it already was restarted by this run, and stays unchanged.


_RESOURCES = {kinds.DEPLOYMENTS.kind: kinds.DEPLOYMENTS}


class RolloutRestarts:
    """Rollout restarts of the run with the id `run`. Safe to use from several threads."""

    def __init__(self, run: str, patches: ConditionalPatches) -> None:
        self._run = run
        self._patches = patches

    def restart(self, action: Restart) -> ApiStatus | LostResponse:
        """Where this run has restarted the workload already, the result is 200 and nothing is sent. Raises LockLost: as
        `ApiWriter.send`."""
        return self._patches.patch(
            _RESOURCES[action.kind],
            action.namespace,
            action.name,
            action.uid,
            lambda there: {} if last_restart(there) == self._run else restart_patch(self._run),
        )


def last_restart(workload: Mapping[str, Any]) -> str:
    """The run id or the time that the last restart noted; "" where there was none."""
    template = (workload.get("spec") or {}).get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(RESTARTED_AT_ANNOTATION, ""))


def restart_patch(run: str) -> dict[str, Any]:
    """The merge patch that restarts the workload."""
    return {"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT_ANNOTATION: run}}}}}


def workload_path(action: Restart) -> str:
    return path_to(_RESOURCES[action.kind], action.namespace, action.name)


# Changes of nodes by a run, and their rollback: one conditional patch of the node.
#
# A node is cordoned, excluded from load balancers, or protected from autoscalers. As patches are conditional
# (`ConditionalPatches`), the noted prior state is the state that was changed, even where another client cordons or
# uncordons at the same time. Tests in a JSON patch could not say "this is absent", which an unset field of a node is.


_MakePatch = Callable[[Node, str, str], dict[str, Any]]
_PATCH_BY_ACTION: Mapping[type[NodeChange], _MakePatch] = {
    Exclude: exclude_patch,
    Protect: protect_patch,
}


class NodeChanges:
    """Changes by the run with the id `run`, whose journal is in the namespace `journal_namespace`. Safe to use from
    several threads."""

    def __init__(self, run: str, patches: ConditionalPatches, journal_namespace: str = "") -> None:
        self._run = run
        self._journal_namespace = journal_namespace
        self._patches = patches

    def apply(self, action: NodeChange) -> ApiStatus | LostResponse:
        """Where nothing has to change, the result is 200 and nothing is sent. Raises LockLost: as `ApiWriter.send`."""
        try:
            return self._patches.patch(
                kinds.NODES, "", action.node, action.uid, lambda node: self._make_patch(action, node)
            )
        except (UnreadablePriorState, ChangedByOtherRun) as error:
            code, reason = (422, "Invalid") if isinstance(error, UnreadablePriorState) else (409, "Conflict")
            text = f'Node "{action.node}" is left as it is: {error}'
            return ApiStatus(code, reason, text, StatusDetails(action.node, "", "Node"))

    def _make_patch(self, action: NodeChange, node: ObjectDoc) -> ObjectDoc:
        match action:
            case Restore(_, _, cordon):
                patch = restore_patch(node, self._run)
                return patch if cordon else {key: value for key, value in patch.items() if key != "spec"}
            case Release():
                return release_patch(node, self._run)
            case Cordon(_, _, over, skipped):
                check_own_run(node, self._run, over)
                return cordon_patch(node, self._run, self._journal_namespace, skipped)
        return _PATCH_BY_ACTION[type(action)](node, self._run, self._journal_namespace)


# Requests with ``dryRun=All``: the API server checks admission, permissions and budgets as for a real request, and
# changes nothing (https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run).


DRY_RUN = {"dryRun": "All"}


class DryRunRequests:
    """The port `ports.DryRunBackend`."""

    def __init__(self, sender: ApiWriter) -> None:
        self._sender = sender

    def dry_run(self, action: Cordon | PodChange) -> ApiStatus | LostResponse:
        match action:
            case Cordon(node, uid, _):
                return self._send_patch(
                    path_to(kinds.NODES, "", node), {"metadata": {"uid": uid}, "spec": {"unschedulable": True}}
                )
            case Restart():
                return self._send_patch(
                    workload_path(action), {"metadata": {"uid": action.uid}, **restart_patch("dry-run")}
                )
            case Delete(pod):
                document = {**deletion_document(pod), "dryRun": ["All"]}
                return self._sender.send("DELETE", pod_path_of(pod), DRY_RUN, document).status
            case Evict(pod, grace_s):
                document = eviction_document(pod, grace_s)
                document["deleteOptions"]["dryRun"] = ["All"]
                return self._sender.send("POST", f"{pod_path_of(pod)}/eviction", DRY_RUN, document).status

    def _send_patch(self, path: str, body: dict[str, Any]) -> ApiStatus | LostResponse:
        return self._sender.send("PATCH", path, {**FIELD_MANAGER, **DRY_RUN}, body, MERGE_PATCH).status
