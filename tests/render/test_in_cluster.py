"""Objects as they are printed: words above them that nothing in them can break out of, and the same objects below."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.render.roles import RoleManifests, RoleStep, logs, taken_away
from kubectl_eksdoc.render.text import Look
from tests.in_cluster.errands import an_errand
from tests.reading import yaml_documents

DOCS: tuple[dict[str, Any], ...] = ({"kind": "A", "n": 1, "text": "yes"}, {"kind": "B", "list": ["0", "", "a: b"]})


def test_words_then_documents() -> None:
    text = RoleManifests(
        ("What it is.",), (RoleStep("do:", "kubectl a"), RoleStep("undo it:", "kubectl b")), DOCS
    ).render("yaml", Look())
    assert text.splitlines()[:6] == [
        "# What it is.",
        "#",
        "# do:       kubectl a",
        "# undo it:  kubectl b",
        "---",
        "kind: A",
    ]
    assert tuple(yaml_documents(text)) == DOCS


def test_json_is_a_list() -> None:
    assert json.loads(RoleManifests(("x",), (), DOCS).render("json", Look()))["items"] == list(DOCS)


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_word_becomes_a_document(about: str, command: str) -> None:
    text = RoleManifests((about,), (RoleStep("do:", command),), DOCS).render("yaml", Look())
    assert tuple(yaml_documents(text)) == DOCS and "\x1b" not in text


def test_commands_name_what_was_made_and_nothing_else() -> None:
    errand = an_errand()
    away = taken_away(errand, ("--context", "my cluster"))
    assert away.startswith("kubectl delete cronjobs.batch,jobs.batch,configmaps,")
    assert away.endswith(f" -A -l {errand.selector} --context 'my cluster'")
    assert f"-l {errand.selector} -f" in logs(errand, (), follow=True)
    assert f"-l {errand.selector} --prefix" in logs(errand, (), follow=False)
