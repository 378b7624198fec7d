"""The sums by which CoreDNS tells its Corefile: those that it has printed for a Corefile that everybody has."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.kubernetes.corefile.edits import sums
from kubectl_eksdoc.kubernetes.corefile.parser import parse
from kubectl_eksdoc.model.coredns import Corefile

KUBEADM = """\
.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
"""
PRINTED = (
    "591cf328cccc12bc490481273e738df59329c62c0b729d94e8b61db9961c2fa5"
    "f046dd37f1cf888b953814040d180f52594972691cd6ff41be96639138a43908",
    "db32ca3650231d74073ff4cf814959a7",
)
"""In the logs of clusters that kubeadm made, of newer and older versions."""


def of(text: str) -> tuple[str, ...]:
    corefile = parse(text)
    assert isinstance(corefile, Corefile)
    return sums(corefile)


def test_it_is_what_coredns_prints() -> None:
    assert of(KUBEADM) == PRINTED


def test_spaces_and_comments_behind_a_word_change_nothing_and_lines_do() -> None:
    assert of(KUBEADM.replace("    cache 30", "\tcache   30 # half a minute")) == PRINTED
    assert of(f"# ours\n{KUBEADM}") != PRINTED
    assert of(KUBEADM.replace("5s", "20s")) != PRINTED


@pytest.mark.parametrize(
    "text",
    [
        KUBEADM.replace("cache 30", "cache {$CACHE}"),
        KUBEADM.replace("    cache 30\n", "    import /etc/coredns/custom/*.override\n"),
        f"{KUBEADM}import /etc/coredns/custom/*.server\n",
        KUBEADM.replace("       ttl 30\n", "       import ttl\n"),
    ],
)
def test_what_is_not_in_the_text_makes_it_unknown(text: str) -> None:
    assert of(text) == ()


def test_signs_are_escaped_as_go_does() -> None:
    assert of('. {\n log . "{>id} \\"x\\" & é"\n}\n') == of('. {\n log . "{>id} \\"x\\" & é"\n}\n')
    assert of(". {\n log {>id}\n}\n") != of(". {\n log {<id}\n}\n")


def test_a_snippet_is_what_is_imported() -> None:
    direct = of(". {\n cache 30\n}\n")
    assert of("(x) {\n cache 30\n}\n. {\n import x\n}\n") == direct, "by the line it stands on there"
    assert of("(x) {\n\n cache 30\n}\n. {\n import x\n}\n") not in ((), direct)
