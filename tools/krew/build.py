"""``make krew``: an archive for each machine, held to krew's rules, and its checksum."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.rules.krew.unpacking import of_archive
from kubectl_eksdoc.host.krew.archive import read_archive
from tools.krew.contents import NotPure
from tools.krew.packing import packed
from tools.krew.platforms import MACHINES, Machine
from tools.krew.tree import LAUNCHER, ROOT, Clash, of_machine
from tools.krew.wheels import Unfetched, Wheels

MOST_BYTES = 12_000_000


class Refused(Exception):
    """The archive is none that could be handed out; the message says why."""


def archive_name(machine: Machine, version: str = __version__) -> str:
    return f"kubectl-eksdoc_v{version}_{machine.name}.tar.gz"


def built(machine: Machine, wheels: Wheels, into: Path) -> tuple[Path, str]:
    """The archive of that machine, and its checksum.

    Raises:
        Refused: it is too large, or breaks a rule of krew.
        Unfetched, NotPure, Clash, ValueError: as `of_machine`.
    """
    content = packed(of_machine(machine, wheels), LAUNCHER)
    path = into / archive_name(machine)
    path.write_bytes(content)
    if len(content) > MOST_BYTES:
        raise Refused(f"{path.name} has {len(content):,} bytes, and may have {MOST_BYTES:,}")
    archive = read_archive(str(path))
    broken = next(of_archive(archive), None)
    if broken is not None:
        raise Refused(f"{path.name} is none for krew: {broken.what}")
    return path, archive.sha256


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.krew.build", description="Build the archives for krew.")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="where archives go; default: dist")
    parser.add_argument("--wheels", type=Path, default=ROOT / "build" / "krew" / "wheels", help="where wheels are kept")
    args = parser.parse_args(argv)
    args.into.mkdir(parents=True, exist_ok=True)
    wheels = Wheels(args.wheels)
    try:
        for machine in MACHINES:
            path, sha256 = built(machine, wheels, args.into)
            print(f"{sha256}  {path.name}  {path.stat().st_size:,} bytes")
    except (Refused, Unfetched, NotPure, Clash, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
