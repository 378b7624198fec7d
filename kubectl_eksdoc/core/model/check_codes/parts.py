"""Codes that say that the answer of another command could not be had; what it finds has that command's own codes."""

from __future__ import annotations

from kubectl_eksdoc.core.model.codes import Code


def _part(name: str, command: str) -> Code:
    return Code(
        f"check-{name}",
        f"What `{command}` would say",
        "Its findings stand in the answer of `check` as they are. With this code it is said that they could not be "
        "had, and why.",
    )


DRAIN = _part("drain", "drain plan")
ADDONS = _part("addons", "addon-diff")
IMDS = _part("imds", "imds-probe")
DNS = _part("dns", "coredns-lameduck")
INTERRUPTION = _part("interruption", "interruption")

WHOLES = (DRAIN, ADDONS, IMDS, DNS, INTERRUPTION)
