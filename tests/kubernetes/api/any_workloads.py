"""Random Deployments with every difficult case of field ownership: lists by key, sets, atomic values, maps, empty
values."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.model.api_objects import Doc

SCHEMA = schema_of("apps/v1", "Deployment")

_names = st.sampled_from("abc")
_values = st.sampled_from(["1", "2"])


def _listed(item: st.SearchStrategy[Doc], key: str) -> st.SearchStrategy[list[Doc]]:
    return st.lists(item, max_size=3, unique_by=lambda found: found[key])


def _some(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Doc]:
    return st.fixed_dictionaries({}, optional=optional)


_variables = _listed(st.fixed_dictionaries({"name": _names}, optional={"value": _values}), "name")
_ports = _listed(
    st.fixed_dictionaries({"containerPort": st.integers(1, 3)}, optional={"name": _names}), "containerPort"
)
_containers = _listed(
    st.fixed_dictionaries(
        {"name": _names},
        optional={
            "image": _values,
            "env": _variables,
            "ports": _ports,
            "args": st.lists(_values, max_size=2),
            "resources": _some(limits=st.dictionaries(st.sampled_from(["cpu", "memory"]), _values)),
        },
    ),
    "name",
)
_pods = _some(
    containers=_containers,
    nodeSelector=st.dictionaries(_names, _values, max_size=2),
    tolerations=st.lists(st.fixed_dictionaries({"key": _names}), max_size=2),
    hostNetwork=st.booleans(),
)


@st.composite
def workloads(draw: st.DrawFn) -> Doc:
    """A Deployment, or an apply configuration of one; it always has the same name."""
    metadata = draw(
        _some(
            labels=st.dictionaries(_names, _values, max_size=2),
            finalizers=st.lists(_names, max_size=2, unique=True),
        )
    )
    spec = draw(
        _some(
            replicas=st.integers(0, 2),
            selector=_some(matchLabels=st.dictionaries(_names, _values, max_size=2)),
            template=_some(spec=_pods),
        )
    )
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", **metadata}, "spec": spec}


def filled_workloads() -> st.SearchStrategy[Doc]:
    """Deployments in which no object and no list is empty.

    A server of Go structs drops or keeps empty values, by type; the ownership rules do not cover that.
    """
    return workloads().map(_without_empty)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: _without_empty(inner) for name, inner in value.items()}
        return {name: inner for name, inner in kept.items() if inner not in ({}, [])}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value
