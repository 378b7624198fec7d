"""Completion offers at each position of a command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.cli.completion_command import complete
from kubectl_eksdoc.cli.completion_names import OFFLINE_VARIABLE
from kubectl_eksdoc.cli.completion_offers import NO_FILES, NO_SPACE, Completion, Completions, format_completions
from kubectl_eksdoc.model.findings import Code
from tests.cli.completing.asked import at, read
from tests.examples import examples
from tests.fakes import kubeconfigs

PLAN = ("drain", "plan")


def test_commands() -> None:
    found = at("")
    assert found.offers["check"] == "check whether the cluster can be upgraded, and list the upgrade steps"
    assert "options" not in found.offers and "__complete" not in found.offers and found.directive == NO_FILES
    assert at() == found and at("--context", "x", "") == found
    assert at("dr").values == ["drain"]
    assert at("drain", "re").values == ["resume", "rehearse"]
    assert at("drain", "--context", "x", "re").values == ["resume", "rehearse"]
    assert at("completion", "un").values == ["uninstall"]


@pytest.mark.parametrize(
    "words",
    [
        "drain nonsense _",
        "drain plan --token _",
        "drain plan --no-such-flag=",
        "drain plan --effort _",
        "addon-diff vpc-cni c",
    ],
)
def test_nothing_is_offered_where_nothing_is_known(words: str) -> None:
    found = at(*words.replace("_", "").split(" "))
    assert (found.values, found.directive) == ([], NO_FILES)


def test_flags() -> None:
    found = at(*PLAN, "--o")
    assert found.values == ["--output", "--older-than", "--order", "--order-file"] and found.directive == NO_FILES
    assert found.offers["--older-than"] == "nodes with a kubelet older than this version, such as v1.33"
    assert "-l" in at(*PLAN, "-").offers and "-l" not in at(*PLAN, "--").offers
    assert "--timeout" not in at(*PLAN, "--").offers, "it is for kubectl's sake alone"
    assert at(*PLAN, "--soft-budget", "5", "--soft").values == []
    assert at(*PLAN, "-l", "a=b", "--sel").values == []
    assert at("--context", "x", *PLAN, "--cont").values == []
    assert at(*PLAN, "--nodegroup", "blue", "--nodeg").values == ["--nodegroup"], "it may be repeated"
    assert at(*PLAN, "--", "--nodeg").values == [], "behind -- all words are names"


@pytest.mark.parametrize(
    "before",
    [
        ("drain", "--demo=true", "-n", "drain", "plan"),
        (*PLAN, "--demo"),
    ],
    ids=str,
)
def test_flags_of_every_command_may_stand_anywhere(before: tuple[str, ...]) -> None:
    assert at(*before, "--nodegroup", "").values == ["blue", "general", "green"]
    assert at(*before, "--nodegroup=b").values == ["blue"] and at(*before, "--orde").values == [
        "--order",
        "--order-file",
    ]


def test_values_of_given_words() -> None:
    assert at("check", "--gate", "").values == ["before-control-plane", "before-nodes", "after"]
    assert at("check", "--gate=before-n").values == ["before-nodes"]
    assert at(*PLAN, "--force=").values == ["true", "false"]
    assert at("drain", "run", "--dry-run=").values == ["none", "client", "server"]
    assert at("addon-diff", "--dry-run=s").values == [], "it is refused there"
    assert at("drain", "run", "--dry-run", "--pl").values == ["--plan"], "it takes its value behind = only"
    assert at("addon-diff", "--resolve-conflicts", "").values == ["NONE", "OVERWRITE", "PRESERVE"]


def test_codes_behind_commas() -> None:
    found = at(*PLAN, "--accept-unknown", "")
    assert (
        set(found.values) == {code.name for code in Code.of_areas("drain")} and found.directive == NO_FILES | NO_SPACE
    )
    first, second = sorted(code.name for code in Code.of_areas("drain"))[:2]
    more = at(*PLAN, "--accept-unknown", f"{first},")
    assert f"{first},{second}" in more.offers and f"{first},{first}" not in more.offers
    assert all(
        value.startswith("addon-not-active,addon-") for value in at("check", "--only=addon-not-active,addon-").values
    )


def test_files() -> None:
    for words in (("check", "-f", ""), ("snapshot", "x"), ("--kubeconfig=",), (*PLAN, "--since", "a")):
        assert (at(*words).values, at(*words).directive) == ([], 0)
    assert at("snapshot", "x", "").directive == NO_FILES, "it takes one"


def test_formats_of_that_very_command() -> None:
    assert at(*PLAN, "-o", "").values == ["table", "wide", "json", "yaml", "markdown", "html", "name"]
    assert at(*PLAN, "-oj").values == [] and at(*PLAN, "-o", "j").values == ["json"]
    assert "sarif" in at("check", "--output=").offers
    assert "sarif" not in at("check", "--fleet", "a,b", "-o", "").offers
    assert at("drain", "status", "--attach", "-o", "").values == ["table", "wide", "json"]


def test_names_of_the_demo() -> None:
    assert at(*PLAN, "--demo", "--nodegroup", "").offers == {
        "blue": "managed node group, 8 nodes",
        "general": "NodePool, 2 nodes",
        "green": "managed node group, 4 nodes",
    }
    assert at(*PLAN, "--demo", "blue-1").offers == {"blue-1": "blue, m6i.xlarge, ap-northeast-2a"}
    assert "blue-1" not in at(*PLAN, "--demo", "blue-1", "").offers, "it is named already"
    assert (at(*PLAN, "--demo", "no").values, at(*PLAN, "--demo", "no").directive) == (["node/"], NO_FILES | NO_SPACE)
    assert at(*PLAN, "--demo", "--pin", "blue-1").values == ["blue-1="]
    assert at(*PLAN, "--demo=false", "--nodegroup", "").values == [], "that would be of a cluster"


def test_pods_and_nodes_of_a_probe() -> None:
    found = at("imds-probe", "--demo", "")
    assert (found.values, found.directive) == (["pod/", "node/"], NO_FILES | NO_SPACE)
    assert at("imds-probe", "p").values == ["pod/"]
    pods = at("imds-probe", "--demo", "-nshop", "pod/cart")
    assert pods.values and all(value.startswith("pod/cart-") for value in pods.values) and pods.directive == NO_FILES
    assert at("imds-probe", "--demo", "node/green-2").values == ["node/green-2"]


def test_what_this_tool_knows_itself() -> None:
    assert at("addon-diff", "v").offers == {"vpc-cni": "addresses of pods"}
    assert "slow" in at("rehearse", "--fault", "s").offers and "list" in at("rehearse", "--fault", "l").offers
    assert at(*PLAN, "--max-unavailable", "z").values == ["zone="]


def test_contexts_are_those_of_the_kubeconfig_that_is_given(tmp_path: Path) -> None:
    path = kubeconfigs.many(tmp_path / "c", {"lab": {"server": "https://x"}}, {"me": {}}, {"a": ("lab", "me")}, "a")
    assert at("--kubeconfig", path, "check", "--context", "").offers == {"a": "the current one, lab"}
    assert at("--kubeconfig", path, "check", "--fleet", "").values == ["a"]


def test_words_of_commands_that_have_rights() -> None:
    first = at("permissions", "").values
    assert {"drain", "check", "addon-diff"} <= set(first) and not {"plan", "run", "abort"} & set(first)
    assert at("permissions", "drain", "p").values == ["pause", "plan"]
    assert at("permissions", "drain", "plan", "ch").values == ["check"]
    assert at("permissions", "check", "dr").values == ["drain"]


def test_a_value_that_no_line_can_hold_is_left_out() -> None:
    offers = (
        Completion("a\nb"),
        Completion("\x1b[31m"),
        Completion("\udcff"),
        Completion(""),
        Completion("fine", "two\nlines\tand more"),
    )
    assert format_completions(Completions(offers)) == "fine\ttwo lines and more\n:4\n"


WORDS = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            ["drain", "plan", "run", "check", "imds-probe", "addon-diff", "--", "-", "-n", "--demo", "--context", "-o",
             "--nodegroup", "--only=", "--snapshot", "--pin", "pod/", "--kubeconfig", "--dry-run", "\udcff", ""]
        ),
    ),
    max_size=6,
)  # fmt: skip


@settings(max_examples=examples(150))
@given(WORDS)
@example(["--kubeconfig", "\0", ""])
def test_any_words_are_answered(words: list[str]) -> None:
    found = read(complete(words, {OFFLINE_VARIABLE: "1", "HOME": "/nowhere"}))
    assert found.directive in (0, 4, 6)
    partial = words[-1] if words else ""
    typed = partial.partition("=")[2] if partial.startswith("-") and "=" in partial else partial
    assert all(value.startswith((typed, partial)) for value in found.values)
