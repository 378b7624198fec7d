"""Hooks of the static site for mkdocs: links to files outside docs/, and the anchors of GitHub."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Any

_LINK = re.compile(r"\]\((\.\./[^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: object) -> str:
    """Called by mkdocs: links out of docs/ point to the repository."""
    folder = PurePosixPath("docs", page.file.src_uri).parent

    def addressed(match: re.Match[str]) -> str:
        target = normpath(f"{folder}/{match[1]}")
        return match[0] if target.startswith("docs/") else f"]({config.repo_url}/blob/main/{target}{match[2] or ''})"

    return _LINK.sub(addressed, markdown)


def slug(heading: str, separator: str) -> str:
    """The anchor of a heading, as on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", separator)
