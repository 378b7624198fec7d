"""What was asked for once, asked for again: by the options of a saved plan, or by the words that a journal has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.cli import drain_options
from kubectl_eksdoc.cli.parser import Parser, spelled_out, strays
from kubectl_eksdoc.core.plan.drain.comparison.comparing import ORDER
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.render.drain.invocation import option_words

BASELINE = "baseline"


def words_of(options: Mapping[str, object]) -> tuple[str, ...]:
    """A command line that plans the same on any machine: files are left out, the run has their order in its journal."""
    return tuple(option_words({key: value for key, value in options.items() if key not in (ORDER, BASELINE)}))


def asked_again(words: Sequence[str], whose: str) -> tuple[Targeting, DrainPolicy]:
    """
    Raises:
        UsageError: another version wrote them; `whose` they are is said.
    """
    parser = Parser(prog="drain plan")
    parser.set_defaults(leaf=parser)
    drain_options.add_targeting(parser)
    drain_options.add_policy(parser)
    try:
        args, extras = parser.parse_known_args(spelled_out(words, dict.fromkeys(parser.switches(), "true")))
        return drain_options.targeting_from(args, strays(extras, parser)), drain_options.policy_from(args)
    except UsageError as error:
        hint = "It was made by another version of this tool. Plan again with this one."
        raise UsageError(f"what {whose} was asked for is not understood: {error.message}", hint) from error


def of_saved(options: Mapping[str, object], file: str) -> tuple[Targeting, DrainPolicy]:
    """What a saved plan was asked for, the nodes of its order's file included. Raises: as `asked_again`."""
    targeting, policy = asked_again(words_of(options), f"the plan {file}")
    if policy.assume_budgets or policy.assume_fixed:
        raise UsageError(f"the plan {file} supposes what is not so (--assume-…): it is a what-if, and cannot be run")
    order = options.get(ORDER)
    if isinstance(order, list):
        policy = replace(policy, order_nodes=tuple(str(node) for node in order))
    return targeting, policy
