"""The patch that restores lost fields: exactly these fields, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.addon_diff.fields import MISSING, value_at
from kubectl_eksdoc.addon_diff.past_update import build_restore_patch, rebase_list
from kubectl_eksdoc.addon_diff.prediction import changed_paths
from kubectl_eksdoc.kubernetes.api.patches import apply_strategic
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.redaction import Digester
from kubectl_eksdoc.model.api_objects import Doc
from tests.addon_diff.aftermath.revised import daemon_set, template

SCHEMA = schema_of("apps/v1", "DaemonSet")
INIT = ("f:spec", "f:template", "f:spec", "f:initContainers", 'k:{"name":"aws-vpc-cni-init"}')
MAIN = ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"aws-node"}')


def test_the_incident_is_one_entry_of_the_init_container() -> None:
    live = daemon_set(template(init={"DISABLE_TCP_EARLY_DEMUX": "false", "ENABLE_IPv6": "false"}))
    path = (*INIT, "f:env", 'k:{"name":"DISABLE_TCP_EARLY_DEMUX"}', "f:value")
    found = build_restore_patch(live, {path: "true"}, SCHEMA)
    entry = {"name": "DISABLE_TCP_EARLY_DEMUX", "value": "true"}
    containers = [{"name": "aws-vpc-cni-init", "env": [entry]}]
    assert found.patch == {"spec": {"template": {"spec": {"initContainers": containers}}}}
    assert found.fields == (path,) and not found.not_restorable


def test_what_is_there_already_needs_no_patch() -> None:
    live = daemon_set(template(X="1"))
    assert build_restore_patch(live, {(*MAIN, "f:env", 'k:{"name":"X"}', "f:value"): "1"}, SCHEMA).patch is None


def test_a_digest_is_never_sent() -> None:
    env = (*MAIN, "f:env")
    path, other = ((*env, f'k:{{"name":"{name}"}}', "f:value") for name in "XY")
    found = build_restore_patch(
        daemon_set(template()), {path: Digester(b"a key").digest("hunter2"), other: "1"}, SCHEMA
    )
    assert found.not_restorable == (path,)
    assert found.fields == (other,)


def test_a_container_that_is_gone_does_not_come_back_in_parts() -> None:
    path = ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"gone"}', "f:env", 'k:{"name":"X"}', "f:value")
    found = build_restore_patch(daemon_set(template()), {path: "1"}, SCHEMA)
    assert found.patch is None and found.not_restorable == (path,)


def test_a_variable_has_a_value_or_takes_one_from_somewhere() -> None:
    live = daemon_set(template())
    entry = {"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    live["spec"]["template"]["spec"]["containers"][0]["env"] = [entry]
    path = (*MAIN, "f:env", 'k:{"name":"X"}', "f:value")
    found = build_restore_patch(live, {path: "1"}, SCHEMA)
    assert found.after["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "X", "value": "1"}]


_NAMES = ("A", "B", "C", "D")
_ENVS = st.dictionaries(st.sampled_from(_NAMES), st.sampled_from(("1", "2")), max_size=4)
_TOLERATIONS = st.lists(
    st.fixed_dictionaries({"operator": st.just("Exists"), "key": st.sampled_from(("x", "y"))}), max_size=2
)
_SELECTORS = st.none() | st.dictionaries(st.sampled_from(("os", "zone")), st.sampled_from(("a", "b")), max_size=2)
_AFFINITY = st.sampled_from(
    [
        None,
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"a": 1}]}}},
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"b": 2, "c": 3}]}}},
    ]
)
_AMOUNTS = st.dictionaries(st.sampled_from(("cpu", "memory")), st.just("1"))
_RESOURCES = st.none() | st.dictionaries(st.sampled_from(("requests", "limits")), _AMOUNTS, max_size=2)
_PORTS = st.lists(st.sampled_from((61678, 8162)), unique=True, max_size=2)


@st.composite
def templates(draw: st.DrawFn) -> Doc:
    """Templates with the same containers, with settings in every kind of place that a patch can reach."""
    made = template("v1", draw(_ENVS), **draw(_ENVS))
    spec, main = made["spec"], made["spec"]["containers"][0]
    for where, name, value in (
        (spec, "tolerations", draw(_TOLERATIONS)),
        (spec, "nodeSelector", draw(_SELECTORS)),
        (spec, "affinity", draw(_AFFINITY)),
        (main, "resources", draw(_RESOURCES)),
        (main, "args", draw(st.none() | st.lists(st.sampled_from(("--a", "--b")), max_size=2))),
        (main, "ports", [{"containerPort": port, "protocol": "TCP"} for port in draw(_PORTS)]),
        (main, "livenessProbe", draw(st.none() | st.just({"timeoutSeconds": 7, "exec": {"command": ["a"]}}))),
    ):
        if value is not None:
            where[name] = value
    return made


@given(before=templates(), live=templates(), data=st.data())
def test_it_gives_back_what_is_asked_for_and_changes_nothing_else(before: Doc, live: Doc, data: st.DataObject) -> None:
    old, new = daemon_set(before), daemon_set(live, resourceVersion="7")
    changed = sorted(path for path in changed_paths(old, new, SCHEMA) if path[:2] == ("f:spec", "f:template"))
    lost = [path for path in changed if data.draw(st.booleans())]
    wanted: dict[Any, Any] = {path: value_at(old, path, SCHEMA.root) for path in lost}
    found = build_restore_patch(new, wanted, SCHEMA)
    after = new if found.patch is None else apply_strategic(new, found.patch, SCHEMA.root)
    assert after == found.after
    assert set(found.fields) | set(found.not_restorable) == set(lost) and not set(found.fields) & set(
        found.not_restorable
    )
    for path in found.fields:
        assert value_at(after, path, SCHEMA.root) == wanted[path], path
    others = changed_paths(new, after, SCHEMA) - set(found.fields)
    assert not others, others
    rest = [path for path in found.not_restorable if "f:ports" not in path]
    assert not rest, "all but half a port comes back"


def test_all_of_a_variable_goes_where_it_was_not() -> None:
    live = daemon_set(template(X="1", Y="2"))
    path = (*MAIN, "f:env", 'k:{"name":"X"}', "f:value")
    found = build_restore_patch(live, {path: MISSING}, SCHEMA)
    assert found.after["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "Y", "value": "2"}]


@pytest.mark.parametrize("value", [MISSING, "x", 1, None, [], {}])
def test_any_path_is_patched_or_not(value: Any) -> None:
    live = daemon_set(template(X="1"))
    for path in (
        ("f:spec",),
        ("k:{}",),
        ("f:spec", "v:1"),
        (*MAIN,),
        (*MAIN, "f:env", 'k:{"name":"X"}'),
        ("f:a", "f:b"),
    ):
        build_restore_patch(live, {path: value}, SCHEMA)


@pytest.mark.parametrize(
    ("base", "theirs", "ours", "merged"),
    [
        (["--a=1"], ["--a=2"], ["--a=1", "--b=1"], ["--b=1", "--a=2"]),
        (["--a=1", "--b=1"], ["--a=1"], ["--a=1", "--b=1", "--c=1"], ["--a=1", "--c=1"]),
        (["--a=1"], ["--a=2"], ["--a=3"], ["--a=2"]),
        (["-conf", "x"], ["-conf", "y"], ["-conf", "x"], ["-conf", "y"]),
        (["-conf", "x"], ["-conf", "y"], ["-conf", "x", "--v=1"], None),
        ([{"key": "a"}], [{"key": "a"}, {"key": "own"}], [{"key": "b"}], [{"key": "b"}, {"key": "own"}]),
        (MISSING, ["--a=2"], ["--a=1"], None),
    ],
)
def test_a_list_is_merged_three_ways(base: Any, theirs: Any, ours: Any, merged: Any) -> None:
    assert rebase_list(base, theirs, ours) == merged
