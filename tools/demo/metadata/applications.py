"""Applications on nodes where the metadata service cannot be reached, or will not be: affected and unaffected ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tools.demo.aws.names import role
from tools.demo.meta import Json
from tools.demo.metadata.world import ALL_MACHINES
from tools.demo.pods import Addresses, pods_of
from tools.demo.world import APPS, CLUSTER, REGION, App

_K = "kube-system"
_FIRST_ADDRESS = 200

POD_IDENTITY = {
    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/var/run/secrets/pods.eks.amazonaws.com/serviceaccount/token",
    "AWS_REGION": REGION,
}


def irsa(name: str) -> dict[str, str]:
    """The fields that EKS's webhook adds to the containers of a service account with that role."""
    return {
        "AWS_STS_REGIONAL_ENDPOINTS": "regional",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_ROLE_ARN": role(f"{CLUSTER}-{name}"),
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/eks.amazonaws.com/serviceaccount/token",
    }


@dataclass(frozen=True, slots=True)
class Running:
    """`before`: the number of its replicas in the plain demo. `log`: the output of each of these before it ended."""

    app: App
    before: int = 0
    log: str = ""


def _of_the_demo(key: str) -> App:
    return next(app for app in APPS if app.key == key)


_LBC = _of_the_demo(f"{_K}/aws-load-balancer-controller")

_VERSION = '"GitVersion":"v2.13.2","GitCommit":"4236bd7928711874ae4d8aff6b97870b5625140f"'
_NO_REGION = (
    "failed to introspect region from EC2Metadata, specify --aws-region instead if EC2Metadata is unavailable: "
    "operation error ec2imds: GetRegion, canceled, context deadline exceeded"
)
_LBC_LOG = (
    f'{{"level":"info","ts":"2026-11-20T08:47:50Z","msg":"version",{_VERSION}}}\n'
    '{"level":"error","ts":"2026-11-20T08:48:00Z","logger":"setup","msg":"unable to initialize AWS cloud",'
    f'"error":"{_NO_REGION}"}}\n'
)
"""The messages of main.go and pkg/aws/cloud.go of v2.13; its client waits ten seconds for the service."""

APPLICATIONS = (
    # On the new nodes it starts with neither region nor VPC, and has no role of its own.
    Running(replace(_LBC, on="green-1 green-3", unready=99, minutes=50), before=2, log=_LBC_LOG),
    # It used the metadata service once, at its start: on the next node there will be no answer.
    Running(
        App(
            "Deployment",
            _K,
            "cluster-autoscaler",
            "reports-1",
            100,
            600,
            labels={"app.kubernetes.io/name": "aws-cluster-autoscaler"},
            image="registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0",
            args=("--cloud-provider=aws", f"--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/{CLUSTER}"),
        )
    ),
    Running(
        App("Deployment", _K, "external-dns", "payments-1", 50, 64, env=irsa("external-dns"),
            image="registry.k8s.io/external-dns/external-dns:v0.17.0", args=("--source=ingress", "--provider=aws"))
    ),
    Running(App("Deployment", "shop", "invoices", "green-2 payments-2", 150, 256, env=irsa("invoices"))),
    Running(
        App("Deployment", "shop", "thumbnailer", "payments-1 green-4", 150, 256, env=POD_IDENTITY,
            pod_spec={"serviceAccountName": "thumbnailer"})
    ),
    Running(App("Deployment", "shop", "fraud", "payments-1 payments-2", 300, 512)),
    Running(App("Deployment", "shop", "suggest", "search-1 search-2", 300, 512)),
    Running(App("Deployment", "shop", "exports", "reports-1 reports-2", 300, 512)),
    Running(App("Deployment", "ops", "wiki", "tools-1 tools-2", 100, 256)),
    Running(App("Deployment", "batch", "nightly", "batch-1", 500, 1024)),
    Running(App("Deployment", "shop", "banner", "auto-1", 100, 128)),
    Running(App("Deployment", "ops", "till-gateway", "mi-0f2c9b7d41e6a8350", 100, 128)),
)  # fmt: skip


def pods() -> list[tuple[Running, list[Json]]]:
    """All of their pods, each time the same."""
    addresses = Addresses(ALL_MACHINES, _FIRST_ADDRESS)
    machines = {machine.name: machine for machine in ALL_MACHINES}
    return [(each, pods_of(each.app, addresses, machines, each.before)) for each in APPLICATIONS]
