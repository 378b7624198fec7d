"""Connection to a cluster: kubectl's global flags, parsed; and commands as text for a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from itertools import pairwise

from kubectl_eksdoc.frozen import frozen

IN_CLUSTER = "in-cluster"
"""Stands for the context in a pod, where there is no kubeconfig: no flag reaches that cluster from elsewhere."""

REQUEST_TIMEOUT_S = 75.0
"""A kube-apiserver ends requests other than watches after 60 s (its --request-timeout, which EKS does not change):
after that no answer comes. The rest is for the connection."""

READ_TIMEOUT_S = 300.0


@frozen
class Connection:
    """Empty means "as the kubeconfig says". `request_timeout` is for one answer, `read_timeout` for all reads of one
    observation of the cluster, in seconds; 0 means none.

    `page_size` is the `limit` of list requests, at least 1.
    """

    kubeconfig: str = ""
    context: str = ""
    cluster: str = ""
    user: str = ""
    server: str = ""
    token: str = ""
    impersonate_user: str = ""
    impersonate_groups: tuple[str, ...] = ()
    impersonate_uid: str = ""
    request_timeout: float = REQUEST_TIMEOUT_S
    read_timeout: float = READ_TIMEOUT_S
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    tls_server_name: str = ""
    client_certificate: str = ""
    client_key: str = ""
    disable_compression: bool = False
    page_size: int = 2000


@frozen
class OutageLimits:
    """How long reads wait for a cluster that has answered before and does not answer now: `max_outage_s` seconds;
    `notify` receives a message every minute. `answered`: it has already answered before the first read."""

    max_outage_s: float
    notify: Callable[[str], object]
    answered: bool = True


# Commands as text that can be pasted into a POSIX shell, whatever names they contain.
#
# Names come from a cluster or a dump, so none of them may end a word, begin a flag or leave the working folder.


_UNSAFE_FILE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_FILE_NAME = 200  # characters before the extension; file systems allow 255 bytes


def shell(*words: str) -> str:
    """The words as one command, each quoted if necessary."""
    return " ".join(shlex.quote(word) for word in words)


def object_words(kind: str, name: str) -> tuple[str, ...]:
    """The words by which kubectl finds one object; a name that looks like a flag is joined to its kind."""
    return (f"{kind}/{name}",) if name.startswith("-") else (kind, name)


def kubectl(verb: str, kind: str, name: str, namespace: str = "", *more: str) -> str:
    """A command about one object; `namespace` "" for cluster-scoped objects."""
    return shell("kubectl", *verb.split(), *object_words(kind, name), *namespace_flag(namespace), *more)


def patch(kind: str, name: str, namespace: str, spec: str, *more: str) -> str:
    """A merge patch; `spec` is its JSON text."""
    return kubectl("patch", kind, name, namespace, *more, "--type", "merge", "-p", spec)


def save_command(kind: str, name: str, namespace: str) -> str:
    """A command that writes the object to a file (`file_name`) in the current folder."""
    return f"{kubectl('get', kind, name, namespace, '-o', 'yaml')} > {shlex.quote(file_name(name))}"


def file_name(name: str) -> str:
    """A safe file name for an object: ``web.yaml``."""
    plain = _UNSAFE_FILE_CHARACTERS.sub("_", name)[:_MAX_FILE_NAME].lstrip(".-")
    return f"{plain or 'object'}.yaml"


def namespace_flag(namespace: str) -> tuple[str, ...]:
    return ("-n", namespace) if namespace else ()


def in_sequence(*commands: str) -> str:
    """One command after the other, as long as each of them succeeds."""
    return " && ".join(commands)


def resource_word(kind: str, group: str = "") -> str:
    """The kind as kubectl takes it: ``deployment``, ``rollout.argoproj.io``. Kubernetes's own groups are omitted."""
    word = kind.lower()
    return f"{word}.{group}" if "." in group else word


CLUSTER_PLACEHOLDER = "NAME-OF-THE-CLUSTER"
"""Placeholder in commands if the name is not known: EKS has no cluster of that name, so pasting the command has no
effect."""


@frozen
class CommandTarget:
    """The flags that make a command reach the same cluster: `eksdoc` for ``kubectl eksdoc``, `kubectl` for any other
    kubectl command, and `eksdoc_live` for eksdoc commands that work only with the live cluster (``--apply``,
    ``--active``). `aws`: for awscli and eksctl, which otherwise use the account of their default profile; awscli takes
    them before its service. `checks`: flags, each with its value, with which ``check`` makes the same checks again;
    `aws_names`: flags by which an eksdoc command names the cluster to AWS, if there is no other source."""

    eksdoc: tuple[str, ...] = ()
    kubectl: tuple[str, ...] = ()
    eksdoc_live: tuple[str, ...] = ()
    aws: tuple[str, ...] = ()
    checks: tuple[tuple[str, ...], ...] = ()
    aws_names: tuple[str, ...] = ()

    def add_to(self, command: str) -> str:
        """`command` with the flags it needs, unless it has them; in a sequence or a pipe, each part. Other text is
        unchanged; "" for a command that does not work with the demo. With the demo, a drain becomes a rehearsal."""
        if self.eksdoc[:1] == ("--demo",):
            if _MEASURE_FLAG.search(command):
                return ""
            command = command.replace(_DRAIN_COMMAND, _REHEARSE_COMMAND)
        if self.aws and "--profile" not in command:
            command = _AWS_COMMAND.sub(lambda match: f"{match.group()}{shell(*self.aws)} ", command)
        return "".join(each if each in _SEPARATORS else self._add_to_one(each) for each in _split_command(command))

    def _add_to_one(self, command: str) -> str:
        if command.startswith("kubectl eksdoc"):
            if command.startswith("kubectl eksdoc check"):
                present = {*command.split(), *(("-f",) if _WITHOUT_MANIFESTS.search(command) else ())}
                command = " ".join((command, *(shell(*each) for each in self.checks if each[0] not in present)))
            words = self.eksdoc_live if _LIVE_ONLY.search(command) else self.eksdoc
            words = self.kubectl if command.startswith(_DRAIN_COMMAND) else words
            words = (*words, *self.aws_names) if _NEEDS_AWS.search(command) else words
        else:
            words = self._foreign_words(command)
        if not words or shell(*words) in command:
            return command
        flags, end, rest = command.partition(" -- ")
        return f"{flags} {shell(*words)}{end}{rest}"

    def _foreign_words(self, command: str) -> tuple[str, ...]:
        """The flags of a foreign program; the output of helm template belongs to no cluster."""
        if command.startswith("helm ") and not command.startswith("helm template "):
            flags = ((_HELM_FLAGS[flag], value) for flag, value in pairwise(self.kubectl) if flag in _HELM_FLAGS)
            return tuple(word for each in flags for word in each)
        return {"kubectl": self.kubectl, "eksctl": self.aws}.get(command.partition(" ")[0], ())


_DRAIN_COMMAND, _REHEARSE_COMMAND = "kubectl eksdoc drain run", "kubectl eksdoc rehearse"
"""A drain needs nothing from AWS and reads no snapshot: for a snapshot, the live command is shown."""
_HELM_FLAGS = {
    "--context": "--kube-context",
    "--kubeconfig": "--kubeconfig",
    "--tls-server-name": "--kube-tls-server-name",
}
"""Helm's names for these flags (helm/helm pkg/cli/environment.go)."""
_AWS_COMMAND = re.compile(r"(?:^|(?<= && )|(?<=\$\())aws ")
"""Where an awscli command begins, also in the middle of a line."""
_LIVE_ONLY = re.compile(r" --(?:apply|active|measure)(?=[ =]|\Z)")
"""Flags that work only with the live cluster."""
_NEEDS_AWS = re.compile(r"kubectl eksdoc addon-diff(?= |\Z)| --apply(?=[ =]|\Z)")
_MEASURE_FLAG = re.compile(r" --measure(?=[ =]|\Z)")
"""The demo does not support it, not even as a dry run."""
_WITHOUT_MANIFESTS = re.compile(r" --(?:only (?!\S*api-in-manifest)|gate (?!before-control-plane)|area |symptom )")
"""A check with these flags uses no manifests, and refuses them."""
_SEPARATORS = (" && ", " | ", " > ")


def _split_command(command: str) -> Iterator[str]:
    """Commands, files, and the separators between them; quoted text contains no separators. Quotes are those of
    `shlex.quote`: in single quotes a backslash is literal, and a quote is written in double ones."""
    begin, quote, at = 0, "", 0
    while at < len(command):
        character = command[at]
        separator = next((each for each in _SEPARATORS if command.startswith(each, at)), "") if not quote else ""
        if separator:
            yield from (command[begin:at], separator)
            begin = at = at + len(separator)
            continue
        if character in "'\"" and quote in ("", character):
            quote = "" if quote else character
        at += 1
    yield command[begin:]


# The identity of a cluster's address, before any request.


@frozen
class ClusterAddress:
    """From the kubeconfig and the flags: the context ("" for none) and the server's address. `key` is a hex digest of
    everything that identifies the cluster and the user; two contexts never share one."""

    context: str
    server: str
    key: str
