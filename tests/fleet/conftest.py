"""Fixtures: the mock provider, and stores and fleets that end with their test."""

import pytest

from fleet import Fleet, config
from mock import Mock
from store import Redis


@pytest.fixture
def mock(tmp_path):
    with Mock(tmp_path) as server:
        yield server


@pytest.fixture
def keep():
    """Ends with the test whatever is given to it."""
    kept = []

    def keep(server):
        kept.append(server)
        return server

    yield keep
    for server in reversed(kept):
        server.stop()


@pytest.fixture
def redis(tmp_path, keep):
    return keep(Redis(tmp_path))


@pytest.fixture
def fleet(tmp_path, mock, redis, keep):
    """A fleet over one Redis, with no pod yet."""
    return keep(Fleet(tmp_path, mock, config(f"{{host: 127.0.0.1, port: {redis.port}}}")))
