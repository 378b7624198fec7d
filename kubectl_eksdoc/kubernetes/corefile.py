"""Parser of Corefiles: text to tokens, tokens to blocks (github.com/coredns/caddy, caddyfile/parse.go)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.model.coredns import Block, Corefile, CorefileError, Directive, Import, Token

# Tokenizer. Source: github.com/coredns/caddy, caddyfile/lexer.go.


_COMMENT = re.compile(r"\S(?:[^\n]*\S)?")
"""Between tokens there are only comments and white space."""
_BYTE_ORDER_MARK = "\ufeff"
"""A byte order mark at the beginning is skipped."""
_NOT_GO_SPACE = "\x1c\x1d\x1e\x1f"
"""White space in Python, but not in Go's unicode.IsSpace."""


def tokenize(text: str) -> tuple[Token, ...]:
    """Split any text into tokens; only the parser finds errors.

    White space separates tokens, and a ``#`` begins a comment anywhere outside of quotes. A token that begins with a
    quote ends at the next quote, possibly on a later line; in it a backslash escapes only a quote.
    """
    return tuple(_tokens(text))


def replace_comments(text: str, replacement: Callable[[str], str]) -> str:
    """Replace each comment by ``#`` and `replacement` of it, which must not contain white space; line numbers stay the
    same."""
    parts, at = [], 1 if text.startswith(_BYTE_ORDER_MARK) else 0
    parts.append(text[:at])
    for token in (*tokenize(text), None):
        between = text[at : len(text) if token is None else token.start]
        parts.append(_COMMENT.sub(lambda found: f"#{replacement(found.group())}", between))
        if token is not None:
            parts.append(text[token.start : token.end])
            at = token.end
    return "".join(parts)


def _tokens(text: str) -> Iterator[Token]:
    at, line = (1 if text.startswith(_BYTE_ORDER_MARK) else 0), 1
    while True:
        token, at, line = _next_token(text, at, line)
        if token is None:
            return
        yield token


def _next_token(text: str, at: int, line: int) -> tuple[Token | None, int, int]:
    """The next token, the position after it, and the line there. A comment ends with its line or, if it touches a
    token, at the first space, because there the lexer forgets that it is in a comment."""
    comment = False
    start, start_line, value = at, line, ""
    while at < len(text):
        character = text[at]
        if character.isspace() and character not in _NOT_GO_SPACE:
            at += 1
            if character == "\r":
                continue
            ended_token = Token(value, start_line, start, _token_end(text, start, at - 1)) if value else None
            if character == "\n":
                line += 1
                comment = False
            if ended_token is not None:
                return ended_token, at, line
            continue
        comment = comment or character == "#"
        if not comment:
            if not value:
                start, start_line = at, line
                if character == '"':
                    return _quoted_token(text, at, line)
            value += character
        at += 1
    return (Token(value, start_line, start, _token_end(text, start, at)) if value else None), at, line


def _token_end(text: str, start: int, at: int) -> int:
    """The end without a comment that touches the token, and without the carriage return of its line end."""
    comment = text.find("#", start, at)
    at = comment if comment >= 0 else at
    while text[at - 1] == "\r":
        at -= 1
    return at


def _quoted_token(text: str, start: int, start_line: int) -> tuple[Token | None, int, int]:
    value, escaped, line = "", False, start_line
    for at in range(start + 1, len(text)):
        character = text[at]
        if not escaped and character == "\\":
            escaped = True
            continue
        if not escaped and character == '"':
            return Token(value, start_line, start, at + 1), at + 1, line
        line += character == "\n"
        value += f"\\{character}" if escaped and character != '"' else character
        escaped = False
    return (Token(value, start_line, start, len(text)) if value else None), len(text), line


# Token reader of plugins. Source: github.com/coredns/caddy, caddyfile/dispenser.go.


class CorefileSyntaxError(Exception):
    """CoreDNS does not start with this Corefile."""

    def __init__(self, error: CorefileError) -> None:
        super().__init__(str(error))
        self.error = error


class TokenReader:
    """Reads tokens one by one. Mutable: it starts before the first token."""

    def __init__(self, tokens: Sequence[Token], plugin: str = "") -> None:
        self._tokens = tokens
        self._plugin = plugin
        self._position = -1
        self._depth = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._position]

    @property
    def value(self) -> str:
        return self.token.text if 0 <= self._position < len(self._tokens) else ""

    def next(self) -> bool:
        if self._position < len(self._tokens) - 1:
            self._position += 1
            return True
        return False

    def back(self) -> None:
        self._position -= 1

    def next_argument(self) -> bool:
        """Move to the next token, if it is on the same line."""
        if self._position < 0:
            self._position += 1
            return True
        if self._position < len(self._tokens) - 1 and self.token.last_line == self._tokens[self._position + 1].line:
            self._position += 1
            return True
        return False

    def arguments(self) -> list[Token]:
        """The remaining tokens on this line, up to an opening brace."""
        remaining = []
        while self.next_argument():
            if self.value == "{":
                self.back()
                break
            remaining.append(self.token)
        return remaining

    def next_in_block(self) -> bool:
        """Enter a block that is opened on this line, and step through it until it is closed."""
        if self._depth > 0:
            self.next()
            if self.value == "}":
                self._depth -= 1
                return False
            return True
        if not self.next_argument():
            return False
        if self.value != "{":
            self.back()
            return False
        self.next()
        if self.value == "}":
            return False
        self._depth += 1
        return True

    @property
    def on_new_line(self) -> bool:
        if self._position <= 0:
            return True
        return self._tokens[self._position - 1].last_line < self.token.line

    def argument_error(self) -> CorefileSyntaxError:
        if self.value == "{":
            return self.error("Unexpected token '{', expecting argument")
        return self.error(f"Wrong argument count or unexpected line ending after '{self.value}'")

    def error(self, message: str) -> CorefileSyntaxError:
        return CorefileSyntaxError(CorefileError(f"Error during parsing: {message}", self._line, self._plugin))

    def syntax_error(self, expected: str) -> CorefileSyntaxError:
        return CorefileSyntaxError(
            CorefileError(
                f"Syntax error: Unexpected token '{self.value}', expecting '{expected}'", self._line, self._plugin
            )
        )

    def plain_error(self, message: str) -> CorefileSyntaxError:
        """A message of the plugin itself, without a line number."""
        return CorefileSyntaxError(CorefileError(message, 0, self._plugin))

    @property
    def _line(self) -> int:
        return self._tokens[self._position].line if 0 <= self._position < len(self._tokens) else 0


_VARIABLE = re.compile(r"\{\$([^{}]+)\}|\{%([^{}]+)%\}")


def parse_corefile(text: str, environment: Mapping[str, str] | None = None) -> Corefile | CorefileError:
    """Parse a Corefile like CoreDNS. Imported files are not part of the text: they are kept as `Import`. `environment`:
    the known environment variables of CoreDNS."""
    try:
        return _Parser(text, environment).corefile()
    except CorefileSyntaxError as syntax_error:
        return syntax_error.error


class _Parser:
    """Mutable: it reads the tokens once."""

    def __init__(self, text: str, environment: Mapping[str, str] | None) -> None:
        self._text = text
        self._reader = TokenReader([_with_environment(each, environment) for each in tokenize(text)])
        self._blocks: list[Block] = []
        self._imports: list[Import] = []
        self._ended = False

    def corefile(self) -> Corefile:
        while self._reader.next():
            self._parse_block()
            if self._ended:
                break
        # A snippet exists from its definition on: before it, its name means a file.
        defined: set[str] = set()
        later = {block.snippet for block in self._blocks if block.snippet}
        for block in self._blocks:
            if block.snippet:
                defined.add(block.snippet)
            for each in block.body if not block.snippet else ():
                if isinstance(each, Import) and each.target.text in later - defined:
                    message = f"Error during parsing: File to import not found: {each.target.text}"
                    raise CorefileSyntaxError(CorefileError(message, each.target.line))
        return Corefile(self._text, tuple(self._blocks), tuple(self._imports))

    def _parse_block(self) -> None:
        keys = self._parse_keys()
        if self._ended:
            # keys without a body are a block without plugins
            if keys:
                self._blocks.append(Block(tuple(keys), ()))
            return
        if not keys and self._reader.value != "{":
            return
        name = _snippet_name(keys)
        if name:
            self._parse_snippet(keys, name)
            return
        opened = self._reader.token if self._reader.value == "{" else None
        if opened is None:
            self._reader.back()
        body, closed = self._parse_body()
        if opened is not None and closed is None and self._reader.value != "}":
            # caddy requires a "}" as the very last token, even that of a block within this one
            raise self._reader.syntax_error("}")
        self._blocks.append(Block(tuple(keys), tuple(body), opened, closed if opened is not None else None))

    def _parse_keys(self) -> list[Token]:
        """Starts at the first token of a block, and ends at its opening brace or at its first directive."""
        reader, keys, expects_key = self._reader, list[Token](), False
        while True:
            if reader.value == "import" and reader.on_new_line:
                self._imports.append(self._parse_import())
                if not reader.next():
                    self._ended = True
                    return keys
                continue
            if reader.value == "{":
                if expects_key:
                    raise reader.error("Expected another address but had '{' - check for extra comma")
                return keys
            token = reader.token
            expects_key = token.text.endswith(",")
            if token.text:
                keys.append(replace(token, text=token.text[:-1]) if expects_key else token)
            if not reader.next():
                if expects_key:
                    raise reader.error("Unexpected EOF")
                self._ended = True
                return keys
            if not expects_key and reader.on_new_line:
                return keys

    def _parse_snippet(self, keys: list[Token], name: str) -> None:
        reader = self._reader
        if reader.value != "{":
            raise reader.syntax_error("{")
        if any(block.snippet == name for block in self._blocks):
            raise reader.error(f"redeclaration of previously declared snippet {name}")
        opened, body = reader.token, list[Directive | Import]()
        while reader.next():
            if reader.value == "}":
                self._blocks.append(Block(tuple(keys), tuple(body), opened, reader.token, name))
                return
            body.append(self._parse_import() if reader.value == "import" else self._parse_directive())
        raise reader.syntax_error("}")

    def _parse_body(self) -> tuple[list[Directive | Import], Token | None]:
        """Up to the closing brace, or to the end of the text."""
        reader, body = self._reader, list[Directive | Import]()
        while reader.next():
            if reader.value == "}":
                return body, reader.token
            body.append(self._parse_import() if reader.value == "import" else self._parse_directive())
        return body, None

    def _parse_directive(self) -> Directive:
        reader, depth = self._reader, 0
        directive_tokens = [reader.token]
        while reader.next():
            if reader.value == "{":
                depth += 1
            elif reader.on_new_line and depth == 0:
                reader.back()
                break
            elif reader.value == "}" and depth > 0:
                depth -= 1
            elif reader.value == "}":
                raise reader.error("Unexpected '}' because no matching opening brace")
            directive_tokens.append(reader.token)
        if depth > 0:
            raise reader.error("Unexpected EOF")
        return Directive(tuple(directive_tokens))

    def _parse_import(self) -> Import:
        reader, keyword = self._reader, self._reader.token
        if not reader.next_argument():
            raise reader.argument_error()
        target = reader.token
        if not target.text:
            raise reader.error("Import requires a non-empty filepath")
        if reader.next_argument():
            raise reader.error("Import takes only one argument (glob pattern or file)")
        return Import(keyword, target)


def _with_environment(token: Token, environment: Mapping[str, str] | None) -> Token:
    if environment is None or not token.has_environment:
        return token
    return replace(token, text=_VARIABLE.sub(lambda found: environment.get(found[1] or found[2], found[0]), token.text))


def _snippet_name(keys: list[Token]) -> str:
    """The name in ``(name)``, "" if the keys are not a snippet."""
    if len(keys) == 1 and keys[0].text.startswith("(") and keys[0].text.endswith(")"):
        return keys[0].text[1:-1]
    return ""
