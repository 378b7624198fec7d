"""The finding codes of measuring DNS from pods; with `codes` they are the one registry of the tool."""

from __future__ import annotations

from kubectl_eksdoc.core.model.codes import Code

LOST = Code(
    "dns-answers-lost",
    "Answers that clients of DNS did not get",
    "Short-lived pods, one in each zone, asked the DNS service at a steady rate over UDP and TCP. A question counts as "
    "lost that had no answer within the timeout, was refused at once, or was answered with a failure. What is asked of "
    "a pod's own address after it left the service is expected to be lost, and does not count.",
)
LATE = Code(
    "dns-answers-late",
    "Answers of DNS that came after more than a second",
    "They are answers, but applications notice: a resolver asks again after 5 s, and many clients have given up.",
)
ENDPOINT = Code(
    "dns-endpoint-silent",
    "A CoreDNS pod that serves does not answer",
    "A pod that was not told to end, asked at its own address, lost answers: its node, a network policy or the pod "
    "itself is at fault, whatever its readiness says.",
)
NOT_MEASURED = Code(
    "dns-not-measured",
    "A part of DNS that was not measured",
    "A zone without a node that can run a pod, a pod that did not run, seconds in which the asker was too busy to ask "
    "on time, or a rollout or an eviction that did not happen: nothing is known of it.",
)
LEFT = Code(
    "dns-measure-left",
    "Something that a measurement of DNS made is still there",
    "The ConfigMap that owns its pods could not be deleted, or the garbage collector has not taken the pods yet. They "
    "end by themselves at their deadline at the latest, and the next measurement removes what is old.",
)

ALL: tuple[Code, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Code))
