"""Nodes of the demo as the API prints them, and the leases that their kubelets renew."""

from __future__ import annotations

from tools.demo.meta import Json, ago, an_object, condition, hexadecimal
from tools.demo.world import POD_ENI, REGION, Machine

_AL2 = ("v1.32.3-eks-473151a", "Amazon Linux 2", "5.10.237-230.949.amzn2.x86_64")
_AL2023 = ("v1.33.1-eks-1b3e656", "Amazon Linux 2023.7.20250609", "6.1.140-154.222.amzn2023.x86_64")
_BOTTLEROCKET = (
    "v1.33.1-eks-7ab8e14",
    "Bottlerocket (EKS Auto, Standard) 2025.6.11 (aws-k8s-1.33-standard)",
    "6.12.31",
)
_UBUNTU = ("v1.33.1-eks-1b3e656", "Ubuntu 24.04.2 LTS", "6.8.0-62-generic")
_SYSTEMS = {
    "blue": _AL2,
    "fargate": _AL2,
    "green": _AL2023,
    "general": _AL2023,
    "auto": _BOTTLEROCKET,
    "hybrid": _UBUNTU,
}

# pods, cpu, memory, allocatable cpu, allocatable memory: of m6i.xlarge, and of Fargate's node
_SIZES = (("58", "4", "15896Mi", "3920m", "14884Mi"), ("1", "2", "3983Mi", "2", "3858Mi"))

_BRANCHES = "18"  # branch interfaces of an m6i.xlarge

_SUBNETS = {"a": "10.0.16", "b": "10.0.32", "c": "10.0.48", "": "10.80.0"}

_HEALTH = (
    ("MemoryPressure", False, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", False, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", False, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", True, "KubeletReady", "kubelet is posting ready status"),
)


def subnet(machine: Machine) -> str:
    """The first three bytes of the addresses in its zone."""
    return _SUBNETS[machine.zone[-1:]]


def address(machine: Machine) -> str:
    """Its InternalIP."""
    return f"{subnet(machine)}.{10 + machine.number}"


def instance_id(machine: Machine) -> str:
    """The id of its EC2 instance."""
    return f"i-{hexadecimal(17, 'instance', machine.name)}"


def a_node(machine: Machine) -> Json:
    """One Node, Ready and not cordoned."""
    spec: Json = {"providerID": f"aws:///{machine.zone}/{instance_id(machine)}"}
    if machine.pool == "fargate":
        spec["providerID"] = f"aws:///{machine.zone}/{hexadecimal(10, machine.name)}/{machine.name}"
        spec["taints"] = [{"key": "eks.amazonaws.com/compute-type", "value": "fargate", "effect": "NoSchedule"}]
    if machine.provider:
        spec["providerID"] = machine.provider
    said: Json = {"alpha.kubernetes.io/provided-node-ip": address(machine), "node.alpha.kubernetes.io/ttl": "0"}
    said["volumes.kubernetes.io/controller-managed-attach-detach"] = "true"
    meta: Json = {"labels": _labels(machine), "annotations": said}
    return an_object("v1", "Node", machine.name, age=machine.age, **meta, spec=spec, status=_status(machine))


def a_node_lease(machine: Machine) -> Json:
    """The heartbeat of its kubelet, a few seconds old."""
    spec: Json = {"holderIdentity": machine.name, "leaseDurationSeconds": 40, "renewTime": ago(0.1, micro=True)}
    return an_object("coordination.k8s.io/v1", "Lease", machine.name, "kube-node-lease", age=machine.age, spec=spec)


def _labels(machine: Machine) -> dict[str, str]:
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": machine.name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/region": REGION,
        "topology.kubernetes.io/zone": machine.zone,
    }
    if machine.labels is not None:
        return {key: value for key, value in {**labels, **machine.labels}.items() if value}
    if machine.pool == "fargate":
        return {**labels, "eks.amazonaws.com/compute-type": "fargate"}
    labels |= {"node.kubernetes.io/instance-type": "m6i.xlarge", "k8s.io/cloud-provider-aws": hexadecimal(32, "cloud")}
    if machine.pool == "general":
        return labels | {
            "karpenter.k8s.aws/ec2nodeclass": "default",
            "karpenter.sh/capacity-type": "spot",
            "karpenter.sh/initialized": "true",
            "karpenter.sh/nodepool": machine.pool,
            "karpenter.sh/registered": "true",
            "vpc.amazonaws.com/has-trunk-attached": "true",
        }
    return labels | {
        "vpc.amazonaws.com/has-trunk-attached": "true",
        "eks.amazonaws.com/capacityType": "ON_DEMAND",
        "eks.amazonaws.com/nodegroup": machine.pool,
        "eks.amazonaws.com/nodegroup-image": f"ami-{hexadecimal(17, 'image', machine.pool)}",
    }


def _status(machine: Machine) -> Json:
    kubelet, image, kernel = _SYSTEMS[machine.system or machine.pool]
    pods, cpu, memory, free_cpu, free_memory = _SIZES[machine.pool == "fargate"]
    counted = {"pods": pods} if machine.pool == "fargate" else {"pods": pods, POD_ENI: _BRANCHES}
    dns = f"ip-{address(machine).replace('.', '-')}.{REGION}.compute.internal"
    addresses = {"InternalIP": address(machine), "InternalDNS": dns, "Hostname": machine.name}
    ids: Json = {key: hexadecimal(32, key, machine.name) for key in ("bootID", "machineID", "systemUUID")}
    system = {"architecture": "amd64", "operatingSystem": "linux", "osImage": image, "kernelVersion": kernel}
    versions = {"kubeletVersion": kubelet, "kubeProxyVersion": "", "containerRuntimeVersion": "containerd://1.7.27"}
    return {
        "addresses": [{"type": kind, "address": value} for kind, value in addresses.items()],
        "allocatable": {"cpu": free_cpu, "ephemeral-storage": "76224326324", "memory": free_memory, **counted},
        "capacity": {"cpu": cpu, "ephemeral-storage": "83873772Ki", "memory": memory, **counted},
        "conditions": [
            condition(kind, holds, machine.age - 1, lastHeartbeatTime=ago(2), reason=reason, message=message)
            for kind, holds, reason, message in _HEALTH
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {**system, **versions, **ids},
    }
