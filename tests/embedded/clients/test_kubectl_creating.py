"""``kubectl create`` with generators: typed clients, which send protobuf since 1.32."""

from __future__ import annotations

import pytest

from tests.embedded.clients.programs import Kubectl


@pytest.mark.long
def test_jobs_run_and_cron_jobs_make_them(kubectl: Kubectl) -> None:
    assert kubectl("create", "job", "once", "--image=busybox", "--", "date") == "job.batch/once created\n"
    once = kubectl.json("get", "job", "once")["spec"]
    assert once["template"]["spec"]["containers"][0]["command"] == ["date"]
    assert once["template"]["spec"]["restartPolicy"] == "Never"
    every = ("create", "cronjob", "daily", "--image=busybox", "--schedule=0 4 * * *")
    assert kubectl(*every) == "cronjob.batch/daily created\n"
    assert kubectl.json("get", "cronjob", "daily")["spec"]["schedule"] == "0 4 * * *"
    kubectl("create", "job", "now", "--from=cronjob/daily")
    owner = kubectl.json("get", "job", "now")["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("CronJob", "daily")
    kubectl("wait", "pod", "-l", "job-name=now", "--for=condition=Ready", "--timeout=30s")


def test_secrets_hold_bytes(kubectl: Kubectl) -> None:
    kubectl("create", "secret", "generic", "key", "--from-literal=a=b", "--from-literal=empty=")
    assert kubectl.json("get", "secret", "key")["data"] == {"a": "Yg==", "empty": ""}
