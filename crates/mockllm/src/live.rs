//! Gemini's live sessions, as far as a gateway can tell: a set-up that is taken or refused, and answers in text or sound.
//!
//! Google refuses in its goodbye: `error_event` is one for an invalid key; a temperature above 2, and a first message
//! that is no set-up, are refused so by themselves. The other acts are those of OpenAI's sessions.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::answer::Told;
use crate::realtime::Socket;
use crate::script::{Act, Behaviour};

/// Whether live sessions begin at `path`.
pub(crate) fn is_path(path: &str) -> bool {
    path.ends_with("BidiGenerateContent")
}

/// One session.
pub(crate) async fn speak(mut socket: Socket, behaviour: &Behaviour, told: &Told) -> Result<(), Error> {
    if behaviour.act == Act::HangAfterHeaders {
        while let Some(Ok(_)) = socket.next().await {}
        return Ok(());
    }
    if behaviour.act == Act::Empty {
        return socket.close(None).await;
    }
    let Some(first) = message(&mut socket).await? else { return Ok(()) };
    if behaviour.act == Act::ErrorEvent {
        if let Some(said) = &behaviour.body {
            socket.send(Message::text(said.to_string())).await?;
            return socket.close(None).await;
        }
        return refuse(&mut socket, "API key not valid. Please pass a valid API key.").await;
    }
    let Some(setup) = first.get("setup") else {
        return refuse(&mut socket, "The first message must be a setup.").await;
    };
    let heat = setup.pointer("/generationConfig/temperature").and_then(Value::as_f64);
    if heat.is_some_and(|heat| heat > 2.0) {
        return refuse(&mut socket, "temperature must be in the range [0.0, 2.0].").await;
    }
    let written = setup.pointer("/generationConfig/responseModalities/0") == Some(&json!("TEXT"));
    let mut left = if behaviour.act == Act::Cut { behaviour.after } else { u32::MAX };
    let mut messages = vec![json!({ "setupComplete": {} })];
    loop {
        for message in messages.drain(..) {
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            // Google sends text in frames of bytes.
            socket.send(Message::binary(message.to_string())).await?;
        }
        let Some(said) = message(&mut socket).await? else { return Ok(()) };
        messages = answer(&said, written, told);
    }
}

/// The next message; `None` when the session is over.
async fn message(socket: &mut Socket) -> Result<Option<Value>, Error> {
    loop {
        match socket.next().await {
            Some(Ok(said @ (Message::Text(_) | Message::Binary(_)))) => {
                return Ok(Some(serde_json::from_slice(&said.into_data()).unwrap_or_default()));
            }
            Some(Ok(Message::Close(_))) | None => {
                socket.close(None).await?;
                return Ok(None);
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error),
        }
    }
}

async fn refuse(socket: &mut Socket, why: &'static str) -> Result<(), Error> {
    socket.close(Some(CloseFrame { code: CloseCode::Invalid, reason: why.into() })).await?;
    while let Some(Ok(_)) = socket.next().await {}
    Ok(())
}

/// What a message of the client is answered with.
fn answer(said: &Value, written: bool, told: &Told) -> Vec<Value> {
    let is_true = |pointer: &str| said.pointer(pointer) == Some(&Value::Bool(true));
    let ends = is_true("/clientContent/turnComplete")
        || is_true("/realtimeInput/audioStreamEnd")
        || said.pointer("/realtimeInput/activityEnd").is_some()
        || said.get("toolResponse").is_some();
    if !ends {
        return Vec::new();
    }
    let piece = |piece: &String| {
        if written {
            return json!({ "serverContent": { "modelTurn": { "parts": [{ "text": piece }] } } });
        }
        let sound = json!({ "inlineData": { "mimeType": "audio/pcm;rate=24000", "data": "AAAA" } });
        json!({ "serverContent": { "modelTurn": { "parts": [sound] }, "outputTranscription": { "text": piece } } })
    };
    let mut messages: Vec<Value> = told.pieces.iter().map(piece).collect();
    messages.push(json!({ "serverContent": { "generationComplete": true } }));
    messages.push(json!({ "serverContent": { "turnComplete": true }, "usageMetadata": {
        "promptTokenCount": told.prompt_tokens, "responseTokenCount": told.completion_tokens,
        "totalTokenCount": told.prompt_tokens + told.completion_tokens } }));
    messages
}
