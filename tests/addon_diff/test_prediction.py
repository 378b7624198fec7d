"""What an update does to fields that people have changed, field by field and mode by mode."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.expected import ExpectedApply, Witness
from kubectl_eksdoc.addon_diff.manifests import rendered
from kubectl_eksdoc.addon_diff.merging import MISSING, merged
from kubectl_eksdoc.addon_diff.prediction import Fate, FieldChange, Mode, predict
from kubectl_eksdoc.addon_diff.schema.paths import SchemaPaths
from kubectl_eksdoc.model.addons import Path as ConfigPath
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Confidence
from tests.addon_diff.incident import CHART, EARLY_DEMUX, POD_ENI, a_persons, chart, rich, schema

LIVES = {"names are EKS's": rich, "all is a person's": a_persons}


def changes(live: Doc, update: ExpectedApply) -> dict[ConfigPath, FieldChange]:
    return {change.config: change for change in predict(live, update).changes if change.config}


def an_update(after: Doc = CHART, before: Doc = CHART, **more: Any) -> ExpectedApply:
    return ExpectedApply(rendered("vpc-cni", before), rendered("vpc-cni", after), **more)


def known(version: str) -> SchemaPaths | None:
    found = schema(version)
    return found if isinstance(found, SchemaPaths) else None


@pytest.mark.parametrize("live", LIVES.values(), ids=LIVES)
@pytest.mark.parametrize("old", ["v1.11.0", "v1.12.0"])
@pytest.mark.parametrize("new", ["v1.12.6", "v1.15.1"])
def test_the_incident(live: Any, old: str, new: str) -> None:
    foretold = changes(live(), an_update(chart(new), chart(old), schema=known(new)))
    for path in (EARLY_DEMUX, POD_ENI):
        change = foretold[path]
        assert change.live == "true" and change.at_risk and "eks" not in change.owners
        assert {mode: (told.fate, told.value) for mode, told in change.by_mode.items()} == {
            Mode.OVERWRITE: (Fate.RESET, "false"),
            Mode.PRESERVE: (Fate.KEPT, "true"),
            Mode.NONE: (Fate.CONFLICT, "true"),
        }
        assert change.confidence(Mode.PRESERVE) is Confidence.LOW, "no document says how"


def test_ownership_that_expands_is_seen() -> None:
    taken_over = changes(a_persons(), an_update(schema=known("v1.15.1")))[EARLY_DEMUX]
    assert taken_over.expands and taken_over.witness is Witness.SCHEMA
    assert not changes(rich(), an_update(schema=known("v1.15.1")))[EARLY_DEMUX].expands, "EKS has named it all along"
    both = an_update(schema=known("v1.15.1"), schema_now=known("v1.15.1"))
    assert not changes(a_persons(), both)[EARLY_DEMUX].expands, "today's version has the value, too"
    unsure = changes(a_persons(), an_update())[EARLY_DEMUX]
    assert unsure.expands and unsure.confidence(Mode.OVERWRITE) is Confidence.LOW


def test_what_neither_schema_nor_ownership_says_is_unknown() -> None:
    """To v1.12.0: its chart renders ``init``, and its schema has none."""
    change = changes(a_persons(), an_update(schema=known("v1.12.0")))[EARLY_DEMUX]
    assert {told.fate for told in change.by_mode.values()} == {Fate.UNKNOWN} and change.at_risk


def test_values_that_say_the_same_change_nothing() -> None:
    """And all of it in the call: the chart's defaults with the configuration values over them."""
    wanted = merged(CHART, {"env": {POD_ENI[1]: "true"}, "init": {"env": {EARLY_DEMUX[2]: "true"}}}).values
    for live in (rich(), a_persons()):
        found = changes(live, an_update(wanted, explicit={EARLY_DEMUX, POD_ENI}))
        assert EARLY_DEMUX not in found and POD_ENI not in found
        assert not predict(live, an_update(wanted, explicit={EARLY_DEMUX, POD_ENI})).conflict


def test_what_the_chart_drops_goes_with_the_value_a_person_gave_it() -> None:
    """After ``kubectl set env`` EKS keeps the entry's name: applied without it, the entry goes (recorded)."""
    without = {**CHART, "init": {"env": {}}}
    change = next(c for c in predict(rich(), an_update(without)).changes if c.field.variable == EARLY_DEMUX[2])
    assert change.live == "true" and change.fate(Mode.OVERWRITE) is change.fate(Mode.PRESERVE) is Fate.REMOVED
    kept = [c for c in predict(a_persons(), an_update(without)).changes if c.field.variable == EARLY_DEMUX[2]]
    assert not kept, "what only a person added survives even a forced apply"


def test_what_only_eks_has_follows_the_version() -> None:
    newer = {**CHART, "env": {**CHART["env"], "AWS_VPC_ENI_MTU": "1500", "NEW": "x"}}
    found = changes(a_persons(), an_update(newer))
    assert found["env", "AWS_VPC_ENI_MTU"].fate(Mode.OVERWRITE) is Fate.FOLLOWS
    added = found["env", "NEW"]
    assert added.live is MISSING and not added.at_risk and added.by_mode[Mode.PRESERVE].value == "x"


def test_without_a_chart_what_eks_names_and_others_set_is_unknown() -> None:
    found = {change.field.variable: change for change in predict(rich(), ExpectedApply((), ())).changes}
    assert set(found) == {"DISABLE_TCP_EARLY_DEMUX", "ENABLE_POD_ENI"}
    assert all(change.fate(Mode.OVERWRITE) is Fate.UNKNOWN and change.at_risk for change in found.values())


def test_an_object_that_eks_has_never_applied() -> None:
    """Self-managed: kubectl created it, and the add-on takes it over."""
    live = {**a_persons(), "metadata": {"name": "aws-node", "namespace": "kube-system"}}
    found = changes(live, an_update())
    assert found[POD_ENI].fate(Mode.OVERWRITE) is Fate.RESET and found[POD_ENI].fate(Mode.NONE) is Fate.CONFLICT


@pytest.mark.parametrize("live", LIVES.values(), ids=LIVES)
def test_a_variable_that_is_there_twice_is_told_once(live: Any) -> None:
    """By the value of the second, which is the one that containers get."""
    twice = json.loads(json.dumps(live()))
    env = twice["spec"]["template"]["spec"]["containers"][0]["env"]
    env.append({"name": POD_ENI[1], "value": "second"})
    (told,) = (each for each in predict(twice, an_update()).changes if f'"{POD_ENI[1]}"' in str(each.field))
    assert (told.config, told.live) == (POD_ENI, "second")
