"""Fixes are journaled before the request, read again afterwards, and can be resumed at any point."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from kubectl_eksdoc.amazon.group_updates import UpdateStage
from kubectl_eksdoc.changes.engine import start_change
from kubectl_eksdoc.errors import (
    AwsDenied,
    AwsError,
    AwsMissing,
    AwsRefused,
    ClusterError,
    Drifted,
    JournalError,
    Stopped,
)
from kubectl_eksdoc.imds_probe.run import from_document, revert_instances, revert_template, to_document
from kubectl_eksdoc.model.addons import HealthIssue
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import ChangeState, PartOutcome, SavedChange
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import Instance, MetadataOptions, NodeGroup, TemplateRef
from kubectl_eksdoc.model.metadata import InstancesFix, LaunchTemplateFix, MetadataFix, NodeClassFix
from tests.changes.fixed import CLASS, GROUP, ONE, TEMPLATE, TWO, Case, FakeClasses, a_class, ident, instances
from tests.examples import examples


class Crash(BaseException):
    """The process was killed."""


def entries(case: Case) -> list[str]:
    return [str(each["entry"]) for each in case.journal.entries]


def test_every_instance_is_written_down_before_it_is_asked_for() -> None:
    case = Case(instances(2))
    done = case.done()
    assert [part.became for part in done.parts] == [PartOutcome.DONE] * 2 and done.whole and not done.has_unknowns
    assert entries(case) == ["begun", "asking", "asked", "asking", "asked", "ended"]
    assert case.journal.entries[0]["act"]["each"][0]["before"]["hop_limit"] == 1, "the rollback is in it"
    assert case.time.s >= 3, "it was waited for"
    assert any("hop limit 1 → 2" in line for line in case.lines)


def test_iam_denies_the_first_and_nothing_was_changed() -> None:
    case = Case(instances(2))

    def denies(number: int) -> None:
        raise AwsDenied("IAM does not allow it", missing="ec2:ModifyInstanceMetadataOptions")

    case.aws.before = denies
    with pytest.raises(AwsDenied):
        case.done()
    assert entries(case) == ["begun", "asking", "refused"] and not case.aws.asked


def test_one_that_is_refused_does_not_keep_the_others() -> None:
    case = Case(instances(3))
    seen: list[int] = []

    def refuses(number: int) -> None:
        seen.append(number)
        if len(seen) == 2:
            raise AwsRefused("the instance is in the wrong state", code="IncorrectInstanceState")

    case.aws.before = refuses
    done = case.done()
    assert [part.became for part in done.parts] == [PartOutcome.DONE, PartOutcome.AS_BEFORE, PartOutcome.DONE]
    assert done.parts[1].why == "the instance is in the wrong state" and not done.whole


def test_what_is_gone_or_otherwise_by_then_is_left_alone() -> None:
    case = Case(instances(4))
    case.aws.held[ident(0)] = Absent("no such instance")
    case.aws.held[ident(1)] = Instance(ident(1), state="running", options=MetadataOptions("optional", 5))
    case.aws.held[ident(2)] = Unknown("not allowed")
    done = case.done()
    assert case.aws.asked == [ident(3)]
    assert [part.became for part in done.parts] == [
        PartOutcome.GONE,
        PartOutcome.OTHER,
        PartOutcome.UNKNOWN,
        PartOutcome.DONE,
    ]
    assert done.has_deviations and done.has_unknowns


def broken_off_before(call: int, act: MetadataFix) -> Case:
    """The fix, killed before the call of that number."""
    case = Case(act)

    def dies(number: int) -> None:
        if number == call:
            raise Crash

    case.aws.before = dies
    with pytest.raises(Crash):
        case.done()
    case.aws.before = lambda number: None
    return case


def test_the_rollback_is_of_what_this_fix_changed() -> None:
    case = broken_off_before(2, instances(5))
    case.aws.held[ident(0)] = Instance(ident(0), state="running", options=MetadataOptions("required", 3))
    case.aws.held[ident(4)] = Instance(ident(4), state="running", options=TWO)  # set by another client alike
    done = case.resumed()
    assert [part.became for part in done.parts] == [PartOutcome.OTHER] + [PartOutcome.DONE] * 4
    assert done.changed == tuple(ident(at) for at in (1, 2, 3))
    back = revert_instances(instances(5), {ident(0), *done.changed}, case.aws.held)
    assert [one.instance for one in back.each] == [*done.changed]


@pytest.mark.parametrize("lost", [False, True])
def test_a_group_goes_back_to_the_version_that_it_had(lost: bool) -> None:
    case = Case(TEMPLATE)
    made = case.done()
    back = revert_template(TEMPLATE, made.number, ("n7",))
    undo = Case(back)
    undo.aws.node_group = case.aws.node_group
    if lost:
        undo.aws.node_group = GROUP
        undo.journal.write({"entry": "begun", "act": to_document(back), "token": "eksdoc-r-2"})
        undo.journal.write({"entry": "asking", "what": "update"})
    done = undo.resumed() if lost else undo.done()
    assert done.whole and done.number == 3 and done.changed == ("own",) and not done.nodes
    assert undo.aws.asked == ([] if lost else ["update"]), "no version is made, and none is asked for twice"


def test_what_was_set_back_since_is_not_changed_again() -> None:
    case = Case(instances(3))
    assert case.done().changed == tuple(map(ident, range(3)))
    for at in range(2):
        case.aws.held[ident(at)] = Instance(ident(at), state="running", options=ONE)
    done = case.resumed()
    assert case.aws.asked == [ident(at) for at in range(3)], "none is asked for again"
    assert [part.became for part in done.parts] == [PartOutcome.SET_BACK] * 2 + [PartOutcome.DONE]
    assert done.whole and done.has_deviations and done.changed == (ident(2),)
    case = Case(CLASS)
    assert case.done().changed == ("default",) and case.classes.dry == 1
    assert entries(case) == ["begun", "asking", "asked", "ended"]
    case.classes.doc, case.classes.dry = a_class(1), 0
    done = case.resumed()
    assert done.parts[0].became is PartOutcome.SET_BACK and case.classes.dry == 0 and not done.changed
    case = Case(TEMPLATE)
    assert case.done().changed == ("own",)
    case.time.s, case.aws.node_group, case.aws.updates = 0, GROUP, {}
    done = case.resumed()
    assert done.parts[1].became is PartOutcome.SET_BACK and done.has_deviations and not done.changed


@pytest.mark.parametrize(
    "now", [replace(GROUP, template=TemplateRef("lt-1", "own", "9")), replace(GROUP, release="1.30.4-20270101")]
)
def test_an_update_by_another_client_is_not_reverted(now: NodeGroup) -> None:
    case = broken_off_before(1, TEMPLATE)
    undo = Case(revert_template(TEMPLATE, 4, ("n7",)))
    for each in (case, undo):
        each.aws.node_group = now
        with pytest.raises(Drifted, match="not as it was"):
            each.resumed() if each is case else each.done()
    assert (case.aws.asked, undo.aws.asked) == (["version"], [])


def test_it_vanishes_between_the_look_and_the_call() -> None:
    case = Case(instances(1))

    def vanishes(number: int) -> None:
        case.aws.held[ident(0)] = Absent("no such instance")
        raise AwsMissing("no such instance", code="InvalidInstanceID.NotFound")

    case.aws.before = vanishes
    done = case.done()
    assert done.parts[0].became is PartOutcome.GONE
    assert done.has_deviations, "whatever came in its place was not changed"


def test_an_answer_that_is_lost_is_looked_for() -> None:
    case = Case(instances(2))

    def lost(number: int) -> None:
        if number == 0 and not case.aws.asked:
            case.aws.asked.append(ident(0))
            case.aws.held[ident(0)] = Instance(ident(0), state="running", options=TWO)
            raise AwsError("no route")

    case.aws.before = lost
    done = case.done()
    assert done.left == "no route" and [part.became for part in done.parts] == [PartOutcome.DONE, PartOutcome.AS_BEFORE]
    assert case.time.s < 120, "EC2 shows a change that it has taken as pending within seconds"
    case.aws.before = lambda number: None
    assert case.resumed().whole and case.aws.asked == [ident(0), ident(1)]


def test_told_to_stop_before_and_between() -> None:
    case = Case(instances(2), told=1)
    with pytest.raises(Stopped):
        case.done()
    assert not case.aws.asked
    case = Case(instances(2))
    case.aws.before = lambda number: setattr(case, "told", 1)
    done = case.done()
    assert case.aws.asked == [ident(0)] and done.left and not done.whole


@pytest.mark.parametrize(("options", "differs"), [(TWO, False), (ONE, True)])
def test_a_template_is_made_and_its_group_follows(options: MetadataOptions, differs: bool) -> None:
    """Nodes of other origins are reported."""
    case = Case(TEMPLATE, members={"n9": Instance(ident(9), state="running", options=options)})
    done = case.done()
    assert (done.number, done.update, done.stage) == (4, "u-0", UpdateStage.SUCCESSFUL)
    assert done.whole and done.has_deviations is differs and not done.has_unknowns
    assert entries(case) == ["begun", "asking", "asked", "asking", "asked", "ended"]
    nodes = PartOutcome.AS_BEFORE if differs else PartOutcome.DONE
    assert [part.became for part in (*done.parts, *done.nodes)] == [PartOutcome.DONE, PartOutcome.DONE, nodes]


@pytest.mark.parametrize("described", [True, False])
def test_an_update_that_fails_tells_why(described: bool) -> None:
    """Without the right to describe updates, the node group is read."""
    case = Case(TEMPLATE)
    case.aws.may_describe, case.aws.fails = described, (HealthIssue("PodEvictionFailure", "Reached max retries"),)
    done = case.done()
    assert done.stage is UpdateStage.FAILED and not done.whole and done.parts[1].became is PartOutcome.AS_BEFORE
    assert [each.code for each in done.errors] == (["PodEvictionFailure"] if described else [])
    case = Case(TEMPLATE)
    case.aws.may_describe = described
    assert case.done().stage is UpdateStage.SUCCESSFUL
    assert any("by the node group itself" in line for line in case.lines) is not described


def test_a_group_takes_longer_than_anybody_watches() -> None:
    case = Case(TEMPLATE)
    done = case.done(watch_s=30)
    assert done.stage is UpdateStage.IN_PROGRESS and "watched for 30 s" in done.left
    assert done.parts[1].became is PartOutcome.PENDING
    assert case.resumed().whole and case.aws.asked == ["version", "update"]


def test_a_version_whose_number_was_lost_is_found_again() -> None:
    case = Case(TEMPLATE)

    def lost(number: int) -> None:
        if not case.aws.versions:
            case.aws.versions["eksdoc-r-1"] = 4
            raise AwsError("no route")

    case.aws.before = lost
    with pytest.raises(AwsError):
        case.done()
    assert case.resumed().number == 4 and case.aws.asked == ["update"]


def test_a_class_that_somebody_else_changed_is_left_alone() -> None:
    case = Case(CLASS)
    case.classes.doc = a_class(5)
    with pytest.raises(Drifted, match="something else"):
        case.done()
    case = Case(CLASS)

    def changed() -> None:
        assert isinstance(case.classes.doc, dict)
        case.classes.doc["metadata"]["resourceVersion"] = "8"

    case.classes.before = changed
    with pytest.raises(Drifted, match="modified"):
        case.done()


def test_what_is_no_act_is_refused() -> None:
    for doc in ({"on": "the moon"}, {}, {"on": "instances", "each": 3}):
        with pytest.raises((KeyError, TypeError, ValueError)):
            from_document(doc)


def test_a_node_class_that_cannot_be_read_again_was_changed_all_the_same() -> None:
    class Away(FakeClasses):
        """The API server is unavailable after it has accepted the patch."""

        taken = False

        def one(self, name: str) -> Doc | Absent | Unknown:
            if self.taken:
                raise ClusterError("no route to host")
            return super().one(name)

        def patch(self, name: str, body: Doc, dry: bool = False) -> Doc:
            found = super().patch(name, body, dry)
            self.taken = not dry
            return found

    case = Case(CLASS)
    case.classes = Away()
    done = case.done()
    assert (
        done.has_unknowns
        and [part.became for part in done.parts] == [PartOutcome.UNKNOWN]
        and "no route" in str(done.parts[0])
    )
    assert entries(case)[-1] == "ended" and case.journal.entries[-1]["whole"] is False


def test_what_is_not_known_is_not_written_down_as_done() -> None:
    case = Case(instances(2))
    case.aws.held[ident(1)] = Unknown("you may not", "ec2:DescribeInstances")
    done = case.done()
    assert done.has_unknowns and not case.journal.entries[-1]["whole"]
    told = ({"entry": "begun", "kind": "metadata-fix"}, *case.journal.entries[1:])
    assert SavedChange("r-1", told).state is ChangeState.FAILED


def test_a_template_version_that_was_not_made_is_not_said_to_be() -> None:
    case = Case(TEMPLATE)
    reads = iter([0])
    world = replace(case.world(), stop_count=lambda: next(reads, 1))
    done = start_change(case.kind(TEMPLATE, "token", world), {}, world)
    assert done.left == "it was stopped" and not [part for part in done.parts if part.became is PartOutcome.DONE]


@settings(max_examples=examples(quick=15))
@given(some.integers(0, 12))
def test_a_crash_at_any_entry_loses_nothing(at: int) -> None:
    for act in (instances(3), TEMPLATE, CLASS):
        case = Case(act)
        case.journal.full = at
        try:
            case.done()
        except (JournalError, Drifted):
            pass
        case.journal.full = 1_000_000
        if not case.journal.entries:
            assert not case.aws.asked, "what is not written down is not asked for"
            continue
        assert case.resumed().whole
        assert sorted(case.aws.asked) == sorted({*case.aws.asked}), "nothing is asked for twice"


@settings(max_examples=examples(quick=5))
@given(some.from_type(InstancesFix) | some.from_type(LaunchTemplateFix) | some.from_type(NodeClassFix))
def test_what_is_kept_is_what_was_meant(act: MetadataFix) -> None:
    assert from_document(to_document(act)) == act
