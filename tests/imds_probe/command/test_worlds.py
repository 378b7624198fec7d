"""Every row of the table: the served cluster and the AWS stand-in are built from it, and ``imds-probe`` must report its
`truth`. Rows 32 (refusals of AWS) and 33 (a dump) are `test_served` and `test_offline`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.aws.test_live import prod
from tests.cli.terminal_user import Somebody
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.imds_probe.command.made_worlds import ROWS, Row, accounts, rows_of, served

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
ELSEWHERE = {32, 33}


def test_every_row_is_there() -> None:
    assert {row["row"] for row in ROWS} == set(range(1, 34)) - ELSEWHERE
    assert all(row.get("why") for row in ROWS if row["row"] == 29), "a truth for each program, with its reason"


@pytest.mark.long
@pytest.mark.parametrize("account", accounts(), ids=lambda each: "+".join(map(str, each)) or "none")
def test_each_world_is_told_as_it_is(prod: World, tmp_path: Path, account: Mapping[str, Any]) -> None:
    with served(prod, account) as server:
        config = kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN), name="lab")
        ran = Somebody(config, prod, "imds-probe").run("-o", "json")
    found = json.loads(ran.out)
    wrong = [*_nodes(found, rows_of(account, "node")), *_pods(found, rows_of(account, "pod"))]
    assert "\n".join(wrong) == ""


def _nodes(found: dict[str, Any], rows: list[Row]) -> Iterator[str]:
    """The differences between report and table, row by row."""
    group_of = {node: group for group in found["groups"] for node in group["nodes"]}
    for row in rows:
        group = group_of[row["node"]]
        told = [group["now"]["verdict"], group["next"]["verdict"]]
        name = row.get("group", row["node"])
        codes = {each["code"] for each in found["findings"] if name in each["subject"]["name"]}
        says = json.dumps([group["sentence"], group["now"], group["next"]], ensure_ascii=False)
        if told != row["truth"] or not codes >= {*row.get("codes", ())} or row.get("says", "") not in says:
            yield f"{row['row']} {row['node']}: {told} {sorted(codes)} {says}"


def _pods(found: dict[str, Any], rows: list[Row]) -> Iterator[str]:
    effects: dict[str, str] = {}
    for group in found["groups"]:
        for name, word in (("brokenNow", "broken now"), ("willBreak", "will break")):
            effects |= {each["name"]: f"{word}: {each['why']}; {each['wayOut']}" for each in group["pods"][name]}
        for name, word in (("possible", "possible"), ("noKnownNeed", "no known need")):
            effects |= {each["owner"]["name"]: word for each in group["pods"][name]}
    for row in rows:
        told = effects.get(row["pod"], "")
        if not told.startswith(row["truth"]) or bool(told) != bool(row["truth"]) or row.get("says", "") not in told:
            yield f"{row['row']} {row['pod']}: {told or 'not affected'}, and not {row['truth'] or 'not affected'}"
