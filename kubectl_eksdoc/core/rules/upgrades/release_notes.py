"""The warnings of EKS' and Kubernetes' release notes, 1.21 to 1.36, as data.

Source, if none is named: EKS user guide, kubernetes-versions-standard and -extended, with their history. Those of 1.34
and newer were read on one page each (confidence: medium).
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.confidence import Confidence
from kubectl_eksdoc.core.model.versions import Version
from kubectl_eksdoc.core.rules.upgrades.gotchas import About, Concern, Gotcha, When
from kubectl_eksdoc.core.rules.upgrades.sourced import Source

_PLANE, _NODES, _GROUPS = When.CONTROL_PLANE, When.NODES, When.NEW_GROUPS
_ALL = Concern(About.EVERYBODY)


def _note(
    id: str, minor: int, when: When, what: str, do: str, *concerns: Concern, source: Source | None = None
) -> Gotcha:
    sure = Confidence.MEDIUM if minor >= 34 else Confidence.HIGH
    where = source or Source(f"EKS user guide, release notes of 1.{minor}", sure)
    return Gotcha(id, Version(1, minor), when, what, do, concerns or (_ALL,), where)


def _about(about: About, *names: str) -> Concern:
    return Concern(about, names)


RELEASE_NOTES = (
    _note(
        "bound-tokens",
        21,
        _PLANE,
        "Tokens of service accounts end after an hour and are renewed on disk (EKS accepts them for 90 days): clients"
        " that read the file once are refused later.",
        "Update the Kubernetes clients of your workloads, and look for stale tokens in the audit log.",
        _about(About.CLIENT, "client-go < 0.15.7", "Java client < 9.0.0", "Python client < 12.0.0"),
        source=Source("EKS user guide, service-accounts (clients that reload their token)"),
    ),
    _note(
        "beta-removals-1.22",
        22,
        _PLANE,
        "Most v1beta1 APIs end: Ingress, CustomResourceDefinition, webhooks, RBAC and others.",
        "See the removed APIs of 1.22.",
        _about(About.KIND, "Ingress.networking.k8s.io", "CustomResourceDefinition.apiextensions.k8s.io"),
    ),
    _note(
        "windows-vpc-controllers",
        22,
        _PLANE,
        "The old Windows VPC controllers (webhook and resource controller) do not work with 1.22.",
        "Enable Windows support in the control plane instead, and remove them.",
        _about(About.AMI, "Windows"),
        _about(About.IMAGE, "eks/vpc-resource-controller", "eks/vpc-admission-webhook"),
    ),
    _note(
        "csi-migration",
        23,
        _PLANE,
        "In-tree EBS volumes are served by the EBS CSI driver: without it volumes cannot be made, attached or resized.",
        "Install aws-ebs-csi-driver before.",
        _about(About.FIELD, "PersistentVolume spec.awsElasticBlockStore", "StorageClass kubernetes.io/aws-ebs"),
        _about(About.SOFTWARE, "aws-ebs-csi-driver"),
    ),
    _note(
        "dockershim",
        24,
        _NODES,
        "Docker is gone from nodes, containerd is the only runtime: its socket is missing, flags of the bootstrap"
        " script that chose a runtime fail, and container logs have another format.",
        "Look for pods that mount the socket, and remove the flags.",
        _about(About.FIELD, "Pod spec.volumes[*].hostPath"),
        _about(About.NODE_FLAG, "--container-runtime", "--docker-config-json", "--enable-docker-bridge"),
    ),
    _note(
        "beta-apis-off",
        24,
        _PLANE,
        "New beta APIs are not served unless they are enabled, which EKS does not do; those of before stay.",
        "Use none that came later than 1.23.",
    ),
    _note(
        "kubelet-serving-certificates",
        24,
        _PLANE,
        "No serving certificate is issued for a kubelet with a name or address that cannot be verified: kubectl exec"
        " and logs then fail there.",
        "Check the DHCP options of the VPC and the names of nodes of your own.",
        _about(About.KIND, "CertificateSigningRequest.certificates.k8s.io"),
    ),
    _note(
        "fluentd-container-insights",
        24,
        _NODES,
        "Fluentd as set up for Container Insights cannot read containerd's logs.",
        "Move to Fluent Bit before.",
        _about(About.IMAGE, "fluent/fluentd-kubernetes-daemonset"),
        _about(About.SOFTWARE, "Fluent Bit for Container Insights"),
    ),
    _note(
        "neuron-device-plugin",
        24,
        _NODES,
        "Inferentia and Trainium need the Neuron device plugin 1.9.3.0 or newer.",
        "Update it before.",
        _about(About.INSTANCE, "inf", "trn"),
        _about(About.IMAGE, "neuron/neuron-device-plugin"),
    ),
    _note(
        "loopback-ipv6",
        24,
        _NODES,
        "Containers have the IPv6 loopback address, and localhost may mean it.",
        "Test pods whose containers talk to each other by localhost.",
    ),
    _note(
        "pod-security-policy",
        25,
        _PLANE,
        "PodSecurityPolicy is gone: what it refused or changed is admitted as it is.",
        "Move to Pod Security Admission or a policy engine before.",
        _about(About.KIND, "PodSecurityPolicy.policy"),
    ),
    _note(
        "apf-lists",
        25,
        _PLANE,
        "API Priority and Fairness counts large LIST requests for more: clients that list much may get 429.",
        "Let controllers watch instead, or give them a FlowSchema of their own.",
        _about(About.CLIENT, "controllers that list large collections often"),
    ),
    _note(
        "p2-instances",
        25,
        _NODES,
        "P2 instances are not supported: they need an NVIDIA driver that the AMI does not have.",
        "Move to another type before.",
        _about(About.INSTANCE, "p2."),
    ),
    _note(
        "aws-auth-braces",
        25,
        _PLANE,
        "A value in aws-auth that begins with a curly brace and has no quotes is not read any more.",
        'Put "{{…}}" in quotes.',
        _about(About.CONFIG, "kube-system/aws-auth"),
    ),
    _note(
        "coredns-wildcards",
        25,
        _PLANE,
        "CoreDNS 1.9 answers NXDOMAIN to wildcard queries (any, *).",
        "Look for clients that ask so.",
        _about(About.SOFTWARE, "coredns"),
    ),
    _note(
        "vpc-cni-1.12",
        26,
        _PLANE,
        "vpc-cni older than 1.12 crashes.",
        "Update it before.",
        _about(About.SOFTWARE, "vpc-cni"),
    ),
    _note(
        "containerd-1.6",
        26,
        _NODES,
        "Kubelets need CRI v1: containerd 1.6 or newer.",
        "Rebuild AMIs of your own; those of EKS have it.",
        _about(About.AMI, "unknown", "Ubuntu"),
    ),
    _note(
        "seccomp-annotations",
        27,
        _PLANE,
        "The alpha annotations for seccomp mean nothing any more: pods that rely on them run unconfined.",
        "Use securityContext.seccompProfile.",
        _about(
            About.ANNOTATION,
            "seccomp.security.alpha.kubernetes.io/pod",
            "container.seccomp.security.alpha.kubernetes.io/",
        ),
    ),
    _note(
        "container-runtime-flag",
        27,
        _NODES,
        "The kubelet has no --container-runtime flag any more and does not start with it.",
        "Remove it from user data and from --kubelet-extra-args.",
        _about(About.NODE_FLAG, "--container-runtime"),
    ),
    _note(
        "legacy-tokens",
        29,
        _PLANE,
        "Secrets with tokens that Kubernetes once made for service accounts are marked and later removed if unused.",
        "Look for the label kubernetes.io/legacy-token-invalid-since; make a Secret of your own where one is needed.",
        _about(About.FIELD, "Secret type=kubernetes.io/service-account-token"),
    ),
    _note(
        "al2023-default",
        30,
        _GROUPS,
        "A managed node group that is made without an amiType gets AL2023; groups that are there keep theirs.",
        "Name the amiType, or prepare for AL2023: cgroup v2, IMDSv2 with one hop, nodeadm, vpc-cni 1.16.2.",
        _about(About.AMI, "AL2", "AL2023"),
    ),
    _note(
        "gp2-not-default",
        30,
        _PLANE,
        "The StorageClass gp2 of a new cluster is not the default one any more: claims without a class stay pending.",
        "Mark a class as default, in what makes clusters too.",
        _about(About.KIND, "StorageClass.storage.k8s.io"),
    ),
    _note(
        "describe-availability-zones",
        30,
        _PLANE,
        "The cluster's role needs ec2:DescribeAvailabilityZones, for the label topology.k8s.aws/zone-id.",
        "Check the policies of a role of your own; AmazonEKSClusterPolicy has it.",
        _about(About.IAM, "ec2:DescribeAvailabilityZones"),
    ),
    _note(
        "keep-terminated-pod-volumes",
        31,
        _NODES,
        "The kubelet has no --keep-terminated-pod-volumes flag any more.",
        "Remove it from user data.",
        _about(About.NODE_FLAG, "--keep-terminated-pod-volumes"),
    ),
    _note(
        "anonymous-requests",
        32,
        _PLANE,
        "Requests without credentials are answered only at /healthz, /livez and /readyz; elsewhere 401.",
        "Look for bindings to system:unauthenticated and system:anonymous.",
        _about(About.FIELD, "ClusterRoleBinding subjects[*].name", "RoleBinding subjects[*].name"),
    ),
    _note(
        "al2-last",
        32,
        _NODES,
        "1.32 is the last version with AMIs of Amazon Linux 2.",
        "Make groups of AL2023 or Bottlerocket.",
        _about(About.AMI, "AL2"),
    ),
    _note(
        "al2-none",
        33,
        _NODES,
        "There is no AMI of Amazon Linux 2 for 1.33: such groups cannot be updated.",
        "Make groups of AL2023 or Bottlerocket.",
        _about(About.AMI, "AL2"),
    ),
    _note(
        "endpoints-deprecated",
        33,
        _PLANE,
        "The Endpoints API is deprecated: it is served, with a warning.",
        "Let clients use EndpointSlices.",
        _about(About.KIND, "Endpoints"),
    ),
    _note(
        "containerd-2.1",
        34,
        _NODES,
        "AMIs have containerd 2.1: settings and clients of 1.x may not fit.",
        "Test images of old formats, and what talks to containerd's socket.",
        _about(About.FIELD, "Pod spec.volumes[*].hostPath"),
    ),
    _note(
        "apparmor-deprecated",
        34,
        _NODES,
        "AppArmor is deprecated on EKS.",
        "Plan to use seccomp or Pod Security Standards.",
        _about(About.FIELD, "Pod spec.securityContext.appArmorProfile"),
        _about(About.ANNOTATION, "container.apparmor.security.beta.kubernetes.io/"),
    ),
    _note(
        "cgroup-v1",
        35,
        _NODES,
        "Kubelets do not start with cgroup v1 (failCgroupV1); those of Bottlerocket and Fargate do.",
        "Move to AMIs with cgroup v2, and test what reads cgroup files.",
        _about(About.AMI, "AL2", "Ubuntu", "unknown"),
    ),
    _note(
        "containerd-1-last",
        35,
        _NODES,
        "It is the last version whose kubelet runs with containerd 1.x.",
        "Rebuild AMIs of your own before 1.36.",
        _about(About.AMI, "unknown", "Ubuntu"),
    ),
    _note(
        "pod-infra-container-image",
        35,
        _NODES,
        "The kubelet has no --pod-infra-container-image flag any more.",
        "Remove it from user data.",
        _about(About.NODE_FLAG, "--pod-infra-container-image"),
    ),
    _note(
        "ipvs-deprecated",
        35,
        _PLANE,
        "kube-proxy's IPVS mode is deprecated.",
        "Plan to move to iptables or nftables mode.",
        _about(About.CONFIG, "kube-system/kube-proxy-config"),
    ),
    _note(
        "ingress-nginx-retired",
        35,
        _PLANE,
        "Ingress NGINX is retired since March 2026: no more fixes, whatever the version of the cluster.",
        "Plan another ingress controller.",
        _about(About.IMAGE, "ingress-nginx/controller"),
    ),
    _note(
        "git-repo-volumes",
        36,
        _NODES,
        "gitRepo volumes are disabled: pods with one do not start.",
        "Clone in an init container instead.",
        _about(About.FIELD, "Pod spec.volumes[*].gitRepo"),
    ),
    _note(
        "selinux-mounts",
        36,
        _NODES,
        "Volumes are labelled for SELinux when they are mounted: pods with different labels cannot share one.",
        "Look for volumes that pods with different seLinuxOptions share.",
        _about(About.FIELD, "Pod spec.securityContext.seLinuxOptions"),
    ),
    _note(
        "strict-addresses",
        36,
        _PLANE,
        "Addresses and CIDRs are validated more strictly: leading zeros and the like are refused in new objects.",
        "Check manifests of Services, NetworkPolicies and Ingresses.",
        _about(About.FIELD, "Service spec", "NetworkPolicy.networking.k8s.io spec"),
    ),
    _note(
        "external-ips-deprecated",
        36,
        _PLANE,
        "externalIPs of Services are deprecated.",
        "Plan to use a load balancer.",
        _about(About.FIELD, "Service spec.externalIPs"),
    ),
)
"""The oldest first."""

AL2023_NOTES = (
    _note(
        "al2023-nodeadm",
        30,
        _GROUPS,
        "AL2023 is set up by nodeadm (a NodeConfig in user data), bootstrap.sh is not there.",
        "Rewrite user data of launch templates; eksctl 0.176.0 or newer does so.",
        _about(About.AMI, "AL2023"),
        source=Source("EKS user guide, nodes/al2023"),
    ),
    _note(
        "al2023-cgroup-v2",
        30,
        _GROUPS,
        "AL2023 has cgroup v2: old runtimes (Java before 8u372, 11.0.16 and 15, and others) misread their limits.",
        "Test workloads that read cgroup files.",
        _about(About.AMI, "AL2023"),
        source=Source("EKS user guide, nodes/al2023; Kubernetes, About cgroup v2", Confidence.MEDIUM),
    ),
    _note(
        "al2023-imdsv2",
        30,
        _GROUPS,
        "AL2023 demands IMDSv2, and managed groups of it allow one hop: pods do not reach the metadata service.",
        "Give workloads roles of their own (see imds-probe).",
        _about(About.AMI, "AL2023"),
        source=Source("EKS user guide, nodes/al2023"),
    ),
)
"""For whoever makes a group of AL2023, at whatever version."""
