"""The hostPaths of pod templates, wherever templates are, and the sockets that their containers name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import ControllerOwner, Volume, VolumeKind
from kubectl_eksdoc.model.workloads import NO_HOST_FILES, CronJob, HostFiles
from kubectl_eksdoc.objects.collector import BadObject, Collector
from tests.objects.observing import T0, observed

SOCK = "/var/run/docker.sock"
ENTRY = {"name": "sock", "hostPath": {"path": SOCK, "type": "Socket"}}
HOST = HostFiles((Volume("sock", VolumeKind.HOST_PATH, SOCK, path_type="Socket"),))


def a_template(*volumes: Any, **spec: Any) -> dict[str, Any]:
    return {"spec": {"volumes": list(volumes), **spec}}


WORKLOADS = (
    kinds.DEPLOYMENTS,
    kinds.DAEMON_SETS,
)


@pytest.mark.parametrize("resource", WORKLOADS)
def test_of_workloads(resource: Resource) -> None:
    (found,) = observed(resource, spec={"template": a_template(ENTRY)}).workloads
    assert found.host == HOST


def test_of_a_job_and_its_owner() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "etl", "uid": "1", "controller": True}
    (found,) = observed(kinds.JOBS, meta={"ownerReferences": [owner]}, spec={"template": a_template(ENTRY)}).jobs
    assert (found.host, found.owner) == (HOST, ControllerOwner("CronJob", "etl", "1", "batch"))


def test_of_a_cron_job() -> None:
    spec = {"jobTemplate": {"spec": {"template": a_template(ENTRY)}}}
    assert observed(kinds.CRON_JOBS, spec=spec).cron_jobs == (CronJob("shop", "x", "u", HOST),)


@pytest.mark.parametrize(
    "fields",
    [{}, {"spec": {"jobTemplate": None}}, {"spec": {"jobTemplate": {"spec": {"template": None}}}}],
)
def test_what_a_cron_job_may_lack(fields: dict[str, Any]) -> None:
    assert observed(kinds.CRON_JOBS, **fields).cron_jobs == (CronJob("shop", "x", "u"),)


def test_other_volumes_are_not_kept() -> None:
    template = a_template({"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": None}, {"name": "c"})
    (found,) = observed(kinds.DEPLOYMENTS, spec={"template": template}).workloads
    assert found.host is NO_HOST_FILES


def test_words_that_name_a_socket() -> None:
    containers = [
        {"name": "a", "args": ["-H", f"unix://{SOCK}"], "env": [{"name": "X", "value": SOCK}, {"name": "Y"}]},
        {"name": "b", "command": ["sleep", "1"], "args": None},
    ]
    inits = [{"name": "i", "command": ["test", "-S", SOCK]}]
    template = a_template(ENTRY, containers=containers, initContainers=inits)
    (found,) = observed(kinds.DEPLOYMENTS, spec={"template": template}).workloads
    assert found.host.socket_words == (SOCK, f"unix://{SOCK}")


def test_containers_are_not_looked_at_without_a_host_path() -> None:
    template = a_template(containers="nonsense")
    assert observed(kinds.DEPLOYMENTS, spec={"template": template}).workloads[0].host is NO_HOST_FILES


def test_owners_of_jobs_in_a_dump_without_uids_are_found() -> None:
    gathered = Collector(Source.SNAPSHOT)
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "etl", "controller": True}
    job = {"metadata": {"name": "etl-1", "namespace": "shop", "ownerReferences": [owner]}, "spec": {}}
    gathered.add_item(kinds.CRON_JOBS, b'{"metadata": {"name": "etl", "namespace": "shop"}}', "test")
    gathered.add_item(kinds.JOBS, json.dumps(job).encode(), "test")
    found = gathered.cluster(Identity(), T0)
    assert found.jobs[0].owner is not None
    assert found.jobs[0].owner.uid == found.cron_jobs[0].uid != ""


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(
        st.sampled_from(
            ["template", "spec", "volumes", "hostPath", "path", "jobTemplate", "service", "name", "versions",
             "conversion", "webhook", "clientConfig", "strategy", "conditions", "storedVersions", "containers", "args"]
        ),
        inner,
        max_size=3,
    ),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.parametrize(
    "resource", [kinds.DEPLOYMENTS, kinds.JOBS, kinds.CRON_JOBS, kinds.API_SERVICES, kinds.DEFINITIONS]
)
@given(spec=ANYTHING, status=ANYTHING)
def test_whatever_comes_is_read_or_refused(resource: Resource, spec: Any, status: Any) -> None:
    try:
        found = observed(resource, spec=spec, status=status)
    except BadObject:
        return
    assert isinstance(found, Cluster)
