"""The state of EKS in one account and region beyond what moto keeps: add-ons, updates, insights, associations.

Of moto's internals: an EKSBackend per account and region, with `clusters` (whose members have `nodegroups`). Our state
is stored in the backend's own dictionary, because moto's reset empties it: both are reset together.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from tests.aws.world.catalogue import Catalogue
from tests.aws.world.refused import no_addon, no_cluster, no_nodegroup

_PLACE = "eksdoc_state"
RUNNING = "InProgress"


def now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass
class Update:
    """An update in progress or a past one. `succeed` and `fail` are the effects of its end on its subject. Mutable."""

    type: str
    cluster: str
    params: list[dict[str, str]]
    succeed: Callable[[], None]
    fail: Callable[[list[dict[str, Any]]], None]
    addon: str | None = None
    nodegroup: str | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    status: str = RUNNING
    errors: list[dict[str, Any]] = field(default_factory=list)
    created_at: datetime = field(default_factory=now)
    asked: int = 0  # DescribeUpdate calls that saw it under way

    @property
    def about(self) -> tuple[str, str | None, str | None]:
        return self.cluster, self.nodegroup, self.addon

    def described(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "status": self.status,
            "type": self.type,
            "params": self.params,
            "createdAt": self.created_at,
            "errors": self.errors,
        }


@dataclass
class EksState:
    """The state of one account and region. Mutable.

    `ends_when_asked`: an update ends well at its n-th DescribeUpdate; 0 leaves it under way until a test ends it.
    `carry_out`: called with each update as it begins, in the server's thread; it may end it.
    """

    backend: Any
    catalogue: Catalogue = field(default_factory=Catalogue)
    addons: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    updates: list[Update] = field(default_factory=list)
    insights: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    associations: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    ends_when_asked: int = 0
    carry_out: Callable[[Update], None] | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    # Changes by a test

    def finish(self, update_id: str) -> None:
        """End the update successfully: the requested state is now in force."""
        update = self._running(update_id)
        update.status = "Successful"
        update.succeed()

    def fail(self, update_id: str, code: str, message: str, *resources: str) -> None:
        """The update fails with one error; `code` is one of EKS's ErrorCode."""
        update = self._running(update_id)
        update.status = "Failed"
        update.errors = [{"errorCode": code, "errorMessage": message, "resourceIds": list(resources)}]
        update.fail(update.errors)

    def settle_addon(self, cluster: str, name: str, status: str, *issues: dict[str, Any]) -> None:
        """An add-on's status and its health's issues, as AddonIssue."""
        addon = self.addon(cluster, name)
        addon.update(status=status, health={"issues": list(issues)}, modifiedAt=now())

    def found(self, cluster: str, insight: dict[str, Any]) -> str:
        """Store an insight, an Insight with or without id and times; returns the id."""
        self.cluster(cluster)
        known = {"id": str(uuid.uuid4()), "lastRefreshTime": now(), "lastTransitionTime": now(), **insight}
        self.insights.setdefault(cluster, {})[known["id"]] = known
        return str(known["id"])

    # Requests of calls

    def cluster(self, name: str) -> Any:
        """moto's Cluster, or ResourceNotFoundException."""
        if name not in self.backend.clusters:
            raise no_cluster(name)
        return self.backend.clusters[name]

    def nodegroup(self, cluster: str, name: str) -> Any:
        """moto's Nodegroup, or ResourceNotFoundException."""
        groups = self.cluster(cluster).nodegroups
        if name not in groups:
            raise no_nodegroup(cluster, name)
        return groups[name]

    def own_image(self, template: dict[str, str]) -> bool:
        """Whether that version of a launch template names an AMI itself."""
        from moto.ec2.models import ec2_backends

        known = ec2_backends[self.backend.account_id][self.backend.region_name].get_launch_template(template["id"])
        return bool(known.get_version(template["version"]).data.get("ImageId"))

    def addon(self, cluster: str, name: str) -> dict[str, Any]:
        self.cluster(cluster)
        addons = self.addons.get(cluster, {})
        if name not in addons:
            raise no_addon(cluster, name)
        return addons[name]

    def arn(self, kind: str, *path: str) -> str:
        tail = "/".join(path)
        return f"arn:{self.backend.partition}:eks:{self.backend.region_name}:{self.backend.account_id}:{kind}/{tail}"

    def begin(self, update: Update) -> dict[str, Any]:
        """Start an update and return its state at the start."""
        self.updates.insert(0, update)
        answer = {"update": update.described()}
        if self.carry_out is not None:
            self.carry_out(update)
        return answer

    def running(self, about: tuple[str, str | None, str | None]) -> Update | None:
        """The update in progress of this cluster, node group or add-on."""
        return next((u for u in self.updates if u.about == about and u.status == RUNNING), None)

    def serial(self) -> int:
        """A unique number."""
        return int(next(self._numbers))

    def _running(self, update_id: str) -> Update:
        update = next(u for u in self.updates if u.id == update_id)
        if update.status != RUNNING:
            raise ValueError(f"update {update_id} is {update.status} already")
        return update


def state_of(backend: Any) -> EksState:
    """The state that belongs to moto's EKSBackend."""
    known: EksState = backend.__dict__.setdefault(_PLACE, EksState(backend))
    return known
