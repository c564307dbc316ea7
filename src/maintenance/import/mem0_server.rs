//! Fetches the memories of a user from a running mem0 server.
//!
//! The self-hosted server returns one list for `GET /memories`, with at most 1,000 memories, and takes its key in
//! `X-API-Key`. The platform returns pages for `POST /v3/memories/`, and takes its key in `Authorization: Token`.
//! [`mem0`](super::mem0) reads what [`Mem0Server::fetch`] returns.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use reqwest::Url;
use serde_json::{Value, json};

use super::json_file::{self, Page};
use super::mem0::LISTS;
use crate::maintenance::progress::Progress;
use crate::outgoing::{CallError, Caller, KeyHeader};

/// The environment variable with the API key of the server.
pub const KEY_VARIABLE: &str = "MEM0_API_KEY";
/// The host of the platform.
const PLATFORM_HOST: &str = "api.mem0.ai";
/// Most memories that the self-hosted server returns; it refuses to be asked for more.
const LIST_LENGTH_MAX: usize = 1000;
/// Lengths at which a self-hosted server ends its list if it does not know `top_k`.
const DEFAULT_LENGTHS: [usize; 2] = [20, 100];
/// Memories in a page of the platform.
const PAGE_LENGTH: usize = 100;
/// Pages that are fetched for one user, at most.
const PAGES_MAX: usize = 10_000;
/// Attempts of one call.
const ATTEMPTS_MAX: u32 = 3;
/// Time limit of one attempt. The server reads all memories before it responds.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit of one call with its repetitions.
const CALL_TIMEOUT: Duration = Duration::from_secs(180);
/// Time limit of all calls for the memories of one user. Each page may be slow, and there may be many.
const USER_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// Bytes of a response, at most.
const RESPONSE_BYTES_MAX: u64 = 64 << 20;
/// What the progress bar shows.
const DOING: &str = "memories fetched";

/// The memories of a user.
#[derive(Debug)]
pub struct UserMemories {
    /// Number of memories.
    pub count: usize,
    /// The memories, as an export of mem0.
    pub export: Value,
    /// What may be missing, and what to do about it.
    pub warnings: Vec<String>,
}

/// What a server returned.
#[derive(Debug, Default)]
struct Fetched {
    entries: Vec<Value>,
    warnings: Vec<String>,
}

/// The server of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    /// The platform of mem0.
    Platform,
    /// A self-hosted server, or another host that serves the API of the platform.
    Other,
}

/// Whether there is a key for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Set,
    Missing,
}

/// A mem0 server.
pub struct Mem0Server {
    host: Host,
    key: Key,
    /// A client with the key header of the self-hosted server.
    self_hosted: Caller,
    /// A client with the key header of the platform.
    platform: Caller,
}

impl Mem0Server {
    /// Returns the server at a URL. `key` is empty if the server requires none.
    ///
    /// # Errors
    ///
    /// When the URL is not that of an HTTP server, or has parts that do not belong in it, or when the key is not one.
    pub fn new(url: &str, key: &str) -> anyhow::Result<Self> {
        let host = host_of(url)?;
        let key = key.trim();
        ensure!(
            key.bytes().all(|byte| byte.is_ascii_graphic()),
            "{KEY_VARIABLE} is not an API key: expected visible ASCII characters without spaces"
        );
        let self_hosted = Caller::new(url, key, ATTEMPTS_MAX, ATTEMPT_TIMEOUT, RESPONSE_BYTES_MAX);
        let platform = Caller::new(url, key, ATTEMPTS_MAX, ATTEMPT_TIMEOUT, RESPONSE_BYTES_MAX);
        Ok(Self {
            host,
            key: if key.is_empty() { Key::Missing } else { Key::Set },
            self_hosted: self_hosted.context("cannot create an HTTP client")?.with_key_header(KeyHeader::ApiKey),
            platform: platform.context("cannot create an HTTP client")?.with_key_header(KeyHeader::Token),
        })
    }

    /// Fetches all memories of a user.
    ///
    /// # Errors
    ///
    /// When the server does not return them, or returns those of another user. The error says what to do.
    pub fn fetch(&self, user: &str, on_progress: &dyn Fn(Progress)) -> anyhow::Result<UserMemories> {
        let fetched = match self.host {
            Host::Platform => self.fetch_pages(user, on_progress),
            Host::Other => match self.fetch_list(user) {
                Err(CallError::Refused { status: 404 | 405, .. }) => self.fetch_pages(user, on_progress),
                result => result,
            },
        };
        let Fetched { mut entries, mut warnings } = match fetched {
            Ok(fetched) => fetched,
            Err(error) => bail!(self.explain(&error)),
        };
        set_owner(&mut entries, user)?;
        if entries.is_empty() {
            warnings.push(format!("the server has no memories of the user {user:?}: check the user ID"));
        }
        let count = entries.len();
        on_progress(Progress::new(DOING, count as u64, count as u64));
        // With `count`, the length of the list is not taken for one at which mem0 cuts lists.
        Ok(UserMemories { count, export: json!({"count": count, "results": entries}), warnings })
    }

    /// Fetches the list of the self-hosted server.
    fn fetch_list(&self, user: &str) -> Result<Fetched, CallError> {
        let entries = self.list(user, LIST_LENGTH_MAX)?;
        let length = entries.len();
        let mut warnings = Vec::new();
        if length >= LIST_LENGTH_MAX {
            warnings.push(format!(
                "the server returned {length} memories and returns at most {LIST_LENGTH_MAX}, so memories may be missing: \
                 export the others with the Python package, and import the file"
            ));
        } else if DEFAULT_LENGTHS.contains(&length) && self.list(user, 1)?.len() > 1 {
            warnings.push(format!(
                "the server does not know top_k and returned {length} memories, a length at which it ends lists, so \
                 memories may be missing: update mem0, or export them with the Python package, and import the file"
            ));
        }
        Ok(Fetched { entries, warnings })
    }

    /// Returns up to `top_k` entries of the self-hosted server.
    fn list(&self, user: &str, top_k: usize) -> Result<Vec<Value>, CallError> {
        let mut parameters = form_urlencoded::Serializer::new(String::new());
        parameters.append_pair("user_id", user);
        parameters.append_pair("top_k", &top_k.to_string());
        parameters.append_pair("show_expired", "true");
        let path = format!("/memories?{}", parameters.finish());
        let response: Value = self.self_hosted.get(&path, Instant::now() + CALL_TIMEOUT)?;
        Ok(page_of(&path, response)?.entries)
    }

    /// Fetches the pages of the platform.
    fn fetch_pages(&self, user: &str, on_progress: &dyn Fn(Progress)) -> Result<Fetched, CallError> {
        let until = Instant::now() + USER_TIMEOUT;
        let body = json!({"filters": {"user_id": user}, "show_expired": true});
        let mut fetched = Fetched::default();
        let mut all = 0;
        for number in 1..=PAGES_MAX {
            let path = format!("/v3/memories/?page={number}&page_size={PAGE_LENGTH}");
            let response: Value = self.platform.post(&path, &body, until.min(Instant::now() + CALL_TIMEOUT))?;
            let page = page_of(&path, response)?;
            let is_last = page.entries.is_empty() || page.fields.get("next").is_none_or(Value::is_null);
            if let Some(count) = page.fields.get("count").and_then(Value::as_u64) {
                all = count;
            }
            fetched.entries.extend(page.entries);
            on_progress(Progress::new(DOING, fetched.entries.len() as u64, all));
            if is_last {
                break;
            }
        }
        let length = fetched.entries.len() as u64;
        if all > length {
            fetched.warnings.push(format!("the server returned {length} of {all} memories: run the import again"));
        }
        Ok(fetched)
    }

    /// Describes why a call failed, and what to do about it.
    fn explain(&self, error: &CallError) -> String {
        match error {
            CallError::Unavailable { status: None, message, .. } => {
                format!("the server does not respond: {message}: start it, or correct the URL")
            }
            CallError::Unavailable { message, .. } => {
                format!("the server reports an error: {message}: look at its log, or try again later")
            }
            CallError::UnusableResponse(message) => {
                format!("not a mem0 server: {message}: use the URL of its REST API, such as http://localhost:8888")
            }
            CallError::Refused { status: 401 | 403, message } => match self.key {
                Key::Set => {
                    format!("the server rejects the key in {KEY_VARIABLE}: {message}: use a key of this server")
                }
                Key::Missing => format!("the server requires a key: {message}: set {KEY_VARIABLE} in the environment"),
            },
            CallError::Refused { status: 404 | 405, .. } => "not a mem0 server: it has neither GET /memories nor POST \
                 /v3/memories/: use the URL of its REST API, such as http://localhost:8888"
                .to_owned(),
            CallError::Refused { status: 300..=399, message } => {
                format!("the server redirects: {message}: use the URL that it redirects to")
            }
            CallError::Refused { message, .. } => format!("the server refuses the request: {message}"),
        }
    }
}

/// Checks a URL and returns which server it names.
fn host_of(url: &str) -> anyhow::Result<Host> {
    let parsed =
        Url::parse(url).context("invalid URL: expected the URL of a mem0 server, such as http://localhost:8888")?;
    ensure!(
        parsed.username().is_empty() && parsed.password().is_none(),
        "the URL must not have a user name or a password: set the API key as {KEY_VARIABLE} in the environment"
    );
    ensure!(
        parsed.query().is_none() && parsed.fragment().is_none(),
        "the URL must end before `?` and `#`: use the base URL of the server, and --user for the users"
    );
    Ok(if parsed.host_str() == Some(PLATFORM_HOST) { Host::Platform } else { Host::Other })
}

/// Takes the list of memories out of a response.
fn page_of(path: &str, response: Value) -> Result<Page, CallError> {
    match json_file::page(response, &LISTS) {
        Some(page) => Ok(page),
        None => Err(CallError::UnusableResponse(format!("{path}: the response has no list of memories"))),
    }
}

/// Sets the user of memories that do not name one. Fails if a memory belongs to another user: a server that does not
/// select by user would mix users in one namespace.
fn set_owner(entries: &mut [Value], user: &str) -> anyhow::Result<()> {
    for entry in entries {
        // The reader reports an entry that is not an object.
        let Some(fields) = entry.as_object_mut() else { continue };
        let owner = match fields.get("user_id") {
            Some(Value::String(owner)) => owner.clone(),
            _ => String::new(),
        };
        if owner.is_empty() {
            fields.insert("user_id".to_owned(), user.into());
        } else if owner != user {
            bail!("nothing was imported: the server returned memories of the user {owner:?} for the user {user:?}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_only_the_base_of_a_server() {
        assert_eq!(host_of("http://localhost:8888").expect("a server"), Host::Other);
        assert_eq!(host_of("https://api.mem0.ai/").expect("a server"), Host::Platform);
        for (url, says) in [
            ("http://", "invalid URL"),
            ("http://key@localhost:8888", "MEM0_API_KEY"),
            ("http://:key@localhost:8888", "MEM0_API_KEY"),
            ("http://localhost:8888/memories?user_id=ida", "--user"),
        ] {
            let error = host_of(url).expect_err(url).to_string();
            assert!(error.contains(says) && !error.contains("key@"), "{url}: {error}");
        }
    }

    #[test]
    fn memories_get_the_user_that_was_asked_for() {
        let mut entries = vec![json!({"id": "1"}), json!({"id": "2", "user_id": null}), json!({"user_id": "ida"})];
        set_owner(&mut entries, "ida").expect("all are of ida");
        assert!(entries.iter().all(|entry| entry["user_id"] == "ida"), "{entries:?}");
        let error = set_owner(&mut [json!({"user_id": "joe"})], "ida").expect_err("another user");
        assert!(error.to_string().contains("\"joe\""), "{error}");
    }
}
