//! Reading of JSON exports: one JSON value, or several in sequence, such as the pages of a list.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::memory::json_errors;

/// Most bytes of a file. Its values are held in memory, where they take several times as much.
const FILE_BYTES_MAX: u64 = 128 << 20;

/// A list of entries, with the other fields of the object that contains it.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) entries: Vec<Value>,
    /// The other fields of the object; empty if the list is not in an object.
    pub(super) fields: Map<String, Value>,
}

/// Reads the JSON values of a file.
pub(super) fn read(from: &Path) -> Result<Vec<Value>, String> {
    let bytes = fs::metadata(from).map_err(|error| error.to_string())?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(format!(
            "has {bytes} bytes, more than {FILE_BYTES_MAX}: import the pages of the export one by one"
        ));
    }
    parse(&fs::read(from).map_err(|error| error.to_string())?)
}

/// Describes why a file is not JSON.
pub(super) fn not_json(bytes: &[u8], error: &serde_json::Error) -> String {
    format!("{}: the file must be JSON as the other service exports it", json_errors::describe(bytes, 1, error))
}

/// Parses JSON values in sequence. An error names the line, the column and what stands there.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Value>, String> {
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_slice(bytes).into_iter::<Value>() {
        values.push(value.map_err(|error| not_json(bytes, &error))?);
    }
    if values.is_empty() {
        return Err("the file is empty: save the response of the other service in it".into());
    }
    Ok(values)
}

/// Takes the list out of a value: the value itself, or the first of the named fields that is a list.
pub(super) fn page(value: Value, lists: &[&str]) -> Option<Page> {
    let mut fields = match value {
        Value::Array(entries) => return Some(Page { entries, fields: Map::new() }),
        Value::Object(fields) => fields,
        _ => return None,
    };
    for name in lists {
        if !fields.get(*name).is_some_and(Value::is_array) {
            continue;
        }
        if let Some(Value::Array(entries)) = fields.remove(*name) {
            return Some(Page { entries, fields });
        }
    }
    None
}

/// Decodes an entry of a list. An error names the field.
pub(super) fn decode<'de, T: Deserialize<'de>>(entry: &'de Value) -> Result<T, String> {
    serde_path_to_error::deserialize(entry).map_err(|error| error.to_string())
}

/// Returns a warning if a list says that it has more entries than the file.
pub(super) fn missing_entries(listed: u64, all: Option<u64>, what: &str, remedy: &str) -> Option<String> {
    let all = all?;
    if all > listed { Some(format!("the file has {listed} of {all} {what}: {remedy}")) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pages_in_sequence_are_read_as_values() {
        let values = parse(b"{\"results\": [1], \"count\": 2}\n[2]\n").expect("read");
        assert_eq!(values, [json!({"results": [1], "count": 2}), json!([2])]);
        let first = page(values[0].clone(), &["memories", "results"]).expect("a list");
        assert_eq!((first.entries, first.fields["count"].as_u64()), (vec![json!(1)], Some(2)));
        assert_eq!(page(values[1].clone(), &[]).expect("a list").entries, [json!(2)]);
        assert!(page(json!({"results": {}}), &["results"]).is_none());
        assert!(page(json!(5), &["results"]).is_none());
    }

    #[test]
    fn an_error_names_its_place() {
        assert!(
            parse(b"[1]\n[2").is_err_and(|error| error.contains("line 2 column 2, where the text ends after `[1] [2`"))
        );
        assert!(parse(b"[1]\n[2 x]").is_err_and(|error| error.contains("line 2 column 4, found `x]`")));
        assert!(parse(b" \n").is_err_and(|error| error.contains("empty")));
        assert!(parse(&b"[".repeat(1000)).is_err_and(|error| error.contains("recursion limit")));
        let error = decode::<Vec<String>>(&json!(["a", 5])).expect_err("refused");
        assert!(error.starts_with("[1]: "), "{error}");
    }

    #[test]
    fn missing_pages_are_named() {
        assert_eq!(missing_entries(5, Some(5), "memories", "add the pages"), None);
        assert_eq!(missing_entries(5, None, "memories", "add the pages"), None);
        let warning = missing_entries(5, Some(7), "memories", "add the pages").expect("a warning");
        assert!(warning.contains("5 of 7 memories"), "{warning}");
    }
}
