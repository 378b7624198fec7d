"""How plugins walk over their tokens. Source: github.com/coredns/caddy, caddyfile/dispenser.go."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.corefile import Refusal, Token


class Refused(Exception):
    """CoreDNS does not start with it."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class Dispenser:
    """Mutable: it stands at one of the tokens, at first before them."""

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
        """The next token, if it stands on the same line."""
        if self._at < 0:
            self._at += 1
            return True
        if self._at < len(self._tokens) - 1 and self.token.last_line == self._tokens[self._at + 1].line:
            self._at += 1
            return True
        return False

    def arguments(self) -> list[Token]:
        """All that are left on this line, up to an opening brace."""
        found = []
        while self.next_argument():
            if self.value == "{":
                self.back()
                break
            found.append(self.token)
        return found

    def next_in_block(self) -> bool:
        """Into a block that is opened on this line, and on in it, until it is closed."""
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

    def argument_error(self) -> Refused:
        if self.value == "{":
            return self.error("Unexpected token '{', expecting argument")
        return self.error(f"Wrong argument count or unexpected line ending after '{self.value}'")

    def error(self, said: str) -> Refused:
        return Refused(Refusal(f"Error during parsing: {said}", self._line, self._plugin))

    def syntax_error(self, expected: str) -> Refused:
        return Refused(
            Refusal(f"Syntax error: Unexpected token '{self.value}', expecting '{expected}'", self._line, self._plugin)
        )

    def plain_error(self, said: str) -> Refused:
        """In words of the plugin's own, which name no line."""
        return Refused(Refusal(said, 0, self._plugin))

    @property
    def _line(self) -> int:
        return self._tokens[self._at].line if 0 <= self._at < len(self._tokens) else 0
