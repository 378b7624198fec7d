"""The finding codes of the instance metadata service; with `codes` they are the one registry of the tool."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

PODS_BROKEN = Code(
    "imds-pods-broken",
    "Pods fail now because they do not reach the instance metadata service",
    "Their log has a line that AWS SDKs or known controllers print without it, and on their node a pod on a network of "
    "its own gets no token, or nobody can tell.",
)
PODS_WILL_BREAK = Code(
    "imds-pods-will-break",
    "Pods fail at their next start, or on the next node",
    "A program that is known to ask the instance metadata service for its region, its VPC or credentials has been "
    "given none of them otherwise, and is cut off from it, or will be on the next node.",
)
PODS_POSSIBLE = Code(
    "imds-pods-possible",
    "It is not known whether pods need the instance metadata service",
    "A known program has a network of its own, is cut off or will be, and what it was given otherwise is not known. "
    "Pods that have no role of their own (IRSA, EKS Pod Identity, access keys) and of which nothing says that they "
    "call AWS are counted, and pass.",
)
NEXT_DIFFERS = Code(
    "imds-next-differs",
    "The next node answers pods otherwise than those that run",
    "What makes the nodes was changed since they were made, or they were changed by hand: the next scale-up or update "
    "brings nodes with another verdict for pods.",
)
TOKENS_REQUIRED = Code(
    "imds-tokens-required",
    "The next node answers no request without a token (IMDSv1)",
    "HttpTokens is optional on the nodes that run and required on the next ones. Which programs still speak IMDSv1 "
    "cannot be seen from outside; CloudWatch counts their requests (MetadataNoToken).",
)
SUCCESSOR = Code(
    "imds-successor",
    "Pods would lose the instance metadata service on the AL2023 group that comes after this one",
    "The node group has AMIs of AL2, of which there are none from Kubernetes 1.33 on. EKS gives nodes of AL2023 a hop "
    "limit of 1 and requires IMDSv2, if no launch template says otherwise.",
)
LAUNCH_REFUSED = Code(
    "imds-launch-refused",
    "EC2 would not launch the next node",
    "The account enforces IMDSv2 at launch (HttpTokensEnforced), and what makes the nodes leaves the tokens optional: "
    "EC2 refuses the launch, so that a node which ends is not replaced.",
)
NODES_UNKNOWN = Code(
    "imds-nodes-unknown",
    "It is not known whether pods of some nodes reach the instance metadata service",
    "The instance, or what makes the next one, could not be read, was changed a moment ago, or says nothing.",
)
ROLES_UNKNOWN = Code(
    "imds-roles-unknown",
    "It is not known which service accounts have a role by EKS Pod Identity",
    "Pods that got theirs when they started are recognised all the same, by their environment.",
)
PODS_UNREAD = Code(
    "imds-pods-unread",
    "Pods could not be looked into",
    "A pod that crashes on a node that is cut off may do so for another reason: its log tells. Whether a known program "
    "was given what it looks for is told by its arguments.",
    (kinds.PODS,),
)

ALL: tuple[Code, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Code))
