"""A simulated pod of a Job: its container runs as a process with in-cluster credentials, and only the rights of its
roles."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import trustme

from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer
from kubectl_eksdoc.embedded.serving.requests import (
    ADMIN,
    RbacRule,
    ServedUser,
    TokenUsers,
    restricted,
)
from kubectl_eksdoc.model.api_objects import Doc
from tests import required_programs
from tests.embedded.clients import worlds

ROOT = Path(__file__).parents[3]
TOKEN = "token-of-the-pod"
LONGEST_S = 120.0


class Cluster:
    """A served cluster in which the pod's token has only the rights that `grant` gives. Mutable."""

    def __init__(self, name: str = "small-traps", speed: float = worlds.SPEED) -> None:
        self._users: dict[str, ServedUser] = {worlds.ADMIN_TOKEN: ADMIN}
        self.api = Api(worlds.plane_of(name), ApiSetup(TokenUsers(self._users)), ScaledTime(time.monotonic, speed))

    def rotate(self, folder: Path) -> None:
        """Replace the pod's token, as a kubelet does."""
        rights = self._users.pop((folder / "token").read_text(encoding="utf-8"))
        fresh = f"{TOKEN}-{time.monotonic_ns()}"
        self._users[fresh] = rights
        (folder / "token").write_text(fresh, encoding="utf-8")

    def grant(self, docs: Iterable[Doc]) -> None:
        """Give the pod the rights of the roles among `docs`."""
        rules = [rule for doc in docs if doc["kind"] in ("Role", "ClusterRole") for rule in _rules(doc)]
        self._users[TOKEN] = restricted("system:serviceaccount:kube-system:eksdoc", rules)


def _rules(role: Doc) -> Iterator[RbacRule]:
    where = (role["metadata"]["namespace"],) if role["kind"] == "Role" else ()
    for rule in role["rules"]:
        verbs, paths = tuple(rule["verbs"]), tuple(rule.get("nonResourceURLs", ()))
        if paths:
            yield RbacRule(verbs, (), (), (), paths)
        else:
            yield RbacRule(verbs, tuple(rule["resources"]), tuple(rule["apiGroups"]), where)


@contextmanager
def serving_tls(api: Api, folder: Path) -> Iterator[SimulatedApiServer]:
    """Serve TLS; `folder` becomes the service account folder of this cluster."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    folder.mkdir()
    (folder / "ca.crt").write_bytes(authority.cert_pem.bytes())
    (folder / "token").write_text(TOKEN, encoding="utf-8")
    (folder / "namespace").write_text("kube-system", encoding="utf-8")
    with SimulatedApiServer(api) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def job_of(docs: Sequence[Doc]) -> Doc:
    (job,) = (doc for doc in docs if doc["kind"] == "Job")
    return job


class Container:
    """The only container of a pod, with a new disk at each start. `mount`: the folder that contains its files."""

    def __init__(self, docs: Sequence[Doc], server: SimulatedApiServer, account: Path, home: Path) -> None:
        (spec,) = job_of(docs)["spec"]["template"]["spec"]["containers"]
        assert spec["command"] == ["kubectl-eksdoc"]
        home.mkdir(parents=True)
        mount = home / "files"
        mount.mkdir()
        for doc in docs:
            for name, text in (doc.get("binaryData") or {}).items():
                (mount / name).write_bytes(b64decode(text))
        environ = {each["name"]: each["value"] for each in spec["env"]} | {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            **required_programs.BYTECODE,
            "HOME": str(home),
            "TMPDIR": str(home),
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(server.port),
            "EKSDOC_SERVICE_ACCOUNT": str(account),
        }
        args = [each.replace("/etc/eksdoc", str(mount)) for each in spec["args"]]
        argv = [sys.executable, "-m", "kubectl_eksdoc", *args]
        self._out, self._err = home / "out", home / "err"
        with open(self._out, "w") as out, open(self._err, "w") as err:
            nothing = subprocess.DEVNULL
            self.process = subprocess.Popen(argv, stdin=nothing, stdout=out, stderr=err, cwd=home, env=environ)

    @property
    def out(self) -> str:
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return self._err.read_text(encoding="utf-8")

    def until(self, holds: Callable[[], bool]) -> None:
        ends_s = time.monotonic() + LONGEST_S
        while not holds():
            assert time.monotonic() < ends_s and (self.process.poll() is None or holds()), self.out + self.err
            time.sleep(0.05)

    def ended(self) -> int:
        return self.process.wait(LONGEST_S)
