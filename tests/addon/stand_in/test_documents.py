"""Writes in memory against a real API server's answers, and hands against what they left on a recorded cluster."""

from __future__ import annotations

from copy import deepcopy

import pytest

from kubectl_eksdoc.model.api_objects import Doc, with_value, without
from tests import raw_facts
from tests.addon.stand_in import hands
from tests.addon.stand_in.documents import Documents
from tests.addon.stand_in.pod_template import INIT, MAIN
from tests.addon.stand_in.service import AddonService
from tests.kubernetes.api.replays import answer, config, query

AWS_NODE = ("DaemonSet", "aws-node")

# Exchanges with aws-node: index of the write, of the answer that shows what was live.
APPLIES = [(87, 86), (89, 88), (90, 88), (95, 94), (98, 97), (100, 99), (103, 102)]
PATCHES = [(81, 80), (83, 82), (85, 84), (92, 91), (93, 92), (97, 96)]


def settled(doc: Doc) -> Doc:
    """Without what storage counts and without times, by which entries are sorted."""
    doc = without(without(doc, ("metadata", "resourceVersion")), ("metadata", "generation"))
    timeless = ({**entry, "time": "then"} for entry in doc["metadata"]["managedFields"])
    entries = sorted(timeless, key=lambda entry: str(entry["manager"]))
    return without(with_value(doc, ("metadata", "managedFields"), entries), ("status",))


def held(objects: Documents) -> Doc:
    found = objects.get(*AWS_NODE)
    assert found is not None
    return found


@pytest.mark.parametrize(("index", "live"), APPLIES)
def test_an_apply_ends_as_recorded(index: int, live: int) -> None:
    asked, expected = query(index), answer(index)
    wanted = with_value(config(index), ("metadata", "namespace"), "kube-system")
    objects = Documents(answer(live))
    conflicts = objects.apply(wanted, asked["fieldManager"], force=asked["force"] == "true", dry_run="dryRun" in asked)
    if expected["kind"] == "Status":
        assert sorted(conflicts) == sorted(cause["field"] for cause in expected["details"]["causes"])
        assert held(objects) == answer(live)
    else:
        assert conflicts == ()
        assert settled(held(objects)) == settled(expected)


@pytest.mark.parametrize(("index", "live"), PATCHES)
def test_a_patch_ends_as_recorded(index: int, live: int) -> None:
    objects = Documents(answer(live))
    objects.patch(*AWS_NODE, config(index), query(index)["fieldManager"])
    assert settled(held(objects)) == settled(answer(index))


def test_hands_send_what_was_recorded() -> None:
    objects = Documents(answer(80))
    hands.sets_env(objects, "ENABLE_POD_ENI", "true")
    hands.patches_init_env(objects, "DISABLE_TCP_EARLY_DEMUX", "true")
    hands.sets_env(objects, "AWS_VPC_K8S_CNI_EXTERNALSNAT", "true")
    assert fields(held(objects)) == fields(answer(86))
    for container in (MAIN, INIT):
        assert hands.env_of(held(objects), container) == hands.env_of(answer(86), container)


def test_hands_leave_the_entries_that_a_live_aws_node_has() -> None:
    """The add-on of the same version, then kubectl patch and kubectl set env: whose fields are whose."""
    recorded = next(d for d in raw_facts.recorded("rich", "daemonsets") if d["metadata"]["name"] == "aws-node")
    objects = Documents()
    AddonService.install(objects, "v1.19.5-eksbuild.1")
    hands.patches_init_env(objects, "DISABLE_TCP_EARLY_DEMUX", "true")
    hands.sets_env(objects, "ENABLE_POD_ENI", "true")
    ours, theirs = fields(held(objects)), fields(recorded)
    for manager in ("kubectl-patch", "kubectl-set"):
        assert ours[manager] == theirs[manager]
    for where, container, name in (
        ("f:containers", MAIN, "ENABLE_POD_ENI"),
        ("f:initContainers", INIT, "DISABLE_TCP_EARLY_DEMUX"),
        ("f:containers", MAIN, "WARM_ENI_TARGET"),
    ):
        assert env_entry(ours["eks"], where, container, name) == env_entry(theirs["eks"], where, container, name)


def fields(doc: Doc) -> dict[str, Doc]:
    return {entry["manager"]: entry["fieldsV1"] for entry in doc["metadata"]["managedFields"]}


def env_entry(tree: Doc, where: str, container: str, name: str) -> Doc:
    spec = tree["f:spec"]["f:template"]["f:spec"]
    entry: Doc = spec[where][f'k:{{"name":"{container}"}}']["f:env"][f'k:{{"name":"{name}"}}']
    return entry


def test_a_document_is_changed_by_itself_and_the_given_one_stays() -> None:
    doc = answer(80)
    before = deepcopy(doc)
    changed = hands.person_sets_env(doc, MAIN, "ENABLE_POD_ENI", "true")
    assert (hands.env_of(changed)["ENABLE_POD_ENI"], doc) == ("true", before)


def test_an_entry_is_added_removed_and_edited() -> None:
    objects = Documents(answer(80))
    hands.sets_env(objects, "MY_OWN", "1")
    hands.removes_env(objects, "ENABLE_POD_ENI")
    env = hands.env_of(held(objects))
    assert (list(env)[-1], "ENABLE_POD_ENI" in env) == ("MY_OWN", False)
    objects.update(*AWS_NODE, lambda doc: with_value(doc, ("metadata", "labels", "team"), "net"), hands.KUBECTL_EDIT)
    assert fields(held(objects))["kubectl-edit"] == {"f:metadata": {"f:labels": {"f:team": {}}}}
