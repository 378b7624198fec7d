"""A Corefile whose comments are replaced means the same, line by line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.corefile.parser import tokens, without_comments
from kubectl_eksdoc.kubernetes.keeping import Digests, KeptAnnotations, has_digest

COREFILE = """\
# the password is hunter2
.:53 {
    errors # ask hunter2
    health "a # no comment" {
        lameduck 5s
    }
    log#hunter2 names
}
"""


def test_no_comment_is_kept() -> None:
    kept = KeptAnnotations(Digests(b"a key")).config_value("Corefile", COREFILE)
    assert "hunter2" not in kept and "# no comment" in kept and "lameduck 5s" in kept
    assert kept.count("\n") == COREFILE.count("\n") and has_digest(kept)
    assert (
        KeptAnnotations(Digests(b"a key")).config_value("Corefile", ".:53 {\n  errors\n}\n") == ".:53 {\n  errors\n}\n"
    )


@given(text=st.text(alphabet='# \n\r\t"\\ab\ufeff{}', max_size=30))
def test_the_tokens_are_the_same_on_the_same_lines(text: str) -> None:
    replaced = without_comments(text, lambda _: "digest")
    assert [(each.text, each.line) for each in tokens(replaced)] == [(each.text, each.line) for each in tokens(text)]
