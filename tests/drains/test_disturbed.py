"""What a user may not do, a token that ends, a server that is away: clear words, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.embedded.serving.access import VIEWER, Rule, User, restricted
from kubectl_eksdoc.embedded.serving.api import Api
from tests.drains.drainers import TOKEN, Served, ours, served
from tests.drains.going import Going
from tests.drains.shapes import small

pytestmark = pytest.mark.long

SPEED = 3.0
AWAY_S = 30.0


def check(world: Served, run: Going) -> None:
    """All is as if nothing had happened."""
    watched = world.watched
    assert run.to_the_end() == 0, run.said
    assert watched.empty() == world.shape.old_nodes and watched.pending == []
    assert len(watched.evicted) == world.shape.pods and watched.again == [] and watched.overdrawn == []
    (phase,) = {doc["data"]["phase"] for doc in journals(world.api) if "phase" in doc["data"]}
    assert phase == "ended"
    assert at(lease(world.api), "spec", "leaseTransitions") in (None, 0, 1), "nobody else ever held it"


def journals(api: Api) -> list[Doc]:
    return api.now(lambda plane: [item.doc for item in plane.store.list("configmaps")])


def lease(api: Api) -> Doc:
    def held(plane: ControlPlane) -> Doc:
        item = plane.store.get(kinds.LEASES.full_name, ("kube-system", "eksdoc-drain"))
        return {} if item is None else item.doc

    return api.now(held)


def untouched(world: Served) -> None:
    assert world.watched.cordoned_s is None and not world.watched.evicted
    assert journals(world.api) == [] and lease(world.api) == {}


# What a user may not do


def all_but(*rules: Rule) -> User:
    """An admin without these rights: of each rule its verbs on its resources."""
    verbs = ("get", "list", "watch", "create", "update", "patch", "delete")
    resources = {
        "": ("nodes", "pods", "pods/eviction", "configmaps"),
        "coordination.k8s.io": ("leases",),
        "policy": ("poddisruptionbudgets",),
    }
    kept = [
        Rule((verb,), (resource,), (group,))
        for group, names in resources.items()
        for resource in names
        for verb in verbs
        if not any(verb in rule.verbs and resource in rule.resources for rule in rules)
    ]
    others = Rule(("get", "list", "watch"), groups=("apps", "batch", "autoscaling", "storage.k8s.io", "karpenter.sh"))
    return restricted("half", [*kept, others])


USERS = {
    "leases": VIEWER,
    "configmaps": all_but(Rule(("create",), ("configmaps",))),
    "nodes": all_but(Rule(("patch",), ("nodes",))),
    "pods/eviction": all_but(Rule(("create",), ("pods/eviction",))),
}


@pytest.mark.parametrize("missing", USERS)
def test_a_right_that_is_missing_is_named_and_nothing_is_done(tmp_path: Path, missing: str) -> None:
    with served(small(), tmp_path / "home", SPEED, {TOKEN: USERS[missing]}) as world:
        drained = ours(world)
        assert drained.codes == (3,), drained.err
        assert missing in drained.err and "cannot" in drained.err
        assert "It cannot do without these rights" in drained.err
        untouched(world)
