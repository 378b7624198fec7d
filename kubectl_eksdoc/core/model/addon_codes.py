"""The finding codes of add-on updates; with `codes` they are the one registry of the tool."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

FIELD_RESET = Code(
    "addon-field-reset",
    "The update overwrites a field that somebody has set",
    "EKS applies the add-on's chart as field manager eks: with OVERWRITE it takes the field and writes its value. A "
    "field that it has named so far and names no more is removed, whoever gave it its value.",
)
FIELD_CONFLICT = Code(
    "addon-field-conflict",
    "The update ends in a conflict",
    "With NONE, EKS does not touch a field that somebody else has: the update fails, and its message names the fields.",
)
FIELD_KEPT = Code(
    "addon-field-kept",
    "The update leaves a field as somebody has set it",
    "With PRESERVE, EKS leaves a conflicting field to whoever has it. No document says how exactly, and what the new "
    "version wants there is not set either.",
)
FIELD_UNKNOWN = Code(
    "addon-field-unknown",
    "It is not known what the update does to a field",
    "Somebody has set it, and neither the add-on's chart nor its schema nor the owners of the live field tell what EKS "
    "applies there.",
)
OWNERSHIP_GROWS = Code(
    "addon-ownership-grows",
    "EKS takes over a field that it has not had so far",
    "The target version's schema has a field that nobody but a person owns today: what was safe in every update before "
    "is not safe in this one.",
)
VALUES_DROPPED = Code(
    "addon-values-dropped",
    "The update takes configuration values away",
    "Configuration values are replaced as a whole: a key that the new ones lack goes back to its default. '{}' takes "
    "all of them away.",
)
VALUES_REFUSED = Code(
    "addon-values-refused",
    "Configuration values do not fit the target version's schema",
    "EKS refuses an update whose values, new or kept, are not what the schema of that version allows.",
)
VERSION_UNFIT = Code(
    "addon-version-unfit",
    "The target version is not one to update to from here",
    "EKS offers each version for some Kubernetes versions; vpc-cni is updated one minor version at a time. The default "
    "version may be older than the one that is installed.",
)
NOT_ACTIVE = Code(
    "addon-not-active",
    "The add-on is not in order",
    "EKS says that it is being updated, or that something is wrong with it; the conflict of an update that failed is "
    "named there.",
)
OTHER_WRITER = Code(
    "addon-other-writer",
    "Another tool writes to the add-on's objects",
    "Terraform, Helm or a GitOps controller has fields of them and will write them again: it and EKS overwrite each "
    "other.",
)
PODS_ASTRAY = Code(
    "addon-pods-astray",
    "Pods run with the security groups of their node instead of their own",
    "They started while vpc-cni gave no branch interfaces (ENABLE_POD_ENI false), and keep the address and the "
    "security groups of their node until they are made anew.",
)
COREFILE = Code(
    "addon-corefile-refused",
    "The CoreDNS of the target version would not start with its Corefile",
    "A plugin or an option that a version no longer has ends CoreDNS at its start (proxy, upstream, "
    "resyncperiod). The pods of the update crash, and those that run keep their old Corefile until they end.",
)
OBJECT_UNREAD = Code(
    "addon-object-unread",
    "An object of the add-on was not read",
    "Without the live object and its managedFields nobody can say what an update changes in it.",
    (kinds.DAEMON_SETS, kinds.DEPLOYMENTS),
)
TERRAFORM_REMOVES = Code(
    "addon-terraform-removes",
    "A Terraform plan takes an add-on away",
    "Without preserve = true in Terraform's state, EKS deletes the add-on's objects with it. A replacement deletes "
    "them before it makes them anew, without what people had set in them. What is forgotten is declared nowhere "
    "any more.",
)
TERRAFORM_TAKES_OVER = Code(
    "addon-terraform-takes-over",
    "A Terraform plan makes an add-on of what lives in the cluster already",
    "EKS applies its chart to the objects of a self-managed add-on: with OVERWRITE it takes every field; otherwise a "
    "conflict ends the creation, the resource is tainted, and the next apply deletes the objects and makes them anew.",
)
TERRAFORM_CLASH = Code(
    "addon-terraform-clash",
    "A Terraform plan asks for what EKS refuses, or for the same twice",
    "An add-on that EKS manages already cannot be created, one that it does not manage cannot be updated, and two "
    "resources of the same add-on undo each other.",
)
TERRAFORM_UNKNOWN = Code(
    "addon-terraform-unknown",
    "A Terraform plan does not say all of it",
    "A version, values, a mode or a cluster that is known after apply only cannot be judged before; planning that "
    "ended with errors, or that leaves changes to a later plan, says only a part. It does not say what another role "
    "allows, what resources of another kind ask for, or which add-ons EKS offers after the cluster's own upgrade.",
)

ALL: tuple[Code, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Code))
