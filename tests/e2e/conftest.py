"""Fixtures: the mock provider and one gateway for all tests that do not need a config of their own."""

from pathlib import Path

import pytest

from gateway import Gateway
from mock import Mock


@pytest.fixture(scope="session")
def mock(tmp_path_factory):
    with Mock(tmp_path_factory.mktemp("mock")) as server:
        yield server


@pytest.fixture(autouse=True)
def fresh(mock):
    """Every test meets a provider that answers, and an empty meter."""
    mock.reset()


@pytest.fixture
def start(mock, tmp_path):
    """Starts gateways with configs of the test's own; all end with the test."""
    started = []

    def begin(config: str, **env: str) -> Gateway:
        mock.deployments(config)
        gateway = Gateway(config, tmp_path, {**mock.env(), **env})
        started.append(gateway)
        return gateway

    yield begin
    for gateway in started:
        gateway.stop()


@pytest.fixture(scope="session")
def gateway(mock, tmp_path_factory):
    config = Path(__file__).with_name("gateway.yaml").read_text()
    mock.deployments(config)
    with Gateway(config, tmp_path_factory.mktemp("gateway"), mock.env()) as server:
        yield server
