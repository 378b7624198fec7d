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
    "addon-diff --after": (questions.UPDATES, questions.UPDATE),
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
        questions.ADDON,
        questions.ADDON_VERSIONS,
        questions.ADDON_CONFIGURATION,
        *_OF_INTERRUPTION,
    ),
    "coredns-lameduck --apply": (questions.UPDATE_ADDON, questions.UPDATE, questions.UPDATES),
    "interruption": _OF_INTERRUPTION,
    "imds-probe --apply": (
        questions.MODIFY_METADATA,
        questions.CREATE_TEMPLATE_VERSION,
        questions.UPDATE_NODE_GROUP,
        questions.UPDATE,
        questions.UPDATES,
    ),
}
"""The questions of each command that asks AWS, each with the IAM actions that it needs; ``--apply`` asks those of
the command without it as well."""
