"""``drain run --in-cluster`` on the command line, on a served cluster: the preview, the created objects, and the
refusals."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from gzip import decompress
from pathlib import Path

import pytest

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.drain.command.served import Machine, machine
from tests.embedded.clients import worlds
from tests.in_cluster.command.models import problems
from tests.in_cluster.command.pods import job_of

INSIDE = "--in-cluster"
BLUE = ("drain", "run", "--nodegroup", "blue", INSIDE)
DIGEST = "0" * 64
YES = ("--apply", "--yes", "--expect-nodes", "1")


def docs_of(ran_out: str) -> list[Doc]:
    found: list[Doc] = json.loads(ran_out)["items"]
    return found


def ours(api: Api) -> set[str]:
    """All objects in the cluster that belong to an errand."""

    def look(plane: ControlPlane) -> set[str]:
        kinds = ("serviceaccounts", "configmaps", "jobs.batch", "cronjobs.batch", "pods")
        roles = [f"{name}.rbac.authorization.k8s.io" for name in ("roles", "clusterroles", "rolebindings")]
        items = (item for kind in (*kinds, *roles) for item in plane.store.list(kind))
        return {f"{item.resource}/{item.key[1]}" for item in items if item.key[1].startswith("eksdoc-")}

    return api.run_locked(look)


def test_it_prints_objects_that_kubernetes_takes_and_creates_none(api: Api, ann: Machine) -> None:
    of_aws = ("--role-arn", "arn:aws:iam::111122223333:role/x", "--region", "eu-west-1")
    ran = ann.run(*BLUE, "-o", "json", *of_aws, "--image", f"kubectl-eksdoc:{__version__}")  # as make image calls it
    assert ran.code == 0 and ours(api) == set(), ran.err
    assert [each for doc in docs_of(ran.out) for each in problems(doc)] == []
    assert "BLOCKERS" in ran.err and "build it from the Dockerfile" in ran.err


def test_the_pod_is_given_the_plan_the_run_and_the_number_of_nodes(ann: Machine) -> None:
    ran = ann.run(
        *BLUE,
        "-o",
        "json",
        "--stop-pending",
        "5m",
        "--cluster-name",
        "lab",
        "--image",
        f"reg.example/e@sha256:{DIGEST}",
    )
    docs = docs_of(ran.out)
    (container,) = job_of(docs)["spec"]["template"]["spec"]["containers"]
    run = job_of(docs)["metadata"]["labels"]["app.kubernetes.io/instance"]
    assert " ".join(container["args"]) == (
        f"drain run --plan /etc/eksdoc/plan.json.gz --run-id {run} --yes --expect-nodes 1 --stop-pending 300.0s "
        "--journal-namespace kube-system --cluster-name lab --region ap-northeast-2"
    )
    assert container["image"] == f"reg.example/e@sha256:{DIGEST}"
    (text,) = next(doc["binaryData"].values() for doc in docs if doc["kind"] == "ConfigMap")
    plan = json.loads(decompress(b64decode(text)))
    assert plan["kind"] == "DrainPlan" and plan["metadata"]["toolVersion"] == __version__


def test_the_roles_are_the_rights_of_a_run_without_what_nobody_may_choose(ann: Machine) -> None:
    def allowed(*more: str) -> set[str]:
        docs = docs_of(ann.run(*BLUE, "-o", "json", *more).out)
        return {
            f"{verb} {name}{'.' + group if group else ''}"
            for doc in docs
            for rule in doc.get("rules", ())
            for verb in rule["verbs"]
            for group in rule["apiGroups"]
            for name in rule["resources"]
        }

    whole = {str(right) for right in rights.BY_COMMAND["drain run"]}
    restarts = {"get deployments.apps", "patch deployments.apps"}
    assert allowed() == whole - restarts - {"delete pods"}
    assert allowed("--surge-singles") == whole - {"delete pods"}


def test_once_typed_back_they_are_created_and_the_pod_is_on_no_target(api: Api, ann: Machine) -> None:
    ann.types = "lab 1\n"
    ran = ann.run(*BLUE, "--apply", "--image", "reg.example/eksdoc:1")
    assert ran.code == 0 and "Type 'lab 1' to have a Job drain 1 node of lab" in ran.err, ran.err
    assert [line.partition("/")[0] for line in ran.out.splitlines()] == [
        "serviceaccount",
        "clusterrole.rbac.authorization.k8s.io",
        "clusterrolebinding.rbac.authorization.k8s.io",
        "role.rbac.authorization.k8s.io",
        "rolebinding.rbac.authorization.k8s.io",
        "configmap",
        "job.batch",
    ]
    assert "drain status" in ran.err and "build it from the Dockerfile" not in ran.err

    def node(plane: ControlPlane) -> str:
        (pod,) = (item.doc for item in plane.store.list("pods") if item.key[1].startswith("eksdoc-drain-"))
        return str(pod["spec"].get("nodeName"))

    assert api.run_locked(node).startswith("new-")


@pytest.mark.long
def test_nothing_is_created_without_what_must_be_typed(api: Api, ann: Machine) -> None:
    assert ann.run(*BLUE, "--apply").code == 2
    assert ann.run(*BLUE, "--apply", "--yes", "--expect-nodes", "9").code == 7
    ran = ann.run(*BLUE, *YES, EKSDOC_READ_ONLY="1")
    assert ran.code == 2 and "EKSDOC_READ_ONLY" in ran.err
    assert ann.run(*BLUE, EKSDOC_READ_ONLY="1").code == 0, "what is only shown changes nothing"
    for dry in ("client", "server"):
        ran = ann.run(*BLUE, *YES, f"--dry-run={dry}")
        assert ran.code == 0 and ran.out.startswith("# kubectl eksdoc"), ran.err
    assert "the server would create all 7 objects" in ran.err
    assert ours(api) == set()


@pytest.mark.long
def test_a_second_one_is_refused_while_the_job_of_the_first_has_not_even_begun(api: Api, ann: Machine) -> None:
    assert ann.run(*BLUE, *YES).code == 0
    before = ours(api)
    ran = ann.run(*BLUE, *YES)
    assert ran.code == 3 and "is not over, though perhaps it has not begun" in ran.err, ran.err
    assert "kubectl describe job/eksdoc-drain-" in ran.err and ours(api) == before


def test_a_namespace_that_is_not_there_is_to_be_made_first(ann: Machine) -> None:
    ran = ann.run(*BLUE, *YES, "--journal-namespace", "nope")
    assert ran.code == 3 and "there is no namespace nope" in ran.err, ran.err
    assert "kubectl create namespace nope" in ran.err


def test_who_may_not_is_told_before_anything_is_there(api: Api, server: SimulatedApiServer, tmp_path: Path) -> None:
    viewer = machine(server, tmp_path / "eve", worlds.VIEWER_TOKEN)
    ran = viewer.run(*BLUE, *YES)
    assert ran.code == 3 and "the API server would not take serviceaccount/eksdoc-drain-" in ran.err
    assert "Nothing was created." in ran.err and "create serviceaccounts" in ran.err and ours(api) == set()


REFUSED: Sequence[tuple[tuple[str, ...], str]] = [
    ((INSIDE, "--hook-before-wave", "true"), "hooks are commands of this machine"),
    ((INSIDE, "--delete-past-budget", "default/web-0"), "needs a typed confirmation"),
    ((INSIDE, "--run-id", "r1"), "chooses the run's id itself"),
    ((INSIDE, "--image", "a b"), "is no name of an image"),
    ((INSIDE, "--image", "foo@sha256:00"), "is no name of an image"),
    ((INSIDE, "--role-arn", "eksdoc"), "is no ARN of a role"),
    (("--apply",), "Say --in-cluster, too."),
    (("--image", "x"), "Say --in-cluster, too."),
    (("--role-arn", "arn:aws:iam::111122223333:role/x"), "Say --in-cluster, too."),
    (("--run-id", "Not One"), "is no id of a run"),
    (("--run-id", "r1", "--dry-run"), "a dry run does nothing"),
]


def test_what_does_not_go_with_it_is_refused(ann: Machine) -> None:
    wrong = []
    for words, said in REFUSED:
        ran = ann.run(*BLUE[:-1], *words)
        if ran.code != 2 or said not in ran.err:
            wrong.append((words, ran))
    assert wrong == []
