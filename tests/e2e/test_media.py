"""Sound and pictures with the official SDK: uploads, speech that is streamed, errors, and the second deployment."""

import base64
import io
import json

import openai
import pytest

from mock import cut_after, status

CONFIG = """
model_list:
  - model_name: ears
    litellm_params: {model: openai/whisper-1, api_base: os.environ/MOCK_BASE, api_key: sk-ears}
    model_info: {id: dep-ears, mode: audio_transcription}
  - model_name: spare-ears
    litellm_params: {model: openai/whisper-1, api_base: os.environ/MOCK_BASE, api_key: sk-spare-ears}
    model_info: {id: dep-spare-ears, mode: audio_transcription}
  - model_name: azure-ears
    litellm_params:
      model: azure/my-whisper
      api_base: os.environ/MOCK_HOST
      api_version: "2024-10-21"
      api_key: sk-azure-ears
    model_info: {id: dep-azure-ears, mode: audio_transcription}
  - model_name: deepgram
    litellm_params: {model: deepgram/nova-3, api_base: os.environ/MOCK_BASE, api_key: sk-deepgram}
    model_info: {id: dep-deepgram, mode: audio_transcription}
  - model_name: voice
    litellm_params: {model: openai/gpt-4o-mini-tts, api_base: os.environ/MOCK_BASE, api_key: sk-voice}
    model_info: {id: dep-voice, mode: audio_speech}
  - model_name: eleven
    litellm_params: {model: elevenlabs/eleven_flash_v2_5, api_base: os.environ/MOCK_HOST, api_key: sk-eleven}
    model_info: {id: dep-eleven, mode: audio_speech}
  - model_name: painter
    litellm_params: {model: openai/gpt-image-1, api_base: os.environ/MOCK_BASE, api_key: sk-painter}
    model_info: {id: dep-painter, mode: image_edit}
router_settings:
  num_retries: 0
  fallbacks: [{ears: [spare-ears]}]
general_settings:
  master_key: os.environ/GATEWAY_KEY
  max_request_size_mb: 2
"""

SOUND = b"RIFF" + bytes(range(256)) * 100
PICTURE = b"\x89PNG" + bytes(100)
HEARD = "Hello! How can I help you today?"


@pytest.fixture
def media(start):
    return start(CONFIG)


def clip(sound: bytes = SOUND):
    return ("clip.wav", io.BytesIO(sound), "audio/wav")


def test_a_transcription_is_answered(media, mock):
    answer = media.client().audio.transcriptions.create(
        model="ears", file=clip(), language="en", timestamp_granularities=["word", "segment"]
    )
    assert answer.text == HEARD
    [call] = mock.calls("sk-ears")
    assert (call.path, call.body["model"], call.body["language"]) == ("/v1/audio/transcriptions", "whisper-1", "en")
    assert call.body["file"] == {"filename": "clip.wav", "content_type": "audio/wav", "bytes": len(SOUND)}
    assert call.body["timestamp_granularities"] == ["word", "segment"]


def test_every_format_of_a_transcription_keeps_its_shape(media):
    def heard(form):
        return media.client().audio.transcriptions.create(model="ears", file=clip(), response_format=form)

    assert heard("text") == f"{HEARD}\n"
    assert "00:00:00,000 -->" in heard("srt")
    assert heard("vtt").startswith("WEBVTT")
    assert heard("verbose_json").segments[0].text == HEARD


def test_a_translation_is_answered(media, mock):
    assert media.client().audio.translations.create(model="ears", file=clip()).text == HEARD
    assert mock.calls("sk-ears")[0].path == "/v1/audio/translations"


def test_a_transcription_is_streamed(media):
    events = list(media.client().audio.transcriptions.create(model="ears", file=clip(), stream=True))
    assert "".join(event.delta for event in events if event.type == "transcript.text.delta") == HEARD
    assert events[-1].type == "transcript.text.done" and events[-1].text == HEARD


def test_azure_and_deepgram_hear_too(media, mock):
    for model in ["azure-ears", "deepgram"]:
        assert media.client().audio.transcriptions.create(model=model, file=clip()).text == HEARD
    [azure] = mock.calls("sk-azure-ears")
    assert azure.path == "/openai/deployments/my-whisper/audio/transcriptions"
    assert azure.query == "api-version=2024-10-21"
    [deepgram] = mock.calls("sk-deepgram")
    assert (deepgram.path, deepgram.query) == ("/v1/listen", "model=nova-3")
    assert deepgram.headers["content-type"] == "audio/wav"


def test_a_failing_deployment_is_followed_by_another_with_the_same_file(media, mock):
    mock.script("sk-ears", status(500, {"error": {"message": "broken", "type": "server_error"}}))
    raw = media.client().audio.transcriptions.with_raw_response.create(model="ears", file=clip())
    assert raw.parse().text == HEARD
    assert raw.headers["x-litellm-model-id"] == "dep-spare-ears"
    assert raw.headers["x-haleway-attempts"] == "2"
    [call] = mock.calls("sk-spare-ears")
    assert call.body["file"]["bytes"] == len(SOUND)


def test_a_providers_refusal_is_the_callers(media, mock):
    refusal = {"error": {"message": "Invalid file format.", "type": "invalid_request_error", "param": "file"}}
    for key in ["sk-ears", "sk-spare-ears"]:
        mock.script(key, status(400, refusal))
    with pytest.raises(openai.BadRequestError, match="Invalid file format"):
        media.client().audio.transcriptions.create(model="ears", file=clip())


def test_what_is_too_large_is_refused_before_any_provider(media, mock):
    with pytest.raises(openai.APIStatusError) as caught:
        media.client().audio.transcriptions.create(model="ears", file=clip(bytes(3_000_000)))
    assert caught.value.status_code == 413
    assert mock.count("sk-ears") == 0


def test_a_missing_file_is_named(media, mock):
    body = b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nears\r\n--b--\r\n'
    for kind, param in [("multipart/form-data; boundary=b", "file"), ("application/json", "request_body")]:
        answer = media.request("POST", "/v1/audio/transcriptions", body, Content_Type=kind)
        assert answer.status == 400
        assert json.loads(answer.body)["error"]["param"] == param
    assert mock.count("sk-ears") == 0


def test_pictures_are_edited(media, mock):
    pictures = [("a.png", io.BytesIO(PICTURE), "image/png"), ("b.png", io.BytesIO(PICTURE), "image/png")]
    answer = media.client().images.edit(model="painter", image=pictures, prompt="make it blue")
    assert base64.b64decode(answer.data[0].b64_json).startswith(b"\x89PNG")
    [call] = mock.calls("sk-painter")
    assert (call.path, call.body["model"], call.body["prompt"]) == ("/v1/images/edits", "gpt-image-1", "make it blue")
    assert len(call.body["image"]) == 2


def test_an_edit_is_streamed(media):
    picture = ("a.png", io.BytesIO(PICTURE), "image/png")
    events = media.client().images.edit(model="painter", image=picture, prompt="x", stream=True, partial_images=1)
    assert [event.type for event in events] == ["image_edit.partial_image", "image_edit.completed"]


def test_speech_arrives_in_pieces(media, mock):
    mock.script("sk-voice", {"do": "ok", "gap_ms": 300})
    client = media.client()
    with client.audio.speech.with_streaming_response.create(
        model="voice", input="one two three four", voice="alloy"
    ) as answer:
        pieces = answer.iter_bytes()
        first = next(pieces)
        assert first.startswith(b"ID3")
        assert mock.in_flight("sk-voice") == 1, "the provider is still speaking"
        assert len(first + b"".join(pieces)) == 5 * 256
    assert answer.headers["content-type"] == "audio/mpeg"


def test_speech_that_breaks_off_is_an_error_and_not_a_short_answer(media, mock):
    mock.script("sk-voice", cut_after(2))
    with pytest.raises(Exception) as caught:
        media.client().audio.speech.create(model="voice", input="one two three", voice="alloy")
    assert "incomplete" in str(caught.value) or isinstance(caught.value, openai.APIConnectionError)


def test_the_voice_of_another_wire_is_in_its_url(media, mock):
    answer = media.client().audio.speech.create(model="eleven", input="hello", voice="alloy", response_format="mp3")
    assert answer.content.startswith(b"ID3")
    [call] = mock.calls("sk-eleven")
    assert call.path == "/v1/text-to-speech/21m00Tcm4TlvDq8ikWAM"
    assert call.query == "output_format=mp3_44100_128"
    assert call.body == {"text": "hello", "model_id": "eleven_flash_v2_5"}
