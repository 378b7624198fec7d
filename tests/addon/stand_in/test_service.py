"""What becomes of a person's settings in each mode: the incident, on the DaemonSet of a recorded cluster."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from kubectl_eksdoc.model.api_objects import Doc
from tests import raw_facts
from tests.addon.stand_in import hands
from tests.addon.stand_in.documents import Documents, Objects
from tests.addon.stand_in.histories import HISTORIES, UPDATES, VERSIONS, Step, Updates, installed, played
from tests.addon.stand_in.pod_template import INIT
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


def test_values_are_kept_where_none_are_given_and_reset_by_an_empty_document() -> None:
    objects = Documents()
    service = AddonService.install(objects, "v1.12.6-eksbuild.1", BOTH)
    assert service.update("v1.15.1-eksbuild.1").status == "Successful"
    assert (settings(objects), service.values) == (("true", "true"), BOTH)
    assert service.update(configuration_values="{}").status == "Successful"
    assert (settings(objects), service.values) == (("false", "false"), "{}")


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


NAMES = (("DaemonSet", "aws-node"), ("ConfigMap", "amazon-vpc-cni"), ("ServiceAccount", "aws-node"))


def after(history: list[Step]) -> AddonService:
    service = installed(VERSIONS[0])
    played(service, history)
    return service


def all_of(service: AddonService) -> list[Doc | None]:
    return [service.objects.get(*name) for name in NAMES]


@given(history=HISTORIES, update=UPDATES)
def test_an_update_keeps_its_promise(history: list[Step], update: Updates) -> None:
    service = after(history)
    before = all_of(service)
    outcome = service.update(update.version, resolve_conflicts=update.mode, configuration_values=update.values)
    assert outcome.status == "Successful" or update.mode == "NONE"
    if outcome.status == "Failed":
        assert all_of(service) == before
        return
    assert service.version == update.version
    again = service.update(resolve_conflicts=update.mode)
    assert again.status == "Successful"


FILES = sorted(Path(__file__).parent.glob("*.py"))
ALLOWED = tuple(
    f"kubectl_eksdoc.{name}" for name in ("model.api_objects", "kubernetes.api.", "kubernetes.ownership.", "embedded.")
)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_imports_nothing_but_the_servers_rules_and_the_embedded_server(path: Path) -> None:
    ours = [name for name in _imported(path) if name.startswith("kubectl_eksdoc")]
    assert [name for name in ours if not name.startswith(ALLOWED)] == []
