//! The check that a request to the dashboard's own routes is one of its page, or of no browser.
//!
//! These routes take no cookie, so a page of another site gains little with them. But the dashboard may listen where only
//! this machine reaches it, and such a page must not reach it through the browser of this machine:
//!
//! - `Host` must be an IP address, `localhost`, or the host of `dashboard.public_url` or `dashboard.listen`. A site that
//!   lets its name resolve to this machine (DNS rebinding) sends that name.
//! - `Origin`, which browsers add to a `POST`, must be the origin of the page. A form of another site, or a page at
//!   another port, sends its own.

use std::net::IpAddr;

use hyper::header::{HOST, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, StatusCode, Uri};
use reqwest::Url;
use serde_json::json;

use crate::api::Reply;
use crate::config::ListenAddress;
use crate::config::settings::DashboardSettings;

/// Refuses a request of another origin than the page's. A request without `Host` is of no browser.
///
/// # Errors
///
/// The reply, with `421`.
pub(super) fn check(uri: &Uri, headers: &HeaderMap, settings: &DashboardSettings) -> Result<(), Reply> {
    let host = match (headers.get(HOST), uri.authority()) {
        // Of a value that is not a text, nothing is known.
        (Some(host), _) => host.to_str().unwrap_or_default(),
        (None, Some(authority)) => authority.as_str(),
        (None, None) => return Ok(()),
    };
    if !is_known(host, settings) {
        return Err(refuse("the dashboard is not served under this host: set dashboard.public_url to its address"));
    }
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    if is_own(origin.to_str().unwrap_or_default(), host, settings) {
        return Ok(());
    }
    Err(refuse("another site sent this request: behind a proxy, set dashboard.public_url to the address of the page"))
}

/// Whether the dashboard is served under a host.
fn is_known(host: &str, settings: &DashboardSettings) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().to_ascii_lowercase();
    // An IPv6 address is in brackets.
    let is_address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    if is_address || name == "localhost" || name.ends_with(".localhost") {
        return true;
    }
    if let Some(ListenAddress::Host { name: own, .. }) = &settings.listen
        && own.eq_ignore_ascii_case(&name)
    {
        return true;
    }
    match public_url(settings) {
        Some(url) => url.host_str() == Some(name.as_str()),
        None => false,
    }
}

/// Whether an origin is that of the page. A proxy may have changed the scheme, or the host if the public URL is set.
fn is_own(origin: &str, host: &str, settings: &DashboardSettings) -> bool {
    if let Some((_, authority)) = origin.split_once("://")
        && authority.eq_ignore_ascii_case(host)
    {
        return true;
    }
    match public_url(settings) {
        Some(url) => url.origin().ascii_serialization() == origin,
        None => false,
    }
}

fn public_url(settings: &DashboardSettings) -> Option<Url> {
    // The setting was checked at the start.
    Url::parse(settings.public_url.as_ref()?).ok()
}

/// Not 401 or 403, after which the page would drop its session.
fn refuse(message: &str) -> Reply {
    let body = json!({ "message": message }).to_string();
    Reply::new(StatusCode::MISDIRECTED_REQUEST, body.into_bytes())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn settings(public_url: Option<&str>) -> DashboardSettings {
        let listen = ListenAddress::parse("memory.lan:8081");
        DashboardSettings { listen, public_url: public_url.map(str::to_owned), origins: Vec::new() }
    }

    /// Whether a request with a host, and with an origin unless it is empty, is accepted.
    fn accepts(settings: &DashboardSettings, host: &str, origin: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).expect("a header"));
        if !origin.is_empty() {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).expect("a header"));
        }
        check(&Uri::from_static("/session"), &headers, settings).is_ok()
    }

    #[test]
    fn the_dashboard_answers_under_its_own_names_only() {
        let without = settings(None);
        for host in ["127.0.0.1:8081", "[::1]:8081", "10.0.0.2", "localhost:8081", "a.localhost", "Memory.LAN:8081"] {
            assert!(accepts(&without, host, ""), "{host}");
        }
        for host in
            ["evil.example:8081", "memory.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "a b"]
        {
            assert!(!accepts(&without, host, ""), "{host}");
        }
        let public = settings(Some("https://memory.example/cuebase"));
        assert!(accepts(&public, "memory.example", "") && accepts(&public, "127.0.0.1:8081", ""));
        assert!(!accepts(&public, "evil.example", ""));
    }

    #[test]
    fn a_request_of_another_origin_is_refused() {
        let without = settings(None);
        assert!(accepts(&without, "127.0.0.1:8081", "http://127.0.0.1:8081"));
        for origin in
            ["https://evil.example", "http://127.0.0.1:8082", "http://127.0.0.1", "http://localhost:8081", "null"]
        {
            assert!(!accepts(&without, "127.0.0.1:8081", origin), "{origin}");
        }
        let public = settings(Some("https://memory.example/cuebase"));
        assert!(accepts(&public, "127.0.0.1:8081", "https://memory.example"), "the proxy sends its own host");
        assert!(accepts(&public, "memory.example", "https://memory.example"));
        assert!(!accepts(&public, "memory.example", "https://memory.example.evil.example"));
    }

    #[test]
    fn a_program_that_names_no_host_is_accepted() {
        assert!(check(&Uri::from_static("/"), &HeaderMap::new(), &settings(None)).is_ok());
    }
}
