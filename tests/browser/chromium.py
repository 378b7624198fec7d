"""Drive a real Chromium without a window through the DevTools protocol.

Methods and events have the names of https://chromedevtools.github.io/devtools-protocol/.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import websocket

_PATIENCE_S = 60.0
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root may not have one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)


class Tab:
    """One page, and its network requests."""

    def __init__(self, url: str) -> None:
        self._socket = _connected(url)
        self._sent = 0
        self.requests: list[str] = []
        self.errors: list[str] = []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return the answer; events that arrive meanwhile are recorded."""
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while True:
            told = self._next()
            if told.get("id") == self._sent:
                assert "error" not in told, f"{method}: {told['error']}"
                return dict(told["result"])

    def open(self, path: Path) -> float:
        """Open a page; returns the seconds until its load event, as the page itself has measured them."""
        self.requests.clear()
        self.errors.clear()
        self.ask("Page.navigate", url=path.as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass
        # The event's own end is set only after the handlers of it.
        took = "performance.getEntriesByType('navigation')[0]"
        return float(self.run(f"{took}.loadEventEnd || {took}.loadEventStart")) / 1000

    def run(self, expression: str) -> Any:
        """Evaluate an expression; a promise is awaited."""
        told = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def look(self, width: int, dark: bool = False, media: str = "screen", height: int = 900) -> None:
        """Set how a reader sees the page: its width, light or dark, on screen or on paper (``print``)."""
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def pdf(self) -> bytes:
        """The page as a PDF, as its reader prints it, without backgrounds."""
        self.ask("Emulation.setEmulatedMedia", media="print", features=[])
        return b64decode(self.ask("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"])

    def close(self) -> None:
        self._socket.close()

    def _next(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self._socket.recv())
        params = told.get("params", {})
        if told.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif told.get("method") == "Log.entryAdded":
            self.errors.append(params["entry"]["text"])
        elif told.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        return told


@contextmanager
def started(program: str) -> Iterator[Tab]:
    """Start a browser with one empty page; at the end all its processes are stopped."""
    home = Path(tempfile.mkdtemp(prefix="eksdoc-chromium-"))
    ran = subprocess.Popen(
        [program, *_FLAGS, f"--user-data-dir={home}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        tab = Tab(_page_of(ran, home))
        try:
            yield tab
        finally:
            tab.close()
    finally:
        ran.terminate()
        try:
            ran.wait(10)
        except subprocess.TimeoutExpired:
            ran.kill()
            ran.wait()
        shutil.rmtree(home, ignore_errors=True)


def _page_of(ran: subprocess.Popen[bytes], home: Path) -> str:
    """The address of the empty page, once the browser has written the port on which it listens."""
    port = _port(ran, home / "DevToolsActivePort")
    browser = _connected(f"ws://127.0.0.1:{port[0]}{port[1]}")
    try:
        browser.send(json.dumps({"id": 1, "method": "Target.getTargets"}))
        while (told := json.loads(browser.recv())).get("id") != 1:
            pass
    finally:
        browser.close()
    (page,) = (each["targetId"] for each in told["result"]["targetInfos"] if each["type"] == "page")
    return f"ws://127.0.0.1:{port[0]}/devtools/page/{page}"


def _connected(url: str) -> websocket.WebSocket:
    """Connect with our own socket: the library's would use a proxy that the environment names."""
    where = urlsplit(url)
    line = socket.create_connection((where.hostname, where.port), _PATIENCE_S)
    return websocket.create_connection(url, timeout=_PATIENCE_S, socket=line)


def _port(ran: subprocess.Popen[bytes], written: Path) -> tuple[str, str]:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and ran.poll() is None:
        lines = written.read_text().split("\n") if written.exists() else []
        if len(lines) > 1 and lines[1]:
            return lines[0], lines[1]
        time.sleep(0.05)
    raise AssertionError(f"the browser does not listen (it ended with {ran.poll()})")
