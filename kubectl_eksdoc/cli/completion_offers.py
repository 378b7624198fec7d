"""Completions at the cursor, and their output format for kubectl and shells."""

from __future__ import annotations

import re
from dataclasses import replace

from kubectl_eksdoc.frozen import frozen

FILES = 0
"""Directive: where there are no completions, the shell offers files."""


NO_SPACE = 2


NO_FILES = 4


_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters that end a line or control the terminal, and surrogates."""


_MAX_ABOUT = 100


@frozen
class Completion:
    """`about` is a short description, or ""."""

    value: str
    about: str = ""


@frozen
class Completions:
    """`directive` is a sum of the bits above."""

    items: tuple[Completion, ...] = ()
    directive: int = NO_FILES

    def with_prefix(self, partial: str) -> Completions:
        """Those that start with the typed text, each once."""
        matching = {each.value: each for each in self.items if each.value.startswith(partial)}
        return replace(self, items=tuple(matching.values()))


NO_COMPLETIONS = Completions()


FILE_COMPLETIONS = Completions(directive=FILES)


def format_completions(completions: Completions) -> str:
    """The answer for stdout; a value that cannot be in a line is left out."""
    lines = []
    for item in completions.items:
        if item.value and not _UNPRINTABLE.search(item.value):
            about = " ".join(_UNPRINTABLE.sub(" ", item.about).split())
            shown = about if len(about) <= _MAX_ABOUT else f"{about[: _MAX_ABOUT - 1]}…"
            lines.append(f"{item.value}\t{shown}\n" if shown else f"{item.value}\n")
    return "".join((*lines, f":{completions.directive}\n"))
