"""Predictions match what the stand-in of EKS then does: on random histories of writes, in every mode."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings

from kubectl_eksdoc.addon_diff.fields import AddonField, Usage, value_at
from kubectl_eksdoc.addon_diff.plan import AddonPlan, plan_update
from kubectl_eksdoc.addon_diff.prediction import AddonFacts, AddonUpdateRequest, AddonVersionFacts, Fate, Mode
from kubectl_eksdoc.aws.addon_side import chart_defaults
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.document_diff import compare
from kubectl_eksdoc.kubernetes.managed_fields import read_entries, without_entries
from kubectl_eksdoc.model.addons import Addon
from kubectl_eksdoc.model.api_objects import Doc, object_name
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.kinds import Unknown
from tests.addon.stand_in.histories import (
    HISTORIES,
    UPDATES,
    VERSIONS,
    AppliesEnv,
    HelmInstalls,
    Step,
    Updates,
    installed,
    played,
)
from tests.addon.stand_in.service import AddonService, Outcome
from tests.examples import examples

NAMES = (("DaemonSet", "aws-node"), ("ConfigMap", "amazon-vpc-cni"), ("ServiceAccount", "aws-node"))
CLUSTER = EksCluster("shop", "arn:aws:eks:eu-west-1:111122223333:cluster/shop", "1.33", "", "ACTIVE", "", "")


def live_of(service: AddonService) -> tuple[Doc, ...]:
    found = (service.objects.get(*name) for name in NAMES)
    return tuple(doc for doc in found if doc is not None)


def foretold(service: AddonService, update: Updates, charts: bool = True) -> AddonPlan:
    """The prediction with chart, values and live objects known, and without a schema: for most versions none is
    published."""
    unknown = Unknown("not published")
    chart: Any = chart_defaults if charts else lambda name, version: unknown
    facts = AddonFacts(
        CLUSTER,
        Addon("vpc-cni", service.version, "ACTIVE", service.values),
        AddonVersionFacts(service.version, chart("vpc-cni", service.version), unknown),
        AddonVersionFacts(update.version, chart("vpc-cni", update.version), unknown),
        json.loads(service.values or "{}"),
        live_of(service),
        (),
        Usage(()),
    )
    given = None if update.values is None else json.loads(update.values)
    return plan_update(facts, AddonUpdateRequest(Mode(update.mode), given), lambda values: ())


def done(service: AddonService, update: Updates) -> Outcome:
    return service.update(update.version, resolve_conflicts=update.mode, configuration_values=update.values)


def at(docs: tuple[Doc, ...], field: AddonField) -> Any:
    doc = next(doc for doc in docs if doc["kind"] == field.of.kind)
    return value_at(doc, field.path, schema_of(field.of.api_version, field.of.kind).root)


def check(history: list[Step], update: Updates) -> None:
    service = installed(VERSIONS[0])
    played(service, history)
    before, plan = live_of(service), foretold(service, update)
    outcome = done(service, update)
    after, mode = live_of(service), Mode(update.mode)
    shared = {str(field) for each in plan.predictions for field in each.shared}
    unknown = [change.field for change in plan.changes if change.fate(mode) is Fate.UNKNOWN]
    assert not any(field.variable for field in unknown), "what the chart sets of them is known"
    shared |= {str(field) for field in unknown}
    if outcome.status == "Failed":
        said = {line for error in outcome.errors for line in error.message.partition("Conflicts: ")[2].splitlines()}
        conflicts = {str(change.field) for change in plan.changes if change.fate(mode) is Fate.CONFLICT}
        assert conflicts <= said <= conflicts | shared
        return
    assert mode is not Mode.NONE or not plan.conflict
    for change in plan.changes:
        if change.fate(mode) is Fate.UNKNOWN or not change.has_exact_value(mode):
            continue
        assert at(after, change.field) == change.by_mode[mode].value, (str(change.field), change)
    check_no_loss_passes(plan, before, after)


def check_no_loss_passes(plan: AddonPlan, before: tuple[Doc, ...], after: tuple[Doc, ...]) -> None:
    told = {str(change.field) for change in plan.changes if change.at_risk}
    told |= {str(field) for each in plan.predictions for field in each.shared}
    for old in before:
        new = next(doc for doc in after if doc["kind"] == old["kind"])
        for path in lost(old, new):
            assert str(AddonField(object_name(old), path)) in told, f"nobody foretold {path}"


def lost(old: Doc, new: Doc) -> list[Any]:
    """Changed leaves that another client than EKS owned."""
    schema = schema_of(old["apiVersion"], old["kind"])
    seen = compare(without_entries(old), without_entries(new), schema.root)
    changed = set(seen.changed | seen.removed)
    leaves = [path for path in changed if not any(o[: len(path)] == path and o != path for o in changed)]
    others = [entry.fields for owner, entry in read_entries(old).items() if owner.manager != "eks"]
    return [path for path in leaves if path[-1] != "f:name" and any(path in fields for fields in others)]


@settings(max_examples=examples(60))
@given(history=HISTORIES, update=UPDATES)
def test_foretold_and_done_agree(history: list[Step], update: Updates) -> None:
    check(history, update)


@pytest.mark.long
@settings(max_examples=20)
@given(history=HISTORIES, update=UPDATES)
def test_without_a_chart_no_loss_passes(history: list[Step], update: Updates) -> None:
    """The chart is missing, as for a version newer than those of the package."""
    service = installed(VERSIONS[0])
    played(service, history)
    before, plan = live_of(service), foretold(service, update, charts=False)
    done(service, update)
    check_no_loss_passes(plan, before, live_of(service))
    if done(service, update).status == "Successful" and plan.way_out is None:
        assert not any(each.at_risk for each in plan.changes)


@settings(max_examples=examples(20))
@given(history=HISTORIES, update=UPDATES)
@example(
    history=[
        HelmInstalls('{"env":{"ENABLE_POD_ENI":"true"}}'),
        AppliesEnv(name="WARM_ENI_TARGET", value="true", container="aws-node", manager="helm"),
    ],
    update=Updates("v1.11.0-eksbuild.1", "NONE", None),
)
@pytest.mark.long
def test_the_values_that_are_proposed_change_nothing_at_risk(history: list[Step], update: Updates) -> None:
    """The values are passed in the call that updates, with OVERWRITE; fields that no value can set are named."""
    service = installed(VERSIONS[0])
    played(service, history)
    before = live_of(service)
    way = foretold(service, Updates(update.version, "OVERWRITE", update.values)).way_out
    if way is None:
        return
    done(service, Updates(update.version, "OVERWRITE", json.dumps(way.values)))
    after = live_of(service)
    for change in way.keeps:
        assert at(after, change.field) == at(before, change.field), str(change.field)
