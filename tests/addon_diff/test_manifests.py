"""Predictions from the public manifests, compared with a real server; and the facts that manifests cannot tell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from kubectl_eksdoc.addon_diff.expected import leaves_of
from kubectl_eksdoc.addon_diff.fields import value_at
from kubectl_eksdoc.addon_diff.manifests import addon_manifests, build_document
from kubectl_eksdoc.addon_diff.plan import AddonPlan, _predict_objects
from kubectl_eksdoc.addon_diff.prediction import (
    AddonFacts,
    AddonUpdateRequest,
    AddonVersionFacts,
    Fate,
    FieldChange,
    Mode,
    _validation_error,
)
from kubectl_eksdoc.addon_diff.report.update import verdict
from kubectl_eksdoc.aws.addon_side import chart_defaults
from kubectl_eksdoc.kubernetes.api.defaults import with_defaults
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.document_diff import Path
from kubectl_eksdoc.kubernetes.managed_fields import with_update, without_entries
from kubectl_eksdoc.kubernetes.server_side_apply import (
    AppliedDocument,
    ApplyRefused,
    apply,
    merge,
)
from kubectl_eksdoc.model.addons import Addon
from kubectl_eksdoc.model.api_objects import Doc, object_name
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from tests.addon_diff.incident import NOW, SCHEMA, applied, version
from tests.addon_diff.test_false_passes import check_histories, env_of, hand, plain, predicted_histories, recorded
from tests.addon_diff.test_plan import facts, planned


def bare_facts(addon: str, now: str, target: str, live: Doc) -> AddonFacts:
    """Facts without charts and without schemas."""
    sides = (AddonVersionFacts(each, Unknown("x"), Unknown("x")) for each in (now, target))
    return facts(
        addon=Addon(addon, now, "ACTIVE"), objects=(live,), **dict(zip(("current", "target"), sides, strict=True))
    )


def of_cni(live: Doc) -> AddonFacts:
    return facts(current=version("v1.18.6"), target=version("v1.19.5"), objects=(live,))


def test_what_another_client_owns_as_empty_is_kept_by_preserve_and_reset_by_overwrite() -> None:
    """A real server answers so (``kubectl apply --server-side --force-conflicts`` with an empty list)."""
    api, kind, name = "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "system:coredns"
    live = applied("coredns", "v1.11.4-eksbuild.33", kind, name, api)
    identity = {key: live[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": name}}
    made = apply(live, {**identity, "subjects": []}, "ops", True, NOW, schema_of(api, kind))
    assert isinstance(made, AppliedDocument)
    bare = {key: value for key, value in made.doc.items() if key != "subjects"}
    known = bare_facts("coredns", "v1.11.4-eksbuild.33", "v1.11.4-eksbuild.46", bare)
    (change,) = (each for each in planned(known, AddonUpdateRequest()).changes if each.field.path == ("f:subjects",))
    fates = {mode: change.by_mode[mode] for mode in Mode}
    assert [fates[mode].fate for mode in Mode] == [Fate.CONFLICT, Fate.RESET, Fate.KEPT]
    assert fates[Mode.OVERWRITE].value == live["subjects"]


def _lacks_probe(live: Doc, more: str = "") -> dict[str, Status]:
    """A user removes the probe; with `more`, EKS's own build has a variable of that name as well."""
    if more:
        live = json.loads(json.dumps(live))
        env_of(live["spec"]["template"]["spec"]).append({"name": more, "value": "x"})
        found = apply(None, plain(live), "eks", True, NOW, SCHEMA)
        assert isinstance(found, AppliedDocument)
        live = found.doc
    live = hand(live, lambda pod: pod["containers"][0].pop("livenessProbe"))
    plan = planned(of_cni(live), AddonUpdateRequest(Mode.NONE))
    field = "livenessProbe.exec.command"
    return {each.code.name: each.status for each in plan.findings if field in each.message}


def test_what_the_public_manifest_has_and_the_cluster_has_not_is_unknown() -> None:
    """A user removed it, or EKS's own build has never had it; a removed field is in no managedFields entry. If EKS owns
    all else as the manifest says, a user removed it."""
    live = applied("vpc-cni", "v1.18.6-eksbuild.1")
    assert _lacks_probe(live) == {"addon-field-changed-in-every-mode": Status.FAIL}
    assert _lacks_probe(live, "CLUSTER_NAME") == {"addon-field-unknown": Status.UNKNOWN}


@pytest.mark.parametrize(
    ("more", "code", "status"),
    [
        ({}, "addon-field-changed-in-every-mode", Status.FAIL),
        ({"helm.sh/chart": "aws-vpc-cni-1.18.6"}, "addon-field-unknown", Status.UNKNOWN),
    ],
)
def test_a_label_that_eks_may_not_set_is_unknown(more: dict[str, str], code: str, status: Status) -> None:
    """EKS may have its own labels there; if all others are the manifest's, a user has removed it."""
    live = applied("vpc-cni", "v1.18.6-eksbuild.1")
    bare = plain(live)
    bare["metadata"]["labels"] |= more
    made = apply(None, bare, "eks", True, NOW, SCHEMA)
    assert isinstance(made, AppliedDocument)
    live = made.doc
    bare = json.loads(json.dumps(live))
    del bare["metadata"]["labels"]["app.kubernetes.io/instance"]
    live = with_update(live, bare, "kubectl-label", NOW, SCHEMA)
    plan = planned(of_cni(live), AddonUpdateRequest(Mode.NONE))
    (finding,) = [each for each in plan.findings if "instance" in each.message]
    assert (finding.code.name, finding.status) == (code, status)


_AGENT = "602401143452.dkr.ecr.us-west-2.amazonaws.com/amazon/aws-network-policy-agent"


@pytest.mark.parametrize(
    ("image", "said"),
    [(f"{_AGENT}:v1.2.1-eksbuild.3", Status.UNKNOWN), (f"{_AGENT}:v1.1.0-eksbuild.1", Status.FAIL)],
)
def test_the_build_of_another_programs_image_is_not_known(image: str, said: Status) -> None:
    """If a user has set the same image that EKS may apply, it is not known whether it is in conflict."""

    def pin(pod: Doc) -> None:
        pod["containers"][1]["image"] = image

    live = hand(applied("vpc-cni", "v1.18.6-eksbuild.1"), pin)
    known = of_cni(live)
    plan = planned(known, AddonUpdateRequest(Mode.OVERWRITE))
    assert [each.status for each in plan.findings if 'aws-eks-nodeagent"].image' in each.message] == [said]
    (own,) = [each for each in plan.changes if 'aws-node"].image' in str(each.field)]
    assert own.by_mode[Mode.OVERWRITE].value.endswith("/amazon-k8s-cni:v1.19.5-eksbuild.1")


def test_a_version_between_two_is_named_by_its_own() -> None:
    known = addon_manifests("vpc-cni", "v1.15.2-eksbuild.1", "v1.23.2-eksbuild.2", True)
    assert known is not None and known.current.is_exact is True and known.target.is_exact is False
    for each, of, tag in (
        (known.current, "v1.15.2", "v1.15.2-eksbuild.1"),
        (known.target, "v1.23.2", "v1.23.2-eksbuild.2"),
    ):
        fields = each.objects["DaemonSet aws-node"]
        assert {value for path, value in fields.items() if "VPC_CNI_VERSION" in str(path)} == {of}
        assert [value.rpartition(":")[2] for path, value in fields.items() if "amazon-k8s-cni" in str(value)] == [
            tag,
            tag,
        ]


@pytest.mark.parametrize("mode", Mode)
def test_an_update_that_makes_no_valid_object_fails_in_every_mode(mode: Mode) -> None:
    """A user renumbered the metrics port: EKS adds its own port again, with the same name."""

    def renumber(pod: Doc) -> None:
        for port in pod["containers"][0]["ports"]:
            port["containerPort"] = 61679

    live = hand(applied("vpc-cni", "v1.18.6-eksbuild.1"), renumber)
    plan = planned(of_cni(live), AddonUpdateRequest(mode))
    assert [(each.code.name, each.status) for each in plan.findings] == [("addon-update-refused", Status.FAIL)]
    assert 'ports[1].name: Duplicate value: "metrics"' in plan.findings[0].message


def _unnumbered(message: str | None) -> str:
    """The object without the order of merged lists, which is not predicted."""
    return re.sub(r"\[\d+\]", "[]", message or "")


class Agreeing:
    """The number of statuses predicted as the server answered, and the total; no field in conflict is unknown."""

    def __init__(self) -> None:
        self.right, self.of = 0, 0
        self.wrong: list[tuple[object, ...]] = []

    def add(self, name: str, case: Doc, plan: AddonPlan) -> None:
        for mode in (Mode.NONE, Mode.OVERWRITE):
            (prediction,) = plan.predictions
            refused = prediction.refused.get(mode)
            told = 409 if mode is Mode.NONE and plan.conflict else 422 if refused else 200
            if told == 422 and _unnumbered(refused) != _unnumbered(case["answers"][mode.value]["message"]):
                self.wrong.append((name, refused))
            self.right, self.of = self.right + (told == case["answers"][mode.value]["status"]), self.of + 1
        if case["answers"]["NONE"]["status"] == 409:
            said = {each["field"] for each in case["answers"]["NONE"]["causes"]}
            message = {line.partition(" - ")[2] for line in plan.conflict.splitlines()[1:]}
            unknown = [each.field for each in plan.changes if each.fate(Mode.NONE) is Fate.UNKNOWN]
            missed = [each for each in unknown if str(each).partition(" - ")[2].startswith(tuple(said))]
            self.wrong += [(name, said ^ message, missed)] * bool(said != message or missed)


@pytest.mark.parametrize(
    ("addon", "every", "right"),
    [
        ("vpc-cni", 15, 68),
        ("coredns", 8, 80),
        pytest.param("vpc-cni", 1, 1082, marks=pytest.mark.long),
        pytest.param("coredns", 1, 600, marks=pytest.mark.long),
    ],
)
def test_nothing_that_a_real_server_took_passes_and_all_of_its_answers_are_foretold(
    addon: str, every: int, right: int
) -> None:
    found = Agreeing()

    def seen() -> Iterator[tuple[str, Doc, AddonPlan]]:
        for name, case, plan in predicted_histories(addon, every):
            found.add(name, case, plan)
            yield name, case, plan

    check_histories(seen())
    assert (found.wrong, found.right, found.of) == ([], right, right)


@pytest.mark.parametrize(("kind", "name", "lost"), [("Service", "kube-dns", True), ("ConfigMap", "coredns", False)])
def test_annotations_for_prometheus_are_of_eks_where_its_manifest_has_them(kind: str, name: str, lost: bool) -> None:
    now, target = ("v1.12.1-eksbuild.2", "v1.12.4-eksbuild.1")
    live = applied("coredns", now, kind, name)
    schema = schema_of("v1", kind)
    mine = {"metadata": {"annotations": {"prometheus.io/port": "1"}}}
    live = with_update(live, merge(live, mine, schema.root), "kubectl-annotate", NOW, schema)
    known = bare_facts("coredns", now, target, live)
    for mode in (Mode.NONE, Mode.OVERWRITE):
        said = [
            each.status for each in planned(known, AddonUpdateRequest(mode)).findings if each.status is not Status.PASS
        ]
        assert said == [Status.FAIL] * lost


def test_an_object_of_which_eks_owns_nothing_any_more_does_not_pass() -> None:
    """A user removed all labels of the service account: no manager owns them, and the manifest has them."""
    now, target = ("v1.12.1-eksbuild.2", "v1.12.4-eksbuild.1")
    live = applied("coredns", now, "ServiceAccount", "coredns")
    schema = schema_of("v1", "ServiceAccount")
    bare = {**live, "metadata": {key: live["metadata"][key] for key in live["metadata"] if key != "labels"}}
    live = with_update(live, bare, "kubectl-edit", NOW, schema)
    known = bare_facts("coredns", now, target, live)
    for mode in Mode:
        (finding,) = planned(known, AddonUpdateRequest(mode)).findings
        assert (finding.code.name, finding.status) == ("addon-field-unknown", Status.UNKNOWN)


def test_of_kube_proxy_a_far_version_is_predicted_and_does_not_pass() -> None:
    """The nearest public manifest is two minors away: its prediction for a user's field is shown, and unknown (exit
    5)."""

    def other(pod: Doc) -> None:
        pod["containers"][0]["command"] = ["kube-proxy", "--v=9"]
        pod["containers"][0]["volumeMounts"].pop()

    live = hand(applied("kube-proxy", "v1.25.6-eksbuild.1"), other)
    now, target = ("v1.32.3-eksbuild.7", "v1.33.10-eksbuild.29")
    known = bare_facts("kube-proxy", now, target, live)
    plan = planned(known, AddonUpdateRequest(Mode.OVERWRITE))
    (change,) = [each for each in plan.changes if each.at_risk]
    assert (change.fate(Mode.NONE), change.fate(Mode.OVERWRITE)) == (Fate.CONFLICT, Fate.RESET)
    assert change.confidence(Mode.OVERWRITE) is Confidence.LOW
    (finding,) = [each for each in plan.findings if "command" in each.message]
    assert finding.message.endswith("is reset to a document, if the version applies what the nearest known one does")
    assert (finding.code.name, finding.status) == ("addon-field-unknown", Status.UNKNOWN)
    assert ": by the nearest known manifest, 1 field that another client has set is lost" in verdict(plan)
    assert "by the nearest known manifest, it fails" in verdict(planned(known, AddonUpdateRequest(Mode.NONE)))
    (nearest,) = [each for each in plan.findings if "is predicted from" in each.message]
    assert nearest.evidence == ("public manifests of kube-proxy: v1.25.6-eksbuild.1",)


def test_an_image_that_no_manifest_has_is_not_taken_to_be_kept() -> None:
    """The version of kube-proxy does not tell the variant of the image: EKS applies one all the same."""
    now, target = ("v1.25.6-eksbuild.1", "v1.25.6-eksbuild.1")

    def pin(pod: Doc) -> None:
        pod["containers"][0]["image"] = "example.com/kube-proxy:mine"

    live = hand(applied("kube-proxy", now), pin)
    known = bare_facts("kube-proxy", now, target, live)
    for mode in Mode:
        (finding,) = planned(known, AddonUpdateRequest(mode)).findings
        assert (finding.code.name, finding.status) == ("addon-field-unknown", Status.UNKNOWN)
        assert "image" in finding.message


@pytest.mark.parametrize(("manager", "alone"), [("", True), ("kubectl-edit", False), ("eks", False)])
def test_where_eks_alone_owns_the_fields_that_is_said(manager: str, alone: bool) -> None:
    now, target = ("v1.32.3-eksbuild.7", "v1.33.10-eksbuild.29")
    live = applied("kube-proxy", "v1.25.6-eksbuild.1")
    if manager:
        louder = {**live, "spec": {**live["spec"], "revisionHistoryLimit": 3}}
        live = with_update(live, louder, manager, NOW, schema_of("apps/v1", "DaemonSet"))
    known = bare_facts("kube-proxy", now, target, live)
    (nearest,) = [each for each in planned(known, AddonUpdateRequest()).findings if "is predicted from" in each.message]
    assert any("EKS alone owns" in each for each in nearest.evidence) is alone


def test_an_object_without_managed_fields_is_owned_before_the_first_apply() -> None:
    """``kubectl patch`` has removed them: a field that differs from what EKS applies is in conflict, and OVERWRITE
    resets it."""

    def quieter(pod: Doc) -> None:
        pod["containers"][0]["image"] = "example.com/cni:1"
        del pod["containers"][0]["livenessProbe"]

    live = hand(applied("vpc-cni", "v1.18.6-eksbuild.1"), quieter)
    live = {**live, "metadata": {**live["metadata"], "managedFields": []}}
    known = of_cni(live)
    for mode, status in ((Mode.NONE, Status.FAIL), (Mode.OVERWRITE, Status.FAIL), (Mode.PRESERVE, Status.UNKNOWN)):
        plan = planned(known, AddonUpdateRequest(mode))
        assert [each.status for each in plan.findings if 'aws-node"].image' in each.message] == [status]
        assert any(each.status is Status.UNKNOWN and "livenessProbe" in each.message for each in plan.findings)
    assert "before-first-apply" in planned(known, AddonUpdateRequest(Mode.OVERWRITE)).findings[0].message


_NEWEST = [
    ("vpc-cni", "v1.23.0-eksbuild.1", "v1.23.1-eksbuild.1", 5),
    ("coredns", "v1.12.1-eksbuild.2", "v1.12.4-eksbuild.1", 1),  # the defaults of Kubernetes 1.33 and 1.34
]


@pytest.mark.parametrize(
    ("addon", "now", "target", "fields", "every"),
    [*((*each, 15) for each in _NEWEST), *(pytest.param(*each, 1, marks=pytest.mark.long) for each in _NEWEST)],
)
def test_the_newest_updates_are_foretold_field_by_field(
    addon: str, now: str, target: str, fields: int, every: int
) -> None:
    """The fields that the version changes, and the result for each field that a user sets to another value."""
    before = applied(addon, now)
    unknown = Unknown("not known")
    sides = [AddonVersionFacts(each, chart_defaults(addon, each), unknown) for each in (now, target)]
    schema = schema_of(before["apiVersion"], before["kind"])

    def changes(live: Doc) -> dict[Path, FieldChange]:
        known = facts(addon=Addon(addon, now, "ACTIVE"), current=sides[0], target=sides[1], objects=(live,))
        (prediction,), _ = _predict_objects(known, {})
        return {each.field.path: each for each in prediction.changes}

    untouched = changes(before)
    assert len(untouched) == fields and not any(each.at_risk for each in untouched.values())
    wrong = []
    for path in leaves_of(plain(before), schema)[::every]:
        value = value_at(before, path, schema.root)
        if path[:2] in _OF_ITSELF or path[0] in _OF_ITSELF or not isinstance(value, (str, int)):
            continue
        mine = "kubectl-edit" if isinstance(value, str) else 7
        live = with_update(
            before, merge(before, build_document({path: mine}), schema.root), "kubectl-edit", NOW, schema
        )
        told = changes(live).get(path)
        if told is None or (told.fate(Mode.NONE), told.fate(Mode.OVERWRITE)) != (Fate.CONFLICT, Fate.RESET):
            wrong.append((path, told))
    assert wrong == []


_OF_ITSELF = (
    ("f:metadata", "f:name"),
    ("f:metadata", "f:namespace"),
    ("f:spec", "f:selector"),
    "f:apiVersion",
    "f:kind",
)


def predicted(case: Doc, force: bool) -> tuple[int, object]:
    """The status, and with it the conflicting fields, the message or the object."""
    live, after = case["live"], case["next"]
    answer = apply(live, after, "eks", force, NOW, schema_of(after["apiVersion"], after["kind"]))
    if isinstance(answer, ApplyRefused):
        return answer.code, answer.message
    if not isinstance(answer, AppliedDocument):
        return 409, answer.message
    before, doc = (with_defaults(without_entries(each)) for each in (live, answer.doc))
    invalid = _validation_error(object_name(live), before, doc)
    return (422, invalid) if invalid else (200, plain(doc))


_DEFAULTS = {"type": "", "apiVersion": "v1", "failureThreshold": 3, "successThreshold": 1, "periodSeconds": 10}
"""Values that the server gives to what a manifest does not say, and that are not written here."""
_ALWAYS = frozenset(("annotations", "serviceAccount"))
"""Empty, and an alias that the server keeps like serviceAccountName."""


def alike(told: object, ours: object) -> bool:
    """Whether two objects are equal apart from defaults."""
    if isinstance(told, dict) and isinstance(ours, dict):
        lacks = {key: value for key, value in told.items() if key not in ours and key not in _ALWAYS}
        both = told.keys() & ours.keys() - {"serviceAccount"}
        same = all(alike(told[key], ours[key]) for key in both)
        return same and lacks.items() <= _DEFAULTS.items() and ours.keys() - told.keys() <= _ALWAYS
    if isinstance(told, list) and isinstance(ours, list):
        return len(told) == len(ours) and all(map(alike, told, ours))
    return told == ours


def answered(answer: Doc) -> tuple[int, object]:
    said = answer["message"] if answer["status"] != 200 else plain(answer["result"])
    return answer["status"], said


@pytest.mark.long
@pytest.mark.parametrize("addon", ["vpc-cni", "coredns"])
def test_every_answer_is_predicted(addon: str) -> None:
    wrong, right = [], 0
    for name, _, case in recorded(addon, 1):
        for mode in ("NONE", "OVERWRITE") if case["next"] else ():
            told, ours = answered(case["answers"][mode]), predicted(case, mode == "OVERWRITE")
            same = told[0] == ours[0] and alike(told[1], ours[1])
            right += same
            wrong += [] if same else [(name, mode, told, ours)]
    assert wrong == [] and right > 500
