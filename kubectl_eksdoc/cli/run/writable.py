"""Whether anything may be changed from this environment."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.errors import UsageError

READ_ONLY = "EKSDOC_READ_ONLY"

_OFF = ("", "0", "false", "no", "off")


def check_writable(environ: Mapping[str, str], what: str, instead: str = "drain plan and rehearse read only") -> None:
    """`instead`: what reads only, a clause.

    Raises:
        UsageError: the environment refuses every change.
    """
    if environ.get(READ_ONLY, "").strip().lower() not in _OFF:
        raise UsageError(
            f"{what} changes the cluster, and {READ_ONLY} is set in the environment",
            f"Unset {READ_ONLY} for this command if you mean it; {instead}.",
        )
