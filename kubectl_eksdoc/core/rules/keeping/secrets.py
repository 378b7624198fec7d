"""What looks like a secret wherever it stands: the second net, under the allow-lists.

Sources of the forms: IAM user guide (unique identifiers: AKIA, ASIA), RFC 7468 (PEM), RFC 7519 (JWT), GitHub's,
GitLab's and Slack's documents on the prefixes of their tokens, RFC 3986 (userinfo), CoreDNS's plugins route53
(aws_access_key), etcd (credentials), tsig and azure (secret); the parameters of signed URLs: AWS (Signature Version 4),
Azure Storage (shared access signature), Google Cloud Storage, CloudFront.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeVar, cast

from kubectl_eksdoc.core.rules.addresses import addresses_in
from kubectl_eksdoc.core.rules.corefile.lexer import without_comments

Value = TypeVar("Value")

_IN_TEXT = r'(?:[^"\\]|\\(?s:.))'
"""What JSON may hold in a text: a backslash, and what it escapes, stay together."""
_PEM = rf"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:{_IN_TEXT}*?-----END [A-Z ]*PRIVATE KEY-----|{_IN_TEXT}*)"
_FORMS: Mapping[str, re.Pattern[str]] = {
    "PRIVATE KEY": re.compile(_PEM),
    "AKIA": re.compile(r"\bAKIA[A-Z0-9]{12,}\b"),
    "ASIA": re.compile(r"\bASIA[A-Z0-9]{12,}\b"),
    "eyJ": re.compile(r"(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)*"),
    **{f"gh{kind}_": re.compile(rf"\bgh{kind}_\w{{10,}}") for kind in "oprsu"},
    "github_pat_": re.compile(r"\bgithub_pat_\w{10,}"),
    "glpat-": re.compile(r"\bglpat-[\w-]{10,}"),
    "xox": re.compile(r"\bxox[abeprs]-[\w-]{10,}"),
    "sk_live_": re.compile(r"\bsk_live_\w{10,}"),
    "://": re.compile(r'(?<=://)[^\s/@"\\]+(?=@)'),
    "earer ": re.compile(r"(?<=earer )[\w.~+/=-]{8,}"),
}
"""By a piece that each of them has, which is quickly looked for. None goes beyond a quotation mark, so that they may be
taken out of JSON as it is written."""

_NAMED = re.compile(
    r"""(?i)((?:pass(?:word|wd)?|pwd|secret|token|(?:api|access|private|account)[_-]?key|credentials?|signature)
    [\w-]{0,100}\\*["']?\s*[=:]\s*\\*["']?)
    ((?<=")[^"\\]{4,}|(?<=')[^'\\]{4,}|[^\s"',;&}\\]{4,})""",
    re.VERBOSE,
)
_HEADER = re.compile(r"""(?i)(authorization\\*["']?\s*[:=]\s*\\*["']?(?:\w+ )?)([^\s"'\\]{4,})""")
_SIGNED = re.compile(
    r"""(?ix)((?:[?&;]|%3f|%26|\\u0026)
    (?:x-(?:amz|goog)-(?:signature|credential|security-token)|sig|signature|[\w-]*token|api[_-]?key|key|code|auth|hmac
    |jwt|pass|password|secret|awsaccesskeyid|googleaccessid|policy|key-pair-id)
    (?:=|%3d))
    ((?:(?!%26|\\u0026)[^\s"'\\&;#<>])+)"""
)
"""Of a URL: each of them is enough to use it, or a part of it."""
_DIRECTIVE = re.compile(r"^([ \t]*(?:aws_access_key|credentials|password|secret|token)[ \t]+)(\S.*)$", re.MULTILINE)
"""Of a Corefile: a word, and what it holds behind it."""
_KEY = re.compile(
    r"(?<![A-Za-z0-9+/=])(?<!:\d{12}:)(?=[A-Za-z0-9+/]*\d)(?=[A-Za-z0-9+/]*[a-z])(?=[A-Za-z0-9+/]*[A-Z])[A-Za-z0-9+/]{40}"
    r"(?![A-Za-z0-9+/=])"
)
"""Forty characters, as AWS's secret access keys are, and as no end of an ARN is."""


def scrubbed(text: str, instead: Callable[[str], str]) -> str:
    """`text` with `instead` of everything in it that looks like a secret."""
    text = known_forms(text, instead)
    for form in (_NAMED, _HEADER):
        text = _values(form, text, instead)
    text = _DIRECTIVE.sub(lambda found: found.group(1) + _each_word(found.group(2), instead), text)
    return _KEY.sub(lambda found: instead(found.group()), text)


def hidden(text: str) -> str:
    """For messages: what others say (a library, AWS), without what looks like a secret."""
    return scrubbed(addresses_in(text), lambda _: "…")


HIDDEN = "…"
_WORD = re.compile(r"(?<![A-Za-z0-9+_-])[A-Za-z0-9+_-]{20,}={0,2}")
_HEX = re.compile(r"(?i)[0-9a-f]{32,}")
_DIGEST_NAME = re.compile(r"(?i)checksum|digest|hash|revision|commit|bundle|certificate")
"""Of a field whose value is by chance, and no secret."""
_SECRET_NAME = re.compile(
    r"(?i)(?:pass(?:word|wd)?|pwd|secret|token|(?:api|access|private|account)[_-]?key|credentials?|signature)"
    r"(?!.*(?:name|ref|path|type|expiration|ttl|audience|enabled)\Z)"
)
"""Of a field or a variable that holds one, and does not only say where it is."""


def printed(value: Value, name: str = "") -> Value:
    """Values of an add-on, a ConfigMap, or a field called `name`, as they may be printed: a Corefile without comments
    and credentials, other texts without what looks like a secret, by its form or by its name."""
    return cast(Value, _printed(value, name))


def _printed(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        called = str(value.get("name", ""))  # of a variable
        return {key: _printed(each, called if key == "value" and called else str(key)) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_printed(each, name) for each in value]
    if not isinstance(value, str):
        return value
    if name.lower() == "corefile":
        return printed_corefile(value)
    if len(value) >= 4 and _SECRET_NAME.search(name[-200:]):
        return HIDDEN
    shown = hidden(value)
    if _DIGEST_NAME.search(name) or value.startswith("arn:"):
        return shown
    if _HEX.fullmatch(value.strip()):
        return HIDDEN
    return _WORD.sub(lambda found: HIDDEN if _by_chance(found.group()) else found.group(), shown)


def _by_chance(word: str) -> bool:
    """Whether small and large letters and digits follow each other as a generator of keys has them, and no name: of
    ten by chance some six are followed by one of another sort, in ``AmazonEksNodeRole2024`` three."""
    sorts = ["lower" if each.islower() else "upper" if each.isupper() else each.isdigit() for each in word]
    changes = sum(one != other for one, other in pairwise(sorts))
    return {"lower", "upper", True} <= {*sorts} and changes >= 0.45 * len(word)


def printed_corefile(text: str) -> str:
    """On the same lines."""
    bare = without_comments(text, lambda comment: f" {HIDDEN}" if comment.strip("# ") else "")
    return scrubbed(bare, lambda _: HIDDEN)


def _each_word(text: str, instead: Callable[[str], str]) -> str:
    """As many words as before: whoever parses them finds the same form."""
    return re.sub(r"\S+", lambda found: instead(found.group()), text)


def known_forms(text: str, instead: Callable[[str], str]) -> str:
    """Of what is a secret by its form alone; `text` may be JSON, and stays it."""
    for piece, form in _FORMS.items():
        if piece in text:
            text = form.sub(lambda found: instead(found.group()), text)
    return _values(_SIGNED, text, instead)


def _values(named: re.Pattern[str], text: str, instead: Callable[[str], str]) -> str:
    return named.sub(lambda found: found.group(1) + instead(found.group(2)), text)


_STARTS = (b"PRIVATE KEY", b"AKIA")


def suspicious(body: bytes) -> bool:
    """Whether a page of objects, of which the fields that may hold a secret are cleaned already, may hold a well-known
    one somewhere else: next to none does, and no more is looked for than costs nothing."""
    return any(piece in body for piece in _STARTS)
