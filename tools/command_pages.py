"""docs/reference.md: each command with its flags and exit codes, from the parser that takes it."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from kubectl_eksdoc.cli.main import tree
from kubectl_eksdoc.cli.parser import Formatter, Parser
from tools import tables
from tools.registry import ROOT
from tools.tables import code

PAGE = ROOT / "docs" / "reference.md"
GUIDES: Mapping[str, tuple[str, ...]] = {
    "drain plan": ("drain-plan.md",),
    "drain run": ("drain-run.md", "in-cluster.md"),
    "drain status": ("drain-run.md", "screens.md"),
    "drain pause": ("drain-run.md",),
    "drain abort": ("drain-run.md",),
    "drain resume": ("drain-run.md",),
    "drain rollback": ("drain-run.md",),
    "rehearse": ("rehearse.md",),
    "check": ("check.md", "fleet.md", "in-cluster.md"),
    "addon-diff": ("addon-diff.md", "fleet.md"),
    "imds-probe": ("imds-probe.md", "fleet.md"),
    "coredns-lameduck": ("coredns-lameduck.md",),
    "interruption": ("interruption.md",),
    "snapshot": ("snapshot.md",),
}
"""The pages about a command."""

_SAME = {"drain rehearse": "rehearse"}
_HEAD = """\
# Reference

<!-- Generated from the parser by `make docs`. -->

Every command, its flags and its exit codes. The permissions of a command with its flags: `kubectl eksdoc permissions
COMMAND`, which also prints what is unknown without each. [Exit codes](#exit-codes) · [global flags](#global-flags).
"""


def page() -> str:
    """The page, as it should be."""
    leaves = [(name, each) for name, each in _leaves(tree(), ()) if name not in _SAME]
    count = Counter(line for _, each in leaves for line in _lines(each._actions))
    shared = [line for line, times in count.items() if times > 2]
    commands = (_section(name, each, shared) for name, each in leaves)
    both = f"## Shared flags\n\nOf three commands and more.\n\n{''.join(shared)}"
    accepted = "`--accept-unknown CODE,…` accepts named [codes](codes.md) as unknown."
    exits = f"## Exit codes\n\n{tables.exit_codes()}\n{accepted}"
    refused = f"Flags of kubectl that are refused:\n\n{tables.refused_flags()}"
    return (
        "\n".join((_HEAD, *commands, both, f"## Global flags\n\n{tables.flags()}", refused, "", exits)).rstrip() + "\n"
    )


def _leaves(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[tuple[str, Parser]]:
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below and isinstance(parser, Parser):
        yield " ".join(words), parser
    for action in below:
        for name, child in action.choices.items():
            yield from _leaves(child, (*words, name))


def _section(name: str, parser: Parser, shared: Collection[str]) -> str:
    about = _text(parser.description, parser).partition("\nExamples:\n")[0]
    links = "".join(f" [{page.removesuffix('.md')}]({page})" for page in GUIDES.get(name, ()))
    more = f"Guide:{links}.\n" if links else ""
    ends = _text(parser.epilog, parser).partition("\nGlobal flags")[0].strip()
    parts = [f"## {name}\n", f"{about.strip()} {more}".strip() + "\n", f"`{_text(parser.usage, parser).strip()}`\n"]
    return "\n".join((*parts, *_flags(parser, shared), *([f"{ends}\n"] if ends else [])))


def _text(text: str | None, parser: Parser) -> str:
    return (text or "").replace("%(prog)s", parser.prog).replace("%%", "%")


def _flags(parser: Parser, shared: Collection[str]) -> Iterator[str]:
    """A list for each group of the help; flags that other commands have too are named only."""
    for group in parser._action_groups:
        lines = _lines(group._group_actions)
        own = "".join(line for line in lines if line not in shared)
        named = ", ".join(line[2:].partition(":")[0] for line in lines if line in shared)
        if lines:
            also = f"- [shared](#shared-flags): {named}\n" if named else ""
            yield f"{'Other flags' if group.title == 'options' else group.title or ''}:\n\n{own}{also}"


def _lines(actions: Iterable[argparse.Action]) -> list[str]:
    shown = Formatter("")
    flags = (action for action in actions if action.option_strings and action.help is not argparse.SUPPRESS)
    return [f"- {code(shown._format_action_invocation(flag))}: {_help(flag)}\n" for flag in flags]


def _help(action: argparse.Action) -> str:
    return " ".join((action.help or "").replace("%%", "%").split()).replace("%(default)s", str(action.default))
