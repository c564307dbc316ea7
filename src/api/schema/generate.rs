//! Puts the document together from the operations and the schemas.

use serde_json::{Map, Value, json};

use super::errors;
use super::operations;
use super::schemas::Schemas;
use crate::error::{Error, Result};

/// The description of the API as a whole.
const DESCRIPTION: &str = "\
Cuebase extracts memories from conversations, keeps them as markdown in one git repository per namespace, and returns
the relevant ones for a query.

Every route except `GET /health` and the two signed routes requires `Authorization: Bearer <credential>`: an API key or
a dashboard session. Without a credential the response is `401` with `www-authenticate`, with an invalid one `403`; both
have a `message` and no code. A path with a method that it does not take is `404` with the methods in `allow`. Branch on `error.code` where it exists, otherwise on the status. Lists in a query are comma-separated and may be
repeated. Times are RFC 3339 in UTC. JSON may nest up to 64 levels.

An unknown query parameter or body field is ignored, and the response names it in `warnings`, an array of strings
that is absent when empty: `unknown field \"occured_at\" ignored; did you mean \"occurred_at\"?`. Names by which other
products separate users (`user_id`, `agent_id`, `run_id`, `app_id`, `group_id`, `container_tag`, `container_tags`, and
spellings such as `userId`) are refused with `400`, because data of several users must not mix. The code is
`invalid_body` on routes with a JSON body and `invalid_parameter` on all others. Use one namespace per user.
A write whose `occurred_at` is more than a day ahead of the server's clock is accepted, and `warnings` names the field.

A route that reads or writes data may return `503` for one of three reasons. When the server is at its limits, the body
has only a `message`. When the disk refuses an operation, the code is `storage_unavailable`. When the repository of the
namespace does not match its records, the code is `namespace_damaged`. The first two have `retry-after`.

Two other protocols use the same address and the same credentials. `/v1/mcp` is the Model Context Protocol over
streamable HTTP. `/v1/git/{namespace}` is git's smart protocol: clone, pull, and push where the server allows it. Git
sends a key as the password of basic authentication.
";

/// Generates the document.
///
/// # Errors
///
/// When two schemas have one name.
pub fn document() -> Result<Value> {
    let mut schemas = Schemas::new();
    let mut tags = Vec::new();
    let mut paths = Map::new();
    for (tag, described) in operations::by_tag(&mut schemas) {
        tags.push(json!({"name": tag}));
        for operation in described {
            let (method, path) = method_and_path(operation.route)?;
            let methods = paths.entry(path).or_insert_with(|| Value::Object(Map::new()));
            methods[method] = operation.into_fields(tag).into();
        }
    }
    let responses = errors::shared_responses(&mut schemas);
    Ok(json!({
        "openapi": "3.1.0",
        "info": info(),
        "servers": [{"url": "http://127.0.0.1:8080"}],
        "security": [{"bearer": []}],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": bearer()},
            "headers": errors::shared_headers(),
            "responses": responses,
            "schemas": schemas.into_named()?,
        },
    }))
}

/// Returns the method and the path of a route as the document writes them.
fn method_and_path(route: &str) -> Result<(String, String)> {
    match route.split_once(' ') {
        Some((method, path)) => Ok((method.to_lowercase(), path.replace("{*", "{"))),
        None => Err(Error::internal(format!("{route} is not a method and a path"))),
    }
}

fn info() -> Value {
    json!({
        "title": "Cuebase",
        "version": env!("CARGO_PKG_VERSION"),
        "summary": "Long-term memory for AI applications.",
        "description": DESCRIPTION,
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    })
}

fn bearer() -> Value {
    json!({
        "type": "http",
        "scheme": "bearer",
        "description": "An API key (`svc_live_…`, `svc_test_…`) or a dashboard session (an ID token).",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::routes::ROUTES;

    #[test]
    fn every_reference_has_a_target() {
        let document = document().expect("the document is generated");
        let mut open = vec![&document];
        while let Some(node) = open.pop() {
            match node {
                Value::Object(fields) => {
                    if let Some(Value::String(reference)) = fields.get("$ref") {
                        let pointer = reference.trim_start_matches('#');
                        assert!(document.pointer(pointer).is_some(), "{reference}");
                    }
                    open.extend(fields.values());
                }
                Value::Array(entries) => open.extend(entries),
                _ => {}
            }
        }
    }

    #[test]
    fn every_route_has_one_operation() {
        let mut described = Vec::new();
        for (_, group) in operations::by_tag(&mut Schemas::new()) {
            for operation in group {
                described.push(operation.route.to_owned());
            }
        }
        let mut served = Vec::new();
        for route in &ROUTES {
            served.push(format!("{} {}", route.method, route.path));
        }
        described.sort();
        served.sort();
        assert_eq!(described, served);
    }
}
