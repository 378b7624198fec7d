"""Redaction of cluster data that is written to files which users share: an allow-list of keys, and digests for all
others.

Belongs here: the keys whose values are kept because a check needs them, digests, and values that look like a secret
whatever their key. Never here: the shapes of objects (`objects`), of AWS's answers (`aws.recorded`), and files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeVar, cast

from kubectl_eksdoc.amazon.interruption import CONFIG_KEY, QUEUE_ARGUMENT, QUEUE_VARIABLE
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.coredns import COREFILE_KEY
from kubectl_eksdoc.model.journal import PRIOR_ANNOTATION, RUN_ANNOTATION
from kubectl_eksdoc.model.knowledge import knowledge_file
from kubectl_eksdoc.model.nodes import JUDGED_ANNOTATIONS, POD_ENI, REBOOT_IN_PROGRESS
from kubectl_eksdoc.model.workloads import REBOOT_LOCK_ANNOTATION

from .corefile import replace_comments
from .guards import redact_url, redact_urls

# Digests: they replace values that are not kept. Equal values have equal digests; nothing else can be told from them.


DIGEST_PREFIX = "eksdoc-digest:"
"""Prefix of every digest; no kept value has it."""

_MAX_CACHED = 100_000
_DIGEST_BYTES = 8


class Digester:
    """Computes the digests of one file. `key` is random and is discarded afterwards: without it, short passwords cannot
    be guessed from their digests. Mutable: it caches its results."""

    __slots__ = ("_key", "_known")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[str, str] = {}

    def digest(self, text: str) -> str:
        """``eksdoc-digest:`` and 16 hexadecimal digits; "" stays ""."""
        if not text or text.startswith(DIGEST_PREFIX):
            return text
        known_digest = self._known.get(text)
        if known_digest is None:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=_DIGEST_BYTES)
            known_digest = self._known[text] = DIGEST_PREFIX + hashed.hexdigest()
        return known_digest


def is_digest(text: object) -> bool:
    return isinstance(text, str) and DIGEST_PREFIX in text


def has_digest(value: Any) -> bool:
    """Whether a document contains a digest anywhere: its content is incomplete, and it must never be sent to a
    server."""
    if isinstance(value, dict):
        return any(map(has_digest, value.values()))
    return any(map(has_digest, value)) if isinstance(value, (list, tuple)) else is_digest(value)


# Values that look like a secret, wherever they are: a second safeguard after the allow-lists.
#
# Sources of the forms: IAM user guide (unique identifiers: AKIA, ASIA), RFC 7468 (PEM), RFC 7519 (JWT), GitHub's,
# GitLab's and Slack's documents on the prefixes of their tokens, RFC 3986 (userinfo), CoreDNS's plugins route53
# (aws_access_key), etcd (credentials), tsig and azure (secret); the parameters of signed URLs: AWS (Signature Version
# 4), Azure Storage (shared access signature), Google Cloud Storage, CloudFront.


Value = TypeVar("Value")

_JSON_CHARACTER = r'(?:[^"\\]|\\(?s:.))'
"""A character of a JSON string: a backslash stays together with the character that it escapes."""
_PEM = rf"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:{_JSON_CHARACTER}*?-----END [A-Z ]*PRIVATE KEY-----|{_JSON_CHARACTER}*)"
_SECRET_FORMS: Mapping[str, re.Pattern[str]] = {
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
"""By a substring of each form, which is fast to search for. No form extends beyond a quotation mark, so they can be
removed from JSON text."""

_NAMED_SECRET = re.compile(
    r"""(?i)((?:pass(?:word|wd)?|pwd|secret|token|(?:api|access|private|account)[_-]?key|credentials?|signature)
    [\w-]{0,100}\\*["']?\s*[=:]\s*\\*["']?)
    ((?<=")[^"\\]{4,}|(?<=')[^'\\]{4,}|[^\s"',;&}\\]{4,})""",
    re.VERBOSE,
)
_HEADER = re.compile(r"""(?i)(authorization\\*["']?\s*[:=]\s*\\*["']?(?:\w+ )?)([^\s"'\\]{4,})""")
_URL_PARAMETER = re.compile(
    r"""(?ix)((?:[?&;]|%3f|%26|\\u0026)
    (?:x-(?:amz|goog)-(?:signature|credential|security-token)|sig|signature|[\w-]*token|api[_-]?key|key|code|auth|hmac
    |jwt|pass|password|secret|awsaccesskeyid|googleaccessid|policy|key-pair-id)
    (?:=|%3d))
    ((?:(?!%26|\\u0026)[^\s"'\\&;#<>])+)"""
)
"""Parameters of a URL: each of them is sufficient to use the URL, or part of what is."""
_COREFILE_SECRET = re.compile(
    r"^([ \t]*(?:aws_access_key|credentials|password|secret|token)[ \t]+)(\S.*)$", re.MULTILINE
)
"""A directive of a Corefile: a keyword, and the secret after it."""
_AWS_SECRET_KEY = re.compile(
    r"(?<![A-Za-z0-9+/=])(?<!:\d{12}:)(?=[A-Za-z0-9+/]*\d)(?=[A-Za-z0-9+/]*[a-z])(?=[A-Za-z0-9+/]*[A-Z])[A-Za-z0-9+/]{40}"
    r"(?![A-Za-z0-9+/=])"
)
"""Forty characters like an AWS secret access key, but not the end of an ARN."""


def redact_secrets(text: str, replacement: Callable[[str], str]) -> str:
    """`text` with everything that looks like a secret passed through `replacement`."""
    text = redact_known_forms(text, replacement)
    for form in (_NAMED_SECRET, _HEADER):
        text = _redact_matches(form, text, replacement)
    text = _COREFILE_SECRET.sub(lambda found: found.group(1) + _redact_words(found.group(2), replacement), text)
    return _AWS_SECRET_KEY.sub(lambda found: replacement(found.group()), text)


def redact_message(text: str) -> str:
    """A message of a library or of AWS, without anything that looks like a secret."""
    return redact_secrets(redact_urls(text), lambda _: "…")


REDACTED = "…"
_WORD = re.compile(r"(?<![A-Za-z0-9+_-])[A-Za-z0-9+_-]{20,}={0,2}")
_HEX = re.compile(r"(?i)[0-9a-f]{32,}")
_DIGEST_NAME = re.compile(r"(?i)checksum|digest|hash|revision|commit|bundle|certificate")
"""Names of fields whose value is random, but not a secret."""
_SECRET_NAME = re.compile(
    r"(?i)(?:pass(?:word|wd)?|pwd|secret|token|(?:api|access|private|account)[_-]?key|credentials?|signature)"
    r"(?!.*(?:name|ref|path|type|expiration|ttl|audience|enabled)\Z)"
)
"""Names of fields or variables that hold a secret, and not only its location."""


def redact_value(value: Value, name: str = "") -> Value:
    """Redact values of an add-on, a ConfigMap, or a field called `name`, for printing: a Corefile without comments and
    credentials; other texts without anything that looks like a secret, by its form or by its name."""
    return cast(Value, _redact_value(value, name))


def _redact_value(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        variable_name = str(value.get("name", ""))  # name of the variable
        return {
            key: _redact_value(each, variable_name if key == "value" and variable_name else str(key))
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_redact_value(each, name) for each in value]
    if not isinstance(value, str):
        return value
    if name.lower() == "corefile":
        return redact_corefile(value)
    if len(value) >= 4 and _SECRET_NAME.search(name[-200:]):
        return REDACTED
    redacted = redact_message(value)
    if _DIGEST_NAME.search(name) or value.startswith("arn:"):
        return redacted
    if _HEX.fullmatch(value.strip()):
        return REDACTED
    return _WORD.sub(lambda found: REDACTED if _looks_random(found.group()) else found.group(), redacted)


def _looks_random(word: str) -> bool:
    """Whether lower-case letters, upper-case letters and digits alternate as in a generated key, and not as in a name:
    of ten random characters, about six are followed by one of another class; in ``AmazonEksNodeRole2024`` three are."""
    character_classes = ["lower" if each.islower() else "upper" if each.isupper() else each.isdigit() for each in word]
    changes = sum(character_class != next_class for character_class, next_class in pairwise(character_classes))
    return {"lower", "upper", True} <= {*character_classes} and changes >= 0.45 * len(word)


def redact_corefile(text: str) -> str:
    """Redact a Corefile; line numbers stay the same."""
    uncommented = replace_comments(text, lambda comment: f" {REDACTED}" if comment.strip("# ") else "")
    return redact_secrets(uncommented, lambda _: REDACTED)


def _redact_words(text: str, replacement: Callable[[str], str]) -> str:
    """The number of words stays the same, so that the result still parses."""
    return re.sub(r"\S+", lambda found: replacement(found.group()), text)


def redact_known_forms(text: str, replacement: Callable[[str], str]) -> str:
    """Redact secrets that are recognizable by their form alone; `text` may be JSON, and stays valid JSON."""
    for piece, form in _SECRET_FORMS.items():
        if piece in text:
            text = form.sub(lambda found: replacement(found.group()), text)
    return _redact_matches(_URL_PARAMETER, text, replacement)


def _redact_matches(pattern: re.Pattern[str], text: str, replacement: Callable[[str], str]) -> str:
    return pattern.sub(lambda found: found.group(1) + replacement(found.group(2)), text)


_KNOWN_MARKERS = (b"PRIVATE KEY", b"AKIA")


def may_contain_secret(body: bytes) -> bool:
    """Whether a page of objects, whose fields that may hold a secret are already cleaned, may contain a well-known form
    elsewhere. Almost no page does, so only substrings that are cheap to find are checked."""
    return any(piece in body for piece in _KNOWN_MARKERS)


# The keys whose values are kept because a check needs them, and the words of a command that are kept.


def _kept_keys(section: str, *more: str) -> frozenset[str]:
    return frozenset((*more, *(key for keys in knowledge_file("kept_keys")[section].values() for key in keys)))


KEPT_ANNOTATIONS = _kept_keys(
    "annotations",
    *JUDGED_ANNOTATIONS,
    POD_ENI,
    RUN_ANNOTATION,
    PRIOR_ANNOTATION,
    REBOOT_LOCK_ANNOTATION,
    REBOOT_IN_PROGRESS,
)
KEPT_VARIABLES = _kept_keys("variables", QUEUE_VARIABLE, *knowledge_file("kept_keys")["told"])
KEPT_FLAGS = _kept_keys("flags", QUEUE_ARGUMENT)
KEPT_CONFIG_KEYS = _kept_keys("config", COREFILE_KEY, CONFIG_KEY)
"""Keys of ConfigMaps."""

SOCKET = re.compile(r"(?:--[A-Za-z][\w.-]*=|-[A-Za-z]=)?(?:unix:/{0,2}|npipe:/{0,2})?[\w.-]*[/\\][\w./\\-]*\.sock")
"""A word that consists only of the path of a socket through which a program reaches its node's container runtime."""

_NAMED_SOCKET = re.compile(r"(?<![\w./-])(?:unix:/{0,2})?/[\w./-]*\.sock(?![\w.-])")
_FLAG = re.compile(r"--[A-Za-z][\w.-]*|-[A-Za-z]")
"""Longer flags with one dash may be a letter and a value, as in ``mysql -phunter2``."""
_SECRET_FLAG = re.compile(r"(?i)-.*(?:pass|pwd|secret|token|key|credential)[\w.-]*")
"""A flag whose value is the next word, even if that looks like a flag."""
_REFERENCE = re.compile(r"\$\([A-Za-z_][\w.]*\)")
_SHELL = re.compile(r"(?:/?(?:usr/)?bin/)?(?:(?:ba|a)?sh|sleep(?: \d{1,6})?)")
_SLEEP = re.compile(r"(?:/?(?:usr/)?bin/)?sleep")
_SECONDS = re.compile(r"\d{1,6}")
_PLAIN_PATH = re.compile(r"(?:/(?:[A-Za-z._-]{0,20}|v\d{1,2}(?:(?:alpha|beta)\d{1,2})?))*")


@frozen
class Redactor:
    """Redacts values by the allow-lists in use; they may contain more than the lists above, if a check needs more."""

    digests: Digester
    annotations: frozenset[str] = KEPT_ANNOTATIONS
    variables: frozenset[str] = KEPT_VARIABLES
    flags: frozenset[str] = KEPT_FLAGS
    config: frozenset[str] = KEPT_CONFIG_KEYS

    def annotation(self, key: str, value: str) -> str:
        return self.text(value) if key in self.annotations else self.digests.digest(value)

    def variable(self, name: str, value: str) -> str:
        """The value of an environment variable."""
        if name in self.variables:
            return self.text(value)
        return value if _REFERENCE.fullmatch(value) else self._digest_except_sockets(value)

    def config_value(self, key: str, value: str) -> str:
        """A value of a ConfigMap."""
        if key == COREFILE_KEY:
            return self.corefile(value)
        return self.text(value) if key in self.config else self.digests.digest(value)

    def corefile(self, value: str) -> str:
        """No check uses its comments."""
        return self.text(replace_comments(value, self.digests.digest))

    def words(self, words: list[str]) -> list[str]:
        """The words of a command or its arguments: flags by name, and the values of kept flags."""
        previous_words = ("", *words)[: len(words)]
        return [self._word(*pair) for pair in zip(words, previous_words, strict=True)]

    def _word(self, word: str, previous: str) -> str:
        name, equals, value = word.partition("=")
        if _REFERENCE.fullmatch(word) or _SHELL.fullmatch(word) or (".sock" in word and SOCKET.fullmatch(word)):
            return word
        if _SLEEP.fullmatch(previous) and _SECONDS.fullmatch(word):
            return word
        if name not in self.flags and (_SECRET_FLAG.fullmatch(previous) or not _FLAG.fullmatch(name)):
            return self.text(word) if previous in self.flags else self._digest_except_sockets(word)
        return f"{name}{equals}{self.text(value) if name in self.flags else self.digests.digest(value)}"

    def _digest_except_sockets(self, text: str) -> str:
        """A digest, followed by the sockets that the text names; a text that is only a socket stays."""
        if ".sock" not in text:
            return self.digests.digest(text)
        return text if SOCKET.fullmatch(text) else " ".join((self.digests.digest(text), *_NAMED_SOCKET.findall(text)))

    def path(self, path: str) -> str:
        """The path of an HTTP probe: long names in it, and names with digits, may be secrets."""
        return path if _PLAIN_PATH.fullmatch(path) else f"/{self.digests.digest(path)}"

    def url(self, url: str) -> str:
        """Remove the user, the query, and path names that may be secrets."""
        scheme, separator, rest = redact_url(url).partition("://")
        if not separator:
            return self.digests.digest(url)
        host, slash, path = rest.partition("/")
        return f"{scheme}://{host}{self.path(slash + path) if slash else ''}"

    def redact_forms(self, value: str) -> str:
        """A kept value, except for secrets recognizable by their form alone: for labels and the like."""
        return redact_known_forms(value, self.digests.digest)

    def text(self, value: str) -> str:
        """A kept value, except for parts that look like a secret."""
        return redact_secrets(value, self.digests.digest)
