//! HTTP calls to other services, with retries, a deadline, and errors without secrets.
//!
//! A call is retried after status 408, 409, 429 or 5xx, after a lost connection, and after a response that is not the
//! expected JSON. The backoff doubles and has jitter; `retry-after` overrides it. Any other refusal is final. A service
//! that asks for a wait of more than two seconds is not waited for here: the error carries the wait, and the caller
//! schedules the retry.

#![expect(clippy::disallowed_types, reason = "this file hides reqwest")]

use std::io::Read;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::header::{AUTHORIZATION, HeaderMap, RETRY_AFTER};
use serde::de::DeserializeOwned;
use serde_json::Value;
use zeroize::Zeroizing;

/// Wait after the first failed attempt; it doubles with each attempt.
const BACKOFF: Duration = Duration::from_millis(100);
/// Characters of a service's message that an error repeats.
const MESSAGE_CHARS_MAX: usize = 200;
/// Maximum wait between two attempts of one call. A longer one would block a thread that others need.
const SLEEP_MAX: Duration = Duration::from_secs(2);
/// Minimum time for an attempt. With less time left, none is made.
const ATTEMPT_TIME_MIN: Duration = Duration::from_millis(1);

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The service was unreachable, did not respond in time, or responded that it is unavailable. A later retry may
    /// succeed.
    #[error("{message}")]
    Unavailable {
        /// The cause.
        message: String,
        /// HTTP status; `None` if there was no response.
        status: Option<u16>,
        /// The wait that the service asked for.
        retry_after: Option<Duration>,
    },
    /// The service responded with success, but not with the expected JSON. Another attempt may return it.
    #[error("{0}")]
    UnusableResponse(String),
    /// The service refused the request. A retry does not help.
    #[error("{message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The service's message.
        message: String,
    },
}

impl CallError {
    /// Returns the error for a call without a response.
    pub fn unreachable(message: impl Into<String>) -> Self {
        Self::Unavailable { message: message.into(), status: None, retry_after: None }
    }
}

/// The header that carries the key of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// `Authorization: Token KEY`.
    Token,
    /// `X-API-Key: KEY`.
    ApiKey,
}

/// A client of one service.
pub struct Caller {
    client: Client,
    url: String,
    key: Zeroizing<String>,
    key_header: KeyHeader,
    /// Maximum number of attempts per call.
    attempts_max: u32,
    /// Time limit of one attempt.
    attempt_timeout: Duration,
    /// Maximum length of a response that is read.
    response_bytes_max: u64,
}

impl Caller {
    /// Returns a client of the service at a URL. `key` is sent as bearer token, unless it is empty;
    /// [`Self::with_key_header`] selects another header.
    pub fn new(
        url: &str,
        key: &str,
        attempts_max: u32,
        attempt_timeout: Duration,
        response_bytes_max: u64,
    ) -> reqwest::Result<Self> {
        // A redirect would send the key to another host.
        // HTTP/2 would send all calls over one connection, so that a slow one holds up the others.
        let client =
            Client::builder().http1_only().timeout(attempt_timeout).redirect(reqwest::redirect::Policy::none());
        let url = url.trim_end_matches('/').to_owned();
        let client = client.tcp_nodelay(true).build()?;
        Ok(Self {
            client,
            url,
            key: key.to_owned().into(),
            key_header: KeyHeader::Bearer,
            attempts_max,
            attempt_timeout,
            response_bytes_max,
        })
    }

    /// Returns the client with another header for its key.
    #[must_use]
    pub fn with_key_header(self, key_header: KeyHeader) -> Self {
        Self { key_header, ..self }
    }

    /// Returns the URL of the service.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Gets a path and parses the JSON response, with retries until the deadline.
    pub fn get<T: DeserializeOwned>(&self, path: &str, until: Instant) -> Result<T, CallError> {
        self.call(path, None, until)
    }

    /// Posts JSON and parses the JSON response, with retries until the deadline.
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &Value, until: Instant) -> Result<T, CallError> {
        self.call(path, Some(body), until)
    }

    /// Calls a path, with retries until the deadline: `POST` with a body, `GET` without one.
    fn call<T: DeserializeOwned>(&self, path: &str, body: Option<&Value>, until: Instant) -> Result<T, CallError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let left = until.saturating_duration_since(Instant::now());
            if left < ATTEMPT_TIME_MIN {
                return Err(CallError::unreachable(format!("{path}: the deadline has passed")));
            }
            let url = format!("{}{path}", self.url);
            let request = match body {
                Some(body) => self.client.post(url).json(body),
                None => self.client.get(url),
            };
            let error = match self.attempt(path, request.timeout(left.min(self.attempt_timeout))) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let backoff = BACKOFF * 2u32.saturating_pow(attempt - 1);
            let wait = match &error {
                CallError::Refused { .. } => return Err(error),
                CallError::Unavailable { retry_after, .. } => retry_after.unwrap_or(backoff),
                CallError::UnusableResponse(_) => backoff,
            };
            if attempt >= self.attempts_max || wait > SLEEP_MAX {
                return Err(error);
            }
            let left = until.saturating_duration_since(Instant::now());
            match jittered(wait, left) {
                Some(wait) => std::thread::sleep(wait),
                None => return Err(error),
            }
        }
    }

    fn attempt<T: DeserializeOwned>(&self, path: &str, request: RequestBuilder) -> Result<T, CallError> {
        let response = match self.with_key(request).send() {
            Ok(response) => response,
            Err(error) => return Err(self.lost(path, &causes(error))),
        };
        let status = response.status();
        let retry_after = requested_wait(response.headers());
        let text = match self.read(response) {
            Ok(text) => text,
            Err(error) => return Err(self.lost(path, &error.to_string())),
        };
        if status.is_success() {
            return match serde_json::from_str(&text) {
                Ok(value) => Ok(value),
                Err(error) => {
                    let message = self.redacted(&format!("the response cannot be read: {error}"));
                    Err(CallError::UnusableResponse(format!("{path}: {message}")))
                }
            };
        }
        let message = format!("{path}: {status} {:?}", self.redacted(&message_of(&text)));
        let is_temporary = status.is_server_error()
            || [StatusCode::REQUEST_TIMEOUT, StatusCode::CONFLICT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
        let status = status.as_u16();
        if is_temporary {
            return Err(CallError::Unavailable { message, status: Some(status), retry_after });
        }
        Err(CallError::Refused { status, message })
    }

    /// Adds the key to a request, unless the key is empty.
    fn with_key(&self, request: RequestBuilder) -> RequestBuilder {
        let key = self.key.as_str();
        if key.is_empty() {
            return request;
        }
        match self.key_header {
            KeyHeader::Bearer => request.bearer_auth(key),
            KeyHeader::Token => request.header(AUTHORIZATION, format!("Token {key}")),
            KeyHeader::ApiKey => request.header("x-api-key", key),
        }
    }

    /// Returns the error for an attempt without a complete response.
    fn lost(&self, path: &str, cause: &str) -> CallError {
        CallError::unreachable(format!("{path}: {}", self.redacted(cause)))
    }

    fn read(&self, response: Response) -> std::io::Result<String> {
        let mut text = String::new();
        response.take(self.response_bytes_max).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Returns the beginning of a service's message, with the key masked if the message repeats it.
    fn redacted(&self, text: &str) -> String {
        let text = if self.key.is_empty() { text.to_owned() } else { text.replace(self.key.as_str(), "********") };
        text.chars().take(MESSAGE_CHARS_MAX).collect()
    }
}

/// Returns an error below HTTP with all its causes. The URL is left out, because it may be private.
fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// Returns the message of a refusal in any of the usual forms: `error.message`, `error`, `message`, `detail`, plain
/// text.
fn message_of(text: &str) -> String {
    let Ok(body) = serde_json::from_str::<Value>(text) else { return text.trim().to_owned() };
    for pointer in ["/error/message", "/error", "/message", "/detail"] {
        if let Some(Value::String(message)) = body.pointer(pointer) {
            return message.clone();
        }
    }
    body.to_string()
}

/// Returns the wait that a service asks for: `retry-after-ms`, or `retry-after` in seconds or as a date.
fn requested_wait(headers: &HeaderMap) -> Option<Duration> {
    if let Some(text) = header_text(headers, "retry-after-ms")
        && let Ok(milliseconds) = text.parse()
    {
        return Some(Duration::from_millis(milliseconds));
    }
    let text = header_text(headers, RETRY_AFTER.as_str())?;
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(std::time::SystemTime::now()).unwrap_or(Duration::ZERO))
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    Some(headers.get(name)?.to_str().ok()?.trim())
}

/// Lengthens a wait by a random part of up to one half, so that many clients do not retry at the same moment. Returns
/// `None` if the wait does not end in the time left.
fn jittered(wait: Duration, left: Duration) -> Option<Duration> {
    // Compared before the addition, which could overflow: a service may ask for any wait.
    if wait >= left {
        return None;
    }
    let mut byte = [0];
    // If the random generator fails, the byte stays zero and the wait has no jitter.
    let _ = aws_lc_rs::rand::fill(&mut byte);
    let jittered = wait + wait.mul_f64(f64::from(byte[0]) / 512.0);
    if jittered < left { Some(jittered) } else { None }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_message_of_a_refusal_is_found_in_each_of_the_usual_forms() {
        for (text, expected) in [
            (r#"{"error":{"message":"no","type":"x"}}"#, "no"),
            (r#"{"error":"model not found"}"#, "model not found"),
            (r#"{"object":"error","message":"too long"}"#, "too long"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"detail":[{"loc":["x"]}]}"#, r#"{"detail":[{"loc":["x"]}]}"#),
            ("upstream timed out\n", "upstream timed out"),
        ] {
            assert_eq!(message_of(text), expected);
        }
    }

    #[test]
    fn a_requested_wait_is_read_in_each_of_its_forms() {
        let headers = |name: &'static str, value: &str| {
            HeaderMap::from_iter([(name.parse().expect("a name"), value.parse().expect("a value"))])
        };
        assert_eq!(requested_wait(&headers("retry-after", "2")), Some(Duration::from_secs(2)));
        assert_eq!(requested_wait(&headers("retry-after-ms", "250")), Some(Duration::from_millis(250)));
        let past = requested_wait(&headers("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"));
        assert_eq!(past, Some(Duration::ZERO));
        assert_eq!(requested_wait(&headers("retry-after", "soon")), None);
    }

    #[test]
    fn a_wait_of_any_length_is_compared_with_the_time_left() {
        let second = Duration::from_secs(1);
        assert_eq!(jittered(Duration::MAX, second), None);
        assert_eq!(jittered(second, second), None);
        assert_eq!(jittered(Duration::ZERO, second), Some(Duration::ZERO));
        let waited = jittered(second, Duration::from_secs(60)).expect("there is time");
        assert!((second..=second * 3 / 2).contains(&waited), "{waited:?}");
        assert_eq!(
            requested_wait(&HeaderMap::from_iter([(RETRY_AFTER, "18446744073709551615".parse().expect("a value"))])),
            Some(Duration::from_secs(u64::MAX))
        );
    }

    #[test]
    fn a_response_that_never_ends_is_given_up() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
            let _ = stream.set_read_timeout(Some(Duration::from_millis(5)));
            // The client sends nothing more, so each read ends with its time limit.
            while stream.write_all(b" ").is_ok() {
                let _ = stream.read(&mut [0; 1]);
            }
        });
        let caller = Caller::new(&url, "", 1, Duration::from_millis(50), 1 << 20).expect("a client");
        let error = caller.get::<Value>("/", Instant::now() + Duration::from_secs(60)).expect_err("never ends");
        assert!(matches!(error, CallError::Unavailable { status: None, .. }), "{error}");
    }

    #[test]
    fn a_key_that_a_service_repeats_is_masked() {
        let caller = Caller::new("http://127.0.0.1:1/", "sk-secret", 1, Duration::from_secs(1), 1).expect("a client");
        assert_eq!(caller.redacted("bad key sk-secret!"), "bad key ********!");
    }
}
