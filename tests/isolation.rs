//! Isolation of namespaces and accounts: requests with foreign keys on every route.

use cuebase::api::routes::{Access, ROUTES};
use hyper::Method;
use reqwest::blocking::Client;
use serde_json::{Value, json};

use crate::support::{Server, fresh, stdout};

/// A word that is part of everything in the namespace `theirs`.
const SECRET: &str = "xylophonegarden";

/// Name of a file in the namespace `theirs`, without its ending.
const DOCUMENT: &str = "score";

/// Ids of what the owner of the namespace `theirs` stored.
struct OwnerIds {
    conversation: String,
    message: String,
    media: String,
    source: String,
}

fn fill(server: &Server) -> OwnerIds {
    server.namespace("theirs");
    let write = json!({"content": format!("# {SECRET}\n\nThe {SECRET} opens at dawn."), "namespace": "theirs", "tags": [SECRET]});
    assert_eq!(server.post(&format!("/v1/memories/facts/{SECRET}/a.md"), &write).status, 201);
    let terms = json!({"namespace": "theirs", "terms": [{"term": SECRET, "definition": SECRET}]});
    assert_eq!(server.post("/v1/vocab", &terms).status, 202);
    let skills = json!({"namespace": "theirs", "skills": [{"name": SECRET, "content": SECRET}]});
    assert_eq!(server.post("/v1/skills", &skills).status, 202);
    let made = server.post("/v1/conversations", &json!({"namespace": "theirs", "title": SECRET}));
    let conversation = made.body["id"].as_str().expect("an id").to_owned();
    let messages = json!({"messages": [{"role": "user", "content": SECRET}]});
    let added = server.post(&format!("/v1/conversations/{conversation}/messages"), &messages);
    let message = added.body["ids"][0].as_str().expect("an id").to_owned();
    let upload = Client::new().post(format!("{}/v1/media?namespace=theirs&filename={SECRET}", server.url));
    let upload: Value = upload.bearer_auth(&server.key).body(SECRET).send().expect("answers").json().expect("JSON");
    let file = Client::new().post(format!("{}/v1/documents?namespace=theirs&filename={DOCUMENT}.txt", server.url));
    let file = file.bearer_auth(&server.key).body(format!("{SECRET} at dawn")).send().expect("answers");
    assert_eq!(file.status(), 202);
    let source = server.remember("theirs", &[&format!("The {SECRET} closes at dawn too")]);
    server.settle("theirs");
    // The tests compare the records of before and after their requests.
    server.drain();
    OwnerIds { conversation, message, media: upload["id"].as_str().expect("an id").to_owned(), source }
}

/// Returns path and body of a request that would reach the owner's data. The request names the namespace if the route
/// takes one.
fn request(method: &Method, path: &str, theirs: &OwnerIds) -> (String, Option<Value>) {
    let id = match path {
        _ if path.contains("media") => &theirs.media,
        _ if path.contains("documents") => "score-txt",
        // A write and the conversation that it brought have the same id.
        _ if path.contains("sources") || path.contains("writes") => &theirs.source,
        // Dead letters belong to an account, not to a namespace; `tests/dashboard.rs` covers them.
        _ if path.contains("dead-letters") => "01M80ZJJYEMM0YJ4AAANEC71VX",
        _ => theirs.conversation.as_str(),
    };
    let filled = path
        .replace("{*path}", &format!("facts/{SECRET}/a.md"))
        .replace("{name}", "theirs")
        .replace("{key_id}", "0123456789abcdef")
        .replace("{mid}", &theirs.message)
        .replace("{id}", id);
    let query = match path {
        "/v1/retrieve" => format!("?q={SECRET}&namespace=theirs&detail=full"),
        "/v1/context" => format!("?q={SECRET}&namespace=theirs&admit=all"),
        "/v1/profile" => format!("?subject={SECRET}&namespace=theirs"),
        "/v1/timeline" => format!("?path=facts/{SECRET}/a.md&namespace=theirs"),
        "/v1/memories" if *method == Method::GET => "?namespace=theirs".to_owned(),
        "/v1/documents" if *method == Method::POST => "?namespace=theirs&filename=a.txt".to_owned(),
        "/v1/vocab" if *method == Method::DELETE => format!("?term={SECRET}&namespace=theirs"),
        "/v1/vocab" => format!("?word={SECRET}&namespace=theirs"),
        "/v1/skills" => format!("?q={SECRET}&namespace=theirs"),
        "/v1/tree"
        | "/v1/topics"
        | "/v1/graph"
        | "/v1/conversations"
        | "/v1/memories/{*path}"
        | "/v1/media"
        | "/v1/documents"
        | "/v1/documents/{id}"
        | "/v1/sources"
        | "/v1/facets"
        | "/v1/writes"
        | "/v1/sources/{id}" => "?namespace=theirs".to_owned(),
        _ => String::new(),
    };
    let body = (*method == Method::POST || *method == Method::PATCH).then(|| {
        json!({
            "namespace": "theirs", "name": "theirs", "q": SECRET, "content": "x", "title": "x", "to": theirs.message,
            "path": format!("facts/{SECRET}/a.md"),
            "messages": [{"role": "user", "content": "x"}], "terms": [{"term": "x"}], "skills": [{"name": "x", "content": "x"}],
        })
    });
    (format!("{filled}{query}"), body)
}

#[test]
fn another_namespaces_key_has_no_access_on_any_route() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let theirs = fill(&server);
    server.namespace("mine");
    let neighbour = stdout(&data, &["keys", "create", "--namespace", "mine"]);
    let before = server.get("/v1/namespaces").body;
    let mut tried = 0;
    for route in ROUTES.iter().filter(|route| route.access != Access::Open) {
        let (path, body) = request(&route.method, route.path, &theirs);
        let answer = server.call_as(&neighbour, route.method.as_str(), &path, body.as_ref());
        assert!(!answer.body.to_string().contains("dawn"), "{} {path}: {answer:?}", route.method);
        assert!(
            !answer.headers.contains(SECRET) && !answer.headers.contains("theirs"),
            "{} {path}: {answer:?}",
            route.method
        );
        if route.path != "/v1/whoami" && route.path != "/v1/openapi.json" {
            assert!(
                !answer.body.to_string().replace(&path, "").contains(SECRET) || answer.status >= 400,
                "{} {path}: {answer:?}",
                route.method
            );
        }
        let reads = route.method == Method::GET
            || ["/v1/answer", "/v1/explain", "/v1/retrieve", "/v1/context"].contains(&route.path);
        let is_in_path =
            path.contains("namespace=theirs") || path.contains(&theirs.conversation) || path.contains(&theirs.media);
        let is_in_body = body.as_ref().is_some()
            && matches!(
                route.path,
                "/v1/memories"
                    | "/v1/answer"
                    | "/v1/explain"
                    | "/v1/vocab"
                    | "/v1/skills"
                    | "/v1/conversations"
                    | "/v1/memories/{*path}"
            );
        if is_in_path || is_in_body {
            tried += 1;
            let code =
                if route.path == "/v1/retrieve" { answer.body["error"].as_str().unwrap_or("") } else { answer.code() };
            let expected = if reads { (403, "forbidden_namespace") } else { (400, "invalid_namespace") };
            assert_eq!((answer.status, code), expected, "{} {path}: {answer:?}", route.method);
        }
    }
    assert!(tried >= 25, "only {tried} routes reach a namespace");
    assert_eq!(server.get("/v1/namespaces").body, before, "nothing was changed");
    assert_eq!(server.get(&format!("/v1/memories/facts/{SECRET}/a.md?namespace=theirs")).status, 200);
    let own = server.call_as(&neighbour, "GET", "/v1/namespaces", None);
    assert!(!own.body.to_string().contains("theirs"));
}

#[test]
fn another_accounts_key_finds_nothing_on_any_route() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let theirs = fill(&server);
    let stranger = stdout(&data, &["keys", "create", "--account", "stranger"]);
    let session = stdout(&data, &["token", "--account", "stranger"]);
    let before = server.get("/v1/namespaces").body;
    for route in ROUTES.iter().filter(|route| route.access != Access::Open) {
        // Another account may create its own namespace with the same name.
        if route.path == "/v1/namespaces" && route.method == Method::POST {
            continue;
        }
        let (path, body) = request(&route.method, route.path, &theirs);
        for credential in [&stranger, &session] {
            let answer = server.call_as(credential, route.method.as_str(), &path, body.as_ref());
            let text = answer.body.to_string();
            assert!(!text.contains("dawn") && !text.contains("default/"), "{} {path}: {answer:?}", route.method);
            let is_in_path =
                path.contains("theirs") || path.contains(&theirs.conversation) || path.contains(&theirs.media);
            if is_in_path {
                let code = if route.path == "/v1/retrieve" {
                    answer.body["error"].as_str().unwrap_or("")
                } else {
                    answer.code()
                };
                let is_dashboard_only = answer.status == 403 && code == "dashboard_only";
                assert!(
                    is_dashboard_only || (answer.status == 404 && ["namespace_not_found", "not_found"].contains(&code)),
                    "{} {path}: {answer:?}",
                    route.method
                );
            }
        }
    }
    assert_eq!(server.get("/v1/namespaces").body, before, "nothing was changed");
    // The same name in another account is another namespace.
    assert_eq!(server.call_as(&stranger, "POST", "/v1/namespaces", Some(&json!({"name": "theirs"}))).status, 201);
    let found = server.call_as(&stranger, "GET", &format!("/v1/retrieve?q={SECRET}&namespace=theirs"), None);
    assert_eq!((found.status, found.body.get("hits"), found.body.get("defined")), (200, None, None));
}
