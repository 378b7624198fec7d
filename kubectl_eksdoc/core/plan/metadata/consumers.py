"""Programs that are known to ask the instance metadata service, and how each does without: as data, with sources.

Recognised by the name of their image; what is not listed here may ask it all the same, through its SDK.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.pods import Pod


@dataclass(frozen=True, slots=True)
class Started:
    """With what a container of the pod was started: its arguments, and the names of its variables. `more_variables`:
    there are others, from a ConfigMap or a Secret (envFrom), whose names are not known."""

    arguments: Sequence[str] = ()
    variables: Sequence[str] = ()
    more_variables: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """`what` it looks for there, and what tells it instead: any of `flags` or of `variables`."""

    what: str
    flags: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    def met(self, by: Started) -> bool:
        given = {argument.partition("=")[0] for argument in by.arguments}
        return not given.isdisjoint(self.flags) or not set(by.variables).isdisjoint(self.variables)

    def may_be_met(self, by: Started) -> bool:
        """By a variable that is set somewhere else, and is not known."""
        return by.more_variables and bool(self.variables)


@dataclass(frozen=True, slots=True)
class Consumer:
    """`images`: last parts of its images' names. `credentials`: it needs those of its node where it has no role of its
    own. `falls_back`: without an answer it goes on by itself, and how; "" if it does not. `on_host`: it comes with the
    network of its host, where the hop limit does not matter. `agents_without`: its DaemonSet calls AWS for nothing,
    only its controller does. `way_out`: what to set, for people."""

    name: str
    images: tuple[str, ...]
    needs: tuple[Need, ...]
    way_out: str
    source: str
    credentials: bool = True
    falls_back: str = ""
    on_host: bool = False
    agents_without: bool = False

    def needs_credentials(self, pod: Pod) -> bool:
        agent = pod.of_daemon_set
        return self.credentials and not (agent and self.agents_without)

    def lacks(self, started: Started) -> tuple[Need, ...]:
        """The needs that surely nothing it was started with meets."""
        return tuple(need for need in self.needs if not need.met(started) and not need.may_be_met(started))

    def may_lack(self, started: Started) -> tuple[Need, ...]:
        """The needs of which that is not known."""
        return tuple(need for need in self.needs if not need.met(started) and need.may_be_met(started))


_REGION_BY_ENV = ("AWS_REGION", "AWS_DEFAULT_REGION")

CONSUMERS = (
    Consumer(
        "aws-load-balancer-controller",
        ("aws-load-balancer-controller", "aws-alb-ingress-controller"),
        (
            Need("its region", ("--aws-region",), _REGION_BY_ENV),
            Need("the id of its VPC", ("--aws-vpc-id", "--aws-vpc-tags")),
        ),
        "start it with --aws-region and --aws-vpc-id (Helm: region, vpcId), and give it a role of its own",
        "aws-load-balancer-controller, docs/deploy/configurations.md and pkg/aws/cloud.go",
    ),
    Consumer(
        "aws-ebs-csi-driver",
        ("aws-ebs-csi-driver",),
        (),
        "give its controller a role of its own, and set controller.region",
        "aws-ebs-csi-driver, docs/metadata.md",
        falls_back="it reads region, zone and instance from the Kubernetes node instead",
        agents_without=True,
    ),
    Consumer(
        "aws-efs-csi-driver",
        ("aws-efs-csi-driver",),
        (),
        "give its controller a role of its own",
        "aws-efs-csi-driver, CHANGELOG v1.4.0",
        falls_back="since v1.4.0 it asks the Kubernetes API instead",
    ),
    Consumer(
        "cluster-autoscaler",
        ("cluster-autoscaler",),
        (Need("its region", (), _REGION_BY_ENV),),
        "set AWS_REGION, and give it a role of its own",
        "kubernetes/autoscaler #3592, #7389 (confidence: medium)",
    ),
    Consumer(
        "aws-node-termination-handler",
        ("aws-node-termination-handler",),
        (),
        "leave it on the host's network, or run it with a queue (enableSqsTerminationDraining)",
        "aws-node-termination-handler, Helm chart (useHostNetwork)",
        on_host=True,
    ),
    Consumer(
        "amazon-cloudwatch-agent",
        ("cloudwatch-agent", "amazon-cloudwatch-agent"),
        (Need("its region", (), (*_REGION_BY_ENV, "RUN_WITH_IRSA")),),
        "give it a role of its own and RUN_WITH_IRSA=true, or put it on the host's network",
        "amazon-cloudwatch-agent #1101 and pull request #1139 (confidence: medium)",
    ),
    Consumer(
        "external-dns",
        ("external-dns",),
        (Need("its region", (), _REGION_BY_ENV),),
        "set AWS_REGION, and give it a role of its own",
        "inference from its use of the AWS SDK (confidence: low)",
    ),
    Consumer(
        "vpc-cni",
        ("amazon-k8s-cni",),
        (),
        "nothing: it runs on the host's network",
        "amazon-vpc-cni-k8s, config/master/aws-k8s-cni.yaml",
        on_host=True,
    ),
    Consumer(
        "eks-pod-identity-agent",
        ("eks-pod-identity-agent",),
        (),
        "nothing: it runs on the host's network",
        "EKS user guide, set up the Pod Identity agent",
        on_host=True,
    ),
)


ASK_NOTHING = (
    "coredns",
    "kube-proxy",
    "metrics-server",
    "kube-state-metrics",
    "node-exporter",
    "addon-resizer",
    "cluster-proportional-autoscaler-amd64",
    "cluster-proportional-autoscaler",
    "pause",
)
"""Last parts of the names of images whose programs call no AWS API as they are shipped (CoreDNS would with its plugin
route53, which EKS's add-on does not configure; confidence: medium)."""


def asks_nothing(image: str) -> bool:
    """Whether its program is known to have nothing to ask there."""
    return _short(image) in ASK_NOTHING


def consumer_of(image: str) -> Consumer | None:
    """By the last part of its name, whatever registry it came from; None if it is none that is known."""
    name = _short(image)
    return next((each for each in CONSUMERS if name in each.images), None)


def _short(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]
