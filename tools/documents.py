"""Write the generated documents (parts of README.md and docs/, and all files from ``plugins.yaml``), or with --check
list the stale ones.

A block is between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``, an example as in `tools.examples`; docs/codes.md
and docs/reference.md are generated completely.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from tools import (
    codes_page,
    command_pages,
    deployment,
    examples,
    from_registry,
    registry,
    schemas,
    tables,
    transcript,
)

ROOT = Path(__file__).resolve().parents[1]

BLOCKS: Mapping[str, Callable[[], str]] = {
    "transcript": transcript.excerpt,
    "comparison": transcript.comparison,
    "snapshot": transcript.snapshot,
    "dump": tables.dump,
    "exit-codes": tables.exit_codes,
    "plugins": from_registry.table,
    "unreleased": partial(from_registry.unreleased, "en"),
    "unreleased-ko": partial(from_registry.unreleased, "ko"),
}

_BLOCK = re.compile(r"(<!-- begin ([a-z-]+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)


def filled(text: str) -> str:
    """`text` with the content of every block generated again.

    Raises:
        KeyError: a block with an unknown name.
        BadExample: an example that does not run.
    """
    text = from_registry.addressed(text, registry.read())
    named = _BLOCK.sub(lambda m: f"{m.group(1)}{BLOCKS[m.group(2)]()}{m.group(3)}", text)
    return examples.filled(named)


def written() -> list[Path]:
    """Pages that people write, some with generated parts."""
    pages = (page for page in sorted((ROOT / "docs").rglob("*.md")) if page != command_pages.PAGE)
    return [page for page in (ROOT / "README.md", *pages) if page.exists()]


def documents() -> dict[Path, str]:
    """Every document with generated parts, up to date."""
    made = {page: filled(page.read_text(encoding="utf-8")) for page in written()}
    return (
        made
        | {command_pages.PAGE: command_pages.page(), ROOT / "docs" / "codes.md": codes_page.page()}
        | from_registry.made()
        | schemas.made()
        | {deployment.PATH: deployment.check()}
    )


def main(argv: list[str]) -> int:
    stale = {
        path: text
        for path, text in documents().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    names = ", ".join(path.relative_to(ROOT).as_posix() for path in stale)
    if "--check" in argv:
        if stale:
            print(f"error: stale: {names}; run make docs", file=sys.stderr)
        return 1 if stale else 0
    for path, text in stale.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            path.chmod(0o755)
    print(f"written: {names}" if stale else "nothing to write")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
