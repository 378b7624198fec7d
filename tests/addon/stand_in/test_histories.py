"""What holds whatever was written before: the stand-in's own promises, on random histories."""

from __future__ import annotations

from hypothesis import given

from kubectl_eksdoc.model.api_objects import Doc
from tests.addon.stand_in import hands
from tests.addon.stand_in.histories import HISTORIES, UPDATES, VERSIONS, Step, Updates, installed, played
from tests.addon.stand_in.pod_template import INIT, MAIN
from tests.addon.stand_in.service import AddonService

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


@given(history=HISTORIES, update=UPDATES)
def test_after_overwrite_all_is_as_after_an_installation_but_for_what_others_added(
    history: list[Step], update: Updates
) -> None:
    service = after(history)
    service.update(update.version, resolve_conflicts="OVERWRITE", configuration_values=update.values)
    fresh = installed(service.version, service.values).objects
    ours, theirs = service.objects.get(*NAMES[0]), fresh.get(*NAMES[0])
    assert ours is not None
    assert theirs is not None
    for container in (MAIN, INIT):
        assert hands.env_of(theirs, container).items() <= hands.env_of(ours, container).items()
    images = [[c["image"] for c in doc["spec"]["template"]["spec"]["containers"]] for doc in (ours, theirs)]
    assert images[0][: len(images[1])] == images[1]


@given(history=HISTORIES)
def test_an_entry_has_one_value_and_one_name_whatever_happened(history: list[Step]) -> None:
    doc = after(history).objects.get(*NAMES[0])
    assert doc is not None
    for container in doc["spec"]["template"]["spec"]["containers"]:
        names = [entry["name"] for entry in container["env"]]
        assert len(names) == len(set(names))
        assert all(len(entry.keys() & {"value", "valueFrom"}) <= 1 for entry in container["env"])
