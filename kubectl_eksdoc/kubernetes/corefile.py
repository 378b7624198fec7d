"""Parser of Corefiles: text to tokens, tokens to blocks (github.com/coredns/caddy, caddyfile/parse.go)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.model.coredns import Block, Corefile, CorefileRefusal, Directive, Import, Token

# Tokenizer. Source: github.com/coredns/caddy, caddyfile/lexer.go.


_COMMENT = re.compile(r"\S(?:[^\n]*\S)?")
"""Between tokens there are only comments and white space."""
_MARK = "\ufeff"
"""A byte order mark at the beginning is skipped."""
_NO_SPACE = "\x1c\x1d\x1e\x1f"
"""White space in Python, but not in Go's unicode.IsSpace."""


def tokens(text: str) -> tuple[Token, ...]:
    """Split any text into tokens; only the parser finds errors.

    White space separates tokens, and a ``#`` begins a comment anywhere outside of quotes. A token that begins with a
    quote ends at the next quote, possibly on a later line; in it a backslash escapes only a quote.
    """
    return tuple(_tokens(text))


def without_comments(text: str, instead: Callable[[str], str]) -> str:
    """Replace each comment by ``#`` and `replacement` of it, which must not contain white space; line numbers stay the
    same."""
    parts, at = [], 1 if text.startswith(_MARK) else 0
    parts.append(text[:at])
    for token in (*tokens(text), None):
        between = text[at : len(text) if token is None else token.start]
        parts.append(_COMMENT.sub(lambda found: f"#{instead(found.group())}", between))
        if token is not None:
            parts.append(text[token.start : token.end])
            at = token.end
    return "".join(parts)


def _tokens(text: str) -> Iterator[Token]:
    at, line = (1 if text.startswith(_MARK) else 0), 1
    while True:
        token, at, line = _next(text, at, line)
        if token is None:
            return
        yield token


def _next(text: str, at: int, line: int) -> tuple[Token | None, int, int]:
    """The next token, the position after it, and the line there. A comment ends with its line or, if it touches a
    token, at the first space, because there the lexer forgets that it is in a comment."""
    comment = False
    start, begun, value = at, line, ""
    while at < len(text):
        sign = text[at]
        if sign.isspace() and sign not in _NO_SPACE:
            at += 1
            if sign == "\r":
                continue
            ends = Token(value, begun, start, _end(text, start, at - 1)) if value else None
            if sign == "\n":
                line += 1
                comment = False
            if ends is not None:
                return ends, at, line
            continue
        comment = comment or sign == "#"
        if not comment:
            if not value:
                start, begun = at, line
                if sign == '"':
                    return _quoted(text, at, line)
            value += sign
        at += 1
    return (Token(value, begun, start, _end(text, start, at)) if value else None), at, line


def _end(text: str, start: int, at: int) -> int:
    """The end without a comment that touches the token, and without the carriage return of its line end."""
    comment = text.find("#", start, at)
    at = comment if comment >= 0 else at
    while text[at - 1] == "\r":
        at -= 1
    return at


def _quoted(text: str, start: int, begun: int) -> tuple[Token | None, int, int]:
    value, escaped, line = "", False, begun
    for at in range(start + 1, len(text)):
        sign = text[at]
        if not escaped and sign == "\\":
            escaped = True
            continue
        if not escaped and sign == '"':
            return Token(value, begun, start, at + 1), at + 1, line
        line += sign == "\n"
        value += f"\\{sign}" if escaped and sign != '"' else sign
        escaped = False
    return (Token(value, begun, start, len(text)) if value else None), len(text), line


# Token reader of plugins. Source: github.com/coredns/caddy, caddyfile/dispenser.go.


class CorefileSyntaxError(Exception):
    """CoreDNS does not start with this Corefile."""

    def __init__(self, refusal: CorefileRefusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class TokenReader:
    """Reads tokens one by one. Mutable: it starts before the first token."""

    def __init__(self, tokens: Sequence[Token], plugin: str = "") -> None:
        self._tokens = tokens
        self._plugin = plugin
        self._at = -1
        self._depth = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    @property
    def value(self) -> str:
        return self.token.text if 0 <= self._at < len(self._tokens) else ""

    def next(self) -> bool:
        if self._at < len(self._tokens) - 1:
            self._at += 1
            return True
        return False

    def back(self) -> None:
        self._at -= 1

    def next_argument(self) -> bool:
        """Move to the next token, if it is on the same line."""
        if self._at < 0:
            self._at += 1
            return True
        if self._at < len(self._tokens) - 1 and self.token.last_line == self._tokens[self._at + 1].line:
            self._at += 1
            return True
        return False

    def arguments(self) -> list[Token]:
        """The remaining tokens on this line, up to an opening brace."""
        found = []
        while self.next_argument():
            if self.value == "{":
                self.back()
                break
            found.append(self.token)
        return found

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
        if self._at <= 0:
            return True
        return self._tokens[self._at - 1].last_line < self.token.line

    def argument_error(self) -> CorefileSyntaxError:
        if self.value == "{":
            return self.error("Unexpected token '{', expecting argument")
        return self.error(f"Wrong argument count or unexpected line ending after '{self.value}'")

    def error(self, said: str) -> CorefileSyntaxError:
        return CorefileSyntaxError(CorefileRefusal(f"Error during parsing: {said}", self._line, self._plugin))

    def syntax_error(self, expected: str) -> CorefileSyntaxError:
        return CorefileSyntaxError(
            CorefileRefusal(
                f"Syntax error: Unexpected token '{self.value}', expecting '{expected}'", self._line, self._plugin
            )
        )

    def plain_error(self, said: str) -> CorefileSyntaxError:
        """A message of the plugin itself, without a line number."""
        return CorefileSyntaxError(CorefileRefusal(said, 0, self._plugin))

    @property
    def _line(self) -> int:
        return self._tokens[self._at].line if 0 <= self._at < len(self._tokens) else 0


_VARIABLE = re.compile(r"\{\$([^{}]+)\}|\{%([^{}]+)%\}")


def parse(text: str, environment: Mapping[str, str] | None = None) -> Corefile | CorefileRefusal:
    """Parse a Corefile like CoreDNS. Imported files are not part of the text: they are kept as `Import`. `environment`:
    the known environment variables of CoreDNS."""
    try:
        return _Parser(text, environment).corefile()
    except CorefileSyntaxError as refused:
        return refused.refusal


class _Parser:
    """Mutable: it reads the tokens once."""

    def __init__(self, text: str, environment: Mapping[str, str] | None) -> None:
        self._text = text
        self._over = TokenReader([_filled(each, environment) for each in tokens(text)])
        self._blocks: list[Block] = []
        self._imports: list[Import] = []
        self._ended = False

    def corefile(self) -> Corefile:
        while self._over.next():
            self._block()
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
                    said = f"Error during parsing: File to import not found: {each.target.text}"
                    raise CorefileSyntaxError(CorefileRefusal(said, each.target.line))
        return Corefile(self._text, tuple(self._blocks), tuple(self._imports))

    def _block(self) -> None:
        keys = self._keys()
        if self._ended:
            # keys without a body are a block without plugins
            if keys:
                self._blocks.append(Block(tuple(keys), ()))
            return
        if not keys and self._over.value != "{":
            return
        name = _snippet(keys)
        if name:
            self._snippet(keys, name)
            return
        opened = self._over.token if self._over.value == "{" else None
        if opened is None:
            self._over.back()
        body, closed = self._body()
        if opened is not None and closed is None and self._over.value != "}":
            # caddy requires a "}" as the very last token, even that of a block within this one
            raise self._over.syntax_error("}")
        self._blocks.append(Block(tuple(keys), tuple(body), opened, closed if opened is not None else None))

    def _keys(self) -> list[Token]:
        """Starts at the first token of a block, and ends at its opening brace or at its first directive."""
        over, keys, another = self._over, list[Token](), False
        while True:
            if over.value == "import" and over.on_new_line:
                self._imports.append(self._import())
                if not over.next():
                    self._ended = True
                    return keys
                continue
            if over.value == "{":
                if another:
                    raise over.error("Expected another address but had '{' - check for extra comma")
                return keys
            token = over.token
            another = token.text.endswith(",")
            if token.text:
                keys.append(replace(token, text=token.text[:-1]) if another else token)
            if not over.next():
                if another:
                    raise over.error("Unexpected EOF")
                self._ended = True
                return keys
            if not another and over.on_new_line:
                return keys

    def _snippet(self, keys: list[Token], name: str) -> None:
        over = self._over
        if over.value != "{":
            raise over.syntax_error("{")
        if any(block.snippet == name for block in self._blocks):
            raise over.error(f"redeclaration of previously declared snippet {name}")
        opened, body = over.token, list[Directive | Import]()
        while over.next():
            if over.value == "}":
                self._blocks.append(Block(tuple(keys), tuple(body), opened, over.token, name))
                return
            body.append(self._import() if over.value == "import" else self._directive())
        raise over.syntax_error("}")

    def _body(self) -> tuple[list[Directive | Import], Token | None]:
        """Up to the closing brace, or to the end of the text."""
        over, body = self._over, list[Directive | Import]()
        while over.next():
            if over.value == "}":
                return body, over.token
            body.append(self._import() if over.value == "import" else self._directive())
        return body, None

    def _directive(self) -> Directive:
        over, depth = self._over, 0
        found = [over.token]
        while over.next():
            if over.value == "{":
                depth += 1
            elif over.on_new_line and depth == 0:
                over.back()
                break
            elif over.value == "}" and depth > 0:
                depth -= 1
            elif over.value == "}":
                raise over.error("Unexpected '}' because no matching opening brace")
            found.append(over.token)
        if depth > 0:
            raise over.error("Unexpected EOF")
        return Directive(tuple(found))

    def _import(self) -> Import:
        over, keyword = self._over, self._over.token
        if not over.next_argument():
            raise over.argument_error()
        target = over.token
        if not target.text:
            raise over.error("Import requires a non-empty filepath")
        if over.next_argument():
            raise over.error("Import takes only one argument (glob pattern or file)")
        return Import(keyword, target)


def _filled(token: Token, environment: Mapping[str, str] | None) -> Token:
    if environment is None or not token.environment:
        return token
    return replace(token, text=_VARIABLE.sub(lambda found: environment.get(found[1] or found[2], found[0]), token.text))


def _snippet(keys: list[Token]) -> str:
    """The name in ``(name)``, "" if the keys are not a snippet."""
    if len(keys) == 1 and keys[0].text.startswith("(") and keys[0].text.endswith(")"):
        return keys[0].text[1:-1]
    return ""
