"""Objects that are created in a cluster: a dry run for all before the first creation, and a report of a partial
creation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from kubectl_eksdoc.changes.engine import ChangeEnvironment, execute_change, start_change
from kubectl_eksdoc.errors import ClusterError, Drifted, Forbidden, Unauthorized, UsageError
from kubectl_eksdoc.in_cluster.apply import Placement, PlacementResult, Removal, check_creatable
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.placement import ObjectNotCreated
from tests.addon.updating import Kept, Time

AWAY = "kubectl delete everything"
LABELS = {"mine": "yes"}


def doc(kind: str, name: str = "a", **more: object) -> Doc:
    return {"kind": kind, "metadata": {"name": name, "labels": LABELS}, **more}


DOCS = (
    doc("ServiceAccount"),
    doc("ClusterRole"),
    doc("ClusterRoleBinding", roleRef={"kind": "ClusterRole", "name": "a"}),
    doc("Job"),
)


@dataclass
class Ground:
    """A namespace. `refuses`: by kind, and whether it is a dry run; `holds`: the existing objects, by kind. `keeps`:
    why an object is not deleted, by kind."""

    refuses: Callable[[str, bool], ObjectNotCreated | None] = lambda kind, dry: None
    holds: dict[str, Doc | Unknown] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)
    keeps: dict[str, ObjectNotCreated] = field(default_factory=dict)

    def create(self, doc: Doc, dry: bool = False) -> ObjectNotCreated | None:
        refused = self.refuses(doc["kind"], dry)
        if refused is None and not dry:
            self.created.append(doc["kind"])
        return refused

    def there(self, doc: Doc) -> Doc | Absent | Unknown:
        return self.holds.get(doc["kind"], Absent("it is not there"))

    def remove(self, doc: Doc) -> ObjectNotCreated | None:
        if doc["kind"] in self.keeps:
            return self.keeps[doc["kind"]]
        self.holds.pop(doc["kind"])
        return None


def placed(docs: Sequence[Doc], ground: Ground, tell: Callable[[str], object], away: str) -> None:
    time = Time()
    world = ChangeEnvironment(Kept(), time, time.sleep, lambda: 0, tell, 0.0)
    start_change(Placement(docs, ground, tell, away), {}, world)


def ours(found: Doc) -> bool:
    return bool(found["metadata"].get("labels") == LABELS)


def test_all_are_tried_and_then_created_in_their_order() -> None:
    ground, said = Ground(), list[str]()
    check_creatable(DOCS, ground, ours, AWAY)
    assert ground.created == []
    placed(DOCS, ground, said.append, AWAY)
    assert ground.created == [each["kind"] for each in DOCS]
    assert said[0] == "serviceaccount/a created" and said[-1] == "job.batch/a created"


def test_a_dry_run_of_a_binding_does_not_find_its_role() -> None:
    lacking = ObjectNotCreated("the server answered 404", lacks_dependency=True)
    check_creatable(DOCS, Ground(lambda kind, dry: lacking if kind == "ClusterRoleBinding" else None), ours, AWAY)
    with pytest.raises(ClusterError, match="would not take job.batch/a: the server answered 404"):
        check_creatable(DOCS, Ground(lambda kind, dry: lacking if kind == "Job" else None), ours, AWAY)


def test_what_is_there_is_said_to_be_ours_or_not() -> None:
    taken = ObjectNotCreated("the server answered 409", already_exists=True)
    ground = Ground(lambda kind, dry: taken if kind == "Job" else None, {"Job": doc("Job")})
    with pytest.raises(UsageError, match="it is there already: job.batch/a") as caught:
        check_creatable(DOCS, ground, ours, AWAY)
    assert AWAY in caught.value.hint
    for there in ({"Job": {"metadata": {}}}, {}):
        ground = Ground(ground.refuses, there)
        with pytest.raises(UsageError, match="not of this tool: job.batch/a") as caught:
            check_creatable(DOCS, ground, ours, AWAY)
        assert AWAY not in caught.value.hint


def test_of_one_that_cannot_be_read_it_is_not_said_whose_it_is() -> None:
    taken = ObjectNotCreated("the server answered 409", already_exists=True)
    ground = Ground(lambda kind, dry: taken if kind == "Job" else None, {"Job": Unknown("you may not", "get jobs")})
    with pytest.raises(UsageError, match="who made it is unknown: job.batch/a: you may not"):
        check_creatable(DOCS, ground, ours, AWAY)


def removed(ground: Ground) -> tuple[PlacementResult, list[Doc]]:
    time, kept = Time(), Kept()
    world = ChangeEnvironment(kept, time, time.sleep, lambda: 0, lambda line: None, 0.0)
    return execute_change(Removal(DOCS, ground, lambda line: None, AWAY), world), kept.entries


def test_what_was_not_deleted_is_not_undone() -> None:
    every = {each["kind"]: each for each in DOCS}
    assert removed(Ground(holds={**every}))[0].whole and removed(Ground())[0].whole
    done, entries = removed(
        Ground(holds={**every}, keeps={"Job": ObjectNotCreated("you may not", "delete jobs.batch")})
    )
    assert not done.whole and "job.batch/a was not deleted: you may not" in done.left
    assert entries[-1]["entry"] == "ended" and entries[-1]["whole"] is False


def test_what_cannot_be_read_is_not_undone() -> None:
    """An unknown result is no pass."""
    every = {each["kind"]: each for each in DOCS}
    ground = Ground(holds={**every, "ClusterRole": Unknown("you may not", "get clusterroles")})
    done, _ = removed(ground)
    assert not done.whole and "you may not" in done.left
    assert list(ground.holds) == ["ClusterRole"], "the others are deleted all the same"


def test_told_to_stop_between_two_it_says_what_is_there() -> None:
    ground, time = Ground(), Time()
    world = ChangeEnvironment(Kept(), time, time.sleep, lambda: len(ground.created) // 2, lambda line: None, 0.0)
    done = start_change(Placement(DOCS, ground, lambda line: None, AWAY), {}, world)
    assert not done.whole and done.left == "it was stopped"
    there = "serviceaccount/a, clusterrole.rbac.authorization.k8s.io/a"
    assert done.created_text == f"There is by now: {there}. Take it away: {AWAY}"


def test_a_right_that_is_missing_is_named() -> None:
    refused = ObjectNotCreated("you may not", "create jobs.batch")
    with pytest.raises(Forbidden) as caught:
        check_creatable(DOCS, Ground(lambda kind, dry: refused if kind == "Job" else None), ours, AWAY)
    assert caught.value.missing == "create jobs.batch" and caught.value.hint == "Nothing was created."


def test_half_way_it_is_said_what_is_there_and_how_it_goes_away() -> None:
    refused = ObjectNotCreated("the server answered 500: no", is_uncertain=True)
    ground = Ground(lambda kind, dry: refused if kind == "ClusterRoleBinding" and not dry else None)
    with pytest.raises(ClusterError) as caught:
        placed(DOCS, ground, lambda line: None, AWAY)
    assert caught.value.message.startswith("it is unknown whether clusterrolebinding")
    there = "serviceaccount/a, clusterrole.rbac.authorization.k8s.io/a, perhaps clusterrolebinding"
    assert f"There is by now: {there}" in caught.value.hint and caught.value.hint.endswith(AWAY)
    first = Ground(lambda kind, dry: ObjectNotCreated("the server answered 422: no"))
    with pytest.raises(ClusterError) as caught:
        placed(DOCS, first, lambda line: None, AWAY)
    assert caught.value.hint == "Nothing was created." and "was not created" in caught.value.message


@pytest.mark.parametrize(
    ("error", "last"),
    [(KeyboardInterrupt(), ", perhaps clusterrolebinding.rbac.authorization.k8s.io/a"), (Unauthorized("who?"), "")],
)
def test_broken_off_half_way_it_is_said_what_is_there(error: BaseException, last: str) -> None:
    def refuses(kind: str, dry: bool) -> None:
        if kind == "ClusterRoleBinding":
            raise error

    said = list[str]()
    with pytest.raises(type(error)):
        placed(DOCS, Ground(refuses), said.append, AWAY)
    there = f"serviceaccount/a, clusterrole.rbac.authorization.k8s.io/a{last}"
    assert said[-1] == f"broken off. There is by now: {there}. Take it away: {AWAY}"


def test_what_came_since_it_was_shown_is_not_written_over() -> None:
    taken = ObjectNotCreated("the server answered 409", already_exists=True)
    ground = Ground(lambda kind, dry: taken if kind == "Job" and not dry else None)
    with pytest.raises(Drifted, match="something of the same name came since it was shown: job.batch/a") as caught:
        placed(DOCS, ground, lambda line: None, AWAY)
    assert caught.value.exit_code == 7 and "serviceaccount/a" in caught.value.hint and AWAY in caught.value.hint
