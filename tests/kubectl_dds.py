"""The hostPaths that ``kubectl dds`` reports; it finds sockets by their names."""

from __future__ import annotations


def flagged_by_dds(path: str) -> bool:
    """Whether ``kubectl dds`` reports a hostPath: it looks for two names, and never at a folder."""
    return "docker.sock" in path or "dockershim.sock" in path
