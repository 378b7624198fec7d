"""A server that does not know for a moment who asks, or what they may: a run outlives it, whatever it was asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import Fault, Faulty, FaultyAnswer, forbidding
from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.embedded.serving.targets import ServedRequest
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus
from tests.cli.run.served import machine

RUN = ("drain", "run", "--nodegroup", "blue", "--yes", "--expect-nodes", "1")
Refusing = FaultyAnswer | Callable[[ServedRequest], FaultyAnswer | None]
WHO = FaultyAnswer(ApiStatus(401, "Unauthorized", "Unauthorized"))
MAY = pytest.param(forbidding(), id="403", marks=pytest.mark.long)


@pytest.mark.long
@pytest.mark.parametrize("effect", [pytest.param(WHO, id="401"), MAY])
def test_one_refusal_of_a_journal_entry_does_not_end_a_run(effect: Refusing, api: Api, tmp_path: Path) -> None:
    with serving(Faulty(api, [Fault(effect, "/configmaps/", "PATCH", skip=4, times=1)], time.sleep)) as server:
        ran = machine(server, tmp_path / "ann").run(*RUN)
    assert ran.code == 1 and "emptied by 16 evictions" in ran.out, ran.err
