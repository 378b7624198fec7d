"""docs/reference.md: each command with its flags and exit codes, from its parser."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from kubectl_eksdoc.cli.flags import REFUSED_FLAGS, SUPPORTED_FLAGS
from kubectl_eksdoc.cli.main import command_parser
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

_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z-])")
_SAME = {"drain rehearse": "rehearse"}
_BRIEF = ("completion", "plugins")
"""Commands whose subcommands get one line each: their flags are the global ones."""
_HEAD = """\
# Reference

<!-- Generated from the parser by `make docs`. -->

Every command, its flags and its exit codes. `kubectl eksdoc COMMAND --help` prints one command with examples;
`kubectl eksdoc permissions COMMAND` prints its permissions. [Shared flags](#shared-flags) · [global
flags](#global-flags) · [exit codes](#exit-codes).
"""


def page() -> str:
    """The up-to-date page."""
    leaves = [(name, each) for name, each in _leaves(command_parser(), ()) if name not in _SAME and each.usage]
    count = Counter(line for _, each in leaves for line in _lines(each._actions))
    shared = [line for line, times in count.items() if times > 1]
    brief = [(name, each) for name, each in leaves if name.split()[0] in _BRIEF]
    commands = [_section(name, each, shared) for name, each in leaves if name.split()[0] not in _BRIEF]
    small = "".join(f"- `{name}`: {_about(each)}\n" for name, each in brief)
    both = f"## Shared flags\n\nFlags of more than one command.\n\n{''.join(shared)}"
    exits = f"## Exit codes\n\n{tables.exit_codes()}"
    parts = (_HEAD, *commands, f"## Completion and plugins\n\n{small}", both, _global(), exits)
    return "\n".join(parts).rstrip() + "\n"


def _global() -> str:
    """kubectl's flags by name, as kubectl documents them; ours with their description."""
    theirs = ", ".join(code(flag.long) for flag in SUPPORTED_FLAGS if not flag.is_own)
    ours = "".join(f"- {code(flag.help_name)}: {flag.about}\n" for flag in SUPPORTED_FLAGS if flag.is_own)
    refused = ", ".join(code(name) for names in REFUSED_FLAGS for name in names.split())
    return (
        "## Global flags\n\nBefore or after the command. `kubectl eksdoc options` describes each, and the reason for "
        f"each that is refused.\n\nAs in kubectl: {theirs}.\n\n{ours}\nRefused: {refused}.\n"
    )


def _leaves(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[tuple[str, Parser]]:
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below and isinstance(parser, Parser):
        yield " ".join(words), parser
    for action in below:
        for name, child in action.choices.items():
            yield from _leaves(child, (*words, name))


def _section(name: str, parser: Parser, shared: Collection[str]) -> str:
    links = ", ".join(f"[{page.removesuffix('.md')}]({page})" for page in GUIDES.get(name, ()))
    ends = _text(parser.epilog, parser).partition("\nGlobal flags")[0].strip()
    usage = _text(parser.usage, parser).strip()
    about = _about(parser)
    if links:  # the rest is in the guide
        first = _SENTENCE.split(about, maxsplit=1)[0]
        about = f"{first} See {links}."
    parts = [f"## {name}\n", f"{about}\n"]
    parts += [f"`{usage}`\n"] if usage != f"kubectl eksdoc {name} [flags]" else []
    return "\n".join((*parts, *_flags(parser, shared), *([f"{ends}\n"] if ends else [])))


def _about(parser: Parser) -> str:
    return _text(parser.description, parser).partition("\nExamples:\n")[0].strip()


def _text(text: str | None, parser: Parser) -> str:
    return (text or "").replace("%(prog)s", parser.prog).replace("%%", "%")


def _flags(parser: Parser, shared: Collection[str]) -> Iterator[str]:
    """A list for each group of the help; flags of other commands too are only named, in one sentence."""
    named: list[str] = []
    for group in parser._action_groups:
        lines = _lines(group._group_actions)
        own = "".join(line for line in lines if line not in shared)
        named += [_long(line) for line in lines if line in shared]
        if own:
            yield f"{'Flags' if group.title == 'options' else group.title or ''}:\n\n{own}"
    if named:
        yield f"[Shared flags](#shared-flags): {', '.join(named)}.\n"


def _long(line: str) -> str:
    """The first long name in a line of the list."""
    found = re.search(r"--[a-z-]+", line)
    return code(found[0]) if found else ""


def _lines(actions: Iterable[argparse.Action]) -> list[str]:
    shown = Formatter("")
    flags = (action for action in actions if action.option_strings and action.help is not argparse.SUPPRESS)
    return [f"- {code(shown._format_action_invocation(flag))}: {_help(flag)}\n" for flag in flags]


def _help(action: argparse.Action) -> str:
    return " ".join((action.help or "").replace("%%", "%").split()).replace("%(default)s", str(action.default))
