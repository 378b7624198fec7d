"""The checksums of the wheels in archives, and of the wheels that pip chooses on the same machines: a file for ``pip
install --require-hashes``. ``make lock`` writes it; after a change of constraints.txt, review its diff."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.krew.pins import Pin, of_file

ROOT = Path(__file__).resolve().parents[2]
PATH = Path(__file__).with_name("requirements.txt")
Lock = Mapping[str, frozenset[str]]
"""The checksums of its wheels, by the text of a pin."""

_HEAD = (
    "# pip install --require-hashes -r requirements.txt: CPython 3.10 to 3.15 on Linux and macOS, amd64 and arm64.\n"
    "# A checksum for each wheel; the archives for krew are made of these. Written by `make lock`.\n"
)
_ENTRY = re.compile(r"^(?P<pin>[a-z0-9-]+==\S+) \\\n(?P<hashes>(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M)


def parsed(text: str) -> Lock:
    return {entry["pin"]: frozenset(re.findall("[0-9a-f]{64}", entry["hashes"])) for entry in _ENTRY.finditer(text)}


def read(path: Path = PATH) -> Lock:
    return parsed(path.read_text(encoding="utf-8"))


def rendered(wheels: Mapping[Pin, Iterable[Path]]) -> str:
    return _HEAD + "".join(f"{pin} {_hashes(paths)}\n" for pin, paths in wheels.items())


def _hashes(paths: Iterable[Path]) -> str:
    return " ".join(f"\\\n    --hash=sha256:{each}" for each in sorted({sha256(path) for path in paths}))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> int:
    from tools.krew.platforms import MACHINES
    from tools.krew.wheels import COMPILED, EITHER_WAY, Unfetched, Wheels

    wheels = Wheels(ROOT / "build" / "krew" / "wheels", locked=None)
    pins = of_file(ROOT)
    try:
        wheels.fetch_pure(pins)
        found = {pin: wheels.every(pin, MACHINES, (COMPILED, *EITHER_WAY)) for pin in pins}
    except Unfetched as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    PATH.write_text(rendered(found), encoding="utf-8")
    print(f"written: {PATH.relative_to(ROOT)}, {sum(map(len, found.values()))} wheels of {len(found)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
