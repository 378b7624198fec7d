"""Print what krew would refuse in a manifest and its archives: ``python -m tools.krew.lint.command FILE``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.findings import Status
from tools.krew.lint.archives import read_archive
from tools.krew.lint.judging import KrewLint, judged
from tools.krew.lint.reading import read_manifest

_SIGNS = {Status.FAIL: "✗", Status.PASS: "!", Status.UNKNOWN: "?"}


def lint(manifest: str, archives: Sequence[str]) -> KrewLint:
    """The findings of a manifest and its archives.

    Raises:
        UsageError: a file cannot be read.
    """
    return judged(read_manifest(manifest), os.path.basename(manifest), [read_archive(path) for path in archives])


def page(found: KrewLint) -> Iterator[str]:
    failing = sum(each.status is Status.FAIL for each in found.findings)
    verdict = f"krew refuses it, or it does not work: {failing} findings" if failing else "krew accepts it"
    yield f"{found.manifest.name} {found.manifest.version}: {verdict}"
    for each in found.findings:
        remedies = "; ".join(remedy.text for remedy in each.remedy)
        yield f"  {_SIGNS[each.status]} {each.subject}: {each.message}"
        yield f"    {', '.join(each.evidence)}"
        yield f"    → {remedies}"
    for number in found.unchecked:
        yield f"  ? platform {number}: its archive was not checked; pass it with --archive"


def main(argv: Sequence[str]) -> int:
    """0: krew accepts it, 1: it does not, 2: a file cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m tools.krew.lint.command", description=__doc__)
    parser.add_argument("manifest", metavar="FILE", help="the manifest of a plugin")
    parser.add_argument("--archive", action="append", default=[], metavar="FILE", help="an archive that it names")
    args = parser.parse_args(argv)
    try:
        found = lint(args.manifest, args.archive)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(page(found)))
    return int(found.fails)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
