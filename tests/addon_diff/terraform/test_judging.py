"""Terraform plans fail with the address and the argument that causes it; an unknown fact never passes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.report.diff import terraform_blocks
from kubectl_eksdoc.addon_diff.terraform_result import TerraformJudgement
from kubectl_eksdoc.model.addons import Addon
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.model.kinds import Unknown
from tests.addon_diff.incident import a_persons
from tests.addon_diff.terraform.worlds import (
    MODULE,
    NEW,
    OLD,
    PLAIN,
    SPELLINGS,
    World,
    configuration,
    judged,
    the_incident,
    values,
)
from tests.examples import one_in
from tests.host.terraform_plans import a_change, a_plan, an_addon

TARGET = "v1.15.1-eksbuild.1"
KEPT = {"env": {"ENABLE_POD_ENI": "true"}, "init": {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}}}


def found(judgement: TerraformJudgement, code: str) -> list[Finding]:
    return [each for each in judgement.all_findings if each.code.name == code]


def statuses(judgement: TerraformJudgement) -> set[Status]:
    return {each.status for each in judgement.all_findings}


def remedies(findings: list[Finding]) -> str:
    return "\n".join(remedy.text for each in findings for remedy in each.remedy)


@pytest.mark.parametrize("address", [PLAIN, MODULE])
@pytest.mark.parametrize("spelling", one_in(3, SPELLINGS))
def test_the_incident_is_refused_in_each_spelling(spelling: str, address: str) -> None:
    judgement = judged(the_incident(spelling, address))
    resets = found(judgement, "addon-field-reset")
    assert [(each.severity, each.status) for each in resets] == [(Severity.CRITICAL, Status.FAIL)] * 2
    assert any("DISABLE_TCP_EARLY_DEMUX" in each.message for each in resets)
    argument = "resolve_conflicts_on_update" if spelling in ("5", "6") else "resolve_conflicts"
    for each in judgement.all_findings:
        assert each.evidence[-1].startswith(f'Terraform: {address}, {argument} = "OVERWRITE"')
    (change,) = judgement.changes
    assert [each.value for each in change.change.generations] == [spelling]


def test_a_module_is_told_which_of_its_arguments_to_set() -> None:
    judgement = judged(the_incident("5", MODULE))
    (demux, _) = found(judgement, "addon-field-reset")
    assert demux.evidence[-1] == (
        f'Terraform: {MODULE}, resolve_conflicts_on_update = "OVERWRITE": terraform-aws-modules/eks/aws ~> '
        '20.0 shows where cluster_addons["vpc-cni"].resolve_conflicts_on_update of module "eks" says '
        "nothing else"
    )
    assert [each.text for each in demux.remedy] == [
        'Write the values proposed here to cluster_addons["vpc-cni"].configuration_values of module "eks", and plan '
        "again.",
        'Set cluster_addons["vpc-cni"].resolve_conflicts_on_update of module "eks" to "NONE" with them: what was not '
        "foreseen is refused then.",
    ]


_REPOSITORY = "terraform-aws-modules/terraform-aws-eks"


@pytest.mark.parametrize(
    ("source", "version", "given", "argument"),
    [
        ("terraform-aws-modules/eks/aws", "~> 21.0", (), 'addons["network"].'),
        ("terraform-aws-modules/eks/aws", "19.21.0", (), 'cluster_addons["network"].'),
        (
            "git::https://github.com/terraform-aws-modules/terraform-aws-eks.git?ref=v21.3.0",
            "",
            (),
            'addons["network"].',
        ),
        ("terraform-aws-modules/eks/aws", "", ("addons",), 'addons["network"].'),
        ("aws-ia/eks-blueprints-addons/aws", "~> 1.0", (), 'eks_addons["network"].'),
        ("./modules/eks", "", (), ""),
    ],
)
def test_where_it_is_written_depends_on_the_module(
    source: str, version: str, given: tuple[str, ...], argument: str
) -> None:
    address = 'module.eks.aws_eks_addon.before_compute["network"]'
    document = the_incident("5", address)
    document["configuration"] = configuration("~> 5.0", source, version)
    document["configuration"]["root_module"]["module_calls"]["eks"]["expressions"] = {key: {} for key in given}
    text = remedies(found(judged(document), "addon-field-reset"))
    whole = f'{argument}configuration_values of module "eks"' if argument else f"configuration_values of {address}"
    assert f"to {whole}" in text


@pytest.mark.parametrize("spelling", ["before 4.32", "4.32 to 4.46"])
def test_what_an_old_provider_cannot_do_is_said(spelling: str) -> None:
    text = remedies(found(judged(the_incident(spelling)), "addon-field-reset"))
    assert f"AWS provider {spelling} gives no configuration values: raise it to 4.47 or later, or update with" in text
    given = values(spelling, addon_version=TARGET)
    document = a_plan(a_change(None, given, "create"), configuration=configuration(SPELLINGS[spelling][0]))
    created = judged(document, World(managed={}, live=(a_persons(),)))
    assert "or create it with the values proposed here by the AWS CLI, and import it" in remedies(
        list(created.all_findings)
    )


def test_the_values_that_are_proposed_end_it() -> None:
    """At v1.15.1, whose schema is known; the schema of v1.12.6 is not."""
    way = judged(the_incident("5", addon_version=TARGET)).changes[0].plan
    assert way is not None and way.way_out is not None and way.way_out.values == KEPT
    after = judged(the_incident("5", addon_version=TARGET, configuration_values=json.dumps(KEPT)))
    assert after.changes[0].worst_severity is None and statuses(after) <= {Status.PASS}


def test_an_update_of_anything_else_resets_as_well() -> None:
    """A new role is an UpdateAddon with the same mode: the version stays as it is live."""
    change = a_change(values("5"), values("5", service_account_role_arn="arn:aws:iam::1:role/cni"), "update")
    addon = Addon("vpc-cni", TARGET, "ACTIVE")
    judgement = judged(a_plan(change), World(managed={"vpc-cni": addon}))
    plan = judgement.changes[0].plan
    assert plan is not None and plan.facts.target.version == TARGET
    assert found(judgement, "addon-field-reset")


@pytest.mark.parametrize("argument", ["addon_version", "configuration_values", "resolve_conflicts_on_update"])
def test_what_is_known_after_apply_never_passes(argument: str) -> None:
    """Even if no known value fails: a field that might be lost is unknown, not lost. The mode does not matter if no
    field is at risk."""

    def later(**given: Any) -> TerraformJudgement:
        after = values("5", addon_version=TARGET, **given)
        del after[argument]
        return judged(a_plan(a_change(values("5"), after, "update", unknown={argument: True})))

    judgement = later()
    assert statuses(judgement) == {Status.UNKNOWN}
    told = found(judgement, "addon-terraform-unknown")
    assert [each.missing for each in told] == [f"{argument} of {PLAIN}"]
    assert "DISABLE_TCP_EARLY_DEMUX" in "".join(each.message for each in judgement.all_findings)
    if argument == "resolve_conflicts_on_update":
        assert statuses(later(configuration_values=json.dumps(KEPT))) <= {Status.PASS}


def test_a_plan_that_is_not_whole_never_passes() -> None:
    change = a_change(None, an_addon(), "create", address="aws_eks_addon.later")
    deferred = [{"reason": "provider_config_unknown", "resource_change": change}]
    judgement = judged(a_plan(errored=True, deferred_changes=deferred))
    assert statuses(judgement) == {Status.UNKNOWN}
    assert any("aws_eks_addon.later is left to a later plan" in each.message for each in judgement.all_findings)


ELSEWHERE: list[dict[str, Any]] = [
    {"cluster_name": "bank"},
    {"arn": "arn:aws:eks:us-east-1:111122223333:addon/shop/vpc-cni/x"},
    {"region": "us-east-1"},
]


@pytest.mark.parametrize("given", ELSEWHERE)
def test_other_clusters_are_left_out_and_none_of_this_one_is_unknown(given: dict[str, Any]) -> None:
    """Clusters with another name, or with the same name in another region, which may have the add-on as well."""
    other = a_change(an_addon(**given), an_addon(**given, addon_version=NEW), "update", address="aws_eks_addon.other")
    judgement = judged(a_plan(other))
    assert judgement.changes == () and len(judgement.other_requests) == 1
    (told,) = judgement.all_findings
    assert told.status is Status.UNKNOWN and f"it is of {given.get('cluster_name', 'shop')}" in told.message
    both = the_incident("5")
    both["resource_changes"].append(other)
    assert len(judged(both).changes) == 1 and not judged(both).findings
    if "arn" not in given:
        moved = judged(a_plan(a_change(an_addon(region="eu-west-1"), an_addon(**given), "delete", "create")))
        assert [each.change.request.kind.value for each in moved.changes] == ["delete"]
        assert [each.kind.value for each in moved.other_requests] == ["create"] and Status.FAIL in statuses(moved)


def test_a_cluster_that_is_known_after_apply_is_unknown() -> None:
    given = an_addon()
    del given["cluster_name"]
    judgement = judged(a_plan(a_change(None, given, "create", unknown={"cluster_name": True})))
    assert statuses(judgement) == {Status.UNKNOWN} and judgement.changes[0].plan is None


def test_only_the_addon_that_is_named_is_looked_at() -> None:
    without = judged(the_incident("5"), addon="coredns")
    assert without.changes == () and statuses(without) == {Status.UNKNOWN}, "a name that the plan has not"
    idle = an_addon(addon_name="coredns")
    both = a_plan(a_change(idle, idle, "no-op", address="aws_eks_addon.dns"))
    assert judged(both, addon="coredns").all_findings == ()
    assert len(judged(the_incident("5"), addon="vpc-cni").changes) == 1


@pytest.mark.parametrize(
    ("world", "said"),
    [
        (World(managed={}), "EKS does not manage vpc-cni in this cluster"),
        (World(denied="eks:DescribeAddon"), "IAM does not allow eks:DescribeAddon"),
        (World(managed={"vpc-cni": Addon("vpc-cni", "v1.12.0-eksbuild.1", "ACTIVE")}), f"when vpc-cni was at {OLD}"),
    ],
)
def test_what_the_cluster_says_otherwise_never_passes(world: World, said: str) -> None:
    judgement = judged(the_incident("5", resolve_conflicts_on_update="PRESERVE"), world)
    (told,) = [each for each in judgement.all_findings if said in each.message]
    assert told.status is not Status.PASS and told.subject.name == PLAIN


def test_values_that_are_none_are_refused_and_emptied_ones_take_todays_away() -> None:
    (told,) = judged(the_incident("5", configuration_values="- 1")).all_findings
    assert told.status is Status.FAIL and "EKS refuses configuration_values" in told.message
    addon = Addon("vpc-cni", TARGET, "ACTIVE", configuration='{"env": {"WARM_ENI_TARGET": "3"}}')
    before = values("5", addon_version=TARGET, configuration_values=addon.configuration)
    change = a_change(before, {**before, "configuration_values": ""}, "update")
    judgement = judged(a_plan(change), World(managed={"vpc-cni": addon}))
    assert found(judgement, "addon-values-dropped") and found(judgement, "addon-terraform-unknown")


def test_two_resources_of_the_same_addon() -> None:
    document = the_incident("5")
    document["resource_changes"].append(a_change(values("5"), values("5"), "no-op", address=MODULE))
    (told,) = judged(document).findings
    assert told.code.name == "addon-terraform-clash" and told.evidence == (
        f"Terraform: {PLAIN}",
        f"Terraform: {MODULE}",
    )


def test_a_self_managed_addon_that_is_taken_over_never_passes() -> None:
    for mode in ("OVERWRITE", "NONE", None):
        given = values("5", addon_version=TARGET, resolve_conflicts_on_create=mode)
        judgement = judged(a_plan(a_change(None, given, "create")), World(managed={}, live=(a_persons(),)))
        (told,) = found(judgement, "addon-terraform-takes-over")
        assert told.status is Status.FAIL and "DaemonSet.apps aws-node" in told.evidence[0]
        assert ("EKS takes every field" in told.message) is (mode == "OVERWRITE")
    assert judged(a_plan(a_change(None, given, "create")), World(managed={}, live=())).all_findings == (), (
        "it is nowhere yet"
    )


@pytest.mark.parametrize(
    ("addon", "world", "said", "status"),
    [
        ("vpc-cni", World(), "EKS manages vpc-cni already: it cannot be created", Status.FAIL),
        ("nonsense", World(managed={}), "EKS offers no add-on nonsense", Status.FAIL),
        ("adot", World(managed={}, live=()), "no live object of adot was checked", Status.UNKNOWN),
    ],
)
def test_what_cannot_be_created_or_is_not_known(addon: str, world: World, said: str, status: Status) -> None:
    change = a_change(None, an_addon(addon_name=addon), "create")
    (told,) = [each for each in judged(a_plan(change), world).all_findings if said in each.message]
    assert told.status is status


@pytest.mark.parametrize(
    ("addon", "severity", "said"),
    [
        ("vpc-cni", Severity.CRITICAL, "pods that start get no address"),
        ("coredns", Severity.CRITICAL, "no pod resolves a name"),
        ("adot", Severity.HIGH, "what it does in the cluster ends"),
    ],
)
def test_deletion_and_replacement_fail_and_what_is_preserved_or_forgotten_is_said(
    addon: str, severity: Severity, said: str
) -> None:
    was = an_addon(addon_name=addon)
    for change in (a_change(was, None, "delete"), a_change(was, was, "delete", "create")):
        (told,) = judged(a_plan(change)).all_findings
        assert (told.severity, told.status) == (severity, Status.FAIL) and said in told.message
        assert told.subject.name == PLAIN
    kept = an_addon(addon_name=addon, preserve=True)
    for action, low in (("delete", Severity.MEDIUM), ("forget", Severity.LOW)):
        (told,) = judged(a_plan(a_change(kept, None, action))).all_findings
        assert (told.severity, told.status) == (low, Status.FAIL)


def test_a_replacement_that_preserves_is_a_creation_over_live_objects() -> None:
    """Values that the plan does not write are removed."""
    addon = Addon("vpc-cni", TARGET, "ACTIVE", configuration=json.dumps(KEPT))
    was = values("5", addon_version=TARGET, preserve=True, resolve_conflicts_on_create="OVERWRITE")
    judgement = judged(a_plan(a_change(was, was, "delete", "create")), World(managed={"vpc-cni": addon}))
    assert found(judgement, "addon-values-dropped") and found(judgement, "addon-terraform-removes")
    assert found(judgement, "addon-field-reset")


@pytest.mark.parametrize("spelling", ["5", "4.47 to 4.x"])
@pytest.mark.parametrize("address", [PLAIN, MODULE])
def test_resolve_conflicts_is_what_to_change_where_it_is_set(spelling: str, address: str) -> None:
    """It overrides resolve_conflicts_on_update, and v19 of the module passes on nothing else."""
    mode = {"resolve_conflicts": "OVERWRITE"} | ({"resolve_conflicts_on_update": None} if spelling == "5" else {})
    before = values(spelling, **mode)
    change = a_change(before, {**before, "addon_version": TARGET}, "update", address=address)
    document = a_plan(change, configuration=configuration(SPELLINGS[spelling][0], version="~> 19.21"))
    judgement = judged(document)
    argument = judgement.changes[0].change.declaration.argument("resolve_conflicts")
    assert f'Set {argument} to "NONE"' in remedies(found(judgement, "addon-field-reset"))
    (change_,) = judgement.changes
    assert change_.plan is not None and change_.plan.way_out is not None
    ((_, text),) = terraform_blocks(change_.change, change_.plan, change_.plan.way_out)
    assert 'resolve_conflicts = "NONE"' in text and "on_update" not in text


def test_a_module_that_hands_on_no_values_is_told_so() -> None:
    document = the_incident("4.47 to 4.x", MODULE, addon_version=TARGET)
    document["configuration"] = configuration("~> 4.60", version="~> 18.31")
    (change,) = (judgement := judged(document)).changes
    text = remedies(found(judgement, "addon-field-reset"))
    assert "hands on no configuration values before 19.1" in text and "Write the values" not in text
    assert change.plan is not None and change.plan.way_out is not None
    ((_, written),) = terraform_blocks(change.change, change.plan, change.plan.way_out)
    assert "# this module gives no configuration values" in written and "jsonencode" not in written


@pytest.mark.parametrize(
    ("role", "said"), [("", "is taken away"), ("arn:b", "becomes arn:b"), (None, "known after apply only")]
)
def test_another_role_is_not_known_to_do_as_well(role: str | None, said: str) -> None:
    before = values("5", service_account_role_arn="arn:a", resolve_conflicts_on_update="PRESERVE")
    after = {**before, "service_account_role_arn": role}
    unknown = {} if role is not None else {"service_account_role_arn": True}
    judgement = judged(a_plan(a_change(before, after, "update", unknown=unknown)))
    assert any(said in each.message for each in found(judgement, "addon-terraform-unknown"))
    same = a_change(before, {**before, "addon_version": NEW}, "update")
    assert not any("role" in each.message for each in judged(a_plan(same)).all_findings)


def test_an_upgrade_of_the_cluster_in_the_same_plan_is_unknown() -> None:
    document = the_incident("5")
    old = {"name": "shop", "arn": "arn:aws:eks:eu-west-1:111122223333:cluster/shop", "version": "1.24"}
    kind = "aws_eks_cluster"
    upgrade = a_change(old, old | {"version": "1.25"}, "update", address=f"{kind}.a", type=kind)
    document["resource_changes"].append(upgrade)
    (told,) = judged(document).findings
    assert told.status is Status.UNKNOWN and "from Kubernetes 1.24 to Kubernetes 1.25" in told.message
    upgrade["change"]["before"]["arn"] = "arn:aws:eks:us-east-1:111122223333:cluster/shop"
    assert judged(document).findings == ()


def test_an_addon_of_another_resource_never_passes() -> None:
    """The package does not know what a deletion by Cloud Control leaves in the cluster."""
    kind = "awscc_eks_addon"
    change = a_change(an_addon(), None, "delete", address=f"{kind}.a", type=kind)
    (told,) = judged(a_plan(change)).all_findings
    assert told.status is Status.UNKNOWN and f"{kind}.a changes an add-on" in told.message


@pytest.mark.parametrize(
    ("before", "after", "mode"),
    [
        ({}, {"addon_version": NEW}, "NONE"),
        ({"resolve_conflicts": "NONE"}, {"addon_version": NEW, "resolve_conflicts": "OVERWRITE"}, "OVERWRITE"),
        ({}, {"tags": [{"key": "a", "value": "b"}]}, "NONE"),
        ({"resolve_conflicts": "PRESERVE"}, {"addon_version": NEW, "resolve_conflicts": "PRESERVE"}, None),
        ({"configuration_values": "{}"}, {"configuration_values": None}, "NONE"),
    ],
)
def test_an_addon_by_cloud_control_is_judged(before: dict[str, Any], after: dict[str, Any], mode: str | None) -> None:
    """As the add-on of the AWS provider, except that the requests of Cloud Control are not documented."""
    kind = "awscc_eks_addon"
    by_both = [
        judged(a_plan(a_change({**an_addon(), **before}, {**an_addon(), **after}, "update", **how)))
        for how in ({}, {"address": f"{kind}.a", "type": kind})
    ]
    (change,) = by_both[1].changes
    request = change.change.request
    assert (None if isinstance(request.mode, Unknown) else request.mode) == mode
    open_questions = [each for each in change.findings if each.code.name == "addon-terraform-unknown"]
    assert bool(open_questions) is (mode is None or after.get("configuration_values", "") is None)
    if not open_questions and "tags" not in after:
        told = [[(each.code, each.status) for each in each.all_findings] for each in by_both]
        assert told[0] == told[1]


@pytest.mark.parametrize(("old", "new", "told"), [("PRESERVE", "OVERWRITE", 1), ("OVERWRITE", "NONE", 0)])
@pytest.mark.parametrize("argument", ["resolve_conflicts", "resolve_conflicts_on_update"])
def test_a_mode_that_overwrites_at_the_next_update_is_told(argument: str, old: str, new: str, told: int) -> None:
    """The provider sends no request to EKS for it, so nothing is lost yet."""
    change = a_change(an_addon(**{argument: old}), an_addon(**{argument: new}), "update")
    judgement = judged(a_plan(change))
    assert judgement.changes == () and statuses(judgement) == ({Status.PASS} if told else set())
    assert sum("the next update of the add-on resets" in each.message for each in judgement.all_findings) == told
    with_version = a_change(an_addon(**{argument: old}), an_addon(**{argument: new}, addon_version=NEW), "update")
    assert not [each for each in judged(a_plan(with_version)).all_findings if "the next update" in each.message]
