//! The dashboard's listener: its page and headers, sign-in, and the API under the same origin.

use reqwest::blocking::{Client, Response};
use serde_json::{Value, json};

use crate::support::nodes::free_address;
use crate::support::{Server, fresh, run, stdout};

/// Creates a sign-in link and returns its URL and its code.
fn link(data: &std::path::Path, arguments: &[&str]) -> (String, String) {
    let link = stdout(data, &[&["token", "--link"], arguments].concat());
    let (address, code) = link.split_once("/#code=").expect("a link with a code");
    (address.to_owned(), code.to_owned())
}

/// Returns the path of the first asset in the page that has an extension.
fn asset(html: &str, extension: &str) -> String {
    for part in html.split('"') {
        if part.starts_with("./assets/") && part.ends_with(&format!(".{extension}")) {
            return part[1..].to_owned();
        }
    }
    panic!("no asset with the extension {extension} in {html}");
}

fn post(address: &str, path: &str, session: Option<&str>, body: &Value) -> (u16, Value) {
    let mut request = Client::new().post(format!("{address}{path}")).json(body);
    if let Some(session) = session {
        request = request.bearer_auth(session);
    }
    status_and_body(request.send().expect("answers"))
}

fn status_and_body(response: Response) -> (u16, Value) {
    (response.status().as_u16(), response.json().unwrap_or_default())
}

#[test]
fn a_sign_in_code_works_once() {
    let (_folder, data) = fresh();
    let _server = Server::start(&data);
    let (address, code) = link(&data, &["--account", "acme"]);
    let signed_in = Client::new().post(format!("{address}/session")).json(&json!({"code": code})).send();
    let signed_in = signed_in.expect("answers");
    assert_eq!(signed_in.headers().get("set-cookie"), None, "other sites could cause requests with a cookie");
    let (status, body) = status_and_body(signed_in);
    assert_eq!(status, 200);
    let session = body["token"].as_str().expect("a session");
    let whoami = Client::new().get(format!("{address}/v1/whoami")).bearer_auth(session).send().expect("answers");
    assert_eq!(status_and_body(whoami), (200, json!({"account": "acme", "auth": "jwt", "env": ""})));
    for proof in [json!({"code": code}), json!({"code": "x"}), json!({"code": ""})] {
        let (status, body) = post(&address, "/session", None, &proof);
        assert_eq!((status, &body["error"]["code"]), (403, &json!("code_refused")), "{proof}");
    }
    let (status, body) = post(&address, "/session", None, &json!({}));
    assert_eq!((status, &body["error"]["code"]), (400, &json!("invalid_body")));
    let returned = json!({"authorization_code": "x", "code_verifier": "x", "redirect_uri": "x"});
    assert_eq!(post(&address, "/session", None, &returned).0, 404, "no other issuer is configured");
}

/// Sends a code as a form of a page would, with the headers of a browser. Returns the status.
fn sign_in_as_form(address: &str, code: &str, host: Option<&str>, origin: &str) -> u16 {
    let mut request = Client::new().post(format!("{address}/session")).header("content-type", "text/plain");
    if let Some(host) = host {
        request = request.header("host", host);
    }
    let sent = request.header("origin", origin).body(json!({"code": code}).to_string()).send();
    sent.expect("answers").status().as_u16()
}

#[test]
fn a_page_of_another_origin_cannot_sign_in_through_the_browser() {
    let (_folder, data) = fresh();
    let _server = Server::start(&data);
    let (address, code) = link(&data, &[]);
    for origin in ["https://evil.example", "http://127.0.0.1:1", "null"] {
        assert_eq!(sign_in_as_form(&address, &code, None, origin), 421, "{origin}");
    }
    // A name of another site that resolves to this machine: the browser takes both for one origin.
    assert_eq!(sign_in_as_form(&address, &code, Some("evil.example"), "http://evil.example"), 421);
    let page = Client::new().get(&address).header("host", "evil.example").send().expect("answers");
    assert_eq!(page.status(), 421);
    assert_eq!(page.headers()["x-content-type-options"], "nosniff");
    // The code was not used.
    assert_eq!(sign_in_as_form(&address, &code, None, &address), 200);
}

#[test]
fn the_public_url_is_an_origin_of_the_dashboard() {
    let (_folder, data) = fresh();
    std::fs::create_dir_all(data.parent().expect("a parent")).expect("creates");
    // The links have the public URL.
    let listen = free_address();
    let settings = format!("[dashboard]\nlisten = '{listen}'\npublic_url = 'https://memory.example/'\n");
    let _server = Server::start_configured(&data, &settings);
    let address = format!("http://{listen}");
    for host in [None, Some("memory.example")] {
        let (_, code) = link(&data, &[]);
        assert_eq!(sign_in_as_form(&address, &code, host, "https://memory.example"), 200, "{host:?}");
    }
}

#[test]
fn a_sign_in_code_survives_a_restart() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let (_, code) = link(&data, &[]);
    server.kill();
    let _server = Server::start(&data);
    // Another link has the address of the new server.
    let (address, _) = link(&data, &[]);
    assert_eq!(post(&address, "/session", None, &json!({"code": code})).0, 200);
    assert_eq!(post(&address, "/session", None, &json!({"code": code})).0, 403);
}

#[test]
fn the_dashboard_is_public_and_the_api_behind_it_is_not() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let (address, _) = link(&data, &[]);
    let client = Client::new();
    let get = |path: &str| client.get(format!("{address}{path}")).send().expect("answers");
    let page = get("/");
    assert_eq!(page.status(), 200);
    let header = |response: &Response, name: &str| response.headers()[name].to_str().expect("text").to_owned();
    assert!(header(&page, "content-security-policy").starts_with("default-src 'none'; script-src 'self'"));
    assert_eq!(header(&page, "x-content-type-options"), "nosniff");
    assert_eq!(header(&page, "referrer-policy"), "no-referrer");
    let tag = header(&page, "etag");
    let again = client.get(&address).header("if-none-match", tag).send().expect("answers");
    assert_eq!((again.status().as_u16(), again.bytes().expect("a body").len()), (304, 0));
    assert_eq!(header(&page, "cache-control"), "no-cache");
    assert!(header(&get("/icon.svg"), "content-type").starts_with("image/svg+xml"));
    // The names of the script and the style contain a hash of their content, so browsers keep them.
    let html = page.text().expect("text");
    for (extension, kind) in [("css", "text/css"), ("js", "text/javascript")] {
        let path = asset(&html, extension);
        let found = get(&path);
        assert!(header(&found, "content-type").starts_with(kind), "{path}");
        assert!(header(&found, "cache-control").contains("immutable"), "{path}");
    }
    assert!(header(&get("/reload-worker.js"), "content-type").starts_with("text/javascript"));
    for path in ["/../Cargo.toml", "/assets/", "/assets/nothing.js", "/%2e%2e/x", "//icon.svg", "/session/x"] {
        assert_eq!(get(path).status(), 404, "{path}");
    }
    // The API requires the same credentials here. The API's own listener serves nothing of the dashboard.
    assert_eq!(status_and_body(get("/v1/usage")), (401, json!({"message": "Unauthorized"})));
    assert_eq!(status_and_body(get("/v1")).0, 401);
    assert_eq!(get("/health").status(), 200);
    assert_eq!(server.request("GET", "/", None, None).status, 401);
    assert_eq!(server.request("GET", "/session", None, None).status, 401);
    assert_eq!(status_and_body(get("/session")), (200, json!({"external": null})));
}

#[test]
fn the_dashboard_shows_billing_only_with_a_provider() {
    let payments = "[payments]\nprovider = 'sandbox'\nsandbox_listen = '127.0.0.1:0'\n";
    for (settings, billing) in [("", false), (payments, true)] {
        let (_folder, data) = fresh();
        let _server = Server::start_configured(&data, settings);
        let (address, _) = link(&data, &[]);
        let features = Client::new().get(format!("{address}/features")).send().expect("answers");
        assert_eq!(status_and_body(features), (200, json!({"billing": billing})), "{settings}");
    }
}

#[test]
fn markdown_is_rendered_for_signed_in_users_only() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let (address, _) = link(&data, &[]);
    let text = json!({"content": "# A\n\nb <script>x</script> [y](javascript:z)"});
    assert_eq!(post(&address, "/markdown", None, &text).0, 401);
    assert_eq!(post(&address, "/markdown", Some("x"), &text).0, 403);
    let (status, body) = post(&address, "/markdown", Some(&server.key), &text);
    let html = "<h1>A</h1>\n<p>b &lt;script&gt;x&lt;/script&gt; <a href=\"\">y</a></p>\n";
    assert_eq!((status, body["html"].as_str()), (200, Some(html)));
    assert_eq!(post(&address, "/markdown", Some(&server.key), &json!({"content": 1})).0, 400);
}

#[test]
fn a_link_cannot_be_made_while_the_dashboard_is_off() {
    let (_folder, data) = fresh();
    let none = run(&data, &["token", "--link", "--init"]);
    assert!(!none.status.success() && String::from_utf8_lossy(&none.stderr).contains("start `cuebase serve`"));
    let _server = Server::start_with(&data, &["--dashboard-listen", "off"]);
    let off = run(&data, &["token", "--link"]);
    assert!(!off.status.success() && String::from_utf8_lossy(&off.stderr).contains("--dashboard-listen off"));
}

#[test]
fn a_configured_address_in_use_prevents_the_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = taken.local_addr().expect("an address").to_string();
    let (_folder, data) = fresh();
    let refused = run(&data, &["serve", "--listen", "127.0.0.1:0", "--dashboard-listen", &address]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains(&address) && error.contains("--dashboard-listen"), "{error}");
}

#[test]
fn links_use_the_public_url_and_its_origin_is_allowed() {
    let (_folder, data) = fresh();
    std::fs::create_dir_all(data.parent().expect("a parent")).expect("creates");
    let server = Server::start_configured(&data, "[dashboard]\npublic_url = 'https://memory.example/'\n");
    assert_eq!(link(&data, &[]).0, "https://memory.example");
    let request = Client::new().request(reqwest::Method::OPTIONS, format!("{}/v1/keys", server.url));
    let request = request.header("origin", "https://memory.example").header("access-control-request-method", "GET");
    let allowed = request.send().expect("answers").headers().get("access-control-allow-origin").cloned();
    assert_eq!(allowed.expect("allowed"), "https://memory.example");
}
