"""What each command asks AWS."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.questions import Question

_OF_INTERRUPTION = (
    questions.CALLER,
    questions.CLUSTER,
    questions.QUEUE_URL,
    questions.QUEUE_ATTRIBUTES,
    questions.RULES,
    questions.RULE_TARGETS,
    questions.KEY,
    questions.KEY_POLICY,
    questions.POD_IDENTITIES,
    questions.POD_IDENTITY,
    questions.ROLE,
    questions.ROLE_POLICIES,
    questions.ROLE_POLICY,
    questions.ATTACHED_POLICIES,
    questions.POLICY,
    questions.POLICY_VERSION,
    questions.METRICS,
    questions.SPOT_REQUESTS,
)

_OF_COREDNS = (
    questions.CALLER,
    questions.CLUSTER,
    questions.ADDON,
    questions.ADDON_VERSIONS,
    questions.ADDON_CONFIGURATION,
)
WISHES = tuple(f"coredns-lameduck {flag}" for flag in ("--set", "--place", "--autoscale"))
"""What is shown of a change to CoreDNS before it is applied, if it is."""

OF_FIX: Mapping[str, tuple[Question, ...]] = {
    "instance-options": (questions.MODIFY_METADATA,),
    "template-version": (
        questions.CREATE_TEMPLATE_VERSION,
        questions.UPDATE_NODE_GROUP,
        questions.UPDATE,
        questions.UPDATES,
    ),
}
"""What one fix of ``imds-probe --apply`` asks, and no other does."""

BY_COMMAND: Mapping[str, tuple[Question, ...]] = {
    "completion": (questions.CALLER, questions.CLUSTER, questions.ADDONS),
    "addon-diff": (
        questions.CALLER,
        questions.CLUSTER,
        questions.ADDONS,
        questions.ADDON,
        questions.ADDON_VERSIONS,
        questions.ADDON_CONFIGURATION,
    ),
    "addon-diff --after": (
        questions.CALLER,
        questions.CLUSTER,
        questions.ADDONS,
        questions.ADDON,
        questions.ADDON_CONFIGURATION,
        questions.UPDATES,
        questions.UPDATE,
    ),
    "addon-diff --apply": (questions.UPDATE_ADDON, questions.UPDATE, questions.UPDATES, questions.TARGET_HEALTH),
    "imds-probe": (
        questions.CALLER,
        questions.CLUSTER,
        questions.INSTANCES,
        questions.NODE_GROUP,
        questions.SCALING_GROUPS,
        questions.TEMPLATE_VERSIONS,
        questions.IMAGES,
        questions.METADATA_DEFAULTS,
        questions.POD_IDENTITIES,
    ),
    "coredns-lameduck": (
        *_OF_COREDNS,
        *_OF_INTERRUPTION,
    ),
    **dict.fromkeys(WISHES, _OF_COREDNS),
    "coredns-lameduck --apply": (*_OF_COREDNS, questions.UPDATE_ADDON, questions.UPDATE, questions.UPDATES),
    "interruption": _OF_INTERRUPTION,
    "imds-probe --active": (questions.CALLER, questions.CLUSTER, questions.INSTANCES),
    "imds-probe --apply": tuple(question for each in OF_FIX.values() for question in each),
}
"""The questions of each command that asks AWS, each with the IAM actions that it needs; those of a flag are
asked besides those of the command without it, but for `WHOLE`."""

WHOLE = frozenset((*WISHES, "addon-diff --after", "coredns-lameduck --apply", "imds-probe --active"))
"""They ask nothing but what is listed with them."""
