"""The mock provider (crates/mockllm) and the behaviours that tests ask of it.

A deployment is told by its API key, and the meter counts what really reached the provider.
"""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from process import Server, free_port, http, until

MOCKLLM = os.path.abspath(os.environ.get("MOCKLLM_BIN", "target/debug/mockllm"))


def ok() -> dict:
    """A proper answer."""
    return {"do": "ok"}


def reply(body: object) -> dict:
    """This JSON with status 200, digit for digit."""
    return {"do": "status", "status": 200, "headers": JSON, "body": json.dumps(body)}


def events(pieces: list[object]) -> dict:
    """A stream of exactly these events."""
    text = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
    return {"do": "status", "status": 200, "headers": {"content-type": "text/event-stream"}, "body": text}


def status(code: int, body: object) -> dict:
    """An error status with this body."""
    return {"do": "status", "status": code, "headers": JSON, "body": body}


def words(text: str, gap_ms: int) -> dict:
    """A stream of one event per word, this far apart."""
    return {"do": "ok", "text": text, "gap_ms": gap_ms}


def slow(latency_ms: int) -> dict:
    """A proper answer after a while."""
    return {"do": "ok", "latency_ms": latency_ms}


def hang() -> dict:
    """No answer at all."""
    return {"do": "hang"}


def cut_after(count: int) -> dict:
    """A stream whose connection closes after some events."""
    return {"do": "cut", "after": count}


def error_event(after: int) -> dict:
    """A stream in which an error takes the place of an event."""
    return {"do": "error_event", "after": after, "status": 500}


def reset() -> dict:
    """A connection that is reset without an answer."""
    return {"do": "reset"}


def malformed() -> dict:
    """JSON that ends in the middle."""
    return {"do": "malformed"}


JSON = {"content-type": "application/json"}


@dataclass
class Call:
    """A request as the provider got it."""

    path: str
    query: str
    headers: dict[str, str]
    body: dict

    @classmethod
    def of(cls, kept: dict) -> "Call":
        path, _, query = kept["path"].partition("?")
        return cls(path, query, dict(kept["headers"]), kept["body"])


class Mock(Server):
    """The mock provider on a free port."""

    def __init__(self, folder: Path):
        port = free_port()
        super().__init__([MOCKLLM, str(port)], port, folder / "mock.log")
        self.known: set[str] = set()
        until(lambda: self.answers("/__meter"), 10, "the mock provider serving")

    def env(self) -> dict[str, str]:
        """What configs refer to as os.environ/MOCK_BASE and os.environ/MOCK_HOST."""
        return {"MOCK_BASE": f"{self.url}/v1", "MOCK_HOST": self.url}

    def deployments(self, config: str) -> None:
        """Makes the mock tell apart all deployments of a config; those that are not scripted answer properly."""
        for key in set(re.findall(r"api_key: (sk-[\w-]+)", config)) - self.known:
            self.script(key, ok())

    def script(self, key: str, behaviour: dict) -> None:
        """From now on, calls with this key get this."""
        self.known.add(key)
        self._tell("POST", f"/__script/{key}", behaviour)

    def reset(self) -> None:
        """All answer properly, and nothing has been called yet."""
        for key in self.known:
            self._tell("POST", f"/__script/{key}", ok())
        self._tell("DELETE", "/__meter")

    def count(self, key: str) -> int:
        """Calls with this key so far."""
        return self._tell("GET", f"/__meter/{key}")["requests"]

    def in_flight(self, key: str) -> int:
        """Calls with this key that are not over."""
        return self._tell("GET", f"/__meter/{key}")["in_flight"]

    def calls(self, key: str) -> list[Call]:
        """The last calls with this key, the oldest first."""
        return [Call.of(kept) for kept in self._tell("GET", f"/__kept/{key}")]

    def _tell(self, method: str, path: str, body: object = None):
        data = None if body is None else json.dumps(body).encode()
        answer = http(method, self.url + path, data, {"Content-Type": "application/json"})
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.text}"
        return json.loads(answer.body) if answer.body else None
