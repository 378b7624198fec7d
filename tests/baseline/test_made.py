"""An answer that was just computed from facts read earlier counts as an earlier one; its objects identify the
cluster."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.baseline.changes import message_pattern, outline_of
from kubectl_eksdoc.baseline.side import SnapshotOrigin, saved_result
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import NODES, PODS, KindRead, ReadState
from tests.builders import a_budget, a_cluster, a_node

FOUND = Finding(Code.of_areas("drain")[0], Severity.HIGH, Status.FAIL, Subject("Node", "old-0"), "it is so")
OF = SnapshotOrigin("old.eksdoc", "1.2.3", {"hops": 2})


def test_it_says_what_was_read_and_found_then() -> None:
    reads = (KindRead(NODES, ReadState.READ, 1), KindRead(PODS, ReadState.FORBIDDEN, detail="missing right"))
    cluster = replace(a_cluster(nodes=[a_node("old-0")], budgets=[a_budget("web")]), reads=reads)
    made = saved_result(OF, cluster, [FOUND], [replace(FOUND, message="it is not meant")])
    assert (made.file, made.tool_version, made.options) == ("old.eksdoc", "1.2.3", {"hops": 2})
    assert (made.identity, made.source, made.observed_at) == (cluster.identity, cluster.source, cluster.observed_at)
    assert made.read == {"nodes"}
    assert made.findings == (outline_of(FOUND),) and [each.message for each in made.suppressed] == ["it is not meant"]
    assert made.uids == {cluster.nodes[0].uid, cluster.budgets[0].uid}


def test_what_neither_of_two_sources_holds_is_the_same() -> None:
    assert message_pattern("the snapshot /a/b.eksdoc holds no log of web-1") == message_pattern(
        "the demo holds no log of web-2"
    )
    assert message_pattern("the demolition of 3") != message_pattern("the source of 3")
