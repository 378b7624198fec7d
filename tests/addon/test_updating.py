"""Updates are carried out: the request that is sent, how they are followed, and prediction against the result."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.addon_diff import outcome
from kubectl_eksdoc.addon_diff.apply import STALL_S
from kubectl_eksdoc.addon_diff.fields import MISSING
from kubectl_eksdoc.addon_diff.outcome import (
    ExpectedUpdate,
    Verdict,
    check_fields,
    expected_update,
    from_document,
    to_document,
)
from kubectl_eksdoc.amazon.group_updates import UpdateStage
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsLogin, AwsRefused, Stopped
from kubectl_eksdoc.model.api_objects import ObjectName, object_name
from kubectl_eksdoc.model.eks import TargetGroup, TargetHealth
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.knowledge import from_json
from kubectl_eksdoc.model.network import TargetGroupBinding
from kubectl_eksdoc.model.nodes import ControllerOwner
from tests.addon.stand_in import hands
from tests.addon.stand_in.histories import HISTORIES, UPDATES, VERSIONS, AppliesEnv, Step, Updates, installed, played
from tests.addon.stand_in.pod_template import INIT
from tests.addon.updating import Case
from tests.builders import a_pod
from tests.examples import examples

OLD, NEW = "v1.12.0-eksbuild.1", "v1.12.6-eksbuild.1"


def incident(mode: str = "NONE", **more: Any) -> Case:
    service = installed(OLD)
    hands.sets_env(service.objects, "ENABLE_POD_ENI", "true")
    hands.patches_init_env(service.objects, "DISABLE_TCP_EARLY_DEMUX", "true")
    return Case(service, NEW, mode, **more)


def overwritten() -> Case:
    return incident("OVERWRITE", as_asked=True)


def env(case: Case) -> tuple[Any, Any]:
    doc = case.service.objects.get("DaemonSet", "aws-node")
    assert doc is not None
    return hands.env_of(doc)["ENABLE_POD_ENI"], hands.env_of(doc, INIT)["DISABLE_TCP_EARLY_DEMUX"]


@pytest.mark.parametrize(
    ("mode", "as_asked"), [("NONE", False), ("OVERWRITE", False), ("PRESERVE", False), ("OVERWRITE", True)]
)
def test_by_default_the_values_that_keep_everything_are_sent(mode: str, as_asked: bool) -> None:
    """As requested, OVERWRITE resets the predicted fields; the fields that are kept are read again, too."""
    case = incident(mode, as_asked=as_asked)
    ended = case.done()
    after = "false" if as_asked else "true"
    kept = {"env": {"ENABLE_POD_ENI": "true"}, "init": {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}}}
    assert env(case) == (after, after) and case.service.version == NEW
    assert json.loads(case.eks.calls[0].values or "null") == (None if as_asked else kept)
    assert ended.stage is UpdateStage.SUCCESSFUL and ended.whole and not ended.has_deviations
    told = {check.field.variable: check for check in ended.checks_with(Verdict.AS_PREDICTED)}
    for name in ("ENABLE_POD_ENI", "DISABLE_TCP_EARLY_DEMUX"):
        assert (told[name].live, told[name].found) == ("true", after)
        assert told[name].owners == ("eks",) or not as_asked


def test_a_conflict_that_nobody_foresaw_changes_nothing() -> None:
    case = incident()

    def meanwhile() -> None:
        """The second variable has the value that the update would have set."""
        hands.sets_env(case.service.objects, "WARM_ENI_TARGET", "9")
        hands.removes_env(case.service.objects, "AWS_VPC_K8S_CNI_CONFIGURE_RPFILTER")

    case.eks.before_it_begins = meanwhile
    ended = case.done()
    assert ended.stage is UpdateStage.FAILED and not ended.whole and not ended.left
    assert ended.errors[0].code == "ConfigurationConflict" and "WARM_ENI_TARGET" in ended.errors[0].message
    assert env(case) == ("true", "true") and case.service.version == OLD
    verdicts = {check.field.variable: check.verdict for check in ended.checks}
    for name in ("WARM_ENI_TARGET", "AWS_VPC_K8S_CNI_CONFIGURE_RPFILTER"):
        assert verdicts.pop(name) is Verdict.OTHER, "a person has changed it"
    assert set(verdicts.values()) == {Verdict.AS_BEFORE}


def test_who_changes_a_field_meanwhile_is_seen() -> None:
    case = overwritten()
    case.objects.stands = 1  # the rollout takes its time
    case.time.then.append((40, lambda: hands.sets_env(case.service.objects, "ENABLE_POD_ENI", "maybe")))
    case.at(60, stands=None)
    ended = case.done()
    (other,) = ended.checks_with(Verdict.OTHER)
    assert (other.field.variable, other.found) == ("ENABLE_POD_ENI", "maybe") and ended.has_deviations
    assert hands.KUBECTL_SET in other.owners
    assert any("1 of 3 pods are new" in line for line in case.lines)


def test_a_field_that_nobody_spoke_of_is_seen_to_change() -> None:
    case = incident()
    hands.sets_env(case.service.objects, "MY_OWN", "1")
    case.time.then.append((10, lambda: hands.sets_env(case.service.objects, "MY_OWN", "2")))
    ended = case.done()
    (other,) = ended.checks_with(Verdict.OTHER)
    assert (other.field.variable, other.live, other.found, other.foretold) == ("MY_OWN", "1", "2", None)


@pytest.mark.parametrize(
    ("error", "entry"),
    [
        (AwsDenied("IAM does not allow it", "", "eks:UpdateAddon"), "refused"),
        (AwsRefused("another one is in progress", "", "ResourceInUseException"), "refused"),
        (AwsLogin("the credentials have expired"), "refused"),
        (AwsError("cannot ask eks: no route"), "in-doubt"),
    ],
)
@pytest.mark.long
def test_what_eks_does_not_take_is_written_down(error: AwsError, entry: str) -> None:
    case = incident()
    case.eks.refuses = error
    with pytest.raises(type(error)) as raised:
        case.done()
    assert [each["entry"] for each in case.journal.entries] == ["begun", "asking", entry]
    assert ("it is unknown whether" in raised.value.message) is (entry == "in-doubt")


def test_the_journal_tells_what_was_sent_and_what_was_foretold() -> None:
    case = overwritten()
    ready = case.ready()
    case.done()
    entries = case.journal.entries
    assert [each["entry"] for each in entries] == ["begun", "asking", "asked", "stage", "stage", "ended"]
    kept = from_document(entries[0]["expected"])
    assert [each.field for each in kept.fields] == [each.field for each in expected_update(ready.plan).fields]
    assert {object_name(each).kind for each in kept.objects} >= {"DaemonSet", "ServiceAccount"}
    assert entries[2]["update"] == "8d1a-update" and entries[-1]["stage"] == "successful"
    with pytest.raises((KeyError, TypeError, ValueError)):
        from_document({**entries[0]["expected"], "fields": {}})


def test_no_secret_of_an_object_is_kept() -> None:
    """A change in a secret is detected all the same."""
    case = overwritten()
    secrets = {"DB_PASSWORD": "mellon-1", "PLAIN": "mellon-2"}
    for name, value in secrets.items():
        hands.sets_env(case.service.objects, name, value)
    case.done()
    text = json.dumps(case.journal.entries)
    assert "mellon" not in text and "DB_PASSWORD" in text and "ENABLE_POD_ENI" in text
    kept = from_document(json.loads(text)[0]["expected"])
    hands.sets_env(case.service.objects, "DB_PASSWORD", "mellon-3")
    seen = check_fields(kept, now_of(case, kept), UpdateStage.SUCCESSFUL)
    assert "DB_PASSWORD" in "".join(str(each.field) for each in seen if each.verdict is Verdict.OTHER)


def now_of(case: Case, expected: ExpectedUpdate) -> dict[ObjectName, Any]:
    found = {object_name(each): case.objects.read_object(object_name(each)) for each in expected.objects}
    return {of: {} if isinstance(doc, Absent) else doc for of, doc in found.items()}


def test_it_is_followed_for_a_time_only() -> None:
    case = incident()
    case.eks.takes_s = 10_000
    ended = case.done(watch_s=60.0)
    assert ended.stage is UpdateStage.IN_PROGRESS and "watched for 60 s" in ended.left and not ended.whole
    assert 60 <= case.time.s < 70


def test_who_is_told_to_stop_leaves_it_and_another_look_brings_it_to_its_end() -> None:
    case = overwritten()
    ready = case.ready()
    case.time.then.append((5, lambda: setattr(case, "told", 1)))
    ended = case.done()
    assert ended.stage is UpdateStage.IN_PROGRESS and ended.left == "it was stopped"
    assert {check.verdict for check in ended.checks} == {Verdict.AS_BEFORE}
    case.told = 0
    again = case.again(ended.id, case.following(ready))
    assert again.whole and not again.has_deviations and len(case.eks.calls) == 1


def test_what_is_changed_already_while_it_goes_on_is_as_predicted() -> None:
    case = overwritten()
    case.eks.takes_s = 1_000
    version = case.service.version
    case.time.then.append((5, lambda: case.service.update(NEW, resolve_conflicts="OVERWRITE")))
    ended = case.done(watch_s=20.0)
    assert version == OLD and ended.stage is UpdateStage.IN_PROGRESS
    assert {check.verdict for check in ended.checks} == {Verdict.AS_PREDICTED}


def test_who_says_it_twice_does_not_wait_for_anything() -> None:
    case = overwritten()
    case.time.then.append((5, lambda: setattr(case, "told", 2)))
    ended = case.done()
    assert {check.verdict for check in ended.checks} == {Verdict.NOT_READ} and ended.left


def test_a_lost_connection_stops_nothing() -> None:
    case = overwritten()
    case.eks.silent_until_s, case.eks.may_describe = 100.0, False
    case.at(3, away=True)
    case.at(90, away=False)
    assert case.done().whole
    told = [line for line in case.lines if "continues in EKS" in line]
    assert len(told) == 2, "each is told once"
    assert sum("the add-on itself is checked instead" in line for line in case.lines) == 1, (
        "by whom may describe it not"
    )


def test_pods_of_before_are_not_taken_for_new_ones_where_the_cluster_does_not_answer() -> None:
    case = overwritten()
    case.at(15, away=True, stands=1)
    case.at(60, away=False)
    case.at(120, stands=None)
    ended = case.done()
    assert ended.whole and case.time.s >= 120 and not ended.has_unknowns
    assert any("1 of 3 pods are new" in line for line in case.lines)


def test_a_workload_that_may_not_be_read_any_more_is_not_said_to_be_new() -> None:
    case = overwritten()
    case.at(10, forbids=True)
    ended = case.done()
    assert ended.rollouts == () and ended.has_unknowns and case.time.s < 60


def test_told_to_stop_before_it_is_asked_for_nothing_is_sent() -> None:
    case = incident()
    case.told = 1
    with pytest.raises(Stopped, match="before anything was requested"):
        case.done()
    assert not case.eks.calls and [each["entry"] for each in case.journal.entries] == ["begun", "refused"]


def test_a_rollout_that_stands_still_is_told_with_its_pods() -> None:
    case = overwritten()
    case.objects.stands = 1
    owner = ControllerOwner("DaemonSet", "aws-node", "uid", "apps")
    crashing = {"ready": False, "not_ready_because": "CrashLoopBackOff"}
    case.pods = (
        a_pod("aws-node-x", "kube-system", node="n-1", owner=owner, **crashing),
        a_pod("aws-node-y", "kube-system", node="n-2", owner=owner),
        a_pod(
            "other-x",
            "kube-system",
            node="n-1",
            owner=ControllerOwner("DaemonSet", "other", "uid2", "apps"),
            **crashing,
        ),
    )
    ended = case.done(watch_s=STALL_S + 200)
    assert "has not ended" in ended.left and not ended.whole
    assert ended.not_ready == ("aws-node-x on n-1: CrashLoopBackOff",)
    still = case.lines.index("nothing has moved for 300 s: DaemonSet.apps aws-node: 1 of 3 pods are new, 1 available")
    assert case.lines[still + 1] == "aws-node-x on n-1: CrashLoopBackOff"
    assert case.lines.count("aws-node-x on n-1: CrashLoopBackOff") == 1, "it is said once"


def test_a_rollout_that_moves_and_stands_still_again_is_told_again() -> None:
    case = overwritten()
    case.objects.stands = 1
    case.at(STALL_S + 100, stands=2)
    case.done(watch_s=2 * STALL_S + 300)
    assert [line[:30] for line in case.lines].count("nothing has moved for 300 s: D") == 2


def test_where_pods_cannot_be_listed_what_holds_a_rollout_up_is_not_known() -> None:
    case = overwritten()
    case.objects.stands, case.pods = 1, Unknown("RBAC forbids it", "list pods")
    ended = case.done(watch_s=STALL_S + 200)
    assert ended.not_ready == ("which pods hold it up is not known: RBAC forbids it",)
    assert overwritten().done().not_ready == (), "it has ended"


BINDING = TargetGroupBinding("shop", "web", "web", "ip", "arn:tg")


def group(*states: str) -> TargetGroup:
    return TargetGroup("arn:tg", tuple(TargetHealth(f"10.0.0.{i}", 80, state) for i, state in enumerate(states)))


def test_targets_that_fall_are_seen_and_waited_for() -> None:
    case = overwritten()
    well, ill = group("healthy", "healthy"), group("healthy", "unhealthy")
    case.groups = lambda arn: ill if 25 <= case.time.s < 60 else well
    ended = case.done(bindings=(BINDING,))
    (health,) = ended.health
    assert (health.before, health.lowest, health.now) == (2, 1, 2) and not ended.has_deviations
    assert any("2 healthy targets before, 1 at worst" in line for line in case.lines)


def test_targets_that_stay_ill_differ_and_those_that_cannot_be_read_are_not_known() -> None:
    case = overwritten()
    case.groups = lambda arn: group("healthy") if case.time.s < 25 else group("unhealthy")
    ended = case.done(bindings=(BINDING,))
    assert ended.has_deviations and ended.health[0].unhealthy == ("10.0.0.0:80 unhealthy",)
    case = overwritten()
    case.groups = lambda arn: Unknown("IAM does not allow it", "elasticloadbalancing:DescribeTargetHealth")
    ended = case.done(bindings=(BINDING,))
    assert ended.has_unknowns and not ended.has_deviations and "IAM does not allow it" in str(ended.health[0])
    assert sum("IAM does not allow it" in line for line in case.lines) == 1, "it is said once"


def test_another_look_holds_targets_against_those_before_the_update() -> None:
    case = overwritten()
    ready = case.ready()
    case.groups = lambda arn: group("healthy", "healthy") if case.time.s < 3 else group("healthy", "unhealthy")
    case.time.then.append((5, lambda: setattr(case, "told", 1)))
    left = case.done(bindings=(BINDING,))
    case.told = 0
    health = {arn: from_json(outcome.ServiceHealth, each) for arn, each in case.journal.entries[0]["health"].items()}
    again = case.again(left.id, case.following(ready), health)
    assert again.has_deviations and (again.health[0].before, again.health[0].now) == (2, 1)
    unknown = case.again(left.id, case.following(ready, bindings=(BINDING,)))
    assert unknown.has_unknowns and not unknown.has_deviations and "was not written down" in str(unknown.health[0])
    with pytest.raises((KeyError, TypeError, ValueError)):
        from_json(outcome.ServiceHealth, {"arn": "arn:tg"})


def test_what_cannot_be_read_in_the_end_is_not_known_and_what_is_gone_is_other() -> None:
    case = overwritten()
    case.at(10, away=True)
    ended = case.done()
    assert ended.has_unknowns and {check.verdict for check in ended.checks} == {Verdict.NOT_READ}
    assert {of.kind for of, _ in ended.unread} >= {"DaemonSet"}
    case = Case(installed("v1.15.1-eksbuild.1"), "v1.16.0-eksbuild.1", "OVERWRITE", as_asked=True)
    hands.sets_data(case.service.objects, "enable-windows-ipam", "true")
    case.at(10, gone=True)
    gone = [check for check in case.done().checks if check.field.of.kind == "ConfigMap"]
    assert gone and all(check.verdict is Verdict.OTHER and check.found is MISSING for check in gone)


@pytest.mark.parametrize("mode", ["NONE", "OVERWRITE"])
def test_a_variable_that_is_empty_is_as_it_was_where_the_update_fails(mode: str) -> None:
    """The server leaves out the value of its entry."""
    case = incident(mode, as_asked=True)
    hands.sets_env(case.service.objects, "ENABLE_POD_ENI", "")
    ended = case.done()
    (found,) = (each for each in ended.checks if each.field.variable == "ENABLE_POD_ENI")
    assert (found.verdict, found.live) == (Verdict.AS_BEFORE if mode == "NONE" else Verdict.AS_PREDICTED, "")


def check(history: list[Step], update: Updates, as_asked: bool) -> None:
    """On any history of writes: the request is carried out, and then every field is compared with the prediction."""
    service = installed(VERSIONS[0])
    played(service, history)
    values = None if update.values is None else json.loads(update.values)
    case = Case(service, update.version, update.mode, values, as_asked)
    expected = expected_update(case.ready().plan)
    assert from_document(json.loads(json.dumps(to_document(expected, "")))) == expected
    ended = case.done()
    kept = from_document(case.journal.entries[0]["expected"])
    again = check_fields(kept, now_of(case, kept), ended.stage)
    assert [(each.field, each.verdict) for each in again] == [(each.field, each.verdict) for each in ended.checks]
    if ended.stage is UpdateStage.SUCCESSFUL:
        assert [str(check.field) for check in ended.checks_with(Verdict.OTHER)] == []
    else:
        assert case.mode == "NONE" and {check.verdict for check in ended.checks} <= {Verdict.AS_BEFORE}


@settings(max_examples=examples(40))
@given(history=HISTORIES, update=UPDATES, as_asked=st.booleans())
@example(
    history=[
        AppliesEnv(name="ENABLE_POD_ENI", value="true", manager="Terraform"),
        AppliesEnv(name="WARM_ENI_TARGET", value="false", manager="Terraform"),
    ],
    update=Updates("v1.12.0-eksbuild.1", "NONE", None),
    as_asked=True,
)
@example(history=[], update=Updates("v1.14.0-eksbuild.1", "NONE", None), as_asked=False)
@example(  # the API server gives what a version drops its default
    history=[Updates("v1.19.5-eksbuild.1", "NONE", '{"env":{"ENABLE_POD_ENI":"true"}}')],
    update=Updates("v1.11.0-eksbuild.1", "NONE", None),
    as_asked=False,
)
def test_nothing_is_other_than_predicted(history: list[Step], update: Updates, as_asked: bool) -> None:
    check(history, update, as_asked)
