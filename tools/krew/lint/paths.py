"""Paths as Go's path/filepath cleans and compares them on Unix."""

from __future__ import annotations


def clean(path: str) -> str:
    """filepath.Clean: the shortest path of the same meaning; "" is "."."""
    rooted = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif parts and parts[-1] != "..":
            parts.pop()
        elif not rooted:
            parts.append(part)
    return ("/" if rooted else "") + "/".join(parts) or "."


def below(path: str) -> str:
    """`path` joined to a folder, as a path below that folder, "" for the folder itself; it may begin with ``..``."""
    joined = clean(f"./{path}")
    return "" if joined == "." else joined


def inside(path: str) -> bool:
    """pathutil.IsSubPath for a result of `below`: any name that begins with two dots counts as outside."""
    return not path.startswith("..")


def folders_of(path: str) -> list[str]:
    """The folders above it, from the top: ``a`` and ``a/b`` of ``a/b/c``."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]
