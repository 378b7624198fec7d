"""The first step of ``make release``: write the version, the owner and the changelog's section into the sources.

The version is in ``kubectl_eksdoc/__init__.py`` and the owner in ``plugins.yaml``; ``make docs`` copies both into all
other files, except for the name of the image in the program, which is in the archives that are built before. A second
run with the same values changes nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import date as Date
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION_FILE = "kubectl_eksdoc/__init__.py"
OWNER_FILE = "plugins.yaml"
IMAGE_FILE = "kubectl_eksdoc/in_cluster/command.py"
CHANGELOG = "CHANGELOG.md"

_VERSION = re.compile(r'(?<=^__version__ = ")[^"]*(?="$)', re.MULTILINE)
_OWNER = re.compile(r"(?<=^  owner: )\S+$", re.MULTILINE)
_IMAGE = re.compile(r"(?<=\bghcr\.io/)[\w-]+(?=/kubectl-eksdoc\b)")
_IS_VERSION = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)((a|b|rc)[0-9]+)?")
_IS_OWNER = re.compile(r"[A-Za-z0-9](-?[A-Za-z0-9]){0,38}")
_SECTION = re.compile(
    r"^## \[(?P<version>[^]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?\n(?P<text>.*?)(?=^## \[|\Z)", re.M | re.S
)


class Refused(Exception):
    """There is no release; the message says why."""


def version_of(root: Path) -> str:
    """Raises Refused: there is none."""
    found = _VERSION.search((root / VERSION_FILE).read_text(encoding="utf-8"))
    if found is None:
        raise Refused(f"{VERSION_FILE} has no __version__")
    return found[0]


def with_version(text: str, version: str) -> str:
    """Raises Refused: pip and krew do not both read it as the same version."""
    if not _IS_VERSION.fullmatch(version):
        raise Refused(f"VERSION={version} is not a version: write it as 1.2.3 or 1.2.3rc1")
    return _VERSION.sub(version, text)


def with_owner(text: str, owner: str) -> str:
    """Raises Refused: it is not a valid name of GitHub."""
    if not _IS_OWNER.fullmatch(owner):
        raise Refused(f"OWNER={owner} is not the name of a user or organization of GitHub")
    return _OWNER.sub(owner, text)


def with_image(text: str, owner: str) -> str:
    """Image names are in lower case."""
    return _IMAGE.sub(owner.lower(), text)


def with_section(changelog: str, version: str, date: str) -> str:
    """With the unreleased changes under a heading of their own; unchanged, where there is such a section.

    Raises:
        Refused: there are no unreleased changes, the section has another date, or `date` is invalid.
    """
    if date and not _is_date(date):
        raise Refused(f"DATE={date} is not a date: write it as 2026-12-01")
    sections = {each["version"]: each for each in _SECTION.finditer(changelog)}
    there = sections.get(version)
    if there is not None:
        if date not in ("", there["date"]):
            raise Refused(f"{CHANGELOG} has {version} with the date {there['date']}, not {date}")
        return changelog
    unreleased = sections.get("Unreleased")
    if unreleased is None or not unreleased["text"].strip():
        raise Refused(f"{CHANGELOG} has nothing under [Unreleased] that {version} could release")
    dated = date or datetime.now(timezone.utc).date().isoformat()
    return changelog.replace("## [Unreleased]\n", f"## [Unreleased]\n\n## [{version}] - {dated}\n", 1)


def _is_date(text: str) -> bool:
    try:
        return Date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def section(changelog: str, version: str) -> tuple[str, str]:
    """The date and the text of the changes of a version.

    Raises:
        Refused: there is no such section, or it has no date.
    """
    for each in _SECTION.finditer(changelog):
        if each["version"] == version and each["date"]:
            return each["date"], each["text"].strip() + "\n"
    raise Refused(f"{CHANGELOG} has no section '## [{version}] - DATE'")


def prepared(root: Path, version: str, owner: str, date: str) -> list[str]:
    """Write the files; returns those that changed.

    Raises:
        Refused: a value is invalid, or there is nothing to release. Nothing was written.
    """
    version = version or version_of(root)
    names = (VERSION_FILE, OWNER_FILE, IMAGE_FILE, CHANGELOG)
    texts = {name: (root / name).read_text(encoding="utf-8") for name in names}
    new = {
        VERSION_FILE: with_version(texts[VERSION_FILE], version),
        OWNER_FILE: with_owner(texts[OWNER_FILE], owner) if owner else texts[OWNER_FILE],
        IMAGE_FILE: with_image(texts[IMAGE_FILE], owner) if owner else texts[IMAGE_FILE],
        CHANGELOG: with_section(texts[CHANGELOG], version, date),
    }
    changed = [name for name in texts if new[name] != texts[name]]
    for name in changed:
        (root / name).write_text(new[name], encoding="utf-8")
    return changed


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.release.prepare", description="Write version and owner.")
    parser.add_argument("--version", default="", help="default: that of kubectl_eksdoc/__init__.py")
    parser.add_argument("--owner", default="", help="user or organization on GitHub; default: that of plugins.yaml")
    parser.add_argument("--date", default="", help="of the changelog's section, YYYY-MM-DD; default: today in UTC")
    args = parser.parse_args(argv)
    try:
        changed = prepared(ROOT, args.version, args.owner, args.date)
    except Refused as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"changed: {', '.join(changed)}" if changed else "version, owner and changelog are as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
