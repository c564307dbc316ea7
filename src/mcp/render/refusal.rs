//! Error responses of the API.

use crate::error_codes::ErrorCode;
use crate::mcp::api::ApiResponse;
use crate::mcp::budget::cut;

/// The code of a response of the gateway, which has only a message.
const UNAUTHORIZED: &str = "unauthorized";
/// Most characters of an error's message.
const MESSAGE_CHARS: usize = 1_000;

/// An error response of the API.
pub(in crate::mcp) struct Refusal {
    /// Error code of the API.
    pub(in crate::mcp) code: String,
    /// Text of the tool's error: the code, the message, and what to do.
    pub(in crate::mcp) text: String,
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.text
    }
}

/// Renders an error response: its code, its message, and advice to the agent.
pub(in crate::mcp) fn refusal(response: &ApiResponse) -> Refusal {
    let ApiResponse { status, body } = response;
    let envelope = if body["error"].is_object() { &body["error"] } else { body };
    let code = envelope["code"].as_str().or(body["error"].as_str()).unwrap_or(UNAUTHORIZED);
    let message = cut(envelope["message"].as_str().unwrap_or(""), MESSAGE_CHARS);
    let advice = match (*status, ErrorCode::from_text(code)) {
        (401 | 403, None) if code == UNAUTHORIZED => {
            "The key is missing, wrong or revoked. Only the user can give another."
        }
        (403, Some(ErrorCode::ForbiddenNamespace)) | (400, Some(ErrorCode::InvalidNamespace)) => {
            "Leave namespace out to use the key's own."
        }
        (404, Some(ErrorCode::NamespaceNotFound)) => "Leave namespace out, or ask the user for its name.",
        (400, Some(ErrorCode::InvalidPath)) => "A path is facts/…, incidents/…, rules/… or skills/… and ends in .md.",
        (429, Some(ErrorCode::QuotaExceeded)) => "Do not try again: the plan's limit for this month is reached.",
        (429 | 503, _) => "Try again in a few seconds.",
        (500.., _) => "It is safe to try again.",
        _ => "",
    };
    let mut text = format!("{code}: {}", message.trim_end_matches('.'));
    if !advice.is_empty() {
        text.push_str(". ");
        text.push_str(advice);
    }
    Refusal { code: code.to_owned(), text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_shape_of_refusal_has_a_code_and_advice() {
        let refused = |status, body| refusal(&ApiResponse { status, body }).text;
        assert!(refused(403, json!({"message": "Forbidden"})).starts_with("unauthorized: Forbidden. The key"));
        let envelope = json!({"error": {"code": "invalid_path", "message": "no"}});
        assert!(refused(400, envelope).starts_with("invalid_path: no. A path is"));
        let retrieve = json!({"error": "namespace_not_found", "namespace": "x", "message": "none"});
        assert!(refused(404, retrieve).starts_with("namespace_not_found: none. Leave"));
        assert!(refused(503, json!({"message": "Service Unavailable"})).ends_with("Try again in a few seconds."));
    }
}
