"""What becomes of a person's settings in each mode: the incident, on the DaemonSet of a recorded cluster."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.model.api_objects import Doc
from tests import raw_facts
from tests.addon.stand_in import hands
from tests.addon.stand_in.documents import Documents, Objects
from tests.addon.stand_in.pod_template import INIT, MAIN
from tests.addon.stand_in.service import AddonService

DEMUX = '.spec.template.spec.initContainers[name="aws-vpc-cni-init"].env[name="DISABLE_TCP_EARLY_DEMUX"].value'
POD_ENI = '.spec.template.spec.containers[name="aws-node"].env[name="ENABLE_POD_ENI"].value'
NO_CHANGE = "Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts: "
BOTH = '{"env":{"ENABLE_POD_ENI":"true"},"init":{"env":{"DISABLE_TCP_EARLY_DEMUX":"true"}}}'


def rich() -> Documents:
    kinds = ("daemonsets", "configmaps", "serviceaccounts")
    docs = (doc for kind in kinds for doc in raw_facts.recorded("rich", kind))
    return Documents(*(doc for doc in docs if doc["metadata"]["namespace"] == "kube-system"))


def settings(objects: Objects) -> tuple[Any, Any]:
    """DISABLE_TCP_EARLY_DEMUX and ENABLE_POD_ENI as they are live."""
    doc = live(objects)
    return hands.env_of(doc, INIT).get("DISABLE_TCP_EARLY_DEMUX"), hands.env_of(doc).get("ENABLE_POD_ENI")


def live(objects: Objects, kind: str = "DaemonSet", name: str = "aws-node") -> Doc:
    found = objects.get(kind, name)
    assert found is not None
    return found


def entries(doc: Doc) -> dict[str, Doc]:
    return {entry["manager"]: entry["fieldsV1"] for entry in doc["metadata"]["managedFields"] if "time" in entry}


def at(doc: Doc, *steps: str) -> Doc:
    for step in steps:
        doc = doc[step]
    return doc


@pytest.fixture
def incident() -> AddonService:
    service = AddonService(rich(), "v1.19.5-eksbuild.1")
    assert settings(service.objects) == ("true", "true")
    return service


def test_overwrite_resets_what_people_set(incident: AddonService) -> None:
    outcome = incident.update("v1.12.6-eksbuild.1", resolve_conflicts="OVERWRITE")
    assert (outcome.status, outcome.errors) == ("Successful", ())
    assert settings(incident.objects) == ("false", "false")
    assert incident.version == "v1.12.6-eksbuild.1"
    assert {"kubectl-set", "kubectl-patch"}.isdisjoint(entries(live(incident.objects)))


def test_preserve_keeps_it_with_its_owners(incident: AddonService) -> None:
    outcome = incident.update("v1.12.6-eksbuild.1", resolve_conflicts="PRESERVE")
    assert outcome.status == "Successful"
    assert outcome.preserved == (f"DaemonSet.apps aws-node - {POD_ENI}", f"DaemonSet.apps aws-node - {DEMUX}")
    assert settings(incident.objects) == ("true", "true")
    owned = entries(live(incident.objects))
    assert {"kubectl-set", "kubectl-patch"} < set(owned)
    spec = at(owned["eks"], "f:spec", "f:template", "f:spec")
    entry = at(spec, "f:containers", 'k:{"name":"aws-node"}', "f:env", 'k:{"name":"ENABLE_POD_ENI"}')
    assert entry == {".": {}, "f:name": {}}


def test_none_fails_naming_both_and_changes_nothing(incident: AddonService) -> None:
    before = live(incident.objects)
    outcome = incident.update("v1.12.6-eksbuild.1", resolve_conflicts="NONE")
    (error,) = outcome.errors
    assert (outcome.status, error.code) == ("Failed", "ConfigurationConflict")
    assert error.message == f"{NO_CHANGE}DaemonSet.apps aws-node - {POD_ENI}\nDaemonSet.apps aws-node - {DEMUX}"
    assert live(incident.objects) is before
    assert incident.version == "v1.19.5-eksbuild.1"


@pytest.mark.parametrize("version", ["v1.12.6-eksbuild.1", "v1.15.1-eksbuild.1"])
def test_values_that_say_the_same_conflict_with_nobody_and_stay_for_the_next_update(
    incident: AddonService, version: str
) -> None:
    outcome = incident.update(version, resolve_conflicts="NONE", configuration_values=BOTH)
    assert outcome.status == "Successful"
    assert incident.update("v1.19.5-eksbuild.1", resolve_conflicts="OVERWRITE").status == "Successful"
    assert settings(incident.objects) == ("true", "true")


def test_values_are_kept_where_none_are_given_and_reset_by_an_empty_document() -> None:
    objects = Documents()
    service = AddonService.install(objects, "v1.12.6-eksbuild.1", BOTH)
    assert service.update("v1.15.1-eksbuild.1").status == "Successful"
    assert (settings(objects), service.values) == (("true", "true"), BOTH)
    assert service.update(configuration_values="{}").status == "Successful"
    assert (settings(objects), service.values) == (("false", "false"), "{}")


def test_values_replace_the_earlier_ones_as_a_whole() -> None:
    objects = Documents()
    service = AddonService.install(objects, "v1.12.6-eksbuild.1", BOTH)
    service.update(configuration_values="env:\n  ENABLE_POD_ENI: 'true'\n")
    assert settings(objects) == ("false", "true")
    with pytest.raises(ValueError, match="not an object"):
        service.update(configuration_values="[]")


def test_what_only_a_person_added_survives_even_overwrite() -> None:
    objects = Documents()
    service = AddonService.install(objects, "v1.12.6-eksbuild.1")
    hands.sets_env(objects, "POD_SECURITY_GROUP_ENFORCING_MODE", "standard")
    service.update("v1.15.1-eksbuild.1", resolve_conflicts="OVERWRITE")
    assert hands.env_of(live(objects))["POD_SECURITY_GROUP_ENFORCING_MODE"] == "standard"


def test_an_entry_that_the_chart_drops_goes_though_its_value_was_a_persons() -> None:
    """As recorded: the person owns the value, the add-on the entry."""
    objects = Documents()
    service = AddonService.install(objects, "v1.12.0-eksbuild.1")
    hands.sets_env(objects, "AWS_VPC_K8S_CNI_CONFIGURE_RPFILTER", "true")
    assert service.update("v1.12.1-eksbuild.1").status == "Successful"
    assert "AWS_VPC_K8S_CNI_CONFIGURE_RPFILTER" not in hands.env_of(live(objects))


def test_conflicts_of_several_objects_are_in_one_message_and_nothing_is_changed() -> None:
    objects = Documents()
    service = AddonService.install(objects, "v1.15.1-eksbuild.1")
    hands.sets_data(objects, "enable-windows-ipam", "true")
    hands.sets_env(objects, "WARM_ENI_TARGET", "2")
    before = live(objects, "ServiceAccount")
    (error,) = service.update("v1.16.0-eksbuild.1").errors
    warm = '.spec.template.spec.containers[name="aws-node"].env[name="WARM_ENI_TARGET"].value'
    assert error.message.removeprefix(NO_CHANGE).split("\n") == [
        "ConfigMap amazon-vpc-cni - .data.enable-windows-ipam",
        f"DaemonSet.apps aws-node - {warm}",
    ]
    assert error.resources == ("amazon-vpc-cni", "aws-node")
    assert live(objects, "ServiceAccount") is before
    assert "warm-ip-target" not in live(objects, "ConfigMap", "amazon-vpc-cni")["data"]


def test_a_field_that_two_others_have_is_named_for_each() -> None:
    objects = Documents()
    service = AddonService.install(objects, "v1.15.1-eksbuild.1")
    for manager in (hands.ARGO_CD, hands.TERRAFORM):
        hands.applies_env(objects, "ENABLE_POD_ENI", "true", manager=manager)
    (error,) = service.update("v1.16.0-eksbuild.1").errors
    line = f"DaemonSet.apps aws-node - {POD_ENI}"
    assert error.message == f"{NO_CHANGE}{line}\n{line}"


def test_preserve_loses_a_value_of_the_configuration_to_a_live_one() -> None:
    objects = Documents()
    service = AddonService.install(objects, "v1.15.1-eksbuild.1")
    hands.sets_env(objects, "WARM_ENI_TARGET", "2")
    values = '{"env":{"WARM_ENI_TARGET":"3"}}'
    outcome = service.update(resolve_conflicts="PRESERVE", configuration_values=values)
    assert (outcome.status, hands.env_of(live(objects))["WARM_ENI_TARGET"]) == ("Successful", "2")


def test_helm_over_the_add_on_conflicts_in_every_field_that_it_changed() -> None:
    objects = Documents()
    service = AddonService.install(objects, "v1.15.1-eksbuild.1")
    hands.helm_installs(objects, "v1.15.1-eksbuild.1", {"env": {"ENABLE_POD_ENI": "true"}})
    assert service.update(configuration_values=None).status == "Failed"
    outcome = service.update("v1.16.0-eksbuild.1", resolve_conflicts="PRESERVE")
    assert any("image" in line for line in outcome.preserved)
    spec = live(objects)["spec"]["template"]["spec"]
    assert spec["containers"][0]["image"].endswith(":v1.15.1-eksbuild.1")
    assert MAIN in [container["name"] for container in spec["containers"]]
