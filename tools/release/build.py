"""The last step of ``make release``: the source archive, the wheel, and the descriptions of the release, with
checksums.

The archives for krew exist already (``tools.krew.build``), as their checksums are in the manifests of the source
archive.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from tools import registry
from tools.krew import lock
from tools.krew.pins import of_file
from tools.krew.platforms import MACHINES
from tools.krew.wheels import Unfetched, Wheels
from tools.release import sources
from tools.release.prepare import CHANGELOG, ROOT, Refused, section, version_of
from tools.release.sbom import sbom

SUMS = "SHA256SUMS"

_NEXT = """\
{into} has what is to be published of {tag}.

Next:
  1. Read what changed here:      git diff
  2. Commit it, and have the checks pass:
                                  git commit -am "Release {tag}"
  3. Tag that commit, sign it:    git tag -s {tag} -m "kubectl eksdoc {tag}"
  4. Push both:                   git push origin HEAD {tag}
     The workflow "release" builds the tag again, fails where its checksums are not those of the manifests,
     attests and publishes. By hand: the files of {into} are the assets of the release {tag}, with NOTES.md as its
     text, and `twine upload {into}/*.whl {into}/kubectl_eksdoc-*.tar.gz` publishes the package.
"""
_NO_OWNER = """\
The owner is a placeholder: give OWNER=NAME (user or organization on GitHub) before you publish.
"""


def built(root: Path, into: Path, wheels: Wheels) -> None:
    """Write all but the archives for krew into `into`, and the checksums of all files there.

    Raises:
        Refused, Unfetched: a file is missing; the message says which.
    """
    version = version_of(root)
    date, changes = section((root / CHANGELOG).read_text(encoding="utf-8"), version)
    epoch_s = int(datetime.fromisoformat(date).replace(tzinfo=timezone.utc).timestamp())
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        for package in sources.packages(root, epoch_s, Path(work)):
            shutil.copyfile(package, into / package.name)
    used = {pin: wheels.every(pin, MACHINES) for pin in of_file(root)}
    (into / f"kubectl-eksdoc_v{version}.cdx.json").write_text(sbom(version, date, used), encoding="utf-8")
    shutil.copyfile(root / lock.PATH.relative_to(lock.ROOT), into / "requirements.txt")
    for manifest in sorted((root / "plugins").glob("*.yaml")):
        shutil.copyfile(manifest, into / manifest.name)
    (into / "NOTES.md").write_text(changes, encoding="utf-8")
    names = sorted(path.name for path in into.iterdir() if path.is_file() and path.name != SUMS)
    (into / SUMS).write_text("".join(f"{lock.sha256(into / name)}  {name}\n" for name in names), encoding="utf-8")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.release.build", description="Build what is published.")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="where archives for krew are; default: dist")
    args = parser.parse_args(argv)
    try:
        built(ROOT, args.into, Wheels(ROOT / "build" / "krew" / "wheels", locked=lock.read()))
        tag = f"v{version_of(ROOT)}"
    except (Refused, Unfetched) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print((args.into / SUMS).read_text(encoding="utf-8"))
    print(_NEXT.format(into=args.into, tag=tag), end="")
    if registry.read().owner == registry.PLACEHOLDER:
        print(_NO_OWNER, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
