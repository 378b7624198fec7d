"""The finding codes of changing CoreDNS; with `codes` they are the one registry of the tool."""

from __future__ import annotations

from kubectl_eksdoc.core.model.codes import Code

TWO_STEPS = Code(
    "dns-change-two-steps",
    "Pods of CoreDNS leave with the lameduck of before",
    "A change of where CoreDNS runs replaces its pods at once; a new Corefile is taken up within minutes. In one call, "
    "the pods that leave still have the old one.",
)
NOT_TAKEN_UP = Code(
    "dns-change-not-taken-up",
    "Pods of CoreDNS run another Corefile than the one that was set",
    "They have not looked yet, refused it and go on with the old one, or have no plugin reload, so that only a restart "
    "takes it up.",
)

ALL: tuple[Code, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Code))
