//! The OpenAPI document compared with the route table and with a running server.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use cuebase::api::document::document;
use cuebase::api::fields::{Contents, Field, PART_TYPES, part_fields};
use cuebase::api::routes::{Access, BodyKind, ROUTES};
use cuebase::error_codes::ErrorCode;
use serde_json::Value;

use crate::support::{Server, fresh, stdout};

/// Generated requests per operation and phase.
const EXAMPLES: &str = "12";

#[test]
fn document_and_route_table_have_the_same_routes() {
    let document = document().expect("the document is generated");
    assert_eq!(document["openapi"], "3.1.0");
    let mut described = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            described.insert(format!("{} {path}", method.to_uppercase()));
            let name = format!("{method} {path}");
            let route = ROUTES.iter().find(|route| {
                route.method.as_str().eq_ignore_ascii_case(method) && route.path.replace("{*", "{") == *path
            });
            let route = route.unwrap_or_else(|| panic!("{name} is described but not served"));
            let open = operation["security"] == Value::Array(Vec::new());
            assert_eq!(open, route.access == Access::Open, "{name}: access");
            let statuses = operation["responses"].as_object().expect("responses");
            assert_eq!(statuses.contains_key("429"), !open, "{name}: limits");
            assert!(statuses.contains_key("500") || route.path == "/health", "{name}: failures");
            for parameter in path.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
                let described = operation["parameters"].as_array().expect("a path parameter is described");
                let found = described.iter().find(|one| one["in"] == "path" && one["name"] == parameter);
                assert!(found.is_some(), "{name}: {parameter}");
            }
        }
    }
    let served = ROUTES.iter().map(|route| format!("{} {}", route.method, route.path.replace("{*", "{")));
    assert_eq!(described, served.collect::<BTreeSet<String>>());
}

#[test]
fn document_and_route_table_have_the_same_parameters_and_fields() {
    let document = document().expect("the document is generated");
    for route in &ROUTES {
        let name = format!("{} {}", route.method, route.path);
        let operation = &document["paths"][route.path.replace("{*", "{")][route.method.as_str().to_lowercase()];
        let mut parameters = BTreeSet::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "query" {
                parameters.insert(parameter["name"].as_str().expect("a name"));
            }
        }
        assert_eq!(parameters, route.query.iter().copied().collect::<BTreeSet<&str>>(), "{name}: query");
        if matches!(route.body, BodyKind::Json | BodyKind::Parameters) {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            compare_fields(&document, schema, route.fields, &name);
        } else {
            assert!(route.fields.is_empty(), "{name}: fields of a body that the route does not read");
        }
    }
}

/// Returns the target of a reference, or the node itself if it is not a reference.
fn resolved<'a>(document: &'a Value, node: &'a Value) -> &'a Value {
    match node["$ref"].as_str() {
        Some(reference) => {
            let target = document.pointer(reference.trim_start_matches('#')).expect("a reference has a target");
            resolved(document, target)
        }
        None => node,
    }
}

fn property_names(schema: &Value) -> BTreeSet<&str> {
    schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// Compares the field names in a schema and in its nested objects with those of the route table.
fn compare_fields(document: &Value, schema: &Value, fields: &'static [Field], place: &str) {
    let schema = resolved(document, schema);
    assert_eq!(property_names(schema), fields.iter().map(|field| field.name).collect::<BTreeSet<&str>>(), "{place}");
    for field in fields {
        let place = format!("{place}: {}", field.name);
        let value = resolved(document, &schema["properties"][field.name]);
        match field.contents {
            Contents::Opaque => {
                let entries = resolved(document, &value["items"]);
                assert!(property_names(entries).is_empty(), "{place}: the objects have fields");
            }
            Contents::Objects(fields) => compare_fields(document, &value["items"], fields, &place),
            Contents::Parts => compare_parts(document, value, &place),
        }
    }
}

/// Compares the content parts of a schema with the part types that have fixed fields.
fn compare_parts(document: &Value, schema: &Value, place: &str) {
    let forms = schema["anyOf"].as_array().expect("text, or parts");
    let list = forms.iter().find(|form| form["type"] == "array").expect("a list of parts");
    let mut compared = BTreeSet::new();
    for part in list["items"]["anyOf"].as_array().expect("several types of parts") {
        let part = resolved(document, part);
        let Some(part_type) = part["properties"]["type"]["const"].as_str() else { continue };
        let fields = part_fields(part_type).unwrap_or_else(|| panic!("{place}: {part_type} has no fields"));
        let known: BTreeSet<&str> = fields.iter().map(|field| field.name).collect();
        assert_eq!(property_names(part), known, "{place}: {part_type}");
        compared.insert(part_type);
    }
    assert_eq!(compared, BTreeSet::from(PART_TYPES), "{place}");
}

#[test]
fn document_lists_every_error_code() {
    let document = document().expect("the document is generated");
    let described = &document["components"]["schemas"]["ErrorCode"]["enum"];
    let declared = serde_json::to_value(ErrorCode::ALL).expect("JSON");
    assert_eq!(*described, declared);
}

#[test]
fn command_line_and_server_return_the_same_document() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let printed: Value = serde_json::from_str(&stdout(&data, &["openapi"])).expect("JSON");
    assert_eq!(printed, server.get("/v1/openapi.json").body);
    assert_eq!(printed["info"]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn generated_requests_get_only_documented_responses() {
    let (folder, data) = fresh();
    let file = folder.path().join("openapi.json");
    std::fs::write(&file, document().expect("the document").to_string()).expect("writes");
    let settings = folder.path().join("cuebase.toml");
    let sandbox = "[payments]\nprovider = 'sandbox'\nsandbox_listen = '127.0.0.1:0'\n";
    std::fs::write(&settings, sandbox).expect("writes");
    let server = Server::start_with(&data, &["--config", settings.to_str().expect("a path")]);
    let session = stdout(&data, &["token"]);
    let configuration = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/schemathesis.toml");
    let run = Command::new(schemathesis())
        .current_dir(folder.path())
        .arg("--config-file")
        .arg(configuration)
        .arg("run")
        .arg(file)
        .args(["--url", &server.url, "--header", &format!("Authorization: Bearer {session}")])
        .args(["--checks", "all", "--exclude-checks", "unsupported_method,ensure_resource_availability"])
        .args(["--max-examples", EXAMPLES, "--generation-deterministic", "--no-color", "--continue-on-failure"])
        .env("PYTHONUTF8", "1")
        .output()
        .expect("schemathesis runs");
    let report = String::from_utf8_lossy(&run.stdout);
    let shown: Vec<String> = report.lines().map(|line| line.chars().take(300).collect()).collect();
    assert!(run.status.success(), "{}", shown.join("\n"));
    let log = server.log();
    assert!(!log.contains("panicked") && !log.contains("internal failure"), "{log:.4000}");
}

/// Returns the program that `scripts/setup-tests.sh` installed.
fn schemathesis() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").expect("a home directory")).join(".cache");
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    let program = cache.join("cuebase/tools/python/bin/schemathesis");
    assert!(program.exists(), "{} is missing: run sh scripts/setup-tests.sh", program.display());
    program
}
