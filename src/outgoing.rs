//! Calls to other services: tried again while that may help, given up at a deadline, silent about secrets.
//!
//! 408, 409, 429, 5xx, lost connections and answers that are no JSON are tried again, with waits that double and carry
//! some chance, `retry-after` being honoured. Whatever else is refused is refused for good. A service that asks for more
//! than two seconds is not waited for here: the error carries the wait, and the caller schedules it.

use std::io::Read;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde::de::DeserializeOwned;
use serde_json::Value;
use zeroize::Zeroizing;

/// The wait after the first failed try; it doubles.
const BACKOFF: Duration = Duration::from_millis(100);
/// Characters of a service's own words that are repeated in ours.
const TOLD_CHARS_MAX: usize = 200;
/// The longest wait between two tries of one call. A longer one would keep a thread that others need.
const SLEEP_MAX: Duration = Duration::from_secs(2);
/// A try with less time than this left is not made.
const TRY_MIN: Duration = Duration::from_millis(1);

/// Why a call brought nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The service could not be reached, did not answer in time, or said that it cannot answer now; trying again later
    /// may help.
    #[error("{told}")]
    Unavailable {
        /// What happened.
        told: String,
        /// The HTTP status; none where no answer came.
        status: Option<u16>,
        /// How long the service asked to be left alone.
        retry_after: Option<Duration>,
    },
    /// The service answered with success, but not with the JSON that was expected; another try may bring a better answer.
    #[error("{0}")]
    BadAnswer(String),
    /// It refused; trying again does not help.
    #[error("{told}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it said.
        told: String,
    },
}

impl CallError {
    /// No answer came.
    pub fn unreachable(told: impl Into<String>) -> Self {
        Self::Unavailable { told: told.into(), status: None, retry_after: None }
    }
}

/// A service that can be called.
pub struct Caller {
    client: Client,
    url: String,
    key: Zeroizing<String>,
    /// Tries of one call.
    attempts_max: u32,
    /// How long one try may take.
    try_timeout: Duration,
    /// An answer longer than this is not read.
    answer_bytes_max: u64,
}

impl Caller {
    /// A service at a URL, with the key that it is shown; an empty one is not shown.
    pub fn new(
        url: &str,
        key: &str,
        attempts_max: u32,
        try_timeout: Duration,
        answer_bytes_max: u64,
    ) -> reqwest::Result<Self> {
        // A redirect would carry the key elsewhere.
        let client = Client::builder().timeout(try_timeout).redirect(reqwest::redirect::Policy::none());
        let url = url.trim_end_matches('/').to_owned();
        let client = client.tcp_nodelay(true).build()?;
        Ok(Self { client, url, key: key.to_owned().into(), attempts_max, try_timeout, answer_bytes_max })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Posts JSON and reads the JSON that comes back, by the deadline.
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &Value, until: Instant) -> Result<T, CallError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let left = until.saturating_duration_since(Instant::now());
            if left < TRY_MIN {
                return Err(CallError::unreachable(format!("{path}: no time is left")));
            }
            let request = self.client.post(format!("{}{path}", self.url)).timeout(left.min(self.try_timeout));
            let error = match self.attempt(path, request.json(body)) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let own_wait = BACKOFF * 2u32.saturating_pow(attempt - 1);
            let wait = match &error {
                CallError::Refused { .. } => None,
                CallError::Unavailable { retry_after, .. } => Some(retry_after.unwrap_or(own_wait)),
                CallError::BadAnswer(_) => Some(own_wait),
            };
            let Some(wait) = wait.filter(|wait| attempt < self.attempts_max && *wait <= SLEEP_MAX) else {
                return Err(error);
            };
            let left = until.saturating_duration_since(Instant::now());
            match jittered(wait, left) {
                Some(wait) => std::thread::sleep(wait),
                None => return Err(error),
            }
        }
    }

    fn attempt<T: DeserializeOwned>(&self, path: &str, request: RequestBuilder) -> Result<T, CallError> {
        let again = |error: String| CallError::unreachable(format!("{path}: {}", self.silenced(&error)));
        let request = if self.key.is_empty() { request } else { request.bearer_auth(self.key.as_str()) };
        // Without the address: it may hold what is nobody's business.
        let response = request.send().map_err(|error| again(reason(error)))?;
        let (status, retry_after) = (response.status(), wait_asked_for(response.headers()));
        let text = self.read(response).map_err(|error| again(error.to_string()))?;
        if status.is_success() {
            return serde_json::from_str(&text).map_err(|error| {
                let told = format!("the answer is no good: {error}");
                CallError::BadAnswer(format!("{path}: {}", self.silenced(&told)))
            });
        }
        let told = format!("{path}: {status} {:?}", self.silenced(&words(&text)));
        let passing = status.is_server_error()
            || [StatusCode::REQUEST_TIMEOUT, StatusCode::CONFLICT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
        let status = status.as_u16();
        if passing {
            return Err(CallError::Unavailable { told, status: Some(status), retry_after });
        }
        Err(CallError::Refused { status, told })
    }

    fn read(&self, response: Response) -> std::io::Result<String> {
        let mut text = String::new();
        response.take(self.answer_bytes_max).read_to_string(&mut text)?;
        Ok(text)
    }

    /// A service's words, cut, without the key should it repeat that.
    fn silenced(&self, text: &str) -> String {
        let text = if self.key.is_empty() { text.to_owned() } else { text.replace(self.key.as_str(), "********") };
        text.chars().take(TOLD_CHARS_MAX).collect()
    }
}

/// What went wrong below HTTP, down to its cause.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// What a refusal says, in any of the usual shapes: `error.message`, `error`, `message`, `detail`, plain text.
fn words(text: &str) -> String {
    let Ok(body) = serde_json::from_str::<Value>(text) else { return text.trim().to_owned() };
    let said = [body.pointer("/error/message"), body.get("error"), body.get("message"), body.get("detail")];
    let said = said.into_iter().flatten().find_map(Value::as_str);
    said.map_or_else(|| body.to_string(), str::to_owned)
}

/// How long the service wants to be left alone: `retry-after-ms`, or `retry-after` in seconds or as a date.
fn wait_asked_for(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse().ok()) {
        return Some(Duration::from_millis(milliseconds));
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(std::time::SystemTime::now()).unwrap_or_default())
}

/// A wait and up to half of it more, so that many clients do not come back at one moment; none where that leaves no time.
fn jittered(wait: Duration, left: Duration) -> Option<Duration> {
    // Compared first: a service may ask for any time at all.
    if wait >= left {
        return None;
    }
    let mut byte = [0];
    // Without randomness there is no jitter, and no harm.
    let _ = aws_lc_rs::rand::fill(&mut byte);
    Some(wait + wait.mul_f64(f64::from(byte[0]) / 512.0)).filter(|wait| *wait < left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_says_is_found_in_any_of_the_usual_shapes() {
        for (text, expected) in [
            (r#"{"error":{"message":"no","type":"x"}}"#, "no"),
            (r#"{"error":"model not found"}"#, "model not found"),
            (r#"{"object":"error","message":"too long"}"#, "too long"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"detail":[{"loc":["x"]}]}"#, r#"{"detail":[{"loc":["x"]}]}"#),
            ("upstream timed out\n", "upstream timed out"),
        ] {
            assert_eq!(words(text), expected);
        }
    }

    #[test]
    fn a_wait_is_read_in_each_of_its_forms() {
        let headers = |name: &'static str, value: &str| {
            HeaderMap::from_iter([(name.parse().expect("a name"), value.parse().expect("a value"))])
        };
        assert_eq!(wait_asked_for(&headers("retry-after", "2")), Some(Duration::from_secs(2)));
        assert_eq!(wait_asked_for(&headers("retry-after-ms", "250")), Some(Duration::from_millis(250)));
        let past = wait_asked_for(&headers("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"));
        assert_eq!(past, Some(Duration::ZERO));
        assert_eq!(wait_asked_for(&headers("retry-after", "soon")), None);
    }

    #[test]
    fn a_wait_of_any_length_is_weighed_against_the_time_that_is_left() {
        let second = Duration::from_secs(1);
        assert_eq!(jittered(Duration::MAX, second), None);
        assert_eq!(jittered(second, second), None);
        assert_eq!(jittered(Duration::ZERO, second), Some(Duration::ZERO));
        let waited = jittered(second, Duration::from_secs(60)).expect("there is time");
        assert!((second..=second * 3 / 2).contains(&waited), "{waited:?}");
        assert_eq!(
            wait_asked_for(&HeaderMap::from_iter([(RETRY_AFTER, "18446744073709551615".parse().expect("a value"))])),
            Some(Duration::from_secs(u64::MAX))
        );
    }

    #[test]
    fn a_key_that_is_repeated_to_us_goes_no_further() {
        let caller = Caller::new("http://127.0.0.1:1/", "sk-secret", 1, Duration::from_secs(1), 1).expect("a client");
        assert_eq!(caller.silenced("bad key sk-secret!"), "bad key ********!");
    }
}
