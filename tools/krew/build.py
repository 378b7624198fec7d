"""``make krew``: an archive for each machine and a manifest for each plugin, checked by krew's rules."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tools import from_registry, registry
from tools.krew import lock
from tools.krew.contents import NotPure
from tools.krew.lint.archives import read_archive
from tools.krew.lint.command import lint, page
from tools.krew.lint.unpacking import of_archive
from tools.krew.packing import packed
from tools.krew.platforms import MACHINES, Machine
from tools.krew.tree import ENTRY, LAUNCHER, ROOT, Clash, of_entry, of_machine
from tools.krew.wheels import Unfetched, Wheels

MOST_BYTES = 12_000_000


class Refused(Exception):
    """The archive must not be published; the message says why."""


def archive_name(machine: Machine) -> str:
    return registry.read().archive_of(from_registry.VERSION, registry.Platform(machine.os, machine.arch))


def entry_archive(into: Path) -> tuple[Path, str]:
    """The archive of the plugins that stand for one command, and its checksum. Raises Refused: it breaks a rule of
    krew."""
    known = registry.read()
    (name,) = {known.archive_of(from_registry.VERSION, each, known.plugins[1]) for each in known.platforms}
    return _written(into / name, packed(of_entry(), ENTRY))


def built(machine: Machine, wheels: Wheels, into: Path) -> tuple[Path, str]:
    """The archive of that machine, and its checksum.

    Raises:
        Refused: it is too large, or breaks a rule of krew.
        Unfetched, NotPure, Clash, ValueError: as `of_machine`.
    """
    return _written(into / archive_name(machine), packed(of_machine(machine, wheels), LAUNCHER))


def _written(path: Path, content: bytes) -> tuple[Path, str]:
    path.write_bytes(content)
    if len(content) > MOST_BYTES:
        raise Refused(f"{path.name} has {len(content):,} bytes, and may have {MOST_BYTES:,}")
    archive = read_archive(str(path))
    broken = next(of_archive(archive), None)
    if broken is not None:
        raise Refused(f"{path.name} is none for krew: {broken.what}")
    return path, archive.sha256


def indexed(archives: Mapping[str, str], into: Path) -> Iterator[Path]:
    """Write the manifest of each plugin, checked by krew's rules together with `archives`, checksums by path.

    Raises:
        Refused: krew would refuse one of them.
    """
    into.mkdir(parents=True, exist_ok=True)
    known = registry.read()
    version = from_registry.VERSION
    by_name = {Path(path).name: sha256 for path, sha256 in archives.items()}
    for plugin in known.plugins:
        if plugin.krew:
            names = {known.uri_of(version, p, plugin): known.archive_of(version, p, plugin) for p in known.platforms}
            uris = {uri: by_name[name] for uri, name in names.items()}
            path = into / f"{plugin.name}.yaml"
            path.write_text(from_registry.manifest(plugin, known, uris), encoding="utf-8")
            _lint(path, [archive for archive in archives if Path(archive).name in names.values()])
            yield path


def _lint(path: Path, archives: Iterable[str]) -> None:
    found = lint(str(path), tuple(archives))
    if found.fails:
        raise Refused("\n".join(page(found)))


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.krew.build", description="Build the archives for krew.")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="where archives go; default: dist")
    parser.add_argument("--index", type=Path, default=from_registry.INDEX, help="where manifests go; default: plugins")
    parser.add_argument("--wheels", type=Path, default=ROOT / "build" / "krew" / "wheels", help="where wheels are kept")
    args = parser.parse_args(argv)
    args.into.mkdir(parents=True, exist_ok=True)
    wheels = Wheels(args.wheels, locked=lock.read())
    archives: dict[str, str] = {}
    try:
        made = (*(built(machine, wheels, args.into) for machine in MACHINES), entry_archive(args.into))
        for path, sha256 in made:
            print(f"{sha256}  {path.name}  {path.stat().st_size:,} bytes")
            archives[str(path)] = sha256
        for written in indexed(archives, args.index):
            print(f"{written}: krew takes it")
    except (Refused, Unfetched, NotPure, Clash, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
