"""Every report in every format: the same as its golden file, valid by its schema, equal as YAML, and safe on a terminal
for any text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from kubectl_eksdoc.report.text import Appearance, is_unsafe
from tests.addon_diff.report import test_formats as addon
from tests.addon_diff.report_update import test_formats as addon_update
from tests.broken_documents import accepted
from tests.check.report import test_html
from tests.coredns_lameduck.report import test_formats as dns
from tests.coredns_lameduck.report_measuring import test_formats as dns_measure
from tests.drain.report import (
    comparisons,
    plans,
    rehearsals,
    test_comparison,
    test_course,
    test_recorded,
    test_rehearsal,
)
from tests.fleet.report import test_formats as fleet
from tests.imds_probe.report import test_formats as metadata
from tests.imds_probe.report_probe import test_formats as metadata_probe
from tests.interruption.report import test_formats as interruption
from tests.report.golden import AnswerFormats, check_golden, complaints, judge
from tests.yaml_reader import yaml_of

HERE = Path(__file__).parent
DRAWN = {
    "table-120.txt": ("table", Appearance()),
    "table-80.txt": ("table", Appearance(width=80)),
    "table-colour.txt": ("table", Appearance(colour=True)),
    "wide.txt": ("wide", Appearance()),
    "markdown.md": ("markdown", Appearance()),
}
PLAIN = {
    "table-ascii.txt": ("table", Appearance(ascii=True)),
    "table-no-headers.txt": ("table", Appearance(headers=False)),
}
PLAN = {"plan.json": ("json", Appearance()), "plan.yaml": ("yaml", Appearance()), "name.txt": ("name", Appearance())}
UNREAD = {"no metadata.kindsRead.*.detail", "no metadata.notes"}
drain = partial(AnswerFormats, commands=plans.commands)

ANSWERS = {
    "drain": drain(
        HERE / "golden",
        {"by hand": plans.a_view, "empty": lambda: plans.a_view(plans.an_empty_plan())}
        | {"long names": plans.with_long_names}
        | {name: partial(test_recorded.view_of, name) for name in test_recorded.READERS}
        | {str(at): partial(test_course.demo, policy) for at, policy in enumerate(test_course.POLICIES)},
        {**DRAWN, **PLAIN, **PLAN, "page.html": ("html", Appearance())},
        {*UNREAD, "no budgets.*.recomputed"},
    ),
    "surge": drain(HERE / "golden_surge", {"": test_course.surging}, test_course.GOLDENS, UNREAD),
    "compared": drain(
        HERE / "golden_compared",
        {"all": comparisons.a_compared_view}
        | {name: partial(comparisons.a_compared_view, of) for name, of in test_comparison.BASELINES.items()},
        DRAWN | PLAN,
        {*UNREAD, "no comparison", "no since", "no budgets.*.recomputed"},
        ("since.asked.*.earlier", "since.asked.*.now"),
    ),
    "rehearsal": AnswerFormats(
        HERE / "golden_rehearsal",
        {
            "badly": partial(rehearsals.a_rehearsal_view, rehearsals.BADLY),
            "well": rehearsals.a_rehearsal_view,
            "many": test_rehearsal.many,
            "empty": test_rehearsal.empty,
        },
        {
            f"{went}-{file}": (*shown, went)
            for went in ("well", "badly")
            for file, shown in {
                **DRAWN,
                **PLAIN,
                "rehearsal.json": ("json", Appearance()),
                "rehearsal.yaml": ("yaml", Appearance()),
            }.items()
        },
        UNREAD,
    ),
    "addon": addon.ANSWERS,
    "addon after": addon.AFTER,
    "terraform": addon.TERRAFORM,
    "addon update": addon_update.ANSWERS,
    "check": test_html.ANSWERS,
    "dns": dns.ANSWERS,
    "dns measure": dns_measure.ANSWERS,
    "fleet": fleet.ANSWERS,
    "interruption": interruption.ANSWERS,
    "metadata": metadata.ANSWERS,
    "metadata probe": metadata_probe.ANSWERS,
}
WHOLE = ("drain", "surge", "rehearsal")
PAINT = re.compile(r"\x1b\[[0-9;]*m")
LONG = {"medium", *dns_measure.LONG}
OPTIONAL = (".namespace", ".command")


@pytest.mark.parametrize(("of", "file"), [(of, file) for of, each in ANSWERS.items() for file in each.goldens])
def test_it_reads_as_it_did(of: str, file: str) -> None:
    check_golden(ANSWERS[of].folder / file, ANSWERS[of].shown(file))


@pytest.mark.parametrize("of", ANSWERS)
def test_no_golden_file_is_left_over(of: str) -> None:
    answers = ANSWERS[of]
    left = {path.name for path in answers.folder.iterdir()} - {"section.html"}
    assert left == set(answers.goldens) or not answers.folder.name.startswith("golden")
    assert of not in WHOLE or {output for output, *_ in answers.goldens.values()} == set(answers.first.formats)


@pytest.mark.parametrize(
    ("of", "name"),
    [
        pytest.param(of, name, marks=[pytest.mark.long] * (name in LONG))
        for of, each in ANSWERS.items()
        for name in each.views
    ],
)
def test_it_is_valid_and_fits_a_screen(of: str, name: str) -> None:
    answers = ANSWERS[of]
    view = answers.views[name]()
    document = json.loads(view.render("json", Appearance()))
    assert complaints(document) == []
    assert yaml_of(view.render("yaml", Appearance())) == document
    for width, ascii_only in product(answers.widths, (False, True)):
        look = Appearance(width=width, ascii=ascii_only)
        text = view.render("table", look)
        assert list(answers.too_wide(view, text, width)) == []
        assert text.isascii() or not ascii_only
        assert PAINT.sub("", view.render("table", replace(look, colour=True))) == text
    for output in view.formats:
        assert view.render(output, Appearance(ascii=True)).isascii()
        assert not any(is_unsafe(char) for char in view.render(output, Appearance()) if char != "\n")


@pytest.mark.parametrize("of", ANSWERS)
def test_its_schema_refuses_what_is_broken(of: str) -> None:
    answers = ANSWERS[of]
    document = json.loads(answers.first.render("json", Appearance()))
    found = accepted(judge(document["kind"]), document, ("metadata.options", *answers.free))
    assert {each for each in found if not each.endswith(OPTIONAL)} == set(answers.loose)
