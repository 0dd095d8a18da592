"""Files, batches, videos and OCR as the official SDK sees them."""

import json

import openai
import pytest

from mock import status

CONFIG = """
model_list:
  - model_name: jobs
    litellm_params:
      model: openai/gpt-4o-mini
      api_base: os.environ/MOCK_BASE
      api_key: sk-jobs-one
    model_info: {id: jobs-one, mode: batch}
  - model_name: jobs
    litellm_params:
      model: openai/gpt-4o-mini
      api_base: os.environ/MOCK_BASE
      api_key: sk-jobs-two
    model_info: {id: jobs-two, mode: batch}
  - model_name: film
    litellm_params:
      model: openai/sora-2
      api_base: os.environ/MOCK_BASE
      api_key: sk-film
    model_info: {id: film-one, mode: video_generation}
  - model_name: pages
    litellm_params:
      model: mistral/mistral-ocr-latest
      api_base: os.environ/MOCK_BASE
      api_key: sk-pages
    model_info: {id: pages-one, mode: ocr}
general_settings:
  master_key: os.environ/GATEWAY_KEY
"""

LINE = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "jobs", "messages": []}}


@pytest.fixture
def served(start):
    return start(CONFIG)


def test_a_batch_lives_at_the_deployment_of_its_file(served, mock):
    client = served.client()
    lines = (json.dumps(LINE) + "\n").encode()
    keys = {"jobs-one": "sk-jobs-one", "jobs-two": "sk-jobs-two"}
    seen = set()
    for name in keys:
        mock.reset()
        raw = client.files.with_raw_response.create(
            file=("in.jsonl", lines), purpose="batch", extra_body={"model": name}
        )
        assert raw.headers["x-litellm-model-id"] == name
        file = raw.parse()
        assert file.id.startswith("file-") and file.object == "file"
        batch = client.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        assert batch.input_file_id == file.id
        done = client.batches.retrieve(batch.id)
        assert done.status == "completed"
        assert client.files.content(done.output_file_id).text == "content of file-output"
        assert client.batches.cancel(batch.id).status == "cancelling"
        assert client.files.retrieve(file.id).id == file.id
        assert client.files.delete(file.id).deleted
        [other] = set(keys.values()) - {keys[name]}
        assert mock.count(other) == 0
        assert mock.count(keys[name]) == 7
        assert "model" not in mock.calls(keys[name])[0].body
        seen.add(file.id)
    assert len(seen) == 2


def test_lists_page_through_ids(served):
    client = served.client()
    [batch] = client.batches.list(limit=1).data
    [file] = client.files.list().data
    assert client.batches.retrieve(batch.id).id == batch.id
    assert client.files.retrieve(file.id).id == file.id
    assert client.batches.list(after=batch.id, limit=1).data


def test_a_video_is_made_shown_read_and_removed(served, mock):
    client = served.client()
    video = client.videos.create(model="film", prompt="a small grey dot", seconds="4")
    assert video.status == "queued" and video.id.startswith("video_")
    assert client.videos.retrieve(video.id).status == "completed"
    assert client.videos.download_content(video.id).read()[4:8] == b"ftyp"
    remix = client.videos.remix(video.id, prompt="two dots")
    assert remix.remixed_from_video_id == video.id
    assert [found.object for found in client.videos.list().data] == ["video"]
    assert client.videos.delete(video.id).deleted
    made = mock.calls("sk-film")[0]
    assert made.path == "/v1/videos"
    assert "sora-2" in json.dumps(made.body) and "film" not in json.dumps(made.body)


def test_pages_are_read(served):
    document = {"type": "document_url", "document_url": "data:application/pdf;base64,JVBERg=="}
    answer = served.request("POST", "/v1/ocr", {"model": "pages", "document": document})
    assert answer.status == 200, answer.text
    assert json.loads(answer.body)["pages"][0]["markdown"]


def test_a_missing_object_is_the_callers_fault(served, mock):
    missing = {"error": {"message": "No such File object", "type": "invalid_request_error", "param": "id", "code": None}}
    for key in ("sk-jobs-one", "sk-jobs-two"):
        mock.script(key, status(404, missing))
    with pytest.raises(openai.NotFoundError):
        served.client().files.retrieve("file-nowhere")
    mock.reset()
    assert served.client().files.list().data


def test_an_upload_that_may_have_arrived_is_not_repeated(served, mock):
    for key in ("sk-jobs-one", "sk-jobs-two"):
        mock.script(key, status(500, {"error": {"message": "boom"}}))
    with pytest.raises(openai.InternalServerError):
        served.client().files.create(file=("in.jsonl", b"x"), purpose="batch", extra_body={"model": "jobs"})
    assert mock.count("sk-jobs-one") + mock.count("sk-jobs-two") == 1
