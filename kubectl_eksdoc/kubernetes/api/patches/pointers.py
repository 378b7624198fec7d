"""JSON pointers (RFC 6901), as JSON patches use them.

Source: findObject and decodePatchKey in patch.go of github.com/evanphx/json-patch v4.13.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# No list has an entry that takes more than 18 digits to name.
_INDEX = re.compile(r"([+-]?)0*([0-9]{1,18})")


def steps(pointer: str) -> tuple[str, ...]:
    """The names and indices that `pointer` goes through; none where it points to the whole document.

    What stands before the first slash is not looked at, as the library does it; without a slash there is no step.
    """
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def pointer(steps: Sequence[str]) -> str:
    """The pointer that goes through `steps`."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def index(step: str, size: int) -> int | None:
    """The place that `step` names in a list of `size` entries, None where there is no such place.

    Negative ones count from the end, which RFC 6901 does not have and the library does.
    """
    found = _INDEX.fullmatch(step)
    if found is None:
        return None
    place = int(found[1] + found[2])
    if place < 0:
        place += size
    return place if 0 <= place < size else None
