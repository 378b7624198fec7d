"""The keys whose values are kept, since something is judged by them, and the words of a command that are.

Sources: whoever judges them, named beside each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kubectl_eksdoc.core.model.branches import POD_ENI
from kubectl_eksdoc.core.model.containers import TOLD_VARIABLES
from kubectl_eksdoc.core.model.coredns import COREFILE
from kubectl_eksdoc.core.model.nodes import REBOOT_IN_PROGRESS
from kubectl_eksdoc.core.model.pods import JUDGED_ANNOTATIONS
from kubectl_eksdoc.core.model.run_notes import PRIOR, RUN
from kubectl_eksdoc.core.model.workloads import REBOOT_LOCK
from kubectl_eksdoc.core.rules.addresses import address
from kubectl_eksdoc.core.rules.corefile.lexer import without_comments
from kubectl_eksdoc.core.rules.karpenter_versions import ARGUMENT, CONFIG_KEY, VARIABLE
from kubectl_eksdoc.core.rules.keeping.digests import Digests
from kubectl_eksdoc.core.rules.keeping.secrets import known_forms, scrubbed

ANNOTATIONS = frozenset(
    (
        *JUDGED_ANNOTATIONS,
        POD_ENI,
        *(RUN, PRIOR, REBOOT_LOCK),
        REBOOT_IN_PROGRESS,
        "eks.amazonaws.com/role-arn",
        "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type",
        "service.beta.kubernetes.io/aws-load-balancer-type",
        "meta.helm.sh/release-name",
        "volume.beta.kubernetes.io/storage-class",
        "storageclass.kubernetes.io/is-default-class",
        # What controllers count by, so that a rehearsal goes on where they were (core.sim.cluster.workloads).
        "deployment.kubernetes.io/desired-replicas",
        "deployment.kubernetes.io/max-replicas",
        "deployment.kubernetes.io/revision",
        "deployment.kubernetes.io/revision-history",
        "deprecated.daemonset.template.generation",
        "batch.kubernetes.io/cronjob-scheduled-timestamp",
        "batch.kubernetes.io/job-completion-index",
        "controller.kubernetes.io/pod-deletion-cost",
        "endpoints.kubernetes.io/last-change-trigger-time",
        "kubectl.kubernetes.io/restartedAt",
        "prometheus.io/port",
        "prometheus.io/scrape",
    )
)

VARIABLES = frozenset(
    (
        *(VARIABLE, "CLUSTER_NAME", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_STS_REGIONAL_ENDPOINTS"),
        *("AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        *("AWS_EC2_METADATA_DISABLED", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
        # Of the add-ons' own DaemonSets, as EKS makes them; vpc-cni's come from its chart.
        *("CLUSTER_ENDPOINT", "CLUSTER_IP", "ENABLE_PREFIX_DELEGATION", "MY_NODE_NAME", "MY_POD_NAME", "VPC_ID"),
        *("CSI_ENDPOINT", "CSI_NODE_NAME", "EKS_CLUSTER_NAME"),
        *TOLD_VARIABLES,
    )
)

FLAGS = frozenset(
    (
        *(ARGUMENT, "--cluster-name", "--aws-region", "--aws-vpc-id", "--v", "--endpoint", "--csi-address", "-conf"),
        *("--cloud-provider", "--provider", "--metadata-sources"),  # who asks the metadata service for what
    )
)

CONFIG = frozenset(
    (
        *(COREFILE, CONFIG_KEY, "config", "linear", "ladder"),
        *("branch-eni-cooldown", "enable-network-policy-controller", "enable-windows-ipam", "minimum-ip-target"),
        *("enable-windows-prefix-delegation", "warm-ip-target", "warm-prefix-target"),
    )
)
"""Keys of ConfigMaps."""

SOCKET = re.compile(r"(?:--[A-Za-z][\w.-]*=|-[A-Za-z]=)?(?:unix:/{0,2}|npipe:/{0,2})?[\w.-]*[/\\][\w./\\-]*\.sock")
"""A word that names a socket, with which something reaches its node's container runtime, and nothing else."""

_NAMED_SOCKET = re.compile(r"(?<![\w./-])(?:unix:/{0,2})?/[\w./-]*\.sock(?![\w.-])")
_FLAG = re.compile(r"--[A-Za-z][\w.-]*|-[A-Za-z]")
"""Longer ones with one dash may be a letter and a value, as in ``mysql -phunter2``."""
_OF_SECRET = re.compile(r"(?i)-.*(?:pass|pwd|secret|token|key|credential)[\w.-]*")
"""A flag whose value follows as the next word, even where that looks like a flag."""
_REFERENCE = re.compile(r"\$\([A-Za-z_][\w.]*\)")
_SHELL = re.compile(r"(?:/?(?:usr/)?bin/)?(?:(?:ba|a)?sh|sleep(?: \d{1,6})?)")
_SLEEP = re.compile(r"(?:/?(?:usr/)?bin/)?sleep")
_SECONDS = re.compile(r"\d{1,6}")
_PLAIN_PATH = re.compile(r"(?:/(?:[A-Za-z._-]{0,20}|v\d{1,2}(?:(?:alpha|beta)\d{1,2})?))*")


@dataclass(frozen=True, slots=True)
class Keep:
    """The lists that are in force: more than the ones above, where more is judged."""

    digests: Digests
    annotations: frozenset[str] = ANNOTATIONS
    variables: frozenset[str] = VARIABLES
    flags: frozenset[str] = FLAGS
    config: frozenset[str] = CONFIG

    def annotation(self, key: str, value: str) -> str:
        return self.text(value) if key in self.annotations else self.digests.of(value)

    def variable(self, name: str, value: str) -> str:
        """Of an environment variable."""
        if name in self.variables:
            return self.text(value)
        return value if _REFERENCE.fullmatch(value) else self._but_sockets(value)

    def config_value(self, key: str, value: str) -> str:
        """Of a ConfigMap."""
        if key == COREFILE:
            return self.corefile(value)
        return self.text(value) if key in self.config else self.digests.of(value)

    def corefile(self, value: str) -> str:
        """No comment of it is judged."""
        return self.text(without_comments(value, self.digests.of))

    def words(self, given: list[str]) -> list[str]:
        """Of a command or its arguments: flags by name, and the values of those that are kept."""
        before = ("", *given)[: len(given)]
        return [self._word(*pair) for pair in zip(given, before, strict=True)]

    def _word(self, word: str, before: str) -> str:
        name, equals, value = word.partition("=")
        if _REFERENCE.fullmatch(word) or _SHELL.fullmatch(word) or (".sock" in word and SOCKET.fullmatch(word)):
            return word
        if _SLEEP.fullmatch(before) and _SECONDS.fullmatch(word):
            return word
        if name not in self.flags and (_OF_SECRET.fullmatch(before) or not _FLAG.fullmatch(name)):
            return self.text(word) if before in self.flags else self._but_sockets(word)
        return f"{name}{equals}{self.text(value) if name in self.flags else self.digests.of(value)}"

    def _but_sockets(self, text: str) -> str:
        """A digest, with the sockets that are named in it; what is nothing but a socket stays."""
        if ".sock" not in text:
            return self.digests.of(text)
        return text if SOCKET.fullmatch(text) else " ".join((self.digests.of(text), *_NAMED_SOCKET.findall(text)))

    def path(self, given: str) -> str:
        """Of an HTTP probe: long names in it, and those with digits, may be anything."""
        return given if _PLAIN_PATH.fullmatch(given) else f"/{self.digests.of(given)}"

    def url(self, given: str) -> str:
        """Without who logs in, what is asked for, and names that may be anything."""
        scheme, there, rest = address(given).partition("://")
        if not there:
            return self.digests.of(given)
        host, slash, path = rest.partition("/")
        return f"{scheme}://{host}{self.path(slash + path) if slash else ''}"

    def form(self, given: str) -> str:
        """What is kept, but for what in it is a secret by its form alone: of labels and the like."""
        return known_forms(given, self.digests.of)

    def text(self, given: str) -> str:
        """What is kept, but for what in it looks like a secret."""
        return scrubbed(given, self.digests.of)
