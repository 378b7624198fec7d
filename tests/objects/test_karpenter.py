"""NodePools and EC2NodeClasses out of objects as API servers print them, in both versions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Identity, NodeClass, NodePool, Source
from kubectl_eksdoc.model.machines import SaidOptions
from kubectl_eksdoc.objects.collector import BadObject, Collector
from tests.objects.observing import observed

OPTIONS = {
    "httpEndpoint": "enabled",
    "httpProtocolIPv6": "disabled",
    "httpPutResponseHopLimit": 1,
    "httpTokens": "required",
}


def a_class(**spec: Any) -> NodeClass:
    (found,) = observed(kinds.NODE_CLASSES, spec=spec).node_classes
    return found


def a_pool(ref: dict[str, Any] | None) -> NodePool:
    (found,) = observed(kinds.NODE_POOLS, spec={"template": {"spec": {"nodeClassRef": ref}}}).node_pools
    return found


def test_a_class_as_v1_has_it() -> None:
    terms = [{"alias": "al2023@v20251112"}, {"id": "ami-0123"}, {"tags": {"team": "a", "env": "b"}, "owner": "self"}]
    amis = ("alias=al2023@v20251112", "id=ami-0123", "owner=self,tag:env=b,tag:team=a")
    found = a_class(amiSelectorTerms=terms, metadataOptions=OPTIONS, role="node")
    assert found == NodeClass("x", SaidOptions("required", 1, True, False), "", amis)


def test_a_class_as_v1beta1_has_it() -> None:
    found = a_class(amiFamily="AL2", metadataOptions={**OPTIONS, "httpPutResponseHopLimit": 2})
    assert found == NodeClass("x", SaidOptions("required", 2, True, False), "AL2")


@pytest.mark.parametrize("spec", [{}, {"metadataOptions": None}, {"metadataOptions": {}, "amiSelectorTerms": None}])
def test_a_class_that_says_nothing(spec: dict[str, Any]) -> None:
    assert a_class(**spec).metadata.nothing


def test_a_part_of_the_options_is_a_part() -> None:
    assert a_class(metadataOptions={"httpTokens": "optional", "httpEndpoint": "disabled"}).metadata == SaidOptions(
        "optional", None, False, None
    )


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "default"),
        ({"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"}, "default"),
        ({"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}, ""),
        (None, ""),
    ],
)
def test_the_class_of_a_pool(ref: dict[str, Any] | None, name: str) -> None:
    assert a_pool(ref) == NodePool("x", (), name)


_VALUES = some.none() | some.booleans() | some.integers(-(2**70), 2**70) | some.text(max_size=4) | some.just([])
_OPTIONS = some.dictionaries(some.sampled_from([*OPTIONS, "other"]), _VALUES) | _VALUES
_TERMS = some.lists(some.dictionaries(some.sampled_from(["alias", "id", "name", "tags", "owner"]), _VALUES)) | _VALUES
_SPECS = some.fixed_dictionaries({}, optional={"metadataOptions": _OPTIONS, "amiSelectorTerms": _TERMS, "x": _VALUES})


@given(_SPECS)
def test_whatever_it_holds_it_is_a_class_or_a_named_error(spec: dict[str, Any]) -> None:
    collector = Collector(Source.LIVE)
    try:
        collector.add_item(kinds.NODE_CLASSES, json.dumps({"metadata": {"name": "x"}, "spec": spec}).encode(), "test")
    except BadObject as error:
        assert "EC2NodeClass x" in str(error)
        return
    (found,) = collector.cluster(Identity(), None).node_classes
    options = spec.get("metadataOptions") or {}
    assert found.metadata.hop_limit == options.get("httpPutResponseHopLimit")
    assert found.metadata.tokens == (options.get("httpTokens") or "")
