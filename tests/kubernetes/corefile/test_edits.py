"""An edit changes only the intended lines of a Corefile; also comments and digests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as some
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.corefile import parse_corefile, replace_comments, tokenize
from kubectl_eksdoc.kubernetes.corefile_edits import NotEdited, corefile_hashes, with_lameduck
from kubectl_eksdoc.kubernetes.corefile_plugins import lameduck_s, lameduck_values, refusals
from kubectl_eksdoc.kubernetes.redaction import Digester, Redactor, has_digest
from kubectl_eksdoc.model.coredns import Corefile, CorefileError, Directive
from tests import raw_facts
from tests.for_each import for_each
from tests.kubernetes.corefile.test_recorded import CASES

EKS = """\
.:53 {
    errors
    health {
        lameduck 5s
      }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
      pods insecure
      fallthrough in-addr.arpa ip6.arpa
    }
    prometheus :9153
    forward . /etc/resolv.conf
    cache 30
    loop
    reload
    loadbalance
}
"""


def read(text: str) -> Corefile:
    found = parse_corefile(text)
    assert isinstance(found, Corefile), str(found)
    return found


def waits(corefile: Corefile) -> list[str]:
    """The lameduck values of all server blocks, imports included."""
    held = [each for block in corefile.server_blocks for each in corefile.expand(block) if isinstance(each, Directive)]
    return [token.text for token in lameduck_values(held)]


def edited(text: str, seconds: int = 20) -> str:
    found = with_lameduck(read(text), seconds)
    assert isinstance(found, str), found
    return found


SNIPPET = "(own) {\n  health {\n    lameduck 5s\n  }\n}\na:53, .:53 {\n  import own\n}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (".:53 {\n  health\n  ready\n}\n", ".:53 {\n  health {\n      lameduck 20s\n  }\n  ready\n}\n"),
        (".:53 {\n\thealth :8080 # why\n}\n", ".:53 {\n\thealth :8080 { # why\n\t    lameduck 20s\n\t}\n}\n"),
        (".:53 { # main\n}\n", ".:53 { # main\n    health {\n        lameduck 20s\n    }\n}\n"),
        (".:53 {\n health { # c\r\n }\n}", ".:53 {\n health { # c\r\n     lameduck 20s\r\n }\n}"),
        (".:53 {\r\n  health {\r\n    lameduck 5s\r\n  }\r\n}", ".:53 {\r\n  health {\r\n    lameduck 20s\r\n  }\r\n}"),
        (".:53\nhealth\n", ".:53\nhealth {\n    lameduck 20s\n}\n"),
        (".:53 {\n health { }\n}", ".:53 {\n health {\n     lameduck 20s\n  }\n}"),
        (EKS, EKS.replace("5s", "20s")),
        (SNIPPET, SNIPPET.replace("5s", "20s")),
    ],
)
def test_where_it_goes(before: str, after: str) -> None:
    assert edited(before) == after
    assert waits(read(after)) == ["20s"]


def test_snippets_that_import_each_other_are_read_once() -> None:
    text = "(a) {\n import b\n health\n}\n(b) {\n import a\n}\n.:53 {\n import a\n}\n"
    assert len(list(read(text).expand(read(text).server_blocks[0]))) == 2 and lameduck_s(read(text)) == 0


def test_they_wait_one_after_the_other_so_each_gets_its_share() -> None:
    text = "a:53 {\n  health {\n    lameduck 5s\n  }\n}\nb:53, c:53 {\n  health :8081 {\n    lameduck 4s\n  }\n}\n"
    assert lameduck_s(read(text)) == 5 + 4
    assert waits(read(edited(text))) == ["10s", "10s"] and waits(read(edited(text, 9))) == ["4500ms", "4500ms"]


@pytest.mark.parametrize(
    "case", [*raw_facts.lines("recordings/coredns-shutdown-2.jsonl.gz")], ids=lambda case: case["name"]
)
def test_the_sum_is_the_time_that_a_real_coredns_took(case: dict[str, Any]) -> None:
    found = lameduck_s(read(case["corefile"]))
    assert found is not None and found <= case["secondsFromSigtermToExit"] < found + 0.1


@pytest.mark.parametrize(
    ("text", "now"),
    [
        (".:53 {\n  {$PLUG} {\n    lameduck 2s\n  }\n  ready\n}\n", None),
        ("(lame) {\n  lameduck 2s\n}\n.:53 {\n  health {\n    import lame\n  }\n}\n", 2),
    ],
)
def test_what_waits_by_another_place_of_the_text_is_not_edited(text: str, now: float | None) -> None:
    """A real CoreDNS waited 2 s with both: the last of several values counts, and the edited value would not be the
    last."""
    assert lameduck_s(read(text)) == now and isinstance(with_lameduck(read(text), 9), NotEdited)


def test_of_one_block_the_last_value_counts_and_a_negative_one_is_passed_over() -> None:
    assert lameduck_s(read(".:53 {\n health {\n lameduck 5s\n lameduck 9s\n }\n}")) == 9
    assert lameduck_s(read(".:53 {\n health {\n lameduck -5s\n }\n}")) == 0
    assert lameduck_s(read(".:53 {\n health {\n lameduck {$WAIT}\n }\n}")) is None
    assert lameduck_s(read(".:53 {\n ready\n}")) == 0
    corefile = parse_corefile(".:53 {\n  health {\n    lameduck {$TWO}s\n  }\n}\n", {"TWO": "2"})
    assert isinstance(corefile, Corefile) and lameduck_s(corefile) == 2
    assert isinstance(with_lameduck(corefile, 9), NotEdited)


@pytest.mark.parametrize(
    ("text", "why"),
    [(".:53 {\n  import parts/*.conf\n}\n", "imports parts/*.conf"), (".:53\nready\n", "no server block with braces")],
)
def test_what_cannot_be_told_is_not_edited(text: str, why: str) -> None:
    found = with_lameduck(read(text), 20)
    assert isinstance(found, NotEdited) and why in found.why


@for_each("case", [case for case in CASES if case["accepted"]], ids=lambda case: case["name"])
def test_whatever_coredns_takes_is_printed_as_it_was_and_can_be_edited(case: dict[str, str]) -> None:
    text = case["corefile"]
    assert str(read(text)) == text
    for seconds in (0, 20):
        found = with_lameduck(read(text), seconds)
        if isinstance(found, str):
            waits_s = lameduck_s(read(found))
            assert waits_s is not None and seconds - 0.1 < waits_s <= seconds and not refusals(read(found))
            assert others(found) == others(text)


_WORDS = some.sampled_from(
    ["health", "ready", "reload", "loop", "lameduck", "5s", "30", "{", "}", "{", "}", ".:53", "import", "(a)", "a", ","]
    + ['"x y"', '"', "#", "# c", "\\", "{$E}", ":8080", "é", "\ufeff"]
)
_GAPS = some.sampled_from([" ", "\n", "\n    ", "\t", "\r\n", "", "  \n"])
_TEXTS = some.lists(some.tuples(_WORDS, _GAPS), max_size=30).map(lambda parts: "".join(a + b for a, b in parts))


@given(text=some.one_of(_TEXTS, some.text(max_size=80)))
@example(text=EKS)
@example(text='"')
@example(text='.:53 {\n"a\nb" {\n}')
def test_any_text_is_read_or_refused_and_every_token_stands_where_it_says(text: str) -> None:
    found = parse_corefile(text)
    held = tokenize(text)
    assert [each.start for each in held] == sorted({each.start for each in held})
    for each in held:
        written = text[each.start : each.end]
        assert each.line == text.count("\n", 0, each.start) + 1
        assert each.text == written.replace("\r", "") or written.startswith('"')
    if isinstance(found, CorefileError):
        assert found.said
        return
    assert str(found) == text
    refusals(found)


def others(text: str) -> list[str]:
    """The lines that an edit may not touch: those outside the health plugin that are not a lone brace, with or without
    a comment."""
    lines = [line for line in text.split("\n") if "lameduck" not in line and "health" not in line]
    return [line for line in lines if line.strip(" \t\r")[:1] not in ("", "{", "}")]


def test_no_comment_is_kept() -> None:
    keep = Redactor(Digester(b"a key"))
    text = '# hunter2\n.:53 {\n  errors # ask hunter2\n  health "a # no comment" {\n  }\n  log#hunter2 names\n}\n'
    kept = keep.config_value("Corefile", text)
    assert "hunter2" not in kept and "# no comment" in kept
    assert kept.count("\n") == text.count("\n") and has_digest(kept)
    assert keep.config_value("Corefile", EKS) == EKS


@given(text=st.text(alphabet='# \n\r\t"\\ab\ufeff{}', max_size=30))
def test_the_tokens_are_the_same_on_the_same_lines(text: str) -> None:
    replaced = replace_comments(text, lambda _: "digest")
    assert [(each.text, each.line) for each in tokenize(replaced)] == [
        (each.text, each.line) for each in tokenize(text)
    ]


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
    corefile = parse_corefile(text)
    assert isinstance(corefile, Corefile)
    return corefile_hashes(corefile)


def test_it_is_what_coredns_prints() -> None:
    assert of(KUBEADM) == PRINTED


def test_spaces_and_comments_behind_a_word_change_nothing_and_lines_do() -> None:
    assert of(KUBEADM.replace("    cache 30", "\tcache   30 # half a minute")) == PRINTED
    assert of(f"# ours\n{KUBEADM}") != PRINTED
    assert len({of(KUBEADM), *(of(f". {{\n log {sign}id\n}}\n") for sign in "<>")}) == 3


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


def test_a_snippet_is_what_is_imported() -> None:
    direct = of(". {\n cache 30\n}\n")
    assert of("(x) {\n cache 30\n}\n. {\n import x\n}\n") == direct, "by the line it stands on there"
    assert of("(x) {\n\n cache 30\n}\n. {\n import x\n}\n") not in ((), direct)
