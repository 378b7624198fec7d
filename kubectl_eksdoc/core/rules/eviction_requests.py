"""One eviction request from its arrival to its answer: method, version, names, preconditions, conflicts, retries.

Source: pkg/registry/core/pod/storage/eviction.go (AcceptsGroupVersion, Create, propagateDryRun,
addConditionAndDeletePod), Kubernetes v1.36. What a pod's phase and budget decide is in `evictions`; where pods
and budgets live is the caller's (`EvictionStore`), and so is waiting between retries (500 ms in the server).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.evictions import Answer, Why, evict, still_processing

TRIES = 20
"""EvictionsRetry: how often a conflict is tried again before it becomes the answer."""

VERSIONS = ("policy/v1", "policy/v1beta1")
"""The apiVersions of an Eviction that are accepted; the second one is no longer served otherwise."""


@dataclass(frozen=True, slots=True)
class EvictionRequest:
    """`name` is the body's, `url_name` the path's. None is "not given" for the two preconditions.

    `method` is HTTP's. `api_version` and `kind` are the body's; a body without them is a policy/v1 Eviction.
    """

    name: str
    url_name: str
    namespace: str = "default"
    dry_run: tuple[str, ...] = ()
    body_dry_run: tuple[str, ...] = ()
    uid: str | None = None
    resource_version: str | None = None
    ignore_store_read_error: bool = False
    method: str = "POST"
    api_version: str = ""
    kind: str = ""

    @property
    def is_dry_run(self) -> bool:
        """Whatever is asked for, be it a word that nobody knows (apiserver pkg/util/dryrun, IsDryRun)."""
        return bool(self.body_dry_run or self.dry_run)


@dataclass(frozen=True, slots=True)
class Stored:
    pod: Pod
    resource_version: str


class EvictionStore(Protocol):
    """The pods and budgets of one namespace. Refusals are `Answer`s; None means done."""

    def get(self, name: str) -> Stored | None: ...

    def guards(self, pod: Pod) -> Sequence[Budget]: ...

    def budget(self, name: str) -> Budget | None: ...

    def write(self, budget: Budget) -> bool:
        """Write the status; False when somebody else wrote in between."""
        ...

    def delete(self, name: str, uid: str | None, resource_version: str | None, dry_run: bool) -> Answer | None:
        """Mark the pod as a disruption target and delete it, if the preconditions hold (see `conflict`)."""
        ...


def not_an_eviction(request: EvictionRequest) -> Answer | None:
    """The refusal of a request that does not create an Eviction: another method, or something else in the body."""
    if request.method != "POST":
        # Not even with a body that would be right: the subresource can only be created.
        return _refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    version, kind = request.api_version or VERSIONS[0], request.kind or "Eviction"
    if version in VERSIONS and kind == "Eviction":
        return None
    text = f'{kind} in version "{version.rpartition("/")[2]}" cannot be handled as a Eviction'
    return _refused(400, "BadRequest", f'{text}: no kind "{kind}" is registered for version "{version}"')


def malformed(request: EvictionRequest) -> Answer | None:
    """The refusal of a request that is wrong by itself."""
    refusal = not_an_eviction(request)
    if refusal is not None:
        return refusal
    if request.name != request.url_name:
        return _refused(400, "BadRequest", "name in URL does not match name in Eviction object")
    if request.ignore_store_read_error:
        field = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential"
        text = "can not be set for pod eviction, try after removing the option"
        return _refused(
            422, "Invalid", f'Eviction.policy "{request.name}" is invalid: {field}: Invalid value: true: {text}'
        )
    if request.dry_run and request.body_dry_run and request.dry_run != request.body_dry_run:
        asked, given = (f"[{' '.join(words)}]" for words in (request.dry_run, request.body_dry_run))
        text = f"Non-matching dry-run options in request and content: {asked} and {given}"
        return _refused(500, "InternalError", f"Internal error occurred: {text}")
    return None


def not_found(name: str) -> Answer:
    return _refused(404, "NotFound", f'pods "{name}" not found')


def namespace_terminating(name: str, namespace: str) -> Answer:
    """What admission answers to every eviction in a namespace that is being deleted, before the pod is read.

    Its cause is NamespaceTerminating, not DisruptionBudget.
    """
    text = f"unable to create new content in namespace {namespace} because it is being terminated"
    return _refused(403, "Forbidden", f'pods "{name}" is forbidden: {text}')


def conflict(stored: Stored, uid: str | None, resource_version: str | None) -> Answer | None:
    """The 409 for preconditions that do not hold, UID first."""
    subject = f'Operation cannot be fulfilled on Pod "{stored.pod.name}": the'
    if uid is not None and uid != stored.pod.uid:
        text = f"UID in the precondition ({uid}) does not match the UID in record ({stored.pod.uid})"
        return _refused(409, "Conflict", f"{subject} {text}. The object might have been deleted and then recreated")
    if resource_version is not None and resource_version != stored.resource_version:
        text = f"ResourceVersion in the precondition ({resource_version}) does not match"
        record = f"the ResourceVersion in record ({stored.resource_version})"
        return _refused(409, "Conflict", f"{subject} {text} {record}. The object might have been modified")
    return None


def serve(request: EvictionRequest, store: EvictionStore, now: datetime) -> Answer:
    """Answer one request against `store`, which is changed unless the request is a dry run."""
    refusal = malformed(request)
    if refusal is not None:
        return refusal
    found = _delete_if_unguarded(request, store, now)
    if isinstance(found, Answer):
        return found
    answer = _judge(found.pod, request, store, now)
    if not answer.ok:
        return answer
    ours = answer.checks_version and request.resource_version is None
    version = found.resource_version if ours else request.resource_version
    failure = store.delete(request.name, request.uid, version, request.is_dry_run)
    if failure is not None and failure.code == 409 and ours and answer.budget is not None:
        # The pod changed after it was seen as not Ready; it may be Ready now and then needs the budget.
        return still_processing(answer.budget)
    return failure or answer


def _delete_if_unguarded(request: EvictionRequest, store: EvictionStore, now: datetime) -> Answer | Stored:
    """Delete a pod whose phase needs no budget; any other one is returned, to be judged."""
    tries = TRIES if request.resource_version is None else 1
    failure = not_found(request.name)
    for _ in range(tries):
        stored = store.get(request.name)
        if stored is None:
            return not_found(request.name)
        answer = evict(stored.pod, (), now)
        if answer.why not in (Why.PHASE, Why.DELETING):
            return stored
        ours = answer.checks_version and request.resource_version is None
        version = stored.resource_version if ours else request.resource_version
        refused = store.delete(request.name, request.uid, version, request.is_dry_run)
        if refused is None:
            return answer
        failure = refused
        if refused.code != 409:
            break
    return failure


def _judge(pod: Pod, request: EvictionRequest, store: EvictionStore, now: datetime) -> Answer:
    """Ask the budget, and take from it; a lost race for the budget is tried again."""
    guards = store.guards(pod)
    for _ in range(TRIES):
        answer = evict(pod, guards, now, dry_run=request.is_dry_run)
        if answer.after is None or store.write(answer.after):
            return answer
        again = store.budget(answer.after.name)
        if again is None:
            name = answer.after.name
            return _refused(404, "NotFound", f'poddisruptionbudgets.policy "{name}" not found')
        guards = (again,)
    subject = f'poddisruptionbudgets.policy "{guards[0].name}"'
    text = "the object has been modified; please apply your changes to the latest version and try again"
    return _refused(409, "Conflict", f"Operation cannot be fulfilled on {subject}: {text}")


def _refused(code: int, reason: str, message: str) -> Answer:
    return Answer(code, Why.REQUEST, reason, message)
