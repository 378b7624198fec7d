"""Contexts with strange names: each is asked as itself, and none for another."""

from __future__ import annotations

from pathlib import Path

from kubectl_eksdoc.cli.main import tree
from tests.cli.fleet.asked import Answering, ask, kubeconfig

NAMES = ("-prod", "--demo", "--output=yaml", "a,b", "my ctx", "we[i]rd*", "ünï", "@at", "#1")


def asked(asking: Answering) -> dict[str, str]:
    """By the name of each member: which context its own command line chooses."""
    parser = tree()
    return {name: parser.parse_args(words).context for name, words in asking.words.items()}


def test_a_name_that_looks_like_a_flag_is_a_name(tmp_path: Path) -> None:
    asking = Answering()
    assert ask(asking, "check", "--fleet", "*", "--kubeconfig", kubeconfig(tmp_path, *NAMES)).code == 0
    assert asked(asking) == {name: name for name in NAMES}


def test_a_context_without_a_name_is_not_taken_for_the_current_one(tmp_path: Path) -> None:
    asking = Answering()
    assert ask(asking, "check", "--fleet", "*", "--kubeconfig", kubeconfig(tmp_path, "", "prod")).code == 0
    assert set(asking.words) == {"prod"}
