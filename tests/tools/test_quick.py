"""The tests that are selected for a change are those close to it."""

from __future__ import annotations

import pytest

from tools import quick


@pytest.mark.parametrize(
    ("file", "near"),
    [
        ("drain/pod_verdicts.py", "tests/drain/test_pod_verdicts.py"),
        ("check/checks/webhooks.py", "tests/check/test_webhooks.py"),
        ("drain/rounds.py", "tests/drain/test_orders.py"),
    ],
)
def test_a_change_finds_the_tests_near_it(file: str, near: str) -> None:
    assert near in quick.chosen([f"kubectl_eksdoc/{file}"])[:20]


@pytest.mark.parametrize(
    ("text", "module"),
    [
        (
            "from kubectl_eksdoc.drain.plan import (\n    build_plan,  # of all\n)",
            "kubectl_eksdoc.drain.plan.build_plan",
        ),
        ("from .rows import table", "kubectl_eksdoc.drain.report.rows"),
        ("from ..run.history import PlannedNode", "kubectl_eksdoc.drain.run.history"),
        ("    from .. import choice as chosen", "kubectl_eksdoc.drain.choice"),
        ("from . import rows", "kubectl_eksdoc.drain.report.rows"),
    ],
)
@pytest.mark.parametrize("file", ["page", "__init__"])
def test_an_import_is_found_however_it_is_written(file: str, text: str, module: str) -> None:
    assert module in quick.imports(f"kubectl_eksdoc/drain/report/{file}.py", f"import os\n{text}\n")
