"""The templates in force before and after an update: reported correctly, or as unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.addon_diff.revisions import (
    WRITE_WINDOW,
    TemplateUpdateStep,
    UnchangedTemplate,
    UnknownRevision,
    live_template,
    read_revisions,
    template_periods,
    template_step,
)
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Confidence
from tests.addon_diff.aftermath.revised import META, at, daemon_set, lived, template, written

A, B, C = (template(image) for image in ("v1.19.0-eksbuild.1", "v1.19.0-eksbuild.1", "v1.19.5-eksbuild.1"))
B = template("v1.19.0-eksbuild.1", {"X": "true"})
NEW = "v1.19.5-eksbuild.1"


def told(
    docs: list[Doc], now: Doc, begun: float, version: str = ""
) -> TemplateUpdateStep | UnchangedTemplate | UnknownRevision:
    live = daemon_set(now)
    found = read_revisions(live, docs)
    return template_step(template_periods(found), at(begun), version, found.templates[-1].doc == live_template(live))


def pair(step: object) -> Any:
    assert isinstance(step, TemplateUpdateStep), step
    return step.before.number, step.after.number


def test_the_incident() -> None:
    step = told(lived([(0, A), (100, B), (5000, C)]), C, 4990, NEW)
    assert pair(step) == (2, 3) and isinstance(step, TemplateUpdateStep) and step.confidence is Confidence.HIGH
    assert pair(told(lived([(0, A), (100, B), (5000, C)]), C, 5000.9)) == (2, 3), "objects have whole seconds"


def test_what_came_later_is_not_the_updates() -> None:
    late = WRITE_WINDOW.total_seconds() + 1
    step = told(lived([(0, A), (5000 + late, B)]), B, 5000)
    assert isinstance(step, UnchangedTemplate) and step.template is not None and step.template.number == 1
    assert isinstance(told(lived([(0, A)]), A, 5000), UnchangedTemplate)


def test_a_template_that_comes_again_hides_when_it_came() -> None:
    """The update was to the same version: its template equals the first one, and has the old creation time."""
    story = [(0.0, A), (100.0, B), (5000.0, A)]
    assert isinstance(told(lived(story, notes_times=False), A, 4990), UnknownRevision)
    noted = told(lived(story), A, 4990)
    assert pair(noted) == (2, 3) and isinstance(noted, TemplateUpdateStep) and noted.confidence is Confidence.LOW


def test_what_was_deleted_or_not_yet_seen_is_not_told() -> None:
    docs = lived([(0, A), (100, B), (5000, C)])
    assert isinstance(told([docs[0], docs[2]], C, 4990), UnknownRevision)
    assert isinstance(told(docs[:2], C, 4990), UnknownRevision), "the newest is missing"
    assert isinstance(told(docs, A, 4990), UnknownRevision)
    many = [template(f"v{number}") for number in range(15)]
    docs = lived([(number * 1000, each) for number, each in enumerate(many)])[4:]
    assert pair(told(docs, many[-1], 12_990)) == (13, 14), "the oldest are deleted"
    assert isinstance(told(docs, many[-1], 2000), UnknownRevision)


def test_what_the_update_made_was_not_there_before() -> None:
    """Or it was there, and another client had deleted it: no fact tells which."""
    step = told(lived([(5000, A)]), A, 4990)
    assert isinstance(step, UnknownRevision) and "made by this update or after it" in step.reason


def test_images_of_the_version_that_come_late_are_the_updates_all_the_same() -> None:
    late = WRITE_WINDOW.total_seconds() + 60
    step = told(lived([(0, A), (100, B), (5000 + late, C)]), C, 5000, NEW)
    assert pair(step) == (2, 3) and isinstance(step, TemplateUpdateStep) and step.confidence is Confidence.MEDIUM


def test_what_the_next_update_wrote_is_not_of_the_one_before() -> None:
    """The first update failed over a conflict, and was requested again with force some minutes later."""
    docs = lived([(0, A), (100, B), (5200, C)])
    found = template_periods(read_revisions(daemon_set(C), docs))
    assert isinstance(template_step(found, at(5000), NEW, True, at(5190)), UnchangedTemplate)
    assert pair(template_step(found, at(5190), NEW, True)) == (2, 3)


def test_two_changes_in_one_second_are_told_apart_by_their_images_or_not_at_all() -> None:
    docs = lived([(0, A), (5000, B), (5000, C)])
    assert pair(told(docs, C, 5000, NEW)) == (2, 3)
    assert isinstance(told(docs, C, 5000), UnknownRevision)


def replica_set(number: int, now: Doc, created: float, earlier: str = "") -> Doc:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "coredns", "uid": "uid-d", "controller": True}
    said = {"deployment.kubernetes.io/revision": str(number)}
    said |= {"deployment.kubernetes.io/revision-history": earlier} if earlier else {}
    labels = {"pod-template-hash": f"h{number}"}
    meta: Doc = {"name": f"coredns-h{number}", "namespace": "kube-system", "annotations": said, "labels": labels}
    meta |= {"creationTimestamp": written(at(created)), "ownerReferences": [owner]}
    hashed = {**now, "metadata": {"labels": {**now["metadata"]["labels"], **labels}}}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": {"template": hashed}}


def deployment(now: Doc) -> Doc:
    meta = {"name": "coredns", "namespace": "kube-system", "uid": "uid-d"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"template": now}}


def test_replica_sets_note_their_earlier_numbers() -> None:
    docs = [replica_set(4, A, 0, "1"), replica_set(2, B, 100), replica_set(3, C, 5000)]
    live = deployment(A)
    found = read_revisions(live, docs)
    step = template_step(template_periods(found), at(4990), "", found.templates[-1].doc == live_template(live))
    assert pair(step) == (2, 3)
    assert isinstance(template_step(template_periods(found), at(9000), "", True), UnknownRevision), (
        "when the first came again is not told"
    )
    step = template_step(template_periods(found), at(9000), "v1.19.0-eksbuild.1", True)
    assert pair(step) == (3, 4) and isinstance(step, TemplateUpdateStep) and step.confidence is Confidence.MEDIUM


_TEMPLATES = [template("v1", {"X": value}) for value in ("a", "b", "c", "d")]
_STORIES = st.lists(st.tuples(st.integers(1, 4000), st.integers(0, 3)), min_size=1, max_size=8)


@given(story=_STORIES, update=st.integers(0, 12_000), noted=st.booleans())
def test_it_is_never_told_wrong(story: list[tuple[int, int]], update: int, noted: bool) -> None:
    """For any sequence of templates, with repetitions; only the first that appears soon after an update may be its
    own."""
    moment, times = 0, []
    for gap, which in story:
        moment += gap
        times.append((float(moment), _TEMPLATES[which]))
    changes = [times[0]]
    for seconds, now in times[1:]:
        if now != changes[-1][1]:
            changes.append((seconds, now))
    before = [now for seconds, now in changes if seconds < update]
    after = [now for seconds, now in changes if update <= seconds <= update + WRITE_WINDOW.total_seconds()]
    step = told(lived(times, noted), times[-1][1], update)
    if isinstance(step, TemplateUpdateStep):
        said = [live_template(daemon_set(each)) for each in (before[-1], after[0])]
        assert [step.before.doc, step.after.doc] == said
    elif isinstance(step, UnchangedTemplate):
        assert not before or not after


@given(
    doc=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ("metadata", "ownerReferences", "controller", "kind", "name", "uid", "data", "spec", "template")
                    + ("revision", "labels", "annotations", "managedFields", "containers", "image", "creationTimestamp")
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=20,
    ),
    kind=st.sampled_from(("ControllerRevision", "ReplicaSet")),
)
def test_malformed_revisions_are_none(doc: Any, kind: str) -> None:
    made = doc if isinstance(doc, dict) else {"data": doc}
    meta = made.get("metadata") if isinstance(made.get("metadata"), dict) else {}
    owner = {"kind": "DaemonSet", "name": META["name"], "controller": True}
    whole = {**made, "kind": kind, "metadata": {**(meta or {}), "ownerReferences": [owner]}}
    for each in (made, whole):
        live = daemon_set(A)
        found = read_revisions(live, [each, *lived([(0, A)])])
        template_step(template_periods(found), at(10), "v1", True)


@pytest.mark.parametrize("number", [0, -1, True, "1", None, 1.5])
def test_a_revision_without_a_number_is_none(number: object) -> None:
    (doc,) = lived([(0, A)])
    found = read_revisions(daemon_set(A), [{**doc, "revision": number}])
    assert not found.templates and found.unreadable == ("aws-node-h0",)
