//! Classification of server errors. Every server words them differently.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::model_error::{ModelError, ModelErrorKind};

/// Maximum number of characters of a server's message that are kept.
const MAX_MESSAGE_CHARS: usize = 500;

const LENGTH_PHRASES: &[&str] = &[
    "context length",
    "context_length",
    "context window",
    "context size",
    "context limit",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "maximum number of tokens",
    "input token count",
    "reduce the length",
    "request_too_large",
    "maximum prompt length",
    "exceeds the model's maximum",
    "exceeded model token limit",
    "prompt exceeds max length",
    "range of input length should be",
    "`inputs` tokens + `max_new_tokens` must be",
    "prompt token count",
    "max_prompt_tokens_exceeded",
];
const NO_IMAGES_PHRASES: &[&str] = &[
    "image_url is only supported",
    "unknown variant `image_url`",
    "image input is not supported",
    "images are not supported",
    "not support image",
    "not support vision",
    "support image input",
    "not a multimodal model",
    "at most 0 image",
    "vision is not supported",
    "vision is not enabled",
];
/// How servers report that they could not parse a call that the model wrote.
const MALFORMED_CALL_PHRASES: &[&str] = &["tool_use_failed"];
const NO_TOOLS_PHRASES: &[&str] = &[
    "does not support tools",
    "does not support tool",
    "not support function calling",
    "support tool use",
    "tool use is not supported",
    "tools are not supported",
    "tools is not supported",
    "tool calling is not supported",
    "tools param requires --jinja",
    "enable-auto-tool-choice",
];
const QUOTA_PHRASES: &[&str] = &[
    "insufficient_quota",
    "insufficient quota",
    "insufficient credits",
    "insufficient balance",
    "insufficient funds",
    "credit balance",
    "billing",
    "exceeded your current quota",
    "requires more credits",
    "payment required",
    "out of credits",
];
const KEY_PHRASES: &[&str] = &[
    "api key not valid",
    "api_key_invalid",
    "invalid api key",
    "invalid_api_key",
    "incorrect api key",
    "authentication_error",
    "no auth credentials",
    "invalid x-api-key",
];
const CONTENT_FILTER_PHRASES: &[&str] = &[
    "content_filter",
    "content_policy",
    "content management policy",
    "moderation",
    "flagged",
    "safety system",
    "prohibited_content",
];
const OVERLOADED_PHRASES: &[&str] =
    &["overloaded", "server is busy", "no capacity", "at capacity", "loading model", "high demand"];
const UNKNOWN_MODEL_PHRASES: &[&str] = &[
    "model_not_found",
    "does not exist",
    "not a valid model",
    "unknown model",
    "no such model",
    "model not found",
    "is not found for api version",
    "unsupported model",
];

/// Classifies a server's error. `status` is none for errors in the middle of a
/// reply.
pub(crate) fn classify(status: Option<u16>, headers: Option<&HeaderMap>, body: &str) -> ModelError {
    let json: Value = serde_json::from_str(body).unwrap_or_default();
    let error = find_error(&json);
    let said = error_message(error, &json).unwrap_or_else(|| plain_text(body));
    let status = status.or_else(|| implied_status(error));
    let retry_after = headers.and_then(retry_after).or_else(|| retry_delay_detail(error));
    let mut text = body.to_lowercase();
    text.truncate(text.floor_char_boundary(64 * 1024));
    let kind = error_kind(status, &text, retry_after.is_some());
    let message = match (status, said.is_empty()) {
        (Some(status), true) => format!("the server answered {status}"),
        (Some(status), false) => format!("{said} ({status})"),
        (None, true) => "the server reported an error without a message".to_owned(),
        (None, false) => said,
    };
    let hint = match retry_after.map(|wait| wait.as_secs()) {
        Some(wait @ 61..) if kind == ModelErrorKind::RateLimited => Some(format!(
            "the server asks to wait {} minutes; use another key or model until then",
            wait.div_ceil(60)
        )),
        _ => hint_for(kind, status).map(str::to_owned),
    };
    ModelError { retry_after, hint, ..ModelError::new(kind, message) }
}

fn error_kind(status: Option<u16>, text: &str, says_when: bool) -> ModelErrorKind {
    let has = |list: &[&str]| list.iter().any(|part| text.contains(part));
    let is_rate = status == Some(429);
    if has(NO_TOOLS_PHRASES) {
        return ModelErrorKind::NoTools;
    }
    if !is_rate && has(NO_IMAGES_PHRASES) {
        return ModelErrorKind::NoImages;
    }
    if status.is_none_or(|status| status == 400) && has(MALFORMED_CALL_PHRASES) {
        return ModelErrorKind::Malformed;
    }
    if status == Some(413) || (!is_rate && has(LENGTH_PHRASES)) {
        return ModelErrorKind::ContextTooLong;
    }
    // A quota that refills soon is a rate limit.
    if status == Some(402) || (has(QUOTA_PHRASES) && !(is_rate && says_when)) {
        return ModelErrorKind::Quota;
    }
    if is_rate {
        return ModelErrorKind::RateLimited;
    }
    if has(KEY_PHRASES) {
        return ModelErrorKind::Authentication;
    }
    if status.is_none_or(|status| (400..500).contains(&status)) && has(CONTENT_FILTER_PHRASES) {
        return ModelErrorKind::Refused;
    }
    match status {
        Some(401 | 403) => ModelErrorKind::Authentication,
        Some(503 | 529) => ModelErrorKind::Overloaded,
        _ if has(OVERLOADED_PHRASES) => ModelErrorKind::Overloaded,
        Some(400 | 404 | 422) if has(UNKNOWN_MODEL_PHRASES) && text.contains("model") => {
            ModelErrorKind::ModelUnavailable
        }
        Some(404) if text.contains("model") => ModelErrorKind::ModelUnavailable,
        Some(408 | 409 | 425 | 500..) => ModelErrorKind::Server,
        Some(_) => ModelErrorKind::Request,
        None => ModelErrorKind::Server,
    }
}

fn hint_for(kind: ModelErrorKind, status: Option<u16>) -> Option<&'static str> {
    Some(match kind {
        ModelErrorKind::Authentication => {
            "check this provider's API key in the environment or in .env"
        }
        ModelErrorKind::Quota => "top up the account, or use another key or model",
        ModelErrorKind::RateLimited => "wait a moment, or use another key or model",
        ModelErrorKind::Overloaded => "retry later, or use another model",
        ModelErrorKind::ContextTooLong => {
            "shorten the conversation, or use a model with a larger context window"
        }
        ModelErrorKind::Refused => "rephrase the request, or use another model",
        ModelErrorKind::ModelUnavailable => {
            "check the model's name: `model.default` in config.yaml"
        }
        ModelErrorKind::NoTools => "this model supports tool calls only as text",
        ModelErrorKind::NoImages => "this model does not accept images; use one that does",
        ModelErrorKind::Malformed => "retry, or use another model",
        ModelErrorKind::Request if status == Some(404) => {
            "check `model.base_url`; for most servers it ends in /v1"
        }
        ModelErrorKind::Request if status.is_some_and(|status| (300..400).contains(&status)) => {
            "set `model.base_url` to the server's new address"
        }
        _ => return None,
    })
}

/// Returns the part of a body that describes the error.
fn find_error(json: &Value) -> &Value {
    let json = json.get(0).unwrap_or(json);
    let json = json.get("response").unwrap_or(json);
    json.get("error").filter(|error| !error.is_null()).unwrap_or(json)
}

fn error_message(error: &Value, json: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let said = text(error)
        .or_else(|| ["message", "detail", "msg", "error"].iter().find_map(|key| text(&error[*key])))
        .or_else(|| text(&json["message"]))
        .or_else(|| validation_details(&error["detail"]))?;
    // A proxy repeats the message of the upstream server.
    let behind = error.pointer("/metadata/raw").map(|raw| match raw {
        Value::String(raw) => raw.clone(),
        other => other.to_string(),
    });
    Some(match behind {
        Some(behind) => truncate_message(&format!("{said}: {behind}")),
        None => truncate_message(&said),
    })
}

/// Formats validation errors of FastAPI servers: message and location.
fn validation_details(details: &Value) -> Option<String> {
    let one = |detail: &Value| {
        let place = detail["loc"].as_array().into_iter().flatten().map(|step| match step {
            Value::String(step) => step.clone(),
            other => other.to_string(),
        });
        let place = place.collect::<Vec<_>>().join(".");
        Some(format!("{}: {place}", detail["msg"].as_str()?))
    };
    let all: Vec<String> = details.as_array()?.iter().filter_map(one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn plain_text(body: &str) -> String {
    let is_page = body.trim_start().starts_with('<');
    if is_page { String::new() } else { truncate_message(body.trim()) }
}

fn truncate_message(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Returns the status that corresponds to an error in the middle of a reply.
fn implied_status(error: &Value) -> Option<u16> {
    let number = |value: &Value| {
        value.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|n| (400..600).contains(n))
    };
    if let Some(status) = number(&error["code"]).or_else(|| number(&error["status"])) {
        return Some(status);
    }
    let mut names = ["type", "code", "status"].iter().filter_map(|key| error[*key].as_str());
    names.find_map(|name| {
        Some(match name.to_lowercase().as_str() {
            "overloaded_error" | "unavailable" | "server_overloaded" => 529,
            "rate_limit_error" | "rate_limit_exceeded" | "resource_exhausted" => 429,
            "authentication_error" | "unauthenticated" => 401,
            "permission_error" | "permission_denied" => 403,
            "billing_error" | "insufficient_quota" => 402,
            "not_found_error" | "not_found" => 404,
            "request_too_large" => 413,
            "invalid_request_error" | "invalid_argument" | "invalid_prompt" => 400,
            "api_error" | "server_error" | "internal" | "internal_server_error" => 500,
            "timeout_error" | "deadline_exceeded" => 504,
            _ => return None,
        })
    })
}

/// Returns the retry delay given in the headers.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse().ok()) {
        return bounded_duration(milliseconds, 1e-3);
    }
    let said = text("retry-after")?;
    if let Ok(number) = said.parse() {
        return bounded_duration(number, 1.0);
    }
    let when = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(said).ok()?;
    let left = when.as_second()
        - jiff::Timestamp::try_from(std::time::SystemTime::now())
            .unwrap_or(jiff::Timestamp::MAX)
            .as_second();
    bounded_duration(left as f64, 1.0)
}

/// Returns the retry delay given in the error details, in Google's format.
fn retry_delay_detail(error: &Value) -> Option<Duration> {
    let details = error["details"].as_array()?;
    let delay = details.iter().find_map(|detail| detail["retryDelay"].as_str())?;
    bounded_duration(delay.strip_suffix('s')?.parse().ok()?, 1.0)
}

fn bounded_duration(number: f64, unit: f64) -> Option<Duration> {
    // Delays beyond a day make no difference.
    Duration::try_from_secs_f64((number * unit).clamp(0.0, 86_400.0)).ok()
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
