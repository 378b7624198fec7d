"""The exit codes: an interface for scripts, and the table in the README is made from it."""

from __future__ import annotations

CLEAN = 0
FAILS = 1
USAGE = 2
CLUSTER = 3
AWS = 4
UNKNOWN = 5
STOPPED = 6
DRIFTED = 7
BUG = 70
INTERRUPTED = 130

MEANINGS: dict[int, str] = {
    CLEAN: "clean: all in scope was judged, nothing fails",
    FAILS: "findings that fail: something blocks the drain",
    USAGE: "the command line, a selector, a target, a dump or a baseline is wrong, or the answer cannot be written",
    CLUSTER: "the cluster refused or cannot be reached",
    AWS: "AWS refused or cannot be reached, or it is not AWS's side of this cluster",
    UNKNOWN: "nothing fails, but something in scope is unknown; `--accept-unknown CODE,…` names what may be",
    STOPPED: (
        "a run stopped before its end, or did not drain every node: resume it, or roll it back; an "
        "add-on update failed, or is still running"
    ),
    DRIFTED: "the cluster is not as in the plan that was read, or the expectation is wrong; nothing was done",
    BUG: "a bug in this tool",
    INTERRUPTED: "interrupted",
}
