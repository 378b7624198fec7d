"""``drain plan --baseline FILE`` from the command line: the differences, the refusals, and the unchanged findings."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.cli import streams
from kubectl_eksdoc.model.cluster import Identity
from tests.builders import a_cluster, a_node, a_pod, a_roomy_node
from tests.cli.running import FakeSource, Ran, judge, run_cli

WHO = Identity("prod", "shop", "111122223333", "eu-west-1", "v1.33", "uid-1")
TWO_NODES = (a_node("old-0"), a_node("old-1"), a_roomy_node())
CLUSTER = replace(a_cluster(nodes=TWO_NODES, pods=[a_pod(node="old-0")]), identity=WHO)
BLOCKED = replace(CLUSTER, pods=(*CLUSTER.pods, a_pod("shell", owner=None, node="old-1")))


def plan(*argv: str, cluster: Any = CLUSTER) -> Ran:
    return run_cli("drain", "plan", *argv, source=FakeSource(cluster))


def saved(folder: Path, *argv: str, cluster: Any = CLUSTER) -> str:
    ran = plan(*(argv or ("old-0", "old-1")), "-o", "json", cluster=cluster)
    path = folder / "base line.json"
    path.write_text(ran.out, encoding="utf-8")
    return str(path)


def since(ran: Ran) -> Any:
    return json.loads(ran.out)["since"]


def test_what_changed_since_the_baseline(tmp_path: Path) -> None:
    path = saved(tmp_path)
    ran = plan("old-0", "old-1", "--baseline", path, cluster=BLOCKED)
    assert ran.code == streams.FAILS
    assert "(the same time, base line.json)" in ran.out
    assert "old-1  ✓ drains  ✗ skipped  default/shell: " in ran.out
    assert ran.out.index("\nSINCE") < ran.out.index("BLOCKERS")
    assert ran.err.count("\n") == 1


def test_the_options_are_compared_and_the_baseline_is_one_of_them(tmp_path: Path) -> None:
    path = saved(tmp_path, "old-0")
    ran = plan("old-1", "--force", "--max-unavailable", "1", "--baseline", path, "-o", "json")
    assert json.loads(ran.out)["metadata"]["options"]["since"] == path
    assert since(ran)["asked"] == [
        {"option": "force", "earlier": False, "now": True},
        {"option": "max-unavailable", "earlier": None, "now": "1"},
        {"option": "nodes", "earlier": ["old-0"], "now": ["old-1"]},
    ]
    assert since(ran)["cluster"]["uid"] == "uid-1"


def test_the_commands_that_are_proposed_keep_the_baseline(tmp_path: Path) -> None:
    path = saved(tmp_path)
    assert f"old-0 old-1 --since '{path}' " in plan("old-0", "old-1", "--baseline", path, cluster=BLOCKED).out


def test_a_plan_of_another_cluster_is_refused_whatever_the_format(tmp_path: Path) -> None:
    path = saved(tmp_path, cluster=replace(CLUSTER, identity=replace(WHO, cluster="blog", uid="uid-2")))
    for fmt in ("table", "json", "name"):
        ran = plan("old-0", "--baseline", path, "-o", fmt)
        assert (ran.code, ran.out) == (streams.USAGE, "")
        assert f"error: the baseline {path} is of another cluster: it has cluster blog in account" in ran.err
        assert "this one has cluster shop" in ran.err


def test_a_cluster_that_may_be_another_is_said_on_stderr_and_in_the_answer(tmp_path: Path) -> None:
    elsewhere = a_cluster(nodes=[a_node("new-0"), a_roomy_node()])
    path = saved(tmp_path, "new-0", cluster=replace(elsewhere, identity=Identity(context="dev")))
    ran = plan("old-0", "--baseline", path)
    assert "note: it is unknown whether the baseline is of this cluster: " in ran.err
    assert "It is unknown whether both are about one cluster: " in ran.out
    assert since(plan("old-0", "--baseline", path, "-o", "json"))["sameCluster"] is None


def test_the_file_is_looked_at_before_the_cluster(tmp_path: Path) -> None:
    source = FakeSource(CLUSTER)
    ran = run_cli("drain", "plan", "old-0", "--baseline", str(tmp_path / "none.json"), source=source)
    assert ran.code == streams.USAGE
    assert "error: cannot read the earlier answer" in ran.err and "none.json: No such file or directory" in ran.err
    assert source.asked == []


def test_the_shell_that_empties_the_file_first_is_explained(tmp_path: Path) -> None:
    (tmp_path / "plan.json").touch()
    ran = plan("old-0", "--baseline", str(tmp_path / "plan.json"), "-o", "json")
    assert ran.code == streams.USAGE
    assert "is empty\nA shell empties the file it writes to" in ran.err


@pytest.mark.parametrize("words", [("--baseline", ""), ("--baseline=",), ("--baseline",), ("--baseline", "-")])
def test_a_baseline_needs_a_file(words: tuple[str, ...]) -> None:
    ran = plan("old-0", *words)
    assert (ran.code, ran.out) == (streams.USAGE, "")
    assert "--baseline" in ran.err


def test_hostile_words_of_a_baseline_stay_text(tmp_path: Path) -> None:
    """A saved plan is a file like any other: its content must not control a terminal or a browser."""
    document = json.loads(Path(saved(tmp_path, cluster=BLOCKED)).read_text(encoding="utf-8"))
    bad = "\x1b[2J<script>\ud800\u202e"
    for target in document["targets"]:
        target["name"] = target["name"] + bad
        target["why"] = [bad]
    for found in document["findings"]:
        found |= {"code": bad, "message": bad}
    document["metadata"] |= {"toolVersion": bad, "options": {bad: bad, "nodes": [bad]}}
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    for fmt in ("table", "wide", "markdown", "html", "json", "yaml"):
        ran = plan("old-0", "--baseline", str(path), "-o", fmt)
        assert ran.code == streams.CLEAN, ran.err
        assert not {"\x1b", "\u202e", "\ud800"} & set(ran.out + ran.err)
        assert fmt in ("json", "yaml", "table", "wide") or "<script>" not in ran.out


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key or position) in a document."""
    keys: Any = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    return [place for key in keys for place in ((node, key), *places(node[key]))]


def test_whatever_a_baseline_says_is_compared_or_refused(tmp_path: Path) -> None:
    """One of so many places of a saved plan gets another value: this never causes an internal error."""
    formats = itertools.cycle(("table", "json", "wide", "json", "yaml", "html", "json", "markdown"))
    document = json.loads(Path(saved(tmp_path, cluster=BLOCKED)).read_text(encoding="utf-8"))
    document = {
        key: document[key]
        for key in ("apiVersion", "kind", "metadata", "options", "targets", "budgets", "findings", "evictions", "left",
                    "waves", "rounds", "estimate", "lowerBound", "gap")
    }  # fmt: skip
    document["metadata"]["kindsRead"] = []
    path = tmp_path / "odd.json"
    seen = set()
    for holder, key in places(document)[::31]:
        kept = holder[key]
        for value in ("\ud800\x1b[2J", 10**9, "fail", ["a", ""], None, "", {"": 1}):
            holder[key] = value
            path.write_text(json.dumps(document), encoding="utf-8")
            fmt = next(formats)
            ran = plan("old-0", "--baseline", str(path), "-o", fmt)
            assert ran.code in (streams.CLEAN, streams.USAGE), ran.err
            assert "\x1b" not in ran.out + ran.err
            if fmt == "json" and ran.code == streams.CLEAN:
                assert judge("DrainPlan").is_valid(json.loads(ran.out)), (key, value)
            seen.add(ran.code)
        holder[key] = kept
    assert seen == {streams.CLEAN, streams.USAGE}
