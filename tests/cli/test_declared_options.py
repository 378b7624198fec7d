"""Each option is declared once, and all code gets it from that declaration."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.cli.declared_options import given_options
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.drain.command import options as run_options
from kubectl_eksdoc.drain.command import plan as drain
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.plan import option_args
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.options import (
    DeclaredOption,
    declared_options,
    default_flag_values,
    flag_values,
    json_values,
    merge_pairs,
)

EVERY = [(kind, each) for kind in (DrainPolicy, RunLimits) for each in declared_options(kind)]


def parser() -> Parser:
    made = Parser(prog="drain run")
    drain.add_policy(made)
    run_options.add_limits(made)
    run_options.add_between_waves(made)
    return made


@pytest.mark.parametrize("kind", [DrainPolicy, RunLimits])
def test_every_field_is_an_option(kind: type) -> None:
    assert [each.name for each in declared_options(kind)] == [each.name for each in fields(kind)]
    assert all(each.default is not MISSING for each in declared_options(kind))


def test_flags_and_json_names_are_unique() -> None:
    assert len({each.option.flag for _, each in EVERY}) == len(EVERY)
    assert len({each.json for _, each in EVERY}) == len(EVERY)


def test_the_parser_knows_every_flag_and_what_is_not_given_stays_as_it_is() -> None:
    made = parser()
    assert {each.option.flag for _, each in EVERY} <= made.long_flags()
    assert drain.policy_from(made.parse_args([])) == DrainPolicy()
    assert given_options(RunLimits, made.parse_args([])) == {}


@pytest.mark.parametrize("each", [each for _, each in EVERY], ids=lambda each: each.option.flag)
def test_what_parses_a_flag_is_there(each: DeclaredOption) -> None:
    kind = each.option.kind
    assert kind.switch or kind.choices or not kind.parser or callable(getattr(values, kind.parser))
    assert kind.switch == (not each.option.metavar)


CHANGED = DrainPolicy(
    ignore_daemonsets=False,
    delete_emptydir_data=True,
    grace_seconds=30,
    partial=True,
    cordon_skipped=False,
    wait_jobs=90,
    delete_past_budget=frozenset({"a/x", "b/y"}),
    accept_unknown=frozenset({"pod-emptydir"}),
    assume_budgets=(("shop/cart", 2),),
    surge=0,
    soft_budget=25,
    evictions_per_second=0.5,
    order="light",
    pins=(("n-1", 2),),
    effort=0,
)


def test_its_words_say_it_again() -> None:
    made = parser()
    words = [
        f"{word}=true" if word in made.flags_without_value() else word for word in option_args(flag_values(CHANGED))
    ]
    assert drain.policy_from(made.parse_args(words)) == CHANGED


def test_what_is_given_is_what_differs_and_what_is_always_said() -> None:
    assert flag_values(DrainPolicy()) == default_flag_values(DrainPolicy) and flag_values(RunLimits()) == {}
    assert flag_values(RunLimits(not_ready=0, ready_s=0.0)) == {"stop-not-ready": "0", "no-wait-ready": True}
    assert flag_values(CHANGED).keys() > default_flag_values(DrainPolicy).keys()


def test_in_json_every_option_has_its_name() -> None:
    found = json_values(CHANGED)
    assert len(found) == len(declared_options(DrainPolicy))
    assert found["waitJobsSeconds"] == 90 and found["surge"] == 0 and found["podSelector"] is None
    assert found["assumeBudgets"] == [{"budget": "shop/cart", "away": 2}]
    assert found["pins"] == [{"node": "n-1", "wave": 2}]


def test_a_flag_that_says_two_things_contradicts_itself() -> None:
    assert merge_pairs("--pin", [("a", 1), ("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    with pytest.raises(UsageError, match="--pin contradicts itself: 1 and 2 for a"):
        merge_pairs("--pin", [("a", 1), ("a", 2)])
    with pytest.raises(UsageError, match="--pin contradicts itself"):
        drain.policy_from(parser().parse_args(["--pin", "a=1", "--pin", "a=2"]))
