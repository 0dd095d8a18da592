"""Start, stop, and what is refused before anything starts."""

import signal
import threading
import time

import pytest

from gateway import HALEWAY, MASTER_KEY, run
from mock import slow, words
from process import Server, free_port, http, until

ONE = """
model_list:
  - model_name: m
    litellm_params: {model: openai/gpt-4o-mini, api_base: os.environ/MOCK_BASE, api_key: sk-drain}
general_settings: {master_key: os.environ/GATEWAY_KEY}
"""


def in_background(call) -> dict:
    """Runs `call` in a thread; its result or exception appears in the returned dict."""
    outcome = {}

    def target():
        try:
            outcome["result"] = call()
        except Exception as error:  # noqa: BLE001 - handed to the test
            outcome["error"] = error

    outcome["thread"] = threading.Thread(target=target)
    outcome["thread"].start()
    return outcome


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_call_in_flight_ends_well_when_the_gateway_is_asked_to_stop(start, mock, number):
    mock.script("sk-drain", slow(1500))
    gateway = start(ONE)
    call = in_background(lambda: gateway.chat("m"))
    until(lambda: mock.in_flight("sk-drain") == 1, what="the call being in flight")
    gateway.signal(number)
    call["thread"].join(10)
    assert call["result"].choices
    assert gateway.wait() == 0


def test_a_stream_in_flight_ends_well_and_new_calls_are_refused(start, mock):
    mock.script("sk-drain", words("a b c d", gap_ms=500))
    gateway = start(ONE)
    call = in_background(lambda: list(gateway.chat("m", stream=True)))
    until(lambda: mock.in_flight("sk-drain") == 1, what="the stream being in flight")
    gateway.signal()

    def refused():
        try:
            return http("GET", f"{gateway.url}/v1/models", headers={"Authorization": f"Bearer {MASTER_KEY}"}).status == 503
        except OSError:
            return True

    until(refused, 5, "new calls being refused")
    call["thread"].join(10)
    assert call["result"][-1].choices[0].finish_reason == "stop"
    assert gateway.wait() == 0


def test_for_the_shutdown_delay_new_calls_are_served_while_readiness_warns(start, mock):
    gateway = start(ONE, HALEWAY_SHUTDOWN_DELAY="2")
    gateway.signal()
    asked = time.monotonic()
    until(lambda: http("GET", f"{gateway.url}/health/readiness").status == 503, 1, "not ready any more")
    assert gateway.chat("m").choices, "whoever has not noticed yet is served"
    assert gateway.wait(5) == 0
    assert time.monotonic() - asked >= 1.9


def test_an_idle_gateway_stops_at_once(start, mock):
    gateway = start(ONE)
    gateway.chat("m")
    gateway.signal()
    assert gateway.wait(3) == 0


def test_nothing_that_is_logged_holds_a_key(start, mock):
    gateway = start(ONE, RUST_LOG="debug")
    gateway.chat("m")
    gateway.request("GET", "/v1/models", key="sk-intruder")
    gateway.signal()
    gateway.wait()
    for secret in (MASTER_KEY, "sk-drain", "sk-intruder"):
        assert secret not in gateway.text(), secret


def test_the_bare_command_serves_as_litellms_does(tmp_path, mock):
    config = tmp_path / "config.yaml"
    config.write_text(ONE)
    port = free_port()
    command = [HALEWAY, "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "4"]
    env = {"GATEWAY_KEY": MASTER_KEY, **mock.env()}
    with Server(command, port, tmp_path / "log.txt", env) as server:
        until(lambda: server.answers("/health/liveliness"), 15, "the gateway serving")


REFUSED = {
    "broken yaml": ("model_list:\n  - model_name: a\n   bad: [\n", "config.yaml:3"),
    "unknown provider": (
        "model_list:\n  - model_name: m\n    litellm_params: {model: nosuchprovider/foo, api_key: k}\n",
        "nosuchprovider",
    ),
    "missing variable": (
        "model_list:\n  - model_name: m\n    litellm_params:\n      model: openai/gpt-4o-mini\n"
        "      api_key: os.environ/NOT_SET_KEY\n",
        "NOT_SET_KEY",
    ),
    "unreadable include": ("include: [missing.yaml]\nmodel_list: []\n", "missing.yaml"),
    "no model_name": ("model_list:\n  - litellm_params: {model: openai/gpt-4o-mini, api_key: k}\n", "model_name"),
    "unknown strategy": (
        "model_list:\n  - model_name: m\n    litellm_params: {model: openai/gpt-4o-mini, api_key: k}\n"
        "router_settings: {routing_strategy: round-robin}\n",
        "round-robin",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_config_is_one_clear_message_and_nothing_starts(tmp_path, case):
    text, named = REFUSED[case]
    (tmp_path / "config.yaml").write_text(text)
    port = free_port()
    ended = run("serve", "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port), cwd=tmp_path)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 1, said
    assert named in said
    assert "config.yaml" in said
    assert "panicked" not in said
    with pytest.raises(OSError):
        http("GET", f"http://127.0.0.1:{port}/health/liveliness", timeout=1)


def test_a_missing_config_file_is_named(tmp_path):
    ended = run("serve", "--config", "nowhere.yaml", cwd=tmp_path)
    assert ended.returncode == 1
    assert "nowhere.yaml" in ended.stdout + ended.stderr


def test_a_port_in_use_is_named(start, tmp_path, mock):
    gateway = start(ONE)
    env = {"GATEWAY_KEY": MASTER_KEY, **mock.env()}
    port = str(gateway.port)
    ended = run("serve", "--config", str(gateway.config), "--host", "127.0.0.1", "--port", port, env=env)
    assert ended.returncode == 1
    assert port in ended.stdout + ended.stderr
    assert "panicked" not in ended.stderr
    assert gateway.chat("m").choices, "the first one serves on"
