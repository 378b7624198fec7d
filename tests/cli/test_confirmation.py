"""The typed confirmation before any change, and the flags that replace it."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.cli.options import ConfirmationFlags, check_writable, confirm
from kubectl_eksdoc.errors import Drifted, UsageError
from kubectl_eksdoc.model.cluster import Identity

SHOP = Identity(cluster="shop", context="arn:aws:eks:eu-west-1:1:cluster/shop")


class Typist:
    def __init__(self, *types: str) -> None:
        self._types = list(types)
        self.asked: list[str] = []

    def __call__(self, question: str) -> str:
        self.asked.append(question)
        return f"{self._types.pop(0)}\n"


def test_name_and_number_are_typed_back() -> None:
    typist = Typist("shop 12")
    confirm(SHOP, 12, "drain", ConfirmationFlags(), typist)
    assert typist.asked == ["Type 'shop 12' to drain 12 nodes of shop, anything else to leave it: "]


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "yes",
        "shop 11",
        "Shop 12",
    ],
)
def test_anything_else_leaves_it(typed: str) -> None:
    with pytest.raises(UsageError, match="Nothing was done"):
        confirm(SHOP, 12, "drain", ConfirmationFlags(), Typist(typed))


def test_yes_needs_the_number() -> None:
    with pytest.raises(UsageError, match="--expect-nodes 12"):
        confirm(SHOP, 12, "drain", ConfirmationFlags(yes=True), Typist())
    confirm(SHOP, 12, "drain", ConfirmationFlags(yes=True, expected=12), Typist())


@pytest.mark.parametrize("yes", [True, False])
def test_a_wrong_expectation_is_refused_before_anything_is_asked(yes: bool) -> None:
    typist = Typist("shop 12")
    with pytest.raises(Drifted, match="--expect-nodes 11 is wrong: this would drain 12"):
        confirm(SHOP, 12, "drain", ConfirmationFlags(yes, 11), typist)
    assert typist.asked == []


def test_a_pod_that_is_deleted_past_its_budget_is_typed_back_whatever_is_said() -> None:
    typist = Typist("data/postgres-0")
    confirm(SHOP, 1, "drain", ConfirmationFlags(yes=True, expected=1), typist, extra_words=["data/postgres-0"])
    asked = "Type 'data/postgres-0' to delete data/postgres-0 past its budget, anything else to leave it: "
    assert typist.asked == [asked]
    with pytest.raises(UsageError):
        confirm(
            SHOP, 1, "drain", ConfirmationFlags(yes=True, expected=1), Typist("shop 1"), extra_words=["data/postgres-0"]
        )


def test_a_cluster_without_a_name_is_confirmed_by_its_number() -> None:
    confirm(Identity(), 3, "drain", ConfirmationFlags(), Typist("3"))
    with pytest.raises(UsageError):
        confirm(Identity(), 3, "drain", ConfirmationFlags(), Typist(""))


@pytest.mark.parametrize("value", ["1", "anything"])
def test_read_only_refuses_every_change(value: str) -> None:
    with pytest.raises(UsageError, match="EKSDOC_READ_ONLY is set"):
        check_writable({"EKSDOC_READ_ONLY": value}, "drain run")


@pytest.mark.parametrize("environ", [{}, {"EKSDOC_READ_ONLY": ""}, {"EKSDOC_READ_ONLY": "0"}])
def test_without_it_nothing_is_refused(environ: dict[str, str]) -> None:
    check_writable(environ, "drain run")
