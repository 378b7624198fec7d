"""What was asked for once, asked for again: by the options of a saved plan, or by the words that a journal has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kubectl_eksdoc.cli import drain
from kubectl_eksdoc.cli.parser import Parser, spelled_out, strays
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.drain.comparison.comparing import ORDER
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.render.drain.plan import option_words
from kubectl_eksdoc.wiring.runs import Hooks

BESIDE = ("since", "baseline")


def words_of(options: Mapping[str, object]) -> tuple[str, ...]:
    """A command line that plans the same on any machine: files are left out, the run has their order in its journal."""
    return tuple(option_words({key: value for key, value in options.items() if key not in (ORDER, *BESIDE)}))


class RecordedRunOptions(NamedTuple):
    """What somebody has asked for."""

    targeting: Targeting
    policy: DrainPolicy
    limits: RunLimits
    hooks: Hooks


def asked_again(words: Sequence[str], whose: str) -> RecordedRunOptions:
    """
    Raises:
        UsageError: another version wrote them; `whose` they are is said.
    """
    parser = Parser(prog="drain plan")
    parser.set_defaults(leaf=parser)
    drain.add_targeting(parser)
    drain.add_policy(parser)
    run_options.add_limits(parser)
    run_options.add_between_waves(parser)
    try:
        args, extras = parser.parse_known_args(spelled_out(words, parser.bare()))
        targeting = drain.targeting_from(args, strays(extras, parser))
        policy = drain.policy_from(args)
        return RecordedRunOptions(targeting, policy, run_options.limits_from(args), run_options.hooks_from(args))
    except UsageError as error:
        hint = "It was made by another version of this tool. Plan again with this one."
        raise UsageError(f"what {whose} was asked for is not understood: {error.message}", hint) from error


def of_saved(options: Mapping[str, object], file: str) -> tuple[Targeting, DrainPolicy]:
    """What a saved plan was asked for, the nodes of its order's file included. Raises: as `asked_again`."""
    targeting, policy, _, _ = asked_again(words_of(options), f"the plan {file}")
    if policy.assume_budgets or policy.assume_fixed:
        raise UsageError(f"the plan {file} assumes fixes that are not made (--assume-…): it cannot be run")
    order = options.get(ORDER)
    if isinstance(order, list):
        policy = replace(policy, order_nodes=tuple(str(node) for node in order))
    return targeting, policy
