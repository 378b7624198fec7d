"""Count how often the kubeconfig's credential plugin runs while a drain sends requests of many kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.requests import Reply, ServedRequest
from tests.drain.command.served import Machine
from tests.drains.secured import secured
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

RUN = ("drain", "run", "--nodegroup", "blue", "--yes", "--expect-nodes", "1")


class Changing:
    """An API server that accepts the first token until it was used `used` times, and then only the second token."""

    def __init__(self, api: Api, used: int) -> None:
        self._api = api
        self._left = used

    def handle(self, request: ServedRequest) -> Reply:
        given = request.headers["authorization"].removeprefix("Bearer ")
        if given == "t1":
            self._left -= 1
        known = given == ("t1" if self._left >= 0 else "t2")
        token = worlds.ADMIN_TOKEN if known else "unknown"
        return self._api.handle(replace(request, headers={**request.headers, "authorization": f"Bearer {token}"}))


@pytest.fixture
def ends() -> Iterator[str]:
    yield (datetime.now(timezone.utc) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.long
@pytest.mark.parametrize(("used", "runs"), [pytest.param(10**9, 1, marks=pytest.mark.long), (40, 2)])
def test_one_run_of_the_plugin_is_enough_for_all(api: Api, tmp_path: Path, ends: str, used: int, runs: int) -> None:
    """The plugin runs once more if the server rejects its token during the run."""
    with secured(Changing(api, used)) as (url, ca):
        program = kubeconfigs.plugin(
            tmp_path, f"time.sleep(0.1); say(token=f't{{runs()}}', expirationTimestamp={ends!r})"
        )
        user = kubeconfigs.exec_user(program)
        home = tmp_path / "ann"
        ran = Machine(home, kubeconfigs.one(home / "config", url, ca, user, name="lab")).run(*RUN)
        assert ran.code == 1 and "emptied by 16 evictions" in ran.out, ran.err
    assert kubeconfigs.runs(program) == runs
