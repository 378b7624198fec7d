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

    away_s: float
    tell: Callable[[str], object]
    answered: bool = True


# Commands as text that can be pasted into a POSIX shell, whatever names they contain.
#
# Names come from a cluster or a dump, so none of them may end a word, begin a flag or leave the working folder.


_UNFIT_FOR_A_FILE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_FILE = 200  # characters before the extension; file systems allow 255 bytes


def shell(*words: str) -> str:
    """The words as one command, each quoted if necessary."""
    return " ".join(shlex.quote(word) for word in words)


def named(kind: str, name: str) -> tuple[str, ...]:
    """The words by which kubectl finds one object; a name that looks like a flag is joined to its kind."""
    return (f"{kind}/{name}",) if name.startswith("-") else (kind, name)


def kubectl(verb: str, kind: str, name: str, namespace: str = "", *more: str) -> str:
    """A command about one object; `namespace` "" for cluster-scoped objects."""
    return shell("kubectl", *verb.split(), *named(kind, name), *in_namespace(namespace), *more)


def patch(kind: str, name: str, namespace: str, spec: str, *more: str) -> str:
    """A merge patch; `spec` is its JSON text."""
    return kubectl("patch", kind, name, namespace, *more, "--type", "merge", "-p", spec)


def saved(kind: str, name: str, namespace: str) -> str:
    """A command that writes the object to a file (`file_name`) in the current folder."""
    return f"{kubectl('get', kind, name, namespace, '-o', 'yaml')} > {shlex.quote(file_of(name))}"


def file_of(name: str) -> str:
    """A safe file name for an object: ``web.yaml``."""
    plain = _UNFIT_FOR_A_FILE.sub("_", name)[:_LONGEST_FILE].lstrip(".-")
    return f"{plain or 'object'}.yaml"


def in_namespace(namespace: str) -> tuple[str, ...]:
    return ("-n", namespace) if namespace else ()


def in_turn(*commands: str) -> str:
    """One command after the other, as long as each of them succeeds."""
    return " && ".join(commands)


def resource_word(kind: str, group: str = "") -> str:
    """The kind as kubectl takes it: ``deployment``, ``rollout.argoproj.io``. Kubernetes's own groups are omitted."""
    word = kind.lower()
    return f"{word}.{group}" if "." in group else word


UNNAMED = "NAME-OF-THE-CLUSTER"
"""Placeholder in commands if the name is not known: EKS has no cluster of that name, so pasting the command has no
effect."""


@frozen
class CommandTarget:
    """The flags that make a command reach the same cluster: `eksdoc` for ``kubectl eksdoc``, `kubectl` for any other
    kubectl command, and `eksdoc_live` for eksdoc commands that work only with the live cluster (``--apply``,
    ``--active``). `aws`: for awscli and eksctl, which otherwise use the account of their default profile; awscli takes
    them before its service. `checks`: flags, each with its value, with which ``check`` makes the same checks again;
    `aws_names`: flags by which an eksdoc command names the cluster to AWS, if there is no other source."""

    ours: tuple[str, ...] = ()
    kubectl: tuple[str, ...] = ()
    applying: tuple[str, ...] = ()
    aws: tuple[str, ...] = ()
    checks: tuple[tuple[str, ...], ...] = ()
    naming: tuple[str, ...] = ()

    def of(self, command: str) -> str:
        """`command` with the flags it needs, unless it has them; in a sequence or a pipe, each part. Other text is
        unchanged; "" for a command that does not work with the demo. With the demo, a drain becomes a rehearsal."""
        if self.ours[:1] == ("--demo",):
            if _MEASURES.search(command):
                return ""
            command = command.replace(_DRAINS, _REHEARSES)
        if self.aws and "--profile" not in command:
            command = _AWS.sub(lambda found: f"{found.group()}{shell(*self.aws)} ", command)
        return "".join(each if each in _BETWEEN else self._one(each) for each in _parts(command))

    def _one(self, command: str) -> str:
        if command.startswith("kubectl eksdoc"):
            if command.startswith("kubectl eksdoc check"):
                has = {*command.split(), *(("-f",) if _NO_FILES.search(command) else ())}
                command = " ".join((command, *(shell(*each) for each in self.checks if each[0] not in has)))
            words = self.applying if _OF_LIVE.search(command) else self.ours
            words = self.kubectl if command.startswith(_DRAINS) else words
            words = (*words, *self.naming) if _NEEDS_AWS.search(command) else words
        else:
            words = self._of(command)
        if not words or shell(*words) in command:
            return command
        flags, end, rest = command.partition(" -- ")
        return f"{flags} {shell(*words)}{end}{rest}"

    def _of(self, command: str) -> tuple[str, ...]:
        """The flags of a foreign program; the output of helm template belongs to no cluster."""
        if command.startswith("helm ") and not command.startswith("helm template "):
            found = ((_HELM[flag], value) for flag, value in pairwise(self.kubectl) if flag in _HELM)
            return tuple(word for each in found for word in each)
        return {"kubectl": self.kubectl, "eksctl": self.aws}.get(command.partition(" ")[0], ())


_DRAINS, _REHEARSES = "kubectl eksdoc drain run", "kubectl eksdoc rehearse"
"""A drain needs nothing from AWS and reads no snapshot: for a snapshot, the live command is shown."""
_HELM = {
    "--context": "--kube-context",
    "--kubeconfig": "--kubeconfig",
    "--tls-server-name": "--kube-tls-server-name",
}
"""Helm's names for these flags (helm/helm pkg/cli/environment.go)."""
_AWS = re.compile(r"(?:^|(?<= && )|(?<=\$\())aws ")
"""Where an awscli command begins, also in the middle of a line."""
_OF_LIVE = re.compile(r" --(?:apply|active|measure)(?=[ =]|\Z)")
"""Flags that work only with the live cluster."""
_NEEDS_AWS = re.compile(r"kubectl eksdoc addon-diff(?= |\Z)| --apply(?=[ =]|\Z)")
_MEASURES = re.compile(r" --measure(?=[ =]|\Z)")
"""The demo does not support it, not even as a dry run."""
_NO_FILES = re.compile(r" --(?:only (?!\S*api-in-manifest)|gate (?!before-control-plane)|area |symptom )")
"""A check with these flags uses no manifests, and refuses them."""
_BETWEEN = (" && ", " | ", " > ")


def _parts(command: str) -> Iterator[str]:
    """Commands, files, and the separators between them; quoted text contains no separators. Quotes are those of
    `shlex.quote`: in single quotes a backslash is literal, and a quote is written in double ones."""
    begin, quote, at = 0, "", 0
    while at < len(command):
        sign = command[at]
        found = next((each for each in _BETWEEN if command.startswith(each, at)), "") if not quote else ""
        if found:
            yield from (command[begin:at], found)
            begin = at = at + len(found)
            continue
        if sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
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
