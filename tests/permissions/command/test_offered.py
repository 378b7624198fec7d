"""Tab completion looks up names with exactly the role and the policy of completion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kubectl_eksdoc.cli.completion_names import BackgroundReads, NameQuery, cached_names
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.names import NameKind
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE
from tests.aws.test_live import prod
from tests.fakes import kubeconfigs
from tests.permissions.command import sites
from tests.permissions.command.granted_users import printed, unregistered
from tests.permissions.command.policies import CALLED, allow, calls, policy
from tests.permissions.command.served_users import NAME, REGION, desk

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
OFFERED = {
    NameKind.NODES,
    NameKind.NODE_GROUPS,
    NameKind.NAMESPACES,
    NameKind.PODS,
    NameKind.PODS_ANYWHERE,
    NameKind.BUDGETS,
    NameKind.ADDONS,
}
"""Of kinds of which there are some on that cluster: nobody has run anything."""


def at_once(work: Callable[[], object], wait_s: float, longest_s: float) -> None:
    work()


def test_its_role_is_enough_and_no_other_request_is_sent(
    prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = printed("completion")
    with sites.rich(prod).served() as site:
        reached = desk(site, prod, tmp_path, monkeypatch).reaching
        token, who = site.comes(role)
        config = kubeconfigs.one(tmp_path / "config", site.url(token), name="lab")
        connection = replace(Connection(), kubeconfig=config, tls_server_name=reached[-1])
        allow(prod, policy("completion"))
        offered = set()
        for kind in NameKind:
            where = JOURNAL_NAMESPACE if kind is NameKind.RUNS else ""
            asked = NameQuery(kind, SourceChoice(), connection, where, (NAME, REGION, ""))
            if cached_names(asked, {"HOME": str(tmp_path)}, str(tmp_path), BackgroundReads(at_once)):
                offered.add(kind)
    assert offered == OFFERED
    assert unregistered(who.asked, role) == []
    assert [right.said for right in role if not any(right.allows(action) for action in who.asked)] == []
    assert calls(prod) <= {CALLED[action] for action in policy("completion")}
