"""Flags for parallel nodes, pace and node order become a policy, or an error that names the correct flag."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.cli import streams
from kubectl_eksdoc.drain.policy import ORDERS, DrainPolicy
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.options import ALL, NODEGROUP, ZONE
from tests.builders import a_cluster, a_node, a_pod, a_roomy_node
from tests.cli.running import FakeSource, Ran, run_cli
from tests.cli.test_parsing import parsed

HALF = IntOrPercent(50, percent=True)
NODES = tuple(f"old-{i}" for i in range(3))
CLUSTER = a_cluster(
    nodes=[*map(a_node, NODES), a_roomy_node()], pods=[a_pod(f"web-{i}", node=name) for i, name in enumerate(NODES)]
)


def plan(*argv: str) -> Ran:
    return run_cli("drain", "plan", *argv, source=FakeSource(CLUSTER))


@pytest.mark.parametrize(
    ("line", "policy"),
    [
        ("--max-unavailable 3", DrainPolicy(max_unavailable=((ALL, IntOrPercent(3)),))),
        ("--max-unavailable zone=1", DrainPolicy(max_unavailable=((ZONE, IntOrPercent(1)),))),
        (
            "--max-unavailable nodegroup=2 --max-unavailable zone=1 --max-unavailable 50%",
            DrainPolicy(max_unavailable=((ALL, HALF), (ZONE, IntOrPercent(1)), (NODEGROUP, IntOrPercent(2)))),
        ),
        ("--surge 2 --surge 3", DrainPolicy(surge=3)),
        ("--soft-budget 25", DrainPolicy(soft_budget=25)),
        ("--max-evictions-per-second 0.5", DrainPolicy(evictions_per_second=0.5)),
        ("--order auto", DrainPolicy()),
        *((f"--order {order}", DrainPolicy(order=order)) for order in ORDERS),
        ("--pin node/old-1=2 --pin old-0=1", DrainPolicy(pins=(("old-0", 1), ("old-1", 2)))),
        ("--effort 0", DrainPolicy(effort=0)),
    ],
)
def test_policies(line: str, policy: DrainPolicy) -> None:
    assert parsed(f"old-1 {line}").policy == policy


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--max-unavailable 3 --max-unavailable 1", "--max-unavailable contradicts itself: 3 and 1 for all"),
        (
            "--max-unavailable zone=1 --max-unavailable 3 --max-unavailable zone=2",
            "--max-unavailable contradicts itself: 1 and 2 for zone",
        ),
        ("--pin old-1=1 --pin old-0=1 --pin node/old-1=2", "--pin contradicts itself: 1 and 2 for old-1"),
        ("--assume-budget a/b=1 --assume-budget a/b=2", "--assume-budget contradicts itself: 1 and 2 for a/b"),
        ("--max-unavailable 0", "'0' is no number of nodes from 1 on"),
        ("--max-unavailable 101%", "no percentage from 1% to 100%; write 3 or 25%"),
        ("--max-unavailable zone=0", "'0' is no number of nodes"),
        ("--max-unavailable rack=1", "nodes are not counted by 'rack'; write zone=1 or nodegroup=1"),
        ("--surge -1", "'-1' is no number of nodes; write 0, 1, 2"),
        ("--soft-budget 0", "'0' is no percentage from 1 to 100; write 25 or 25%"),
        ("--order slowest", "'slowest' is no order (did you mean soonest?). It can be auto, soonest, chain"),
        ("--pin old-1", "'old-1' pins no node to a wave; write NODE=2"),
        ("--pin =1", "'=1' pins no node to a wave"),
        ("--effort many", "'many' is no number of evictions; write 0, or 120000"),
        ("--order zone --order-file f", "--order zone and --order-file exclude each other"),
        ("--order-file=", "--order-file needs the path of a file"),
    ],
)
@pytest.mark.long
def test_what_is_refused(line: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        parsed(f"x {line}")
    assert said in str(refused.value)
    assert refused.value.exit_code == streams.USAGE


def order_file(folder: Path, content: str | bytes) -> str:
    path = folder / "order.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize(
    "content",
    [
        "old-2\nold-0\n",
        "node/old-2\nnode/old-0",
        "# the database last\n\n  old-2  # first\r\nold-0\r\n",
        "old-2\nold-0\nold-2\n",
        "\ufeffold-2\nold-0\n",
    ],
    ids=["names", "as -o name prints them", "comments and blanks", "twice", "with a mark of its order of bytes"],
)
def test_an_order_file(content: str, tmp_path: Path) -> None:
    request = parsed(f"x --order-file {order_file(tmp_path, content)}")
    assert request.policy.order_nodes == ("old-2", "old-0")
    assert request.order_file == str(tmp_path / "order.txt")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "names no node"),
        ("# nothing\n\n", "names no node"),
        (b"\xff\xfeo\x00l\x00d\x00", "is no text in UTF-8"),
        (b"\x7fELF\x01\x00", "'\\x7fELF\\x01\\x00' is no name of a node"),
        ("old-0 old-1\n", "'old-0 old-1' is no name of a node"),
        (b"x" * (4 << 20) + b"\n", "is larger than 4 MiB"),
        (None, "cannot be read: Is a directory"),
    ],
    ids=["empty", "comments alone", "UTF-16", "binary", "two on a line", "too large", "a folder"],
)
def test_order_files_that_are_none(content: str | bytes | None, said: str, tmp_path: Path) -> None:
    path = str(tmp_path) if content is None else order_file(tmp_path, content)
    ran = plan(*NODES, "--order-file", path)
    assert (ran.code, ran.out) == (streams.USAGE, "")
    assert ran.err.startswith(f"error: --order-file {path}") and said in ran.err.replace("\\\\", "\\")


@pytest.mark.parametrize("words", [("--pin", "old-9=1"), ("--order-file",)])
def test_who_is_named_must_be_a_target(words: tuple[str, ...], tmp_path: Path) -> None:
    file = [order_file(tmp_path, "old-1\nold-9\n")] if len(words) == 1 else []
    ran = plan(*NODES, *words, *file)
    assert (ran.code, ran.out) == (streams.USAGE, "")
    assert f"error: {words[0]} names old-9, which is none of the 3 targets\nclose to it: old-" in ran.err


def test_a_pin_of_a_node_that_is_not_drained_is_told() -> None:
    told = "note: --pin old-3=2 changes nothing: the plan does not drain old-3 (skipped)\n"
    bare = a_pod("bare", node="old-3", owner=None)
    cluster = replace(CLUSTER, nodes=(*CLUSTER.nodes, a_node("old-3")), pods=(*CLUSTER.pods, bare))
    line = ("drain", "plan", *NODES, "old-3", "--pin", "old-3=2", "--pin", "old-0=1")
    assert told in run_cli(*line, source=FakeSource(cluster)).err
    assert "changes nothing" not in run_cli(*line, "--force", source=FakeSource(cluster)).err


EVERY_FLAG = [
    *("--max-unavailable", "50%", "--max-unavailable", "zone=2", "--max-unavailable", "nodegroup=1", "--surge", "0"),
    *("--soft-budget", "25", "--max-evictions-per-second", "0.5", "--order", "light"),
    *("--pin", "old-0=2", "--pin", "old-1=1", "--effort", "70"),
]


def test_every_flag_stands_in_the_document_as_given() -> None:
    doc = json.loads(plan(*NODES, *EVERY_FLAG, "-o", "json").out)
    given = doc["metadata"]["options"]
    assert {
        "max-unavailable": ["50%", "zone=2", "nodegroup=1"],
        "surge": "0",
        "soft-budget": "25%",
        "max-evictions-per-second": 0.5,
        "order": "light",
        "pin": ["old-0=2", "old-1=1"],
        "effort": "70",
    }.items() <= given.items()
    assert {
        "maxUnavailable": "50%, zone=2, nodegroup=1",
        "surge": 0,
        "softBudgetPercent": 25,
        "maxEvictionsPerSecond": 0.5,
        "order": "light",
        "orderNodes": [],
        "pins": [{"node": "old-0", "wave": 2}, {"node": "old-1", "wave": 1}],
        "effort": 70,
    }.items() <= doc["options"].items()


def test_another_order_in_the_same_file_is_told_beside_a_baseline(tmp_path: Path) -> None:
    path, saved = order_file(tmp_path, "old-1\nold-0\n"), tmp_path / "before.json"
    saved.write_text(plan(*NODES, "--order-file", path, "-o", "json").out, encoding="utf-8")
    asked = (*NODES, "--order-file", path, "--baseline", str(saved), "-o", "json")
    assert json.loads(plan(*asked).out)["since"]["asked"] == []
    order_file(tmp_path, "old-2\n")
    assert json.loads(plan(*asked).out)["since"]["asked"] == [
        {"option": "order-file", "earlier": ["old-1", "old-0"], "now": ["old-2"]}
    ]
