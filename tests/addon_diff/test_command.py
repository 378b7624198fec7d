"""``kubectl eksdoc addon-diff`` from the command line: on the demo, on snapshots, and with contradicting arguments."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.command.forecast import exit_code
from tests.cli.edited_snapshots import edited
from tests.cli.running import run_cli, told
from tests.embedded.clients import worlds

CNI = ("addon-diff", "vpc-cni", "--demo", "--to", "v1.20.4-eksbuild.2")


def test_the_values_that_are_proposed_end_it(tmp_path: Path) -> None:
    way = told(*CNI, "--resolve-conflicts", "OVERWRITE")["addons"][0]["wayOut"]
    assert way["refused"] is None or way["refused"] == []
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(way["values"]))
    for path in (str(file), f"file://{file}"):
        ran = run_cli(*CNI, "--resolve-conflicts", "overwrite", "--configuration-values", path)
        assert "nothing that other clients have set is lost" in ran.out and "FIELDS AT RISK" not in ran.out
        assert ran.code == 0


def test_nothing_that_is_only_believed_passes() -> None:
    preserve = (*CNI, "--resolve-conflicts", "PRESERVE")
    assert (run_cli(*preserve).code, run_cli(*preserve, "--strict").code) == (5, 5)
    assert "--strict: the effect on 1 field is not certain (SURE)" in run_cli(*preserve, "--strict").err


def test_empty_values_take_everything_away(tmp_path: Path) -> None:
    file = tmp_path / "values.json"
    file.write_text("{}")
    ran = run_cli(*CNI, "--configuration-values", str(file))
    assert "all configuration values are taken away: env.ENABLE_POD_ENI" in ran.out and ran.code == 1


def test_every_addon_at_once_is_what_each_of_them_is() -> None:
    together = told("addon-diff", "--all", "--demo")
    names = [each["name"] for each in together["addons"]]
    assert names == sorted(names) and {"vpc-cni", "coredns", "kube-proxy"} <= set(names)
    alone = told("addon-diff", "coredns", "--demo")
    assert alone["addons"] == [each for each in together["addons"] if each["name"] == "coredns"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no add-on is named"),
        (("vpc-cni", "coredns"), "one add-on at a time, and 2 are named"),
        (("vpc-cni", "--all"), "an add-on is named beside --all"),
        (("--all", "--to", "v1"), "are of one add-on"),
        (("vpc-cni", "--resolve-conflicts", "maybe"), "'maybe' is no mode. It can be NONE, OVERWRITE, PRESERVE"),
        (("vpc-cni", "--configuration-values", "/nowhere"), "--configuration-values /nowhere cannot be read"),
        (("vpc-cni", "--configuration-values", "-"), "reads a file, not standard input"),
    ],
)
def test_what_does_not_fit_together(words: tuple[str, ...], said: str) -> None:
    ran = run_cli("addon-diff", *words, "--demo")
    assert (ran.code, ran.out) == (2, "") and said in ran.err


def test_a_name_that_comes_close() -> None:
    ran = run_cli("addon-diff", "vpc-nci", "--demo")
    assert ran.code == 2 and "vpc-nci is no EKS add-on of cluster demo-shop (did you mean vpc-cni?)" in ran.err


def without_cni(snapshot: str, folder: Path) -> str:
    """A snapshot that was taken without requests to EKS about vpc-cni."""

    def edit(name: str, document: dict[str, Any]) -> None:
        if name.endswith("aws-answers"):
            of = [each for each in document["calls"] if each["parameters"].get("addonName") != "vpc-cni"]
            document["calls"] = of

    return edited(snapshot, folder / "less.eksdoc", edit)


def test_an_addon_that_was_left_out_is_not_known(snapshot: str, tmp_path: Path) -> None:
    ran = run_cli("addon-diff", "--all", "--snapshot", without_cni(snapshot, tmp_path))
    assert "note: vpc-cni is left out" in ran.err and "note: kube-proxy" not in ran.err
    assert ran.code == exit_code((), (), has_left_out=True) == 5


_DEMUX = (
    "DaemonSet.apps aws-node - .spec.template.spec.initContainers[name={q}aws-vpc-cni-init{q}]"
    ".env[name={q}DISABLE_TCP_EARLY_DEMUX{q}].value"
)
_MESSAGE = "Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts:"


def test_a_conflict_is_explained_field_by_field(tmp_path: Path) -> None:
    """The message is pasted, or printed by aws eks describe-update; its objects decide which add-on it is."""
    escaped = tmp_path / "update.json"
    escaped.write_text('{"errorMessage": "' + _MESSAGE + "\\n" + _DEMUX.format(q='\\"') + '"}')
    for given in (f"{_MESSAGE}\n{_DEMUX.format(q=chr(34))}", str(escaped)):
        found = told("addon-diff", "--demo", "--to", "v1.20.4-eksbuild.2", "--explain-conflict", given)
        ((field,),) = [addon["fields"] for addon in found["addons"]]
        assert (field["owners"], field["modes"]["NONE"]["fate"]) == (["kubectl-patch"], "conflict")
        assert field["modes"]["OVERWRITE"] == {"fate": "reset", "confidence": "medium", "value": "false"}
        way = found["addons"][0]["wayOut"]
        assert way["values"]["init"] == {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}} and way["command"]


def test_a_conflict_that_is_none_now_is_unknown() -> None:
    text = f"{_MESSAGE}\nConfigMap amazon-vpc-cni - .data.enable-windows-ipam\nRole x - .rules"
    ran = run_cli("addon-diff", "vpc-cni", "--demo", "--to", "v1.20.4-eksbuild.2", "--explain-conflict", text)
    assert ran.code == 5 and "FIELDS AT RISK" not in ran.out
    assert "the message names ConfigMap amazon-vpc-cni - .data.enable-windows-ipam as in conflict" in " ".join(
        ran.out.split()
    )
    assert "Role x - .rules as in conflict, and the object was not read" in " ".join(ran.out.split())


def test_a_conflict_over_an_object_of_another_addon_leads_to_that_addon() -> None:
    """The printed command runs as it is, and explains the conflict."""
    text = _DEMUX.format(q=chr(34))
    found = told("addon-diff", "coredns", "--demo", "--explain-conflict", text)
    (finding,) = (each for each in found["findings"] if each["code"] == "addon-field-unknown")
    assert "the object is of vpc-cni" in finding["message"]
    command = finding["remedy"][0]["command"]
    again = told(*shlex.split(command)[2:], "--to", "v1.20.4-eksbuild.2")
    assert [each["name"] for each in again["addons"]] == ["vpc-cni"]
    assert any(each["code"] == "addon-field-conflict" for each in again["findings"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--explain-conflict", "CONFLICT", "--after"), "--explain-conflict beside --after"),
        (("--explain-conflict", "CONFLICT", "--apply"), "--explain-conflict only looks"),
        (("--explain-conflict", "no file"), "cannot be read"),
        (("--manifest", "x.yaml", "--apply"), "--manifest only looks"),
        (("--chart", "no chart"), "no folder of a chart"),
        (("--chart", "x", "--manifest", "y"), "--manifest and --chart both"),
    ],
)
def test_what_explains_does_not_go_with_other_things(words: tuple[str, ...], said: str) -> None:
    given = [_DEMUX.format(q='"') if word == "CONFLICT" else word for word in words]
    ran = run_cli("addon-diff", "vpc-cni", "--demo", *given)
    assert ran.code == 2 and said in ran.err


def test_a_page_that_explains_other_fields_still_says_that_the_update_fails() -> None:
    ran = run_cli("addon-diff", "vpc-cni", "--demo", "--explain-conflict", "Role.rbac.authorization.k8s.io x - .rules")
    text = " ".join(ran.out.split())
    assert "with NONE: it fails, in conflict over other fields that another client has set As it fails" in text
    assert "kubectl get Role.rbac.authorization.k8s.io -A --field-selector metadata.name=x" in text


def test_a_look_back_asks_for_no_manifest_of_the_next_version() -> None:
    ran = run_cli("addon-diff", "aws-ebs-csi-driver", "--demo", "--after")
    assert ran.code == 5 and "--manifest" not in ran.out
    assert "Compare the add-on's objects with what you keep of them yourself" in ran.out


def test_a_conflict_is_not_explained_for_every_addon() -> None:
    ran = run_cli("addon-diff", "--all", "--demo", "--explain-conflict", _DEMUX.format(q=chr(34)))
    assert ran.code == 2 and "--explain-conflict is of one add-on, and --all names every one" in ran.err


_RENDERED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: metrics-server, labels: {k8s-app: metrics-server}}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: metrics-server}}
  template:
    spec:
      containers:
      - {name: metrics-server, image: "example.com/metrics-server:v0.8.0"}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
---
apiVersion: rbac.example.com/v1
kind: Grant
metadata: {name: metrics-server}
"""
_ACCOUNT = """---
apiVersion: v1
kind: ServiceAccount
metadata: {name: metrics-server, labels: {k8s-app: metrics-server}}
"""


def test_a_manifest_says_what_is_applied(tmp_path: Path) -> None:
    """An add-on without a known manifest: its objects, and their fields with confidence low. A kind that is not read is
    unknown."""
    (tmp_path / "rendered.yaml").write_text(_RENDERED)
    ran = run_cli("addon-diff", "metrics-server", "--demo", "--manifest", str(tmp_path), "-o", "json")
    found = json.loads(ran.out)
    changed = {each["path"]: each for each in found["addons"][0]["fields"]}
    image = changed['.spec.template.spec.containers[name="metrics-server"].image']
    assert image["modes"]["OVERWRITE"]["value"].endswith("/metrics-server:v0.8.0-eksbuild.N")
    assert image["modes"]["OVERWRITE"]["confidence"] == "low"
    messages = [each["message"] for each in found["findings"]]
    assert any("Grant.rbac.example.com metrics-server cannot be judged" in each for each in messages)
    assert any("lack ServiceAccount metrics-server, which EKS applies" in each for each in messages) and ran.code == 5


def test_a_part_of_an_object_is_refused(tmp_path: Path) -> None:
    """Otherwise the update would be said to fail, and a field that OVERWRITE takes would be reported as kept."""
    part = tmp_path / "part.yaml"
    pod = "spec: {template: {spec: {containers: [{name: aws-node, image: x}]}}}"
    part.write_text(
        f"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: aws-node, namespace: kube-system}}\n{pod}"
    )
    ran = run_cli("addon-diff", "vpc-cni", "--demo", "--manifest", str(part), "--resolve-conflicts", "OVERWRITE")
    assert ran.code == 2 and "holds a part of DaemonSet.apps aws-node alone: it has no spec.selector" in ran.err


def test_the_manifest_of_another_add_on_is_refused(tmp_path: Path) -> None:
    """It contains nothing about this add-on, and the report would say that nothing is lost."""
    (tmp_path / "rendered.yaml").write_text(_RENDERED)
    ran = run_cli("addon-diff", "vpc-cni", "--demo", "--manifest", str(tmp_path))
    assert ran.code == 2 and "holds no object of vpc-cni" in ran.err and "DaemonSet.apps aws-node" in ran.err


def test_a_chart_says_what_its_literal_templates_apply(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: metrics-server\nversion: 1.0.0\n")
    (tmp_path / "templates" / "all.yaml").write_text(_RENDERED.partition("---")[0] + _ACCOUNT)
    words = ("addon-diff", "metrics-server", "--demo", "--chart", str(tmp_path), "-o", "json")

    def unread() -> list[str]:
        said = json.loads(run_cli(*words).out)["findings"]
        return [each["subject"]["name"] for each in said if each["code"] == "addon-object-unread"]

    fields = json.loads(run_cli(*words).out)["addons"][0]["fields"]
    assert '.spec.template.spec.containers[name="metrics-server"].image' in {each["path"] for each in fields}
    assert unread() == []
    (tmp_path / "templates" / "rbac.yaml").write_text("{{- if .Values.rbac }}\nkind: ClusterRole\n{{- end }}\n")
    (tmp_path / "charts").mkdir()
    assert sorted(unread()) == ["charts", "templates/rbac.yaml"] and run_cli(*words).code == 5


def test_what_may_be_unknown_is_named_as_for_every_other_command() -> None:
    def code(*more: str) -> int:
        return run_cli("addon-diff", "kube-proxy", "--demo", *more).code

    unknown = "--accept-unknown=addon-field-unknown"
    assert (code(), code(unknown), code("--accept-unknown=addon-values-refused")) == (5, 0, 5)


def test_values_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "values"
    file.write_text("- 1")
    ran = run_cli(*CNI, "--configuration-values", str(file))
    assert ran.code == 2 and "these configuration values cannot be read" in ran.err


def test_a_snapshot_without_answers_of_aws_cannot_be_judged() -> None:
    ran = run_cli("addon-diff", "vpc-cni", "--snapshot", str(worlds.archive("rich")))
    assert ran.code == 2 and "holds no answers of AWS, and an add-on's update cannot be judged without them" in ran.err


def test_what_is_no_version_is_refused_and_not_judged_as_one() -> None:
    ran = run_cli("addon-diff", "coredns", "--to", "v9", "--demo")
    text = " ".join(ran.out.split())
    assert "EKS does not offer v9 for Kubernetes 1.33" in text and ran.code == 1
    assert "no manifest of coredns v9 is known here: its update is predicted from v1.14.3-eksbuild.11" in text
    assert "Corefile" not in text
