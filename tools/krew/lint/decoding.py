"""Decoding of a manifest's values into the fields that krew knows, as by sigs.k8s.io/yaml and encoding/json: fields in
any case, numbers and booleans as text where text is expected, null as absent, unknown fields ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tools.krew.lint.model import Expression, FileMove, Misfit, Platform, PlatformSelector, PluginManifest


def decoded(document: Mapping[object, object]) -> PluginManifest:
    """`document`: the mapping of a manifest."""
    misfits: list[Misfit] = []
    top = _Object(document, "", ("apiVersion", "kind", "metadata", "spec"), misfits)
    metadata = top.inside("metadata", ("name",))
    spec = top.inside("spec", ("version", "shortDescription", "description", "caveats", "homepage", "platforms"))
    platforms = spec.each("platforms", ("uri", "sha256", "bin", "files", "selector"))
    return PluginManifest(
        api_version=top.text("apiVersion"),
        kind=top.text("kind"),
        name=metadata.text("name"),
        version=spec.text("version"),
        short=spec.text("shortDescription"),
        description=spec.text("description"),
        homepage=spec.text("homepage"),
        caveats=spec.text("caveats"),
        platforms=tuple(_platform(each) for each in platforms or ()),
        misfits=tuple(misfits),
    )


def _platform(each: _Object) -> Platform:
    moves = each.each("files", ("from", "to"))
    files = None if moves is None else tuple(FileMove(move.text("from"), move.text("to")) for move in moves)
    return Platform(each.text("uri"), each.text("sha256"), each.text("bin"), files, _selector(each))


def _selector(platform: _Object) -> PlatformSelector | None:
    if platform.value("selector") is None:
        return None
    selector = platform.inside("selector", ("matchLabels", "matchExpressions"))
    expressions = selector.each("matchExpressions", ("key", "operator", "values"))
    return PlatformSelector(
        selector.texts_by_name("matchLabels"),
        None
        if expressions is None
        else tuple(Expression(e.text("key"), e.text("operator"), e.texts("values")) for e in expressions),
    )


class _Object:
    """An object of the manifest. A value of another type is noted, and then treated as absent."""

    def __init__(self, values: object, at: str, known: tuple[str, ...], misfits: list[Misfit]) -> None:
        self._at = at
        self._misfits = misfits
        self._values: dict[str, object] = {}
        if isinstance(values, Mapping):
            by_case = {name.lower(): name for name in known}
            for key, value in values.items():
                name = by_case.get(str(key).lower())
                if name is not None and (name not in self._values or key == name):
                    self._values[name] = value
        elif values is not None:
            self._misfit(at, values, "an object")

    def value(self, name: str) -> object:
        return self._values.get(name)

    def text(self, name: str) -> str:
        return self._text(self.value(name), self._place(name))

    def texts(self, name: str) -> tuple[str, ...]:
        at = self._place(name)
        return tuple(self._text(value, f"{at}[{i}]") for i, value in enumerate(self._list(name) or ()))

    def texts_by_name(self, name: str) -> tuple[tuple[str, str], ...] | None:
        values, at = self.value(name), self._place(name)
        if isinstance(values, Mapping):
            return tuple((str(key), self._text(value, f"{at}.{key}")) for key, value in values.items())
        if values is not None:
            self._misfit(at, values, "an object")
        return None

    def inside(self, name: str, known: tuple[str, ...]) -> _Object:
        return _Object(self.value(name), self._place(name), known, self._misfits)

    def each(self, name: str, known: tuple[str, ...]) -> tuple[_Object, ...] | None:
        values = self._list(name)
        return None if values is None else tuple(self._objects(values, self._place(name), known))

    def _objects(self, values: list[object], at: str, known: tuple[str, ...]) -> Iterator[_Object]:
        for i, value in enumerate(values):
            yield _Object(value, f"{at}[{i}]", known, self._misfits)

    def _list(self, name: str) -> list[object] | None:
        values = self.value(name)
        if values is None or isinstance(values, list):
            return values
        self._misfit(self._place(name), values, "a list")
        return None

    def _text(self, value: object, at: str) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return repr(value).removesuffix(".0")  # Go writes 1.0 as 1
        if value is not None:
            self._misfit(at, value, "text")
        return ""

    def _place(self, name: str) -> str:
        return f"{self._at}.{name}" if self._at else name

    def _misfit(self, at: str, value: object, wanted: str) -> None:
        found = "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else "text or a number"
        self._misfits.append(Misfit(at, f"is {found}, and krew wants {wanted}"))
