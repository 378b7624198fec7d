"""The HTML page is complete, loads nothing from outside, has every row of the plan, and escapes text of the cluster."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.duration.estimate import Estimate
from kubectl_eksdoc.drain.outcome import TargetVerdict
from kubectl_eksdoc.drain.report.findings import grouped
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.report.timeline import MAX_BARS, gantt, headroom_over_time
from kubectl_eksdoc.drain.timeline import NodeSpan
from kubectl_eksdoc.report.pages import Html, element, html_text
from kubectl_eksdoc.report.text import Appearance
from tests.builders import a_node
from tests.drain.report.plans import a_target, a_view, an_empty_plan
from tests.drain.report.test_recorded import LARGE, view_of
from tests.examples import examples
from tests.report.test_safety import NASTY, TRICKS, a_hostile_view

render = DrainReport.render

EMPTY = {"meta", "rect", "line", "br", "input"}


@dataclass
class Page(HTMLParser):
    """A page as a browser parses it: its elements in order, its text, and nesting errors."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    _stack: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if len(dict(attrs)) != len(attrs):
            self.broken.append(f"{tag} has an attribute twice")
        if tag not in EMPTY:
            self._stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.broken.append(f"{tag} is closed at once")

    def handle_endtag(self, tag: str) -> None:
        if not self._stack or self._stack.pop() != tag:
            self.broken.append(f"</{tag}> closes something else")

    def handle_data(self, data: str) -> None:
        if "style" not in self._stack:
            self.words.append(data)

    def done(self) -> Page:
        self.close()
        self.broken += self._stack
        return self

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))


def read(view: DrainReport, look: Appearance | None = None) -> Page:
    page = Page()
    page.feed(render(view, "html", look or Appearance()))
    return page.done()


VIEWS = {
    "by hand": a_view,
    "nothing": lambda: a_view(an_empty_plan()),
    **{name: (lambda name=name: view_of(name)) for name in ("demo", "small-traps", "rich", "medium")},
}


@pytest.mark.parametrize("name", [*(name for name in VIEWS if name != "medium"), LARGE])
def test_the_page_is_well_formed_and_asks_nobody_for_anything(name: str) -> None:
    check_closed(render(VIEWS[name](), "html", Appearance()))


def check_closed(html: str) -> None:
    """The page is well formed, loads and runs nothing, and allows only its own style."""
    page = Page()
    page.feed(html)
    assert page.done().broken == []
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "video", "use", "image"}
    for tag, attributes in page.tags:
        assert not any(key.startswith("on") or key in ("src", "style", "srcset", "action") for key in attributes), tag
        assert (attributes.get("href") or "#").startswith("#")
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {(attributes["href"] or "")[1:] for tag, attributes in page.tags if tag == "a"} <= set(ids)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = (a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style and "@import" not in style
    assert html.index("Content-Security-Policy") < html.index("<style>")


@pytest.mark.parametrize("name", ["by hand", "demo", "small-traps", "rich"])
def test_every_row_of_the_plan_is_in_the_page(name: str) -> None:
    view = VIEWS[name]()
    said = read(view).text
    assert all(target.node.name in said for target in view.targets)
    assert all(h.budget.key in said for h in view.budgets)
    assert all(row.pod.key in said for row in (*view.evictions, *view.left))
    for finding in view.findings:
        assert (finding.code.name in said and str(finding.subject) in said) or finding.subject.kind == "Cluster"
    for group in grouped(view.blockers, view):
        assert all(re.sub(r"\s+", " ", c) in said for _, commands in group.remedies for c in commands)
    for handoff in view.handoffs:
        assert all(re.sub(r"\s+", " ", c) in said for s in (*handoff.arrive, *handoff.leave) for c in s.commands)


def a_view_of_many(nodes: int, waves: int) -> DrainReport:
    """Many nodes, every second one of node group blue; a wave takes ten seconds."""
    names = [f"n-{n}" for n in range(nodes)]
    targets = tuple(
        replace(a_target("old-0", TargetVerdict.DRAINS, n + 1, wave=n * waves // nodes + 1), node=a_node(name, group=g))
        for n, (name, g) in enumerate(zip(names, itertools.cycle(("blue", "")), strict=False))
    )
    spans = tuple(NodeSpan(t.node.name, 10 * t.wave - 10, 10 * t.wave - 3, 10 * t.wave) for t in targets)
    estimate = Estimate(10 * waves, 10 * waves, spans, 1, ())
    return a_view(an_empty_plan(targets=targets, estimate=estimate))


def test_of_many_nodes_a_bar_is_a_group_in_a_wave() -> None:
    page = Page()
    page.feed(gantt(a_view_of_many(4 * MAX_BARS, 2)))
    assert page.done().broken == []
    assert [a["class"] for tag, a in page.tags if tag == "rect" and "x" in a].count("bar") == 4
    assert page.text.count(f"blue: {MAX_BARS} nodes") == page.text.count(f"without a group: {MAX_BARS} nodes") == 4
    assert f"blue: {MAX_BARS} nodes: 10s to 17s, done after 20s" in page.text


@pytest.mark.parametrize(
    ("end", "marks"),
    [(126, ["30s", "1m", "1m30s", "2m"]), (1110, ["5m", "10m", "15m"]), (14_500, ["1h", "2h", "3h", "4h"])],
)
def test_the_marks_of_the_axis_are_few_and_round(end: float, marks: list[str]) -> None:
    plan = an_empty_plan(
        targets=(a_target("old-0", TargetVerdict.DRAINS, 1),),
        estimate=Estimate(end, end, (NodeSpan("old-0", 0, end - 10, end),), 1, ()),
    )
    assert re.findall(r"<text [^>]*>([^<]*)</text>", gantt(a_view(plan))) == marks


def test_headroom_that_never_ends_is_told_so() -> None:
    some = replace(a_view().budgets[0], allowed_over_time=((0.0, 3), (10.0, 1), (20.0, 2)))
    assert "1 or more, at most 3" in headroom_over_time(a_view(an_empty_plan(budgets=(some,))))
    assert 'points="0.0,15 500.0,15 500.0,61.7 1000.0,61.7 1000.0,38.3 1000,38.3"' in headroom_over_time(
        a_view(an_empty_plan(budgets=(some,)))
    )


def shape(view: DrainReport) -> list[tuple[str, tuple[str, ...]]]:
    page = read(view)
    assert page.broken == []
    return [(tag, tuple(sorted(attributes))) for tag, attributes in page.tags]


def of_a_width(told: str) -> str:
    """Text so long that its cell always wraps, as the cells of another value do."""
    return f"{told}{'w' * 40}"


@cache
def plain_shape() -> list[tuple[str, tuple[str, ...]]]:
    return shape(a_hostile_view(of_a_width("x")))


KNOWN = [*TRICKS, *NASTY, '"onload="x', "'><svg onload=alert(1)>", "</title><script>", "]]>"]


@settings(max_examples=examples(150, quick=20))
@given(
    st.one_of(
        st.sampled_from(KNOWN),
        st.text(st.one_of(st.sampled_from("<>&\"'/=!-`;#x \n"), st.characters()), max_size=40),
    )
)
def test_no_text_of_a_cluster_changes_the_page(told: str) -> None:
    assume("--" not in told)  # a text like a flag stays on one line, from any source
    assert shape(a_hostile_view(of_a_width(told))) == plain_shape()


@given(st.text())
def test_any_text_shows_as_itself(told: str) -> None:
    page = Page()
    page.feed(element("p", told, title=told))
    page.done()
    assert page.broken == [] and len(page.tags) == 1
    clean = "".join(page.words)
    assert clean == page.tags[0][1]["title"]
    if told.isascii() and told.isprintable():
        assert clean == told


def test_only_markup_passes_as_it_is() -> None:
    assert html_text(Html("<b>")) == "<b>" and html_text("<b>") == "&lt;b&gt;"
    assert element("p", "<b>", Html("<i></i>")) == "<p>&lt;b&gt;<i></i></p>"


def test_of_very_many_waves_the_rest_is_counted() -> None:
    said = gantt(a_view_of_many(4 * MAX_BARS, 2 * MAX_BARS))
    assert said.count('class="wave"') == MAX_BARS // 2
    assert f"… and {3 * MAX_BARS} more nodes; all of them are in -o json." in said
