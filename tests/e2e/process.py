"""Servers as child processes: started, awaited, and ended even when the tests are killed."""

import ctypes
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(condition, bound: float = 10.0, what: str = "the condition"):
    """The first truthy value of `condition()`; fails after `bound` seconds."""
    end = time.monotonic() + bound
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not hold within {bound} s"
        time.sleep(0.02)


@dataclass
class Answer:
    """An HTTP answer as it came."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args):
        return None


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)


def http(method: str, url: str, body: bytes | None = None, headers: dict | None = None, timeout: float = 10) -> Answer:
    """One plain request, without any SDK in between. An error status is an answer too."""
    request = urllib.request.Request(url, data=body, headers=headers or {}, method=method)
    try:
        with _opener.open(request, timeout=timeout) as reply:
            return Answer(reply.status, {k.lower(): v for k, v in reply.headers.items()}, reply.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())


class Server:
    """A child process that serves on a loopback port."""

    def __init__(self, command: list[str], port: int, log: Path, env: dict[str, str] | None = None):
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        with open(log, "wb") as sink:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ["PATH"], **(env or {})},
                cwd=log.parent,
                preexec_fn=_end_with_parent,
            )

    def answers(self, path: str) -> bool:
        try:
            return http("GET", self.url + path, timeout=1).status == 200
        except OSError:
            assert self.process.poll() is None, f"ended with {self.process.returncode}:\n{self.text()}"
            return False

    def text(self) -> str:
        """What the process printed so far."""
        return self.log.read_text(errors="replace")

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait(self, bound: float = 10) -> int:
        return self.process.wait(bound)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.stop()
