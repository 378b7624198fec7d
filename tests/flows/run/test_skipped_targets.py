"""A target that is only cordoned is in the journal, is cordoned by whoever goes on, and is given back as the others."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.run.journal import replay
from kubectl_eksdoc.model.acts import Cordon, Evict
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.journal import Verb
from kubectl_eksdoc.simulator.plane import ControlPlane
from tests.flows.fields import Killed
from tests.flows.run.test_draining import Heard, go_on, run, state, three_nodes
from tests.flows.run.test_rolling_back import AdoptedJournal, check, rolled_back
from tests.flows.stages import made, with_group
from tests.simulator.planes import a_node_doc, a_pod_doc, doc_of

WRITES = 4
"""By then all cordons were asked for."""


def one_more() -> list[Doc]:
    """old-3 keeps a pod that no controller makes again, and is the emptiest."""
    bare = with_value(a_pod_doc("bare", "old-3", cpu="100m"), ("metadata", "labels"), {"app": "bare"})
    return [*three_nodes(), with_group(a_node_doc("old-3", cpu="64")), bare]


def is_cordoned(plane: ControlPlane, node: str = "old-3") -> bool:
    return bool(doc_of(plane, "nodes", node)["spec"].get("unschedulable"))


def on(plane: ControlPlane, node: str = "old-3") -> list[str]:
    return [item.key[1] for item in plane.store.list("pods") if item.doc["spec"].get("nodeName") == node]


def test_it_is_cordoned_before_the_first_eviction_and_no_pod_comes_to_it() -> None:
    plane, stage = made(*one_more())
    journal = AdoptedJournal()
    ended, field = run(stage, Heard(), journal)
    assert ended.whole and is_cordoned(plane) and on(plane) == ["bare"]
    cordoned = [at for at, act in enumerate(field.done) if isinstance(act, Cordon)]
    assert len(cordoned) == 4 and max(cordoned) < min(at for at, act in enumerate(field.done) if isinstance(act, Evict))
    stands = replay(journal.read())
    assert [each.node for each in stands.cordoned] == ["old-0", "old-1", "old-2", "old-3"]
    assert stands.begun is not None and [aim.node for aim in stands.begun.skipped] == ["old-3"]
    assert ended.record.cordoned_only == ("old-3",) and ended.record.on_targets == 0
    assert set(ended.record.placed or ()) <= {"new-0", "new-1", "new-2"}
    assert [change.intent.name for change in stands.changes if change.intent.verb is Verb.CORDON][-1] == "old-3"
    assert "old-3" in rolled_back(stage, journal).restored and not is_cordoned(plane)


@pytest.mark.parametrize("point", range(1, WRITES + 1))
@pytest.mark.parametrize("kept", [True, False])
def test_killed_early_it_is_cordoned_by_whoever_goes_on(point: int, kept: bool) -> None:
    plane, stage = made(*one_more())
    journal = AdoptedJournal(point, kept=kept)
    with pytest.raises(Killed):
        run(stage, Heard(), journal)
    ended, _ = go_on(stage, Heard(), journal)
    assert ended.whole and is_cordoned(plane) and on(plane) == ["bare"]


@pytest.mark.parametrize("point", range(1, 6))
def test_killed_early_it_is_given_back(point: int) -> None:
    plane, stage = made(*one_more())
    before, journal = state(plane), AdoptedJournal()
    with pytest.raises(Killed):
        run(stage, Heard(), journal, dies_at=point)
    check(rolled_back(stage, journal), stage, before, state(plane))
    assert not is_cordoned(plane)
