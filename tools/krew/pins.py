"""The packages in an archive: those that constraints.txt pins for run time, for the oldest Python.

One lib serves every Python, so where a package has dropped the oldest one, its last version for that Python is used.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

OLDEST = (3, 10)

_PIN = re.compile(
    r"(?P<name>[a-z0-9-]+)==(?P<version>[0-9][0-9a-z.]*)"
    r"(?:; python_version (?P<than><|>=) \"3\.(?P<minor>[0-9]+)\")?"
)
_BEGIN = "# At run time"


class Pin(NamedTuple):
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


def pins(constraints: str) -> tuple[Pin, ...]:
    """The lines below ``# At run time``, up to the next blank one.

    Raises:
        ValueError: an invalid line, or no such lines.
    """
    lines = constraints.splitlines()
    if _BEGIN not in lines:
        raise ValueError(f"constraints.txt has no {_BEGIN!r}")
    found = []
    for line in lines[lines.index(_BEGIN) + 1 :]:
        if not line:
            break
        match = _PIN.fullmatch(line)
        if match is None:
            raise ValueError(f"constraints.txt has a line that is not understood: {line}")
        if match["than"] is None or (OLDEST[1] < int(match["minor"])) == (match["than"] == "<"):
            found.append(Pin(match["name"], match["version"]))
    return tuple(found)


def of_file(root: Path) -> tuple[Pin, ...]:
    return pins((root / "constraints.txt").read_text(encoding="utf-8"))
