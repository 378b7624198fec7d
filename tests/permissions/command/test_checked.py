"""``permissions --check``: the cluster's answers about the user's rights; a right without an answer is unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.cli.context import DrainRunEdges
from kubectl_eksdoc.errors import Forbidden, Unauthorized, Unreachable
from kubectl_eksdoc.kube.requests import ApiResponse, review_permissions
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.permissions import AccessReview, Permission
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.cli.running import Ran, document, run_cli
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.permissions.command.granted_users import Held, printed
from tests.permissions.command.served_users import Site


def checked(folder: Path, held: Sequence[Held], *words: str) -> Ran:
    plane: ControlPlane = worlds.plane_of("small-traps", None)
    with Site(plane).served() as site:
        token, who = site.comes(held)
        config = kubeconfigs.one(folder / "config", site.url(token), name="lab")
        ran = run_cli("permissions", *words, "--check", "--kubeconfig", config)
    assert who.asked == [], "it asks about rights, and uses none"
    return ran


def test_who_has_the_printed_role_has_all_of_it(tmp_path: Path) -> None:
    for at, command in enumerate(("drain run", "check", "imds-probe --active")):
        (folder := tmp_path / str(at)).mkdir()
        ran = checked(folder, printed(command), *command.split())
        assert ran.code == 0 and ran.out.startswith("You have all "), ran.out
        assert "context lab" in ran.err


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    lacking = ("create pods/eviction", "get /metrics", "update leases.coordination.k8s.io")
    held = [each for each in printed("drain run", "check") if each.said not in lacking]
    ran = checked(tmp_path, held, "drain", "run", "check")
    assert ran.code == 1 and "3 rights missing" in ran.out
    assert all(each in ran.out for each in lacking) and "list nodes" not in ran.out
    found = document(checked(tmp_path, held, "drain", "run", "check", "-o", "json").out, "PermissionCheck")
    assert found["missing"] == [
        "create pods/eviction",
        "update leases.coordination.k8s.io in namespace kube-system",
        "get /metrics",
    ]
    assert "list nodes" in checked(tmp_path, held, "drain", "run", "check", "-o", "wide").out


def test_a_right_in_another_namespace_is_none(tmp_path: Path) -> None:
    ran = checked(tmp_path, printed("drain run"), "drain", "run", "--journal-namespace", "ops")
    assert ran.code == 1 and "patch configmaps in namespace ops" in ran.out


class Answers:
    """A `Sender` that gives this answer to each question."""

    def __init__(self, answer: Callable[[dict[str, Any]], ApiResponse]) -> None:
        self.asked: list[dict[str, Any]] = []
        self._answer = answer

    def send(self, method: str, path: str, query: object, body: Any, content_type: str = "") -> ApiResponse:
        self.asked.append(body["spec"])
        return self._answer(body["spec"])


METRICS = Permission("get", Resource("", "/metrics", namespaced=False))
NODES, PODS = Permission("list", kinds.NODES), Permission("list", kinds.PODS)


def of(status: object) -> ApiResponse:
    return ApiResponse(ApiStatus(201), {"status": status})


def test_paths_are_asked_for_as_paths() -> None:
    asking = Answers(lambda _: of({"allowed": True}))
    assert [each.allowed for each in review_permissions(asking, [METRICS, NODES])] == [True, True]
    assert asking.asked[0] == {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}
    assert asking.asked[1] == {"resourceAttributes": {"verb": "list", "group": "", "resource": "nodes"}}


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (of({"allowed": False, "evaluationError": "webhook: timeout"}), "could not tell: webhook: timeout"),
        (of({}), "without a decision"),
        (of("yes"), "without a decision"),
        (of({"allowed": "yes"}), "without a decision"),
        (ApiResponse(ApiStatus(500, message="etcd"), {}), "answered 500 without a decision: etcd"),
        (ApiResponse(LostResponse("timeout"), {}), "no answer: timeout"),
    ],
)
def test_what_is_no_decision_is_unknown(sent: ApiResponse, why: str) -> None:
    answers = iter([of({"allowed": True}), sent])
    first, second, *rest = review_permissions(
        Answers(lambda _: next(answers, of({"allowed": False}))), [NODES, PODS, METRICS]
    )
    assert first.allowed is True and second.allowed is None and why in second.why
    assert [each.allowed for each in rest] == ([None] if not sent.code else [False])


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (ApiResponse(LostResponse("refused"), {}), Unreachable),
        (ApiResponse(ApiStatus(401, message="expired"), {}), Unauthorized),
        (ApiResponse(ApiStatus(403, message='User "eve" cannot create resource'), {}), Forbidden),
    ],
)
def test_who_may_not_even_ask_is_told(sent: ApiResponse, error: type[Exception]) -> None:
    with pytest.raises(error):
        review_permissions(Answers(lambda _: sent), [NODES, PODS])


def test_what_the_cluster_does_not_say_is_exit_code_5(tmp_path: Path) -> None:
    def silent(connection: object, asked: Sequence[Permission]) -> tuple[AccessReview, ...]:
        return tuple(AccessReview(each, None if each.verb == "watch" else True, "it is too busy") for each in asked)

    config = kubeconfigs.one(tmp_path / "config", "https://127.0.0.1:1", name="lab")
    edges = DrainRunEdges(review_permissions=silent)
    ran = run_cli("permissions", "drain", "run", "--check", "--kubeconfig", config, edges=edges)
    assert ran.code == 5 and "3 rights that the cluster does not report" in ran.out and "it is too busy" in ran.out
