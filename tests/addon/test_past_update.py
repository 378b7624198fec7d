"""An update by the stand-in of EKS, analysed afterwards: the fields it reset are those predicted as reset."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from kubectl_eksdoc.addon_diff.fields import MISSING, Usage
from kubectl_eksdoc.addon_diff.past_update import review_past_update
from kubectl_eksdoc.addon_diff.past_update_causes import ChangeCause
from kubectl_eksdoc.addon_diff.past_update_facts import PastFacts, UpdateReview
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.prediction import AddonFacts, AddonVersionFacts, Fate, Mode
from kubectl_eksdoc.addon_diff.revisions import TemplateUpdateStep
from kubectl_eksdoc.aws.addon_side import chart_defaults
from kubectl_eksdoc.model.addons import Addon, EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Unknown
from tests.addon.stand_in import hands
from tests.addon.stand_in.histories import (
    HISTORIES,
    UPDATES,
    VERSIONS,
    HelmInstalls,
    Patches,
    SetsEnv,
    Updates,
    installed,
)
from tests.addon.stand_in.histories import Step as Hand
from tests.addon.stand_in.pod_template import AGENT, INIT, MAIN
from tests.addon.stand_in.service import AddonService
from tests.addon.test_prediction_and_result import CLUSTER, foretold, live_of
from tests.addon_diff.aftermath.revised import Controller, at

BETWEEN_S, APPLIED_S = 5000, 7
"""Between two steps; and from an update's begin until its objects are written."""


class Lived:
    """An add-on's history, with the remaining revisions and updates. Mutable."""

    def __init__(self, version: str = VERSIONS[0], values: str = "") -> None:
        self.service = installed(version, values)
        self.controller = Controller()
        self.seconds = 0
        self.updates: list[EksAddonUpdate] = []
        self.values: dict[str, Doc | Unknown] = {}
        self._seen(0)

    def step(self, hand: Hand) -> None:
        self.seconds += BETWEEN_S
        if isinstance(hand, Updates):
            self.update(hand)
        else:
            hand.done(self.service)
            self._seen(0)

    def update(self, asked: Updates) -> None:
        outcome = self.service.update(asked.version, resolve_conflicts=asked.mode, configuration_values=asked.values)
        parameters = [("ResolveConflicts", asked.mode)]
        parameters += [("AddonVersion", asked.version)] if asked.version else []
        name = f"update-{len(self.updates)}"
        if asked.values is not None:
            parameters.append(("ConfigurationValues", asked.values))
            self.values[name] = json.loads(asked.values)
        self.updates.insert(0, EksAddonUpdate(name, "AddonUpdate", outcome.status, tuple(parameters), at(self.seconds)))
        self._seen(APPLIED_S)

    def _seen(self, after: int) -> None:
        self.controller.sees(daemon_set(self.service)["spec"]["template"], at(self.seconds + after))

    def looked_back(self, charts: Any = chart_defaults) -> UpdateReview:
        service = self.service
        version, unknown = service.version, Unknown("not published")
        of = AddonVersionFacts(version, charts("vpc-cni", version), unknown)
        addon = Addon("vpc-cni", version, "ACTIVE", service.values)
        values = json.loads(service.values or "{}")
        now = AddonFacts(CLUSTER, addon, of, of, values, live_of(service), (), Usage((), 3), True, (version,))
        docs = tuple(without_uid(doc) for doc in self.controller.docs)
        history = UpdateHistory(tuple(self.updates), 0, self.values)
        facts = PastFacts(now, self.updates[0], history, {"DaemonSet": docs})
        return review_past_update(facts, lambda each: charts("vpc-cni", each), lambda values: ())


def without_uid(doc: Doc) -> Doc:
    """The object without a UID, which the stand-in's objects do not have."""
    owners = [
        {key: value for key, value in each.items() if key != "uid"} for each in doc["metadata"]["ownerReferences"]
    ]
    return {**doc, "metadata": {**doc["metadata"], "ownerReferences": owners}}


def daemon_set(service: AddonService) -> Doc:
    found = service.objects.get("DaemonSet", "aws-node")
    assert found is not None
    return found


def reset(plan: AddonPlan) -> set[str]:
    """Fields of the pod template that were predicted to be lost."""
    gone = (change for change in plan.changes if change.fate(Mode.OVERWRITE) in (Fate.RESET, Fate.REMOVED))
    return {str(each.field) for each in gone if each.field.path[:2] == ("f:spec", "f:template")}


def test_the_incident_is_found_and_given_back() -> None:
    lived = Lived("v1.12.0-eksbuild.1")
    lived.step(SetsEnv("DISABLE_TCP_EARLY_DEMUX", "true", INIT, hands.KUBECTL_PATCH))
    lived.step(SetsEnv("ENABLE_POD_ENI", "true", MAIN))
    update = Updates("v1.12.6-eksbuild.1", "OVERWRITE")
    foreseen = reset(foretold(lived.service, update))
    lived.step(update)
    found = lived.looked_back()
    assert {str(change.field) for change in found.lost_fields} == foreseen and len(foreseen) == 2
    assert {each.code.name for each in found.findings if each.status is Status.FAIL} == {"addon-field-lost"}
    (templated,) = (each for each in found.workloads if each.patch is not None)
    hands.patches(lived.service.objects, templated.patch or {})
    doc = daemon_set(lived.service)
    assert (hands.env_of(doc, INIT)["DISABLE_TCP_EARLY_DEMUX"], hands.env_of(doc)["ENABLE_POD_ENI"]) == ("true", "true")


def test_the_values_of_tomorrow_keep_it() -> None:
    lived = Lived("v1.15.1-eksbuild.1")
    lived.step(SetsEnv("ENABLE_POD_ENI", "true", MAIN))
    lived.step(Updates("v1.16.0-eksbuild.1", "OVERWRITE"))
    found = lived.looked_back()
    assert found.next_update is not None and found.next_update.way_out is not None
    values = json.dumps(found.next_update.way_out.values)
    outcome = lived.service.update(resolve_conflicts="NONE", configuration_values=values)
    assert outcome.status == "Successful", "EKS has it, so nothing is in conflict, and no patch is needed"
    assert hands.env_of(daemon_set(lived.service))["ENABLE_POD_ENI"] == "true"
    lived.service.update("v1.19.5-eksbuild.1", resolve_conflicts="OVERWRITE")
    assert hands.env_of(daemon_set(lived.service))["ENABLE_POD_ENI"] == "true"


def test_values_that_the_update_dropped_are_lost_with_it() -> None:
    lived = Lived("v1.15.1-eksbuild.1")
    lived.step(Updates("", "NONE", '{"env":{"ENABLE_POD_ENI":"true"}}'))
    lived.step(Updates("v1.16.0-eksbuild.1", "NONE", "{}"))
    (change,) = lived.looked_back().lost_fields
    assert change.field.variable == "ENABLE_POD_ENI" and "configuration values of before" in change.because.why


def test_what_came_with_other_images_was_of_eks() -> None:
    """The images came by an update that EKS no longer lists, and no chart is known."""
    lived = Lived("v1.14.0-eksbuild.1")
    lived.step(Updates("v1.15.1-eksbuild.1", "OVERWRITE"))
    lived.updates.clear()
    lived.step(Updates("v1.16.0-eksbuild.1", "OVERWRITE"))
    assert not lived.looked_back(lambda name, version: Unknown("no chart")).lost_fields


def test_what_the_values_of_the_update_set_is_not_lost() -> None:
    lived = Lived("v1.15.1-eksbuild.1")
    lived.step(SetsEnv("WARM_ENI_TARGET", "2", MAIN))
    lived.step(Updates("v1.16.0-eksbuild.1", "OVERWRITE", '{"env":{"WARM_ENI_TARGET":"3"}}'))
    found = lived.looked_back()
    assert not found.lost_fields
    (templated,) = found.workloads
    causes = {change.field.variable: change.because.cause for change in templated.changes}
    assert causes["WARM_ENI_TARGET"] is ChangeCause.VALUES and causes["VPC_CNI_VERSION"] is ChangeCause.VERSION


def test_what_old_values_put_back_was_somebodys() -> None:
    """This update had no configuration values, so it did not request the old ones."""
    lived = Lived("v1.15.1-eksbuild.1")
    lived.step(Updates("", "NONE", '{"env":{"WARM_ENI_TARGET":"3"}}'))
    lived.step(SetsEnv("WARM_ENI_TARGET", "5", MAIN))
    lived.step(Updates("v1.16.0-eksbuild.1", "OVERWRITE"))
    (change,) = lived.looked_back().lost_fields
    assert (change.field.variable, change.before, change.after) == ("WARM_ENI_TARGET", "5", "3")


def test_what_the_update_before_took_is_not_passed_when_the_latest_is_the_way_back() -> None:
    lived = Lived("v1.15.1-eksbuild.1")
    lived.step(SetsEnv("ENABLE_POD_ENI", "true", MAIN))
    lived.step(Updates("v1.16.0-eksbuild.1", "OVERWRITE"))
    lived.step(Updates("v1.15.1-eksbuild.1", "OVERWRITE"))
    found = lived.looked_back()
    assert not found.lost_fields
    (said,) = (each for each in found.findings if each.code.name == "addon-field-lost")
    assert said.status is Status.FAIL and "ENABLE_POD_ENI" in said.message
    assert "--after --update update-0" in said.remedy[0].command
    lived.step(SetsEnv("ENABLE_POD_ENI", "true", MAIN))
    assert not lived.looked_back().earlier_updates, "it is back"


def test_values_given_since_are_not_undone() -> None:
    lived = Lived("v1.15.1-eksbuild.1")
    lived.step(SetsEnv("WARM_ENI_TARGET", "5", MAIN))
    lived.step(Updates("v1.16.0-eksbuild.1", "OVERWRITE"))
    lived.step(Updates("", "OVERWRITE", '{"env":{"WARM_ENI_TARGET":"3"}}'))
    assert not lived.looked_back().earlier_updates


def test_an_image_of_a_registry_of_ones_own_is_not_passed() -> None:
    lived = Lived("v1.15.1-eksbuild.1")
    lived.step(SetsEnv("ENABLE_POD_ENI", "true", MAIN))
    lived.step(Updates("v1.16.0-eksbuild.1", "OVERWRITE"))
    for doc in lived.controller.docs[:-1]:
        main = next(each for each in doc["data"]["spec"]["template"]["spec"]["containers"] if each["name"] == MAIN)
        main["image"] = f"mirror.example/{main['image'].rpartition('/')[2]}"
    (templated,) = lived.looked_back().workloads
    images = [change.because.cause for change in templated.changes if change.field.path[-1] == "f:image"]
    assert ChangeCause.UNKNOWN in images


@pytest.mark.parametrize(("mode", "known"), [("NONE", True), ("OVERWRITE", False)])
def test_after_none_nothing_of_another_owner_was_taken(mode: str, known: bool) -> None:
    """Nothing says that the images are EKS's, so the client that set them may have set the arguments too; EKS would
    have been refused."""
    lived = Lived("v1.16.0-eksbuild.1")
    lived.step(Updates("v1.19.5-eksbuild.1", mode))
    for doc in lived.controller.docs:
        for container in doc["data"]["spec"]["template"]["spec"]["containers"]:
            container["image"] = container["image"].partition("-eksbuild")[0]
    (templated,) = lived.looked_back().workloads
    causes = {change.because.cause for change in templated.changes if "f:args" in change.field.path}
    assert causes == {ChangeCause.VERSION if known else ChangeCause.UNKNOWN}
    assert known or lived.looked_back().findings
    assert not known or {each.status for each in lived.looked_back().findings} <= {Status.PASS}


def test_a_list_that_is_one_value_keeps_what_the_version_changed_of_it() -> None:
    """v1.20.0's chart has more arguments of the network policy agent than v1.19.5's."""
    lived = Lived("v1.16.0-eksbuild.1")
    args = daemon_set(lived.service)["spec"]["template"]["spec"]["containers"][1]["args"]
    mine = [*(each for each in args if "cloudwatch" not in each), "--enable-cloudwatch-logs=true"]
    patch = {"spec": {"template": {"spec": {"containers": [{"name": AGENT, "args": mine}]}}}}
    lived.step(Patches(json.dumps(patch), "kubectl-patch"))
    lived.step(Updates("v1.19.5-eksbuild.1", "OVERWRITE"))
    new = daemon_set(lived.service)["spec"]["template"]["spec"]["containers"][1]["args"]
    assert len(new) > len(args)
    (templated,) = lived.looked_back().workloads
    hands.patches(lived.service.objects, templated.patch or {})
    given_back = daemon_set(lived.service)["spec"]["template"]["spec"]["containers"][1]["args"]
    assert sorted(given_back) == sorted(
        each.replace("logs=false", "logs=true") if "cloudwatch" in each else each for each in new
    )


def check(history: list[Hand], update: Updates) -> None:
    """Each field predicted as reset was lost, or that is unknown; each field reported as lost was predicted."""
    lived = Lived()
    for hand in history:
        lived.step(hand)
    asked = replace(update, mode="OVERWRITE")
    plan = foretold(lived.service, asked)
    foreseen = reset(plan)
    lived.step(asked)
    found = lived.looked_back()
    (templated,) = found.workloads
    if not isinstance(templated.step, TemplateUpdateStep):
        return
    by_field = {str(change.field): change for change in templated.changes}
    for field in foreseen:
        because = by_field[field].because
        # An installation of the same chart by Helm had its defaults, so no user misses them. Every version has another
        # tag, and the owner of the previous tag is not recorded.
        told_why = ("as the chart", "another tag of the same image", "it was so from the beginning", "as the manifest")
        assert because.cause is not ChangeCause.VERSION or any(each in because.why for each in told_why), by_field[
            field
        ]
    told = {str(field) for each in plan.predictions for field in each.shared}
    told |= {str(each.field) for each in plan.changes if each.fate(Mode.OVERWRITE) is Fate.UNKNOWN}
    for field, change in by_field.items():
        # Of an entry whose value its applier has withdrawn, EKS's name is left until a version drops it.
        empty = isinstance(change.before, dict) and change.before.keys() == {"name"}
        if change.is_lost and change.before is not MISSING and not empty and field not in told:
            assert field in foreseen or "configuration values" in change.because.why, (field, change)


def test_what_was_so_from_the_beginning_with_an_image_of_ones_own_is_not_passed() -> None:
    """The client that set the image may have set the rest, as Helm does."""
    image = json.dumps({"containers": [{"name": MAIN, "image": "registry.example/amazon-k8s-cni:mine"}]})
    patch = Patches(f'{{"spec": {{"template": {{"spec": {image}}}}}}}', "kubectl-patch")
    check([HelmInstalls("{}"), patch], Updates("v1.12.0-eksbuild.1", "NONE"))
    values = {"env": {"ENABLE_POD_ENI": "true", "MY_OWN": "1"}, "init": {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}}}
    check([patch, HelmInstalls(json.dumps(values)), patch], Updates("v1.11.0-eksbuild.1", "NONE"))


def test_defaults_of_a_container_that_goes_with_the_version_are_nobodys_loss() -> None:
    """They were predicted as removed in every mode."""
    newer, older = Updates("v1.14.0-eksbuild.1", "NONE"), Updates("v1.12.0-eksbuild.1", "NONE")
    check([newer], older)
    lived = Lived()
    lived.step(newer)
    assert not reset(foretold(lived.service, older))


@pytest.mark.long
@settings(max_examples=30)
@given(history=HISTORIES, update=UPDATES)
def test_what_was_foretold_as_reset_is_found_as_lost(history: list[Hand], update: Updates) -> None:
    check(history, update)
