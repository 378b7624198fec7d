"""``-o markdown``: the content of a check's ticket, in which names stay text."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kubectl_eksdoc.check.plan import CheckScope
from kubectl_eksdoc.check.symptoms import Symptom
from kubectl_eksdoc.model.findings import Severity, Subject
from tests.builders import ago
from tests.check.report.checked import LOOK, SKEW, STUCK, accepted, stuck, usual, view


def test_it_has_the_verdict_the_areas_the_findings_and_the_way() -> None:
    text = view().render("markdown", LOOK)
    for part in ("## Upgrade check of `prod`", "**From 1.33 → 1.34. Not yet", "### Areas", "### Upgrade steps"):
        assert part in text
    assert "<summary>✗ high kubelet-skew: Nodegroup blue: 2 nodes are too old</summary>" in text
    assert "- [ ] 1\\. " in text


def test_what_is_suppressed_is_told_with_its_end() -> None:
    text = view(wish=CheckScope(suppressions=(accepted(SKEW, "agreed"),))).render("markdown", LOOK)
    assert "### Suppressed" in text
    assert "until 2027-01-31, agreed" in text


def test_a_symptom_and_changes_come_first() -> None:
    text = view(wish=CheckScope(symptom=Symptom.DRAIN_STUCK, since=ago(60))).render("markdown", LOOK)
    assert "Nothing was found that explains drain-stuck." in text
    assert "### Changed" in text and "### Areas" not in text
    assert "- [ ]" not in text


@given(st.text(max_size=40), st.text(max_size=40))
def test_hostile_names_make_no_link_no_image_and_no_markup(name: str, message: str) -> None:
    hostile = replace(SKEW, subject=Subject("Pod", f"{name}![x](http://evil)<img src=x>", name), message=message)
    text = view(usual(hostile)).render("markdown", LOOK)
    kinds = {child.type for token in MarkdownIt().parse(text) for child in token.children or ()}
    assert not kinds & {"image", "link_open"}
    assert "<img" not in text


def test_only_the_likeliest_is_most_likely_and_commands_are_code() -> None:
    twice = [replace(STUCK, severity=each) for each in (Severity.HIGH, Severity.MEDIUM)]
    text = stuck(*twice).render("markdown", LOOK)
    assert text.count("Most likely: ") == 1
    assert "<br>`kubectl describe pods -n shop`" in text


def test_a_summary_shows_as_it_was_written() -> None:
    """It is in HTML, where a backslash is a backslash."""
    of = replace(SKEW, message="$365 for <b>2</b> nodes & [a](b)")
    assert "$365 for &lt;b&gt;2&lt;/b&gt; nodes &amp; [a](b)</summary>" in view(usual(of)).render("markdown", LOOK)


def test_steps_say_what_they_wait_for() -> None:
    assert "Check that nothing blocks 1.34 **(1 cause and 1 unknown first)**" in view().render("markdown", LOOK)
