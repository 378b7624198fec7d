"""The objects of an errand: their order, the settings of the pod, and the exit codes after which the Job tries
again."""

from __future__ import annotations

from kubectl_eksdoc.in_cluster.objects import (
    KINDS,
    AvoidedNodes,
    CronSchedule,
    FleetSecret,
    InClusterCommand,
    all_objects,
    belongs_to,
)
from kubectl_eksdoc.kube.runs import PART_LABEL, RUN_LABEL
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.permissions import Permission
from tests.in_cluster.commands import an_errand

RIGHTS = (Permission("list", kinds.NODES), Permission("get", kinds.CONFIG_MAPS, namespace="kube-system"))
FILES = {"plan.json.gz": "H4sI"}


def made(errand: InClusterCommand, when: CronSchedule | None = None) -> tuple[Doc, ...]:
    return all_objects(errand, RIGHTS, AvoidedNodes(("old-1",)), when)


def pod(errand: InClusterCommand) -> Doc:
    found: Doc = made(errand)[-1]["spec"]["template"]
    return found


def test_what_runs_comes_last_and_all_is_found_by_its_labels() -> None:
    errand = an_errand(files=FILES)
    docs = made(errand)
    names = [doc["kind"] for doc in docs]
    assert names == [
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "ConfigMap",
        "Job",
    ]
    roles = {doc["metadata"]["name"] for doc in docs if "Role" in doc["kind"]}
    assert roles == {"eksdoc-drain-r1.kube-system"}
    assert {doc["metadata"]["name"] for doc in docs if "Role" not in doc["kind"]} == {"eksdoc-drain-r1"}
    assert all(belongs_to(doc, errand) for doc in docs) and not any(
        belongs_to(doc, an_errand(instance="r2")) for doc in docs
    )
    assert {word.partition(".")[0] for word in KINDS} >= {f"{name.lower()}s" for name in names}
    assert errand.selector == (
        "app.kubernetes.io/managed-by=eksdoc,app.kubernetes.io/component=drain-run,app.kubernetes.io/instance=r1,"
        "eksdoc.io/namespace=kube-system"
    )
    assert not any(belongs_to(doc, an_errand(namespace="ops")) for doc in docs)


def test_labels_of_a_journal_are_none_of_its() -> None:
    """The journal's ConfigMaps are found by their own labels, and stay when an errand's objects are removed."""
    for doc in made(an_errand(files=FILES)):
        assert {RUN_LABEL, PART_LABEL}.isdisjoint(doc["metadata"]["labels"])


def test_the_pod_keeps_to_the_level_restricted_and_writes_nowhere_but_in_its_own_folders() -> None:
    spec = pod(an_errand(files=FILES))["spec"]
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True and spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert not {"hostNetwork", "hostPID", "hostIPC", "tolerations", "activeDeadlineSeconds"} & spec.keys()
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    assert set(mounts) == {"/tmp", "/home/eksdoc", "/etc/eksdoc"} and mounts["/etc/eksdoc"]["readOnly"] is True
    volumes = {each["name"]: each for each in spec["volumes"]}
    assert {mounts[path]["name"] for path in mounts} == set(volumes)
    assert volumes["files"]["configMap"] == {"name": "eksdoc-drain-r1"}
    environ = {each["name"]: each["value"] for each in container["env"]}
    assert environ["HOME"] == "/home/eksdoc" and "AWS_REGION" not in environ
    assert set(container["resources"]) == {"requests", "limits"}


def test_autoscalers_leave_it_alone() -> None:
    assert pod(an_errand())["metadata"]["annotations"] == {
        "karpenter.sh/do-not-disrupt": "true",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    }


def test_an_answer_is_final_and_what_was_killed_or_disturbed_comes_again() -> None:
    spec = made(an_errand())[-1]["spec"]
    first, second = spec["podFailurePolicy"]["rules"]
    assert first == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    assert second["action"] == "FailJob" and second["onExitCodes"]["values"] == [1, 6, 7]
    assert second["onExitCodes"]["containerName"] == spec["template"]["spec"]["containers"][0]["name"]
    assert 137 not in second["onExitCodes"]["values"] and spec["backoffLimit"] > 0
    assert spec["template"]["spec"]["restartPolicy"] == "Never", "or the policy is refused"


def test_a_fleet_is_an_indexed_job_with_one_kubeconfig_each() -> None:
    errand = an_errand(fleet=FleetSecret("clusters", ("prod-eu", "prod-us")))
    spec = made(errand)[-1]["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 2, 2)
    assert "backoffLimit" not in spec and spec["backoffLimitPerIndex"] > 0
    assert [rule["action"] for rule in spec["podFailurePolicy"]["rules"]] == ["Ignore", "FailIndex"]
    inside = spec["template"]["spec"]
    assert inside["automountServiceAccountToken"] is False, "it has nothing to say to the cluster that it runs in"
    (container,) = inside["containers"]
    (mount,) = (each for each in container["volumeMounts"] if each["name"] == "kubeconfig")
    assert mount["subPathExpr"] == "$(JOB_COMPLETION_INDEX)" and mount["readOnly"] is True
    assert {"name": "KUBECONFIG", "value": mount["mountPath"]} in container["env"]
    (secret,) = (each["secret"] for each in inside["volumes"] if each["name"] == "kubeconfig")
    assert secret["secretName"] == "clusters"
    assert secret["items"] == [{"key": "prod-eu", "path": "0"}, {"key": "prod-us", "path": "1"}]


def test_a_schedule_makes_a_cron_job_with_the_same_pod() -> None:
    errand = an_errand(region="eu-west-1")
    cron = made(errand, CronSchedule("@daily", "Europe/Berlin"))[-1]
    assert cron["kind"] == "CronJob" and cron["spec"]["timeZone"] == "Europe/Berlin"
    assert cron["spec"]["schedule"] == "@daily" and cron["spec"]["concurrencyPolicy"] == "Forbid"
    assert cron["spec"]["jobTemplate"]["spec"]["template"] == pod(errand)
    assert [each["name"] for each in pod(errand)["spec"]["volumes"]] == ["tmp", "home"], "it has no files"
    assert "timeZone" not in made(errand, CronSchedule("@daily"))[-1]["spec"]
