"""The finding codes of the active probe of the metadata service; with `codes` they are the one registry of the tool."""

from __future__ import annotations

from kubectl_eksdoc.core.model.codes import Code

MEASURED = Code(
    "imds-measured",
    "What a pod measured that asked the instance metadata service",
    "A pod on a network of its own asked for a token and with it for the id of its instance, beside one on the network "
    "of its node. It fails where no token came or nothing was answered, and is unknown where the pod did not run.",
)
LEFT = Code(
    "imds-probe-left",
    "Something that a probe made is still there",
    "The ConfigMap that owns a probe's pods could not be deleted, or the garbage collector has not taken the pods yet. "
    "They have ended by themselves at their deadline at the latest, and the next probe removes what is old.",
)

ALL: tuple[Code, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Code))
