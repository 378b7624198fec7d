"""What the user may not do is found out before anything is asked of them."""

from __future__ import annotations

from pathlib import Path

from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.model import kinds
from tests.cli.run.served import cordoned, machine
from tests.embedded.clients import worlds


def test_a_reader_is_told_all_that_is_missing_and_nothing_is_done(tmp_path: Path) -> None:
    api = worlds.api_of("small-traps")
    with serving(api) as server:
        words = ("drain", "run", "--nodegroup", "blue", "--yes", "--expect-nodes", "1")
        ran = machine(server, tmp_path / "reader", worlds.VIEWER_TOKEN).run(*words)
    assert ran.code == 3 and ran.out == ""
    said = next(line for line in ran.err.splitlines() if line.startswith("error: "))
    assert said == (
        "error: the cluster does not let you: patch nodes; create pods/eviction in namespace default; "
        "patch configmaps in namespace kube-system; create leases.coordination.k8s.io in namespace kube-system; "
        "update leases.coordination.k8s.io in namespace kube-system; create configmaps in namespace kube-system"
    )
    assert "Nothing was done." in ran.err and "It cannot do without these rights" in ran.err
    assert cordoned(api) == set()
    assert api.now(lambda plane: [*plane.store.list("configmaps"), *plane.store.list(kinds.LEASES.full_name)]) == []
