"""A model that one process stores is served by the others at once: over Redis they are told."""

import time

from fleet import Fleet, config
from process import until

MODEL = {
    "model_name": "added",
    "litellm_params": {"model": "openai/gpt-x", "api_base": "os.environ/MOCK_BASE", "api_key": "sk-added"},
    "model_info": {"id": "added-1"},
}


def test_a_stored_model_reaches_the_other_processes_before_they_look(tmp_path, mock, redis, keep):
    store = f"  store: {{url: 'sqlite:{tmp_path}/models.db'}}\n"
    address = f"{{host: 127.0.0.1, port: {redis.port}}}"
    text = config(address, count=1, general="  store_model_in_db: true\n") + store
    fleet = keep(Fleet(tmp_path, mock, text))
    first, second = fleet.start(2)
    until(lambda: first.mode() == second.mode() == "shared", 15, "both sharing")
    mock.script("sk-added", {"do": "ok"})
    took = []
    # Who is not told looks every five seconds: three times within two seconds each is no luck.
    for _ in range(3):
        assert first.post("/model/new", MODEL).status == 200
        began = time.monotonic()
        until(lambda: second.chat("added").status == 200, 2, "served by the other process")
        took.append(time.monotonic() - began)
        assert first.post("/model/delete", {"id": "added-1"}).status == 200
        until(lambda: second.chat("added").status == 400, 2, "gone in the other process")
    assert max(took) < 2, took
