"""The stand-in knows nothing of what is tested with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.glob("*.py"))
ALLOWED = tuple(
    f"kubectl_eksdoc.{name}" for name in ("model.api_objects", "kubernetes.api.", "kubernetes.ownership.", "embedded.")
)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_imports_nothing_but_the_servers_rules_and_the_embedded_server(path: Path) -> None:
    ours = [name for name in _imported(path) if name.startswith("kubectl_eksdoc")]
    assert [name for name in ours if not name.startswith(ALLOWED)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_leans_on_no_test_that_does(path: Path) -> None:
    """Of the tests' own, what it uses is beside it or reads recordings and serves them."""
    known = ("tests.addon.stand_in", "tests.aws.world", "tests.embedded.clients", "tests.kubernetes.api.replays")
    ours = [name for name in _imported(path) if name.startswith("tests.")]
    assert [
        name for name in ours if not name.startswith(known) and name not in ("tests.raw_facts", "tests.reading.yaml_of")
    ] == []
