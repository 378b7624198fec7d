"""How the user asked to reach a cluster: kubectl's global flags, parsed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from itertools import pairwise

from kubectl_eksdoc.frozen import frozen

IN_CLUSTER = "in-cluster"
"""What stands for a context in a pod, where there is no kubeconfig: no flag leads there from anywhere else."""

REQUEST_TIMEOUT_S = 75.0
"""A kube-apiserver ends its own requests, watches excepted, after 60 s (its --request-timeout, which EKS leaves as it
is): an answer that is not there by then does not come. The rest is for the connection."""

READ_TIMEOUT_S = 300.0


@frozen
class Connection:
    """Empty means "as the kubeconfig says". `request_timeout` is for one answer, `read_timeout` for all that one
    observation of the cluster reads, in seconds; 0 means none.

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
    """How long reads wait for a cluster that has answered before and does not answer now: `away_s`, in which `tell` is
    told every minute what is waited for. `answered`: it has answered already when the first of them is made."""

    away_s: float
    tell: Callable[[str], object]
    answered: bool = True


# Commands as text that can be pasted into a POSIX shell, whatever the names in them hold.
#
# Names come from a cluster or a dump, so none of them may end a word, begin a flag or leave the working folder.


_UNFIT_FOR_A_FILE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_FILE = 200  # characters before the ending; file systems take 255 bytes


def shell(*words: str) -> str:
    """The words as one command, each quoted where it must be."""
    return " ".join(shlex.quote(word) for word in words)


def named(kind: str, name: str) -> tuple[str, ...]:
    """The words by which kubectl finds one object; a name that looks like a flag is joined to its kind."""
    return (f"{kind}/{name}",) if name.startswith("-") else (kind, name)


def kubectl(verb: str, kind: str, name: str, namespace: str = "", *more: str) -> str:
    """One command about one object; `namespace` "" is that of no namespace."""
    return shell("kubectl", *verb.split(), *named(kind, name), *in_namespace(namespace), *more)


def patch(kind: str, name: str, namespace: str, spec: str, *more: str) -> str:
    """A merge patch, `spec` being its JSON text."""
    return kubectl("patch", kind, name, namespace, *more, "--type", "merge", "-p", spec)


def saved(kind: str, name: str, namespace: str) -> str:
    """Writes the object to `file_of` its name in the folder where the command is run."""
    return f"{kubectl('get', kind, name, namespace, '-o', 'yaml')} > {shlex.quote(file_of(name))}"


def file_of(name: str) -> str:
    """A plain file name for an object: ``web.yaml``."""
    plain = _UNFIT_FOR_A_FILE.sub("_", name)[:_LONGEST_FILE].lstrip(".-")
    return f"{plain or 'object'}.yaml"


def in_namespace(namespace: str) -> tuple[str, ...]:
    return ("-n", namespace) if namespace else ()


def in_turn(*commands: str) -> str:
    """One after the other, as long as each of them succeeds."""
    return " && ".join(commands)


def resource_word(kind: str, group: str = "") -> str:
    """How kubectl is told the kind: ``deployment``, ``rollout.argoproj.io``. Its own groups need no naming."""
    word = kind.lower()
    return f"{word}.{group}" if "." in group else word


UNNAMED = "NAME-OF-THE-CLUSTER"
"""In commands, where nothing tells it: EKS knows none of that name, so nothing comes of pasting it."""


@frozen
class CommandTarget:
    """The words that lead to the same cluster: for ``kubectl eksdoc``, for any other kubectl command, and for one of
    ours that is of the live cluster alone (``--apply``, ``--active``). `aws`: for awscli and eksctl, which ask the
    account of their default profile otherwise; the place of awscli's is before its service. `checks`: flags, each with
    its value, by which ``check`` judges the same again; `naming`: flags by which a command of ours names the cluster to
    AWS, where nothing else does."""

    ours: tuple[str, ...] = ()
    kubectl: tuple[str, ...] = ()
    applying: tuple[str, ...] = ()
    aws: tuple[str, ...] = ()
    checks: tuple[tuple[str, ...], ...] = ()
    naming: tuple[str, ...] = ()

    def of(self, command: str) -> str:
        """`command` with the words that it needs, unless it has them: each part of several that are run one after the
        other, or are piped. What is none of these stays as it is; "" for one that the demo cannot be asked. Of the demo
        a drain is rehearsed."""
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
        """Of a program of others; what helm template prints is of no cluster."""
        if command.startswith("helm ") and not command.startswith("helm template "):
            found = ((_HELM[flag], value) for flag, value in pairwise(self.kubectl) if flag in _HELM)
            return tuple(word for each in found for word in each)
        return {"kubectl": self.kubectl, "eksctl": self.aws}.get(command.partition(" ")[0], ())


_DRAINS, _REHEARSES = "kubectl eksdoc drain run", "kubectl eksdoc rehearse"
"""The one asks nothing of AWS, and takes no snapshot: of one it is told as it is done live."""
_HELM = {
    "--context": "--kube-context",
    "--kubeconfig": "--kubeconfig",
    "--tls-server-name": "--kube-tls-server-name",
}
"""What it calls them (helm/helm pkg/cli/environment.go)."""
_AWS = re.compile(r"(?:^|(?<= && )|(?<=\$\())aws ")
"""Where awscli begins, also in the midst of a line."""
_OF_LIVE = re.compile(r" --(?:apply|active|measure)(?=[ =]|\Z)")
"""Of the live cluster alone."""
_NEEDS_AWS = re.compile(r"kubectl eksdoc addon-diff(?= |\Z)| --apply(?=[ =]|\Z)")
_MEASURES = re.compile(r" --measure(?=[ =]|\Z)")
"""Not even a dry run of it is made of the demo."""
_NO_FILES = re.compile(r" --(?:only (?!\S*api-in-manifest)|gate (?!before-control-plane)|area |symptom )")
"""A check of these judges no manifests, and refuses them."""
_BETWEEN = (" && ", " | ", " > ")


def _parts(command: str) -> Iterator[str]:
    """Commands, files, and what stands between them; within quotes nothing does. As `shlex.quote` writes them: in
    single quotes a backslash is itself, and a quote is written in double ones."""
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


# Which cluster is talked to, before anything was asked of it.


@frozen
class ClusterAddress:
    """By the kubeconfig and the flags: the context ("" for none) and the server's address. `key` is a digest in hex of
    what makes out the cluster and who looks at it; two contexts never share one."""

    context: str
    server: str
    key: str
