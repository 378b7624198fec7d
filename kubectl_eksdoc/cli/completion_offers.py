"""Completions at the cursor, and their output format for kubectl and shells."""

from __future__ import annotations

import re
from dataclasses import replace

from kubectl_eksdoc.frozen import frozen

FILES = 0
"""Directive: where there are no completions, the shell offers files."""


NO_SPACE = 2


NO_FILES = 4


_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters that end a line or control the terminal, and surrogates."""


_LONGEST = 100


@frozen
class Offer:
    """`about` is a short description, or ""."""

    value: str
    about: str = ""


@frozen
class Offers:
    """`directive` is a sum of the bits above."""

    offers: tuple[Offer, ...] = ()
    directive: int = NO_FILES

    def beginning(self, partial: str) -> Offers:
        """Those that start with the typed text, each once."""
        found = {each.value: each for each in self.offers if each.value.startswith(partial)}
        return replace(self, offers=tuple(found.values()))


NOTHING = Offers()


FILE_NAMES = Offers(directive=FILES)


def written(offers: Offers) -> str:
    """The answer for stdout; a value that cannot be in a line is left out."""
    lines = []
    for each in offers.offers:
        if each.value and not _UNFIT.search(each.value):
            about = " ".join(_UNFIT.sub(" ", each.about).split())
            shown = about if len(about) <= _LONGEST else f"{about[: _LONGEST - 1]}…"
            lines.append(f"{each.value}\t{shown}\n" if shown else f"{each.value}\n")
    return "".join((*lines, f":{offers.directive}\n"))
