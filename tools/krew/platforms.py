"""The machines with an archive, and the wheels that fit them."""

from __future__ import annotations

import re
from dataclasses import dataclass

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")


@dataclass(frozen=True, slots=True)
class Libc:
    """`asked`: the platform that pip is asked for; `named`: the tag in the names of their files."""

    asked: str
    named: str


@dataclass(frozen=True, slots=True)
class Machine:
    """As Go and krew name it. `libcs`: each has its own compiled modules, side by side."""

    os: str
    arch: str
    libcs: tuple[Libc, ...]

    @property
    def name(self) -> str:
        return f"{self.os}_{self.arch}"


MACHINES: tuple[Machine, ...] = (
    Machine(
        "linux",
        "amd64",
        (Libc("manylinux_2_28_x86_64", "manylinux.*_x86_64"), Libc("musllinux_1_2_x86_64", "musllinux.*_x86_64")),
    ),
    Machine(
        "linux",
        "arm64",
        (Libc("manylinux_2_28_aarch64", "manylinux.*_aarch64"), Libc("musllinux_1_2_aarch64", "musllinux.*_aarch64")),
    ),
    Machine("darwin", "amd64", (Libc("macosx_11_0_x86_64", "macosx.*_(x86_64|universal2)"),)),
    Machine("darwin", "arm64", (Libc("macosx_11_0_arm64", "macosx.*_(arm64|universal2)"),)),
)


def fits(wheel: str, python: str, libc: Libc) -> bool:
    """Whether a wheel with that file name fits that CPython on that machine."""
    cp = f"cp{python.replace('.', '')}"
    return re.search(rf"-{cp}-{cp}-{libc.named}\.whl$", wheel) is not None
