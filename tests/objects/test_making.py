"""A fact that was made quickly is the fact, and as frozen as any."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from kubectl_eksdoc.model.nodes import ControllerOwner, Pod
from kubectl_eksdoc.model.placing import HostPort
from kubectl_eksdoc.objects.structs import quickly
from tests.builders import a_pod


@pytest.mark.parametrize("fact", [a_pod(), a_pod(owner=None, labels={}), a_pod(phase="Pending", priority=7)])
def test_it_is_equal_in_all_but_its_making(fact: Pod) -> None:
    made = quickly(Pod)(*(getattr(fact, name) for name in Pod.__slots__))
    assert type(made) is Pod
    assert made == fact
    assert repr(made) == repr(fact)
    assert made.key == fact.key
    assert replace(made, name="other") == replace(fact, name="other")
    assert copy.copy(made) == pickle.loads(pickle.dumps(made)) == fact


def test_it_is_frozen_and_can_be_a_key() -> None:
    made = quickly(ControllerOwner)("ReplicaSet", "web", "u")
    assert {made: 1}[ControllerOwner("ReplicaSet", "web", "u")] == 1
    with pytest.raises(FrozenInstanceError):
        made.name = "other"  # type: ignore[misc]


def test_defaults_and_names_are_kept() -> None:
    assert quickly(HostPort)(port=80) == HostPort(80)
    with pytest.raises(TypeError):
        quickly(ControllerOwner)("ReplicaSet")  # type: ignore[call-arg]


@dataclass(frozen=True, slots=True)
class _Bag:
    held: dict[str, int] = field(default_factory=dict)


def test_a_default_that_is_made_anew_is_made_anew() -> None:
    make = quickly(_Bag)
    assert make().held is not make().held
