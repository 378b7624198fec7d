"""The status of a Deployment: its counts, and the conditions Available, Progressing and ReplicaFailure.

Source: pkg/controller/deployment/{sync,progress}.go (calculateStatus, syncRolloutStatus, requeueStuckDeployment),
pkg/controller/deployment/util/deployment_util.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.sim.cluster.conditions import condition
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.times import moment
from kubectl_eksdoc.core.sim.cluster.workloads.replica_sets import wanted
from kubectl_eksdoc.core.sim.cluster.workloads.rollout_sizes import Limits, counted

AVAILABLE, PROGRESSING, FAILURE = "Available", "Progressing", "ReplicaFailure"
TIMED_OUT, NEW_AVAILABLE = "ProgressDeadlineExceeded", "NewReplicaSetAvailable"

_NO_DEADLINE = 2**31 - 1


def status_of(deployment: Doc, new: Item | None, old: Sequence[Item], limits: Limits, now: str) -> Doc:
    """Counts, and whether enough is available; other conditions as they are."""
    every = [*old, *((new,) if new is not None else ())]
    available = _sum(every, "availableReplicas")
    counts = {
        "observedGeneration": int(deployment["metadata"].get("generation") or 0),
        "replicas": _sum(every, "replicas"),
        "updatedReplicas": counted(new, "replicas") if new is not None else 0,
        "readyReplicas": _sum(every, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(wanted(item.doc) for item in every) - available),
        "collisionCount": int((deployment.get("status") or {}).get("collisionCount") or 0),
    }
    made: Doc = {key: value for key, value in counts.items() if value}
    made["terminatingReplicas"] = _sum(every, "terminatingReplicas")
    held = (deployment.get("status") or {}).get("conditions") or []
    made["conditions"] = with_condition(held, _availability(available, limits), now)
    return made


def with_progress(deployment: Doc, status: Doc, new: Item | None, old: Sequence[Item], now: datetime, text: str) -> Doc:
    """`status` with what it says of the rollout; `text` is `now` as metadata has times."""
    held = condition(deployment, PROGRESSING)
    conditions: list[Doc] = status["conditions"]
    deadline_s = deadline_of(deployment)
    if deadline_s is None:
        conditions = [each for each in conditions if each["type"] != PROGRESSING]
    elif not _over(status, held):
        conditions = _progress(deployment, status, new, now, text, deadline_s)
    failure = _failure(new, old)
    if failure is not None:
        conditions = with_condition(conditions, failure, text)
    else:
        conditions = [each for each in conditions if each["type"] != FAILURE]
    return {**status, "conditions": conditions}


def with_condition(held: Iterable[Doc], new: Doc, now: str) -> list[Doc]:
    """`held` with `new` at its end, unless it says the same already; the transition's time changes with the status."""
    listed = list(held)
    same = next((each for each in listed if each["type"] == new["type"]), None)
    if same is not None and (same["status"], same.get("reason")) == (new["status"], new.get("reason")):
        return listed
    since = same["lastTransitionTime"] if same is not None and same["status"] == new["status"] else now
    made = {"lastUpdateTime": now, **new, "lastTransitionTime": new.get("lastTransitionTime", since)}
    return [*(each for each in listed if each["type"] != new["type"]), made]


def progressing(status: str, reason: str, message: str) -> Doc:
    return {"type": PROGRESSING, "status": status, "reason": reason, "message": message}


def deadline_of(deployment: Doc) -> int | None:
    """None for a Deployment whose progress is not judged."""
    given = deployment["spec"].get("progressDeadlineSeconds")
    return None if given is None or int(given) == _NO_DEADLINE else int(given)


def complete(deployment: Doc, status: Doc) -> bool:
    """`status` is of this generation, as `status_of` makes it."""
    replicas = wanted(deployment)
    counts = [int(status.get(what) or 0) for what in ("updatedReplicas", "replicas", "availableReplicas")]
    return counts == [replicas] * 3


def looked_at_again_s(deployment: Doc, status: Doc, now: datetime) -> float | None:
    """When it must be looked at to see whether it has taken too long."""
    held, deadline_s = condition({"status": status}, PROGRESSING), deadline_of(deployment)
    if held is None or deadline_s is None or complete(deployment, status) or held.get("reason") == TIMED_OUT:
        return None
    if held.get("reason") == NEW_AVAILABLE:
        return None  # it never times out from there
    return max(0.0, (moment(held["lastUpdateTime"]) - now).total_seconds() + deadline_s) + 1


def _availability(available: int, limits: Limits) -> Doc:
    if available >= limits.replicas - limits.away:
        text, status, reason = "Deployment has minimum availability.", "True", "MinimumReplicasAvailable"
    else:
        text, status, reason = "Deployment does not have minimum availability.", "False", "MinimumReplicasUnavailable"
    return {"type": AVAILABLE, "status": status, "reason": reason, "message": text}


def _over(status: Doc, held: Doc | None) -> bool:
    """Whether the latest rollout has been completed: what changes after that is no progress."""
    counts = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    return counts and held is not None and held.get("reason") == NEW_AVAILABLE


def _progress(deployment: Doc, status: Doc, new: Item | None, now: datetime, text: str, deadline_s: int) -> list[Doc]:
    conditions: list[Doc] = status["conditions"]
    held = condition(deployment, PROGRESSING)
    kind, name = ("Deployment", deployment["metadata"]["name"]) if new is None else ("ReplicaSet", new.key[1])
    subject = f'{kind} "{name}"'
    if complete(deployment, status):
        made = progressing("True", NEW_AVAILABLE, f"{subject} has successfully progressed.")
        return with_condition(conditions, made, text)
    if _moved(deployment.get("status") or {}, status):
        made = progressing("True", "ReplicaSetUpdated", f"{subject} is progressing.")
        if held is not None and held["status"] == "True":
            made["lastTransitionTime"] = held["lastTransitionTime"]
        return with_condition((each for each in conditions if each["type"] != PROGRESSING), made, text)
    if _timed_out(held, now, deadline_s):
        return with_condition(
            conditions, progressing("False", TIMED_OUT, f"{subject} has timed out progressing."), text
        )
    return conditions


def _moved(before: Doc, status: Doc) -> bool:
    def of(doc: Doc, what: str) -> int:
        return int(doc.get(what) or 0)

    outdated, were = (of(each, "replicas") - of(each, "updatedReplicas") for each in (status, before))
    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return outdated < were or any(of(status, what) > of(before, what) for what in grown)


def _timed_out(held: Doc | None, now: datetime, deadline_s: int) -> bool:
    if held is None or held.get("reason") == NEW_AVAILABLE:
        return False
    if held.get("reason") == TIMED_OUT:
        return True
    return (now - moment(held["lastUpdateTime"])).total_seconds() > deadline_s


def _failure(new: Item | None, old: Sequence[Item]) -> Doc | None:
    for item in (*((new,) if new is not None else ()), *old):
        held = condition(item.doc, FAILURE)
        if held is not None:
            return {key: held[key] for key in ("type", "status", "reason", "message") if key in held}
    return None


def _sum(items: Iterable[Item], what: str) -> int:
    return sum(counted(item, what) for item in items)
