"""The rest of the OpenAI surface: embeddings, completions, models; and who may call."""

import json

import openai
import pytest

from gateway import HELLO, MASTER_KEY, error_of


def test_embeddings_are_answered(gateway, mock):
    answer = gateway.client().embeddings.create(model="embed", input=["one", "two"])
    assert [item.index for item in answer.data] == [0, 1]
    assert all(len(item.embedding) > 1 and isinstance(item.embedding[0], float) for item in answer.data)
    [call] = mock.calls("sk-embed")
    assert (call.path, call.body["model"], call.body["input"]) == (
        "/v1/embeddings",
        "text-embedding-3-small",
        ["one", "two"],
    )


def test_completions_are_answered(gateway, mock):
    answer = gateway.client().completions.create(model="complete", prompt="once upon")
    assert answer.choices[0].text
    [call] = mock.calls("sk-complete")
    assert (call.path, call.body["model"]) == ("/v1/completions", "gpt-3.5-turbo-instruct")


def test_the_model_list_has_groups_and_plain_aliases(gateway):
    names = {model.id for model in gateway.client().models.list()}
    assert {"chat", "embed", "pair", "visible-alias"} <= names
    assert "hidden-alias" not in names


def test_one_model_can_be_asked_for(gateway):
    assert gateway.client().models.retrieve("chat").id == "chat"
    with pytest.raises(openai.NotFoundError):
        gateway.client().models.retrieve("nope")


def test_model_info_shows_no_key(gateway):
    answer = gateway.request("GET", "/v1/model/info")
    assert answer.status == 200
    rows = json.loads(answer.body)["data"]
    assert {row["model_info"]["id"] for row in rows} >= {"dep-chat", "dep-pair-good", "dep-pair-bad"}
    assert "sk-" not in answer.text


@pytest.mark.parametrize("key", ["sk-wrong", MASTER_KEY[:-1], MASTER_KEY + "x"])
def test_a_wrong_key_is_an_authentication_error(gateway, key):
    with pytest.raises(openai.AuthenticationError) as caught:
        gateway.client(api_key=key).chat.completions.create(model="chat", messages=HELLO)
    assert caught.value.status_code == 401
    assert caught.value.type == "auth_error"
    assert caught.value.code == "401"


@pytest.mark.parametrize("key", [None, ""], ids=["none", "empty"])
def test_no_key_is_refused_before_anything_is_read(gateway, key):
    answer = gateway.request("POST", "/v1/chat/completions", b"not json", key=key)
    assert answer.status == 401
    assert error_of(answer)["type"] == "auth_error"


@pytest.mark.parametrize(
    "header", [{"api_key": MASTER_KEY}, {"x_api_key": MASTER_KEY}, {"x_litellm_api_key": f"Bearer {MASTER_KEY}"}]
)
def test_the_key_is_accepted_in_every_header_that_litellm_reads(gateway, header):
    assert gateway.request("GET", "/v1/models", key=None, **header).status == 200


def test_unknown_paths_and_methods_are_told_apart(gateway):
    assert gateway.request("GET", "/v1/nothing-here").status == 404
    assert gateway.request("PUT", "/v1/chat/completions", {}).status == 405
