"""Edits of a Corefile that keep every other byte unchanged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, nested_field
from kubectl_eksdoc.model.coredns import COREFILE_KEY, NAME, SYSTEM_NAMESPACE, Block, Corefile, Directive, Import, Token

from .corefile_plugins import health_plugins, lameduck_values, may_hide_health
from .managed_fields import MalformedEntries, read_entries

_INDENT_STEP = "    "
"""Indentation of a new line if no other line shows it."""


@frozen
class NotEdited:
    """The Corefile cannot be edited; `why` in a clause."""

    why: str


@frozen
class _TextChange:
    """Replaces ``text[start:end]`` by `replacement`."""

    start: int
    end: int
    replacement: str


def with_lameduck(corefile: Corefile, seconds: int) -> str | NotEdited:
    """Set the total time CoreDNS waits when it stops (`corefile_plugins.lameduck_s`): each health plugin gets its
    share, because they wait one after the other. Without a health plugin, one is added to the first server block."""
    health = [each for block in corefile.blocks for each in block.directives_named("health")]
    if may_hide_health(corefile) or any(
        _is_defined_elsewhere(corefile.text, token) for each in health for token in each.tokens
    ):
        return NotEdited("a variable, or a snippet within health, may set lameduck as well")
    plugins = len(health_plugins(corefile))
    value = _plugin_share(seconds, plugins)
    changes = [change for each in health for change in _lameduck_changes(corefile.text, each, value)]
    if not plugins:  # a snippet that is not imported has no effect
        if corefile.imported_files:
            return NotEdited(f"it imports {', '.join(corefile.imported_files)}, which may hold the plugin health")
        block = next((each for each in corefile.server_blocks if each.opened is not None), None)
        if block is None:
            return NotEdited("it has no server block with braces")
        changes = [_add_health(corefile.text, block, value)]
    return _apply_changes(corefile.text, changes)


def _is_defined_elsewhere(text: str, token: Token) -> bool:
    """Whether the token's value is defined elsewhere."""
    return token.text == "import" or any(each in text[token.start : token.end] for each in ("{$", "{%"))


def _plugin_share(seconds: int, plugins: int) -> str:
    """The share of one plugin in whole seconds, or in milliseconds rounded down."""
    each, rest = divmod(seconds, max(1, plugins))
    return f"{seconds * 1000 // plugins}ms" if rest else f"{each}s"


def _lameduck_changes(text: str, health: Directive, value: str) -> list[_TextChange]:
    values = list(lameduck_values((health,)))
    if values:
        return [_TextChange(token.start, token.end, value) for token in values if token.text != value]
    opened = next((token for token in health.tokens if token.text == "{" and token.line == health.line), None)
    indent = _indent(text, health.tokens[0].start)
    if opened is not None:
        follows = health.tokens[health.tokens.index(opened) + 1]
        return [
            _insert_below(text, opened, follows, f"{_line_end(text)}{indent}{_INDENT_STEP}lameduck {value}", indent)
        ]
    end, line_end = health.tokens[-1].end, _line_end(text)
    end_of_line = _end_of_line(text, end)
    below = _TextChange(
        end_of_line, end_of_line, f"{line_end}{indent}{_INDENT_STEP}lameduck {value}{line_end}{indent}}}"
    )
    return [below, _TextChange(end, end, " {")]  # of two changes at one position the first ends up after the second


def _add_health(text: str, block: Block, value: str) -> _TextChange:
    assert block.opened is not None
    first = next((each for each in block.body if _first_token(each).line > block.opened.line), None)
    indent = _indent(text, _first_token(first).start) if first is not None else _INDENT_STEP
    line_end = _line_end(text)
    inserted = f"{line_end}{indent}health {{{line_end}{indent}{_INDENT_STEP}lameduck {value}{line_end}{indent}}}"
    follows = _first_token(block.body[0]) if block.body else block.closed
    assert follows is not None, "who is opened is closed"
    return _insert_below(text, block.opened, follows, inserted, "")


def _insert_below(text: str, opened: Token, follows: Token, inserted: str, indent: str) -> _TextChange:
    """Insert text after the line of a brace, so that a comment on that line stays. Tokens that follow on the line are
    moved below, so that they are not taken for arguments."""
    if follows.line == opened.line:
        return _TextChange(opened.end, opened.end, f"{inserted}{_line_end(text)}{indent}")
    at = _end_of_line(text, opened.end)
    return _TextChange(at, at, inserted)


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - (text[end - 1 : end] == "\r")


def _first_token(element: Directive | Import) -> Token:
    return element.tokens[0] if isinstance(element, Directive) else element.keyword


def _indent(text: str, at: int) -> str:
    """The white space between the beginning of the line and this position."""
    begin = text.rfind("\n", 0, at) + 1
    return text[begin:at] if text[begin:at].isspace() else ""


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _apply_changes(text: str, changes: list[_TextChange]) -> str:
    for each in sorted(changes, key=lambda each: each.start, reverse=True):
        text = text[: each.start] + each.replacement + text[each.end :]
    return text


# The hash by which CoreDNS identifies its running Corefile: in a line of its log, and in a metric.
#
# It is not the hash of the text, but of the parsed blocks as Go prints them in JSON: SHA-512 now, MD5 in older
# versions. So spaces within a line do not change it, and an additional line does. Sources: coredns,
# plugin/reload/reload.go (parse); github.com/coredns/caddy, caddyfile (ServerBlock, Token); Go, encoding/json. Verified
# against the hashes that CoreDNS prints for the Corefile of kubeadm.


def corefile_hashes(corefile: Corefile) -> tuple[str, ...]:
    """The hashes that versions of CoreDNS print for it, in hexadecimal digits; () if the text does not determine it: it
    imports a file, or uses environment variables."""
    blocks = [_block_json(corefile, block) for block in corefile.server_blocks]
    if corefile.imports or any(block is None for block in blocks):
        return ()
    printed = f"[{','.join(block for block in blocks if block is not None)}]".encode("utf-8", "replace")
    return hashlib.sha512(printed).hexdigest(), hashlib.md5(printed, usedforsecurity=False).hexdigest()


def _block_json(corefile: Corefile, block: Block) -> str | None:
    tokens: dict[str, list[Token]] = {}
    for each in corefile.expand(block):
        if isinstance(each, Import) or _has_import(each):
            return None
        tokens.setdefault(each.name, []).extend(each.tokens)
    if any(token.has_environment for token in (*block.keys, *(one for every in tokens.values() for one in every))):
        return None
    keys = ",".join(_json_string(key.text) for key in block.keys)
    plugins = ",".join(f"{_json_string(name)}:{_tokens_json(tokens[name])}" for name in sorted(tokens))
    return f'{{"Keys":[{keys}],"Tokens":{{{plugins}}}}}'


def _has_import(directive: Directive) -> bool:
    """Whether a directive contains an import in its block, where CoreDNS inserts the imported text."""
    lines = [token.line for token in directive.tokens]
    return any(
        token.text == "import" and token.line != before
        for token, before in zip(directive.tokens[1:], lines, strict=False)
    )


def _tokens_json(tokens: Iterable[Token]) -> str:
    items = (f'{{"File":"","Line":{token.line},"Text":{_json_string(token.text)}}}' for token in tokens)
    return f"[{','.join(items)}]"


_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_ESCAPED_BY_NUMBER = frozenset("<>&\u2028\u2029")
"""Escaped although JSON does not require it (encoding/json, HTMLEscape)."""


def _json_string(text: str) -> str:
    return '"' + "".join(map(_escape_character, text)) + '"'


def _escape_character(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    return f"\\u{ord(character):04x}" if character < " " or character in _ESCAPED_BY_NUMBER else character


# The ConfigMap of the Corefile: its text, and the field managers that own it.


COREDNS_CONFIG_MAP = ObjectName("v1", "ConfigMap", SYSTEM_NAMESPACE, NAME)
COREFILE_FIELD = ("f:data", f"f:{COREFILE_KEY}")
"""Path of the text in managedFields."""
EKS_MANAGER = "eks"
"""Field manager of EKS add-ons."""


def corefile_text(config: Doc) -> str | None:
    """The Corefile in a ConfigMap, None if there is none."""
    text = nested_field(config, "data", COREFILE_KEY)
    return text if isinstance(text, str) else None


def field_owners(doc: Doc, path: tuple[str, ...] = COREFILE_FIELD) -> tuple[str, ...]:
    """Managers of that field, or of a field below it, sorted; empty if the managedFields cannot be read."""
    try:
        owned_fields = ((owner, each) for owner, entry in read_entries(doc).items() for each in entry.fields)
        return tuple(sorted({owner.manager for owner, each in owned_fields if each[: len(path)] == path}))
    except MalformedEntries:
        return ()
