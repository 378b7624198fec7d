"""``check --in-cluster --schedule`` on the command line, on a served cluster: the preview, the created objects, and the
refusals."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from kubectl_eksdoc.model.api_objects import Doc
from tests.cli.running import run_cli
from tests.drain.command.served import Machine, machine
from tests.embedded.clients import worlds
from tests.in_cluster.command.models import problems
from tests.in_cluster.command.test_drain import ours
from tests.yaml_reader import yaml_documents

INSIDE = ("check", "--in-cluster", "--cluster-name", "lab", "--region", "eu-west-1", "--image", "reg.example/e:1")
DAILY = (*INSIDE, "--schedule", "0 6 * * mon-fri")


def shown(ann: Machine, *more: str) -> list[Doc]:
    ran = ann.run(*DAILY, "-o", "json", *more)
    assert ran.code == 0, ran.err
    found: list[Doc] = json.loads(ran.out)["items"]
    return found


def container_of(text: str) -> Doc:
    cron_job = yaml_documents(text)[-1]
    (found,) = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    return dict(found)


def allowed(docs: list[Doc]) -> set[str]:
    return {
        f"{verb} {name}{'.' + group if group else ''}"
        for doc in docs
        for rule in doc.get("rules", ())
        for verb in rule["verbs"]
        for group in rule.get("apiGroups", [""])
        for name in [*rule.get("resources", ()), *rule.get("nonResourceURLs", ())]
    }


def test_it_prints_objects_that_kubernetes_takes(api: Api, ann: Machine) -> None:
    docs = shown(ann, "--time-zone", "Europe/Berlin", "--role-arn", "arn:aws:iam::111122223333:role/x")
    assert [each for doc in docs for each in problems(doc)] == [] and ours(api) == set()
    assert [doc["kind"] for doc in docs] == [
        "ServiceAccount",
        *("ClusterRole", "ClusterRoleBinding"),
        *("Role", "RoleBinding", "Role", "RoleBinding"),
        "CronJob",
    ]
    assert docs[-1]["spec"]["schedule"] == "0 6 * * mon-fri" and docs[-1]["spec"]["timeZone"] == "Europe/Berlin"


def test_its_rights_are_those_of_what_it_looks_at(ann: Machine) -> None:
    whole = {str(right) for right in rights.BY_COMMAND["check"]}
    assert allowed(shown(ann)) == whole - {"get secrets", "list secrets", "get pods/proxy"}
    assert allowed(shown(ann, "--with", "helm-releases,proxy")) == whole
    assert allowed(shown(ann, "--with", "proxy", "--without", "helm-releases")) == whole - {
        "get secrets",
        "list secrets",
    }
    past = {str(right) for command in ("check", "check --changed-since") for right in rights.BY_COMMAND[command]}
    assert allowed(shown(ann, "--changed-since", "2h", "--with", "proxy", "--with", "helm-releases")) == past
    assert allowed(shown(ann, "--only", "kubelet-skew")) == {"list nodes", "list pods"}
    assert "get secrets" not in allowed(shown(ann, "--only", "kube-proxy-skew,kubelet-skew"))


def test_no_role_has_the_name_of_another_one(ann: Machine) -> None:
    """Such as the role of a CronJob of the same name in another namespace, or the one that `permissions` prints."""
    printed = yaml_documents(run_cli("permissions", "check", "-o", "yaml").out)
    each_of = (shown(ann), shown(ann, "-n", "ops"), printed)
    names = [{doc["metadata"]["name"] for doc in docs if "rules" in doc} for docs in each_of]
    assert len(set.union(*names)) == 3 and all(len(each) == 1 for each in names)


def test_what_was_asked_of_it_is_asked_there(ann: Machine, tmp_path: Path) -> None:
    accepted = tmp_path / "accepted.yaml"
    accepted.write_text("- {code: kubelet-skew, reason: known, until: 2026-12-31}\n", encoding="utf-8")
    docs = shown(ann, "--fail-on", "high", "--gate", "before-nodes", "--suppressions", str(accepted))
    (container,) = docs[-1]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert " ".join(container["args"]) == (
        "check --gate before-nodes --fail-on high --suppressions /etc/eksdoc/suppressions.yaml "
        "--cluster-name lab --region eu-west-1"
    )
    (text,) = next(doc["binaryData"].values() for doc in docs if doc["kind"] == "ConfigMap")
    assert b64decode(text) == accepted.read_bytes()
    accepted.write_text("- {code: no-such-code}\n", encoding="utf-8")
    assert ann.run(*DAILY, "--suppressions", str(accepted)).code == 2


def test_yaml_says_in_words_what_it_is(ann: Machine) -> None:
    ran = ann.run(*DAILY)
    head = "\n".join(line for line in ran.out.splitlines() if line.startswith("#"))
    assert "a CronJob looks whether lab may be upgraded, at '0 6 * * mon-fri' (UTC)" in head
    assert "aws eks create-pod-identity-association --cluster-name lab" in head
    assert "create-pod-identity" not in ann.run(*DAILY, "--role-arn", "arn:aws:iam::111122223333:role/x").out
    assert "eks:DescribeCluster" in head and "Not granted, so that what it tells is unknown: opt-in proxy" in head
    left_out = ann.run(*DAILY, "--without", "helm-releases")
    assert "ecret" not in left_out.out and "--without helm-releases" in " ".join(container_of(left_out.out)["args"])
    both = ann.run(*DAILY, "--with", "proxy", "--without", "proxy")
    assert both.code == 2 and "exclude each other" in both.err
    assert "kubectl create job -n kube-system eksdoc-check-now --from cronjob/eksdoc-check" in head


def test_of_a_fleet_each_cluster_has_an_index_and_nothing_is_granted_here(api: Api, ann: Machine) -> None:
    words = ("check", "--in-cluster", "--schedule", "@daily", "--kubeconfig-secret", "clusters:prod-eu,prod-us")
    ran = ann.run(*words, "-o", "json", "--role-arn", "arn:aws:iam::111122223333:role/x")
    assert ran.code == 0, ran.err
    docs = json.loads(ran.out)["items"]
    assert [each for doc in docs for each in problems(doc)] == []
    assert docs[-1]["spec"]["jobTemplate"]["spec"]["completions"] == 2
    head = ann.run(*words).out
    assert "looks whether each of prod-eu, prod-us may be upgraded" in head and "in Secret clusters" in head
    assert ann.run(*words, "--apply", "--yes", "--expect-changes", "2").code == 0
    assert {"cronjobs.batch/eksdoc-check", "serviceaccounts/eksdoc-check"} == ours(api)


def test_it_is_created_once_and_never_written_over(api: Api, ann: Machine) -> None:
    ann.types = "lab 8\n"
    ran = ann.run(*DAILY, "--apply")
    assert ran.code == 0 and "Type 'lab 8' to create 8 objects of lab" in ran.err, ran.err
    assert "cronjobs.batch/eksdoc-check" in ours(api)
    ran = ann.run(*DAILY, "--apply", "--yes", "--expect-changes", "8")
    assert ran.code == 2 and "it is there already" in ran.err and "kubectl delete" in ran.err
    assert ann.run(*DAILY, "--apply", EKSDOC_READ_ONLY="1").code == 2
    ran = ann.run(*DAILY, "--apply", "--yes", "--expect-changes", "8", "--job-name", "nightly", "-n", "default")
    assert ran.code == 0, ran.err


def test_what_was_created_is_listed_and_deleted_again(api: Api, ann: Machine) -> None:
    assert ann.run(*DAILY, "--apply", "--yes", "--expect-changes", "8").code == 0
    (change,) = json.loads(ann.run("changes", "-o", "json").out)["changes"]
    assert (change["kind"], change["state"], change["context"]) == ("in-cluster", "done", "lab")
    undo = ("changes", "undo", change["id"])
    other = ann.run(*undo, "--context", "elsewhere")
    assert other.code == 7 and "is of context lab" in other.err and len(ours(api)) == 5
    ann.types = "no\n"
    assert ann.run(*undo).code == 2 and len(ours(api)) == 5
    ann.types = f"{change['id']} 8\n"
    ran = ann.run(*undo)
    assert ran.code == 0 and ours(api) == set(), ran.err
    assert json.loads(ann.run("changes", "-o", "json").out)["changes"][0]["state"] == "undone"


def test_without_aws_it_needs_no_role(ann: Machine) -> None:
    ran = ann.run(*DAILY, "-o", "yaml", "--no-aws", "--accept-unknown", "api-in-helm,api-written")
    assert ran.code == 0, ran.err
    words = container_of(ran.out)["args"]
    assert "--no-aws" in words and words[words.index("--accept-unknown") + 1] == "api-in-helm,api-written"
    assert "It asks AWS nothing (--no-aws), and needs no role." in ran.out
    assert "create-pod-identity-association" not in ran.out
    assert "create-pod-identity-association" in ann.run(*DAILY, "-o", "yaml").out


REFUSED: Sequence[tuple[tuple[str, ...], str]] = [
    ((), "nothing says when it is to look"),
    (("--schedule", "0 6 * *"), "'0 6 * *' is no schedule: it has 4 fields"),
    (("--schedule", "@daily", "--time-zone", "Local"), "is no time zone"),
    (("--schedule", "@daily", "--job-name", "a" * 53), "is no name for a CronJob"),
    (("--schedule", "@daily", "--kubeconfig-secret", "clusters"), "names no keys of a Secret"),
    (("--schedule", "@daily", "--kubeconfig-secret", "clusters:a,a"), "or one twice"),
    (("--schedule", "@daily", "-n", "a/b"), "is no name of a namespace"),
    (("--schedule", "@daily", "--tables", "x.yaml"), "is a file of this machine"),
    (("--schedule", "@daily", "--demo"), "needs the live cluster"),
]


def test_what_does_not_go_is_said(ann: Machine) -> None:
    wrong = []
    for words, said in REFUSED:
        ran = ann.run(*INSIDE, *words)
        if ran.code != 2 or said not in ran.err:
            wrong.append((words, ran))
    assert wrong == []


def test_what_comes_while_it_is_typed_is_not_written_over(api: Api, ann: Machine) -> None:
    meta = {"name": "eksdoc-check", "namespace": "kube-system", "uid": "u", "creationTimestamp": "2026-11-20T08:00:00Z"}
    theirs = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
    ann.types, ann.before_typing = (
        "lab 8\n",
        lambda: api.run_locked(lambda plane: plane.load("serviceaccounts", [theirs])),
    )
    ran = ann.run(*DAILY, "--apply")
    assert ran.code == 7 and "something of the same name came since it was shown" in ran.err, ran.err
    assert ours(api) == {"serviceaccounts/eksdoc-check"}


def test_what_is_of_somebody_else_is_left_alone(api: Api, ann: Machine) -> None:
    meta = {"name": "eksdoc-check", "namespace": "kube-system", "uid": "u", "creationTimestamp": "2026-11-20T08:00:00Z"}
    theirs = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
    api.run_locked(lambda plane: plane.load("serviceaccounts", [theirs]))
    ran = ann.run(*DAILY, "--apply", "--yes", "--expect-changes", "8")
    assert ran.code == 2 and "that is not of this tool: serviceaccount/eksdoc-check in kube-system" in ran.err
    assert ours(api) == {"serviceaccounts/eksdoc-check"}


def test_who_may_not_create_it_any_more_is_told_which_rights_it_takes(
    api: Api, ann: Machine, server: SimulatedApiServer, tmp_path: Path
) -> None:
    """As for a user who has no right from the start."""
    assert ann.run(*DAILY, "--apply", "--yes", "--expect-changes", "8").code == 0
    (change,) = json.loads(ann.run("changes", "-o", "json").out)["changes"]
    (journal,) = (tmp_path / "ann").rglob(f"{change['id']}*")
    begun, *_ = journal.read_text().splitlines()
    ann.types = f"{change['id']} 8\n"
    assert ann.run("changes", "undo", change["id"]).code == 0
    viewer = machine(server, tmp_path / "eve", worlds.VIEWER_TOKEN)
    theirs = tmp_path / "eve" / journal.relative_to(tmp_path / "ann")
    theirs.parent.mkdir(parents=True)
    theirs.write_text(f"{begun}\n")
    viewer.types = f"{change['id']} 8\n"
    ran = viewer.run("changes", "resume", change["id"])
    assert ran.code == 3 and "kubectl auth can-i tells which you have" in ran.err
