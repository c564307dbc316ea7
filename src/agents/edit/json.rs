//! Adding and removing members and elements of JSON with comments.
//!
//! What is added stands at the end of its object or list, in the style of the file. Removing it gives the former text.

use anyhow::{Context, anyhow, bail};
use serde_json::Value;

use super::layout::{Container, container, container_at, plain, without_comments};
use super::ordered::OrderedJson;

/// Indentation of a level in a file that shows none.
const UNIT_DEFAULT: &str = "  ";

/// Parses JSON with comments. The error has line and column.
pub(crate) fn parse(text: &str) -> anyhow::Result<Value> {
    let value: Value = serde_json::from_str(&plain(text)).map_err(|error| anyhow!("invalid JSON: {error}"))?;
    if !value.is_object() {
        bail!("invalid JSON: line 1: expected an object");
    }
    Ok(value)
}

/// Adds a member at the end of a path of names, or replaces it. Objects on the path are made if they are missing.
pub(crate) fn set(text: &str, path: &[&str], value: &OrderedJson) -> anyhow::Result<String> {
    let text = unset(text, path)?;
    let plain = plain(&text);
    let mut depth = 0;
    let mut object = container_at(&plain, &[]).context("invalid JSON: expected an object")?;
    while depth + 1 < path.len()
        && let Some(position) = object.position(path[depth])
    {
        let item = &object.items[position];
        let Some(inner) = container(&plain, item.value.start).filter(|inner| plain.as_bytes()[inner.open] == b'{')
        else {
            bail!("line {}: {:?} is not an object", line_of(&text, item.begin), path[depth]);
        };
        object = inner;
        depth += 1;
    }
    let mut value = value.clone();
    for name in path[depth + 1..].iter().rev() {
        value = OrderedJson::member(name, value);
    }
    insert(&text, &object, Some(path[depth]), &value)
}

/// Adds an element to the list at the end of a path, which is made if it is missing.
pub(crate) fn push(text: &str, path: &[&str], value: &OrderedJson) -> anyhow::Result<String> {
    let plain = plain(text);
    let Some(begin) = value_at(&plain, path) else {
        return set(text, path, &OrderedJson::List(vec![value.clone()]));
    };
    match container(&plain, begin) {
        Some(list) if plain.as_bytes()[list.open] == b'[' => insert(text, &list, None, value),
        _ => bail!("line {}: {:?} is not a list", line_of(text, begin), path.join(".")),
    }
}

/// Returns the first byte of the value at the end of a path; `None` without one.
fn value_at(plain: &str, path: &[&str]) -> Option<usize> {
    let (name, outer) = path.split_last()?;
    let object = container_at(plain, outer)?;
    let position = object.position(name)?;
    Some(object.items[position].value.start)
}

/// Removes the member at the end of a path, and the objects on the path that become empty.
pub(crate) fn unset(text: &str, path: &[&str]) -> anyhow::Result<String> {
    let Some((name, outer)) = path.split_last() else { return Ok(text.to_owned()) };
    let Some(object) = container_at(&plain(text), outer) else { return Ok(text.to_owned()) };
    let Some(position) = object.position(name) else { return Ok(text.to_owned()) };
    let removed = remove(text, &object, position);
    if object.items.len() > 1 || outer.is_empty() {
        return Ok(removed);
    }
    // An object that holds a comment stays.
    match container_at(&plain(&removed), outer) {
        Some(rest) if removed[rest.open + 1..rest.close].trim().is_empty() => unset(text, outer),
        _ => Ok(removed),
    }
}

/// Removes the elements for which `is_removed` holds from the list at the end of a path. A list that becomes empty by
/// that is removed.
pub(crate) fn remove_elements(
    text: &str,
    path: &[&str],
    is_removed: &dyn Fn(&Value) -> bool,
) -> anyhow::Result<String> {
    let plain = plain(text);
    let Some(list) = container_at(&plain, path) else { return Ok(text.to_owned()) };
    let mut removed = Vec::new();
    for (position, item) in list.items.iter().enumerate() {
        let value: Value = serde_json::from_str(&plain[item.value.clone()])?;
        if is_removed(&value) {
            removed.push(position);
        }
    }
    if !removed.is_empty() && removed.len() == list.items.len() {
        return unset(text, path);
    }
    let mut text = text.to_owned();
    // From the end, so that the positions before stay right.
    for position in removed.iter().rev() {
        let list = container_at(&self::plain(&text), path).context("the list was found before")?;
        text = remove(&text, &list, *position);
    }
    Ok(text)
}

/// Returns the number of the line that a byte is on.
fn line_of(text: &str, byte: usize) -> usize {
    1 + text.bytes().take(byte).filter(|byte| *byte == b'\n').count()
}

/// Adds an item at the end of a container.
fn insert(text: &str, container: &Container, name: Option<&str>, value: &OrderedJson) -> anyhow::Result<String> {
    let name = match name {
        Some(name) => format!("{}: ", Value::from(name)),
        None => String::new(),
    };
    let is_on_lines = text.trim_end().contains('\n') || text.trim().len() == "{}".len();
    if !is_on_lines {
        let item = format!("{name}{}", value.on_one_line()?);
        let (at, separator) = match container.items.last() {
            Some(last) => (last.value.end, ", "),
            None => (container.open + 1, ""),
        };
        return Ok(format!("{}{separator}{item}{}", &text[..at], &text[at..]));
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let unit = indent_unit(text);
    let Some(last) = container.items.last() else {
        let outer = indent_of(text, container.open);
        let indent = format!("{outer}{unit}");
        let item = format!("{name}{}", value.on_lines(unit, &indent, newline)?);
        // A comment inside of the brackets stays.
        let inside = text[container.open + 1..container.close].trim_end();
        let before = &text[..container.open + 1];
        let after = &text[container.close..];
        return Ok(format!("{before}{inside}{newline}{indent}{item}{newline}{outer}{after}"));
    };
    let indent = indent_of(text, last.begin);
    let item = format!("{name}{}", value.on_lines(unit, indent, newline)?);
    let end = last.value.end;
    let uncommented = without_comments(text);
    let rest = &uncommented[end..container.close];
    // A list or object may end with a comma, which then also ends the new item.
    let comma = if rest.trim_start().starts_with(',') { rest.find(',').map(|at| end + at + 1) } else { None };
    let at = end_of_line(text, comma.unwrap_or(end), container.close);
    let (separator, last_comma) = if comma.is_some() { ("", ",") } else { (",", "") };
    let (before, between, after) = (&text[..end], &text[end..at], &text[at..]);
    Ok(format!("{before}{separator}{between}{newline}{indent}{item}{last_comma}{after}"))
}

/// Removes an item with its comma and the space before it.
fn remove(text: &str, container: &Container, position: usize) -> String {
    let uncommented = without_comments(text);
    let item = &container.items[position];
    let begin = text[..item.begin].trim_end().len();
    let rest = &uncommented[item.value.end..container.close];
    let following = if rest.trim_start().starts_with(',') { rest.find(',') } else { None };
    if let Some(comma) = following {
        return format!("{}{}", &text[..begin], &text[item.value.end + comma + 1..]);
    }
    // The last item: the comma before it goes as well.
    let end = item.value.end;
    if position == 0 {
        return format!("{}{}", &text[..begin], &text[end..]);
    }
    let former = container.items[position - 1].value.end;
    let comma = uncommented[former..item.begin].find(',').map_or(former, |at| former + at);
    let between = text[comma..begin].strip_prefix(',').unwrap_or(&text[comma..begin]);
    format!("{}{between}{}", &text[..comma], &text[end..])
}

/// Returns the end of the line of a byte. Returns the byte itself if the line ends after `close`, or if a comment
/// continues in the next line.
fn end_of_line(text: &str, from: usize, close: usize) -> usize {
    let Some(length) = text[from..close].find('\n') else { return from };
    let line = &text[from..from + length];
    if line.rfind("/*") > line.rfind("*/") {
        return from;
    }
    from + line.trim_end_matches('\r').len()
}

/// Returns the space at the start of the line that a byte is on.
fn indent_of(text: &str, byte: usize) -> &str {
    let begin = text[..byte].rfind('\n').map_or(0, |at| at + 1);
    let line = &text[begin..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the indentation of a level: that of the first indented line.
fn indent_unit(text: &str) -> &str {
    for line in text.lines() {
        let rest = line.trim_start_matches([' ', '\t']);
        if rest.len() < line.len() && rest.starts_with('"') {
            return &line[..line.len() - rest.len()];
        }
    }
    UNIT_DEFAULT
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: [&str; 2] = ["servers", "own"];

    fn entry() -> OrderedJson {
        let arguments = OrderedJson::texts(&["mcp".to_owned(), "a \"b\"\n".to_owned()]);
        OrderedJson::Object(vec![("command".into(), OrderedJson::text("run")), ("args".into(), arguments)])
    }

    /// Checks that the entry is added and that removing it gives the text again. Returns the text with the entry.
    fn added_and_removed(text: &str) -> String {
        let mut expected = parse(text).expect("JSON");
        let added = set(text, &PATH, &entry()).expect("adds");
        if expected.get("servers").is_none() {
            expected["servers"] = json!({});
        }
        expected["servers"]["own"] = entry().to_value();
        assert_eq!(parse(&added).expect("JSON"), expected, "{added}");
        assert_eq!(set(&added, &PATH, &entry()).expect("adds"), added, "a second time changes nothing");
        let removed = unset(&added, &PATH).expect("removes");
        assert_eq!(removed, text, "{added}");
        added
    }

    #[test]
    fn an_entry_is_added_in_the_style_of_the_file_and_removed_without_a_trace() {
        for text in [
            "{\n  \"servers\": {\n    \"other\": {\"command\": \"x\"}\n  },\n  \"last\": 1\n}\n",
            "{\n\t\"servers\": {\n\t\t\"other\": {}\n\t}\n}",
            "{\r\n    \"a\": [1, 2]\r\n}\r\n",
            "{\n  // the only one\n  \"servers\": {\n    \"other\": {}, // with a note\n  },\n}\n",
            "{\n  \"servers\": {\n    \"other\": {} // with a note\n  }\n}\n",
            "{\n  \"servers\": {\n    // none so far\n  }\n}\n",
            "{\n  \"servers\": {\n    \"other\": {} /* with\n a note */\n  }\n}\n",
            "{\"servers\": {\"other\": {}}, \"a\": null}",
            "{\"a\": 1}\n",
        ] {
            added_and_removed(text);
        }
    }

    #[test]
    fn an_entry_is_indented_as_its_neighbours() {
        let added = added_and_removed("{\n\t\"servers\": {\n\t\t\"other\": {}\n\t}\n}\n");
        let expected = "{\n\t\"servers\": {\n\t\t\"other\": {},\n\t\t\"own\": {\n\t\t\t\"command\": \"run\",\n\
            \t\t\t\"args\": [\n\t\t\t\t\"mcp\",\n\t\t\t\t\"a \\\"b\\\"\\n\"\n\t\t\t]\n\t\t}\n\t}\n}\n";
        assert_eq!(added, expected);
        let empty = set("{}\n", &PATH, &entry()).expect("adds");
        assert!(empty.starts_with("{\n  \"servers\": {\n    \"own\": {\n      \"command\": \"run\","), "{empty}");
    }

    #[test]
    fn a_member_in_the_middle_is_removed_with_its_comma() {
        let text = "{\n  \"servers\": {\n    \"own\": {},\n    \"other\": {}\n  }\n}\n";
        assert_eq!(unset(text, &PATH).expect("removes"), "{\n  \"servers\": {\n    \"other\": {}\n  }\n}\n");
        assert_eq!(unset("{\"servers\": {\"own\": 1}}", &PATH).expect("removes"), "{}");
        assert_eq!(unset("{\"a\": 1}", &PATH).expect("leaves it"), "{\"a\": 1}");
    }

    #[test]
    fn elements_are_added_to_a_list_and_removed() {
        let path = ["hooks", "Stop"];
        for text in [
            "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"a\": 1}\n    ]\n  }\n}\n",
            "{\n  \"hooks\": {\n    \"Start\": []\n  }\n}\n",
            "{\n  \"model\": \"x\"\n}\n",
        ] {
            let added = push(text, &path, &OrderedJson::text("own")).expect("adds");
            assert_eq!(
                parse(&added).expect("JSON")["hooks"]["Stop"].as_array().and_then(|list| list.last()),
                Some(&json!("own"))
            );
            let removed = remove_elements(&added, &path, &|value| value == "own").expect("removes");
            assert_eq!(removed, text);
        }
        let several = "{\"hooks\": {\"Stop\": [1, \"own\", 2, \"own\"]}}";
        let rest = remove_elements(several, &path, &|value| value == "own").expect("removes");
        assert_eq!(parse(&rest).expect("JSON"), json!({"hooks": {"Stop": [1, 2]}}));
    }

    #[test]
    fn an_unexpected_text_is_refused_with_its_line() {
        let error = parse("{\n  \"a\": nothing\n}").expect_err("refused").to_string();
        assert!(error.contains("line 2"), "{error}");
        for text in ["[]", "", "1"] {
            let error = parse(text).expect_err("refused").to_string();
            assert!(error.contains("invalid JSON") && error.contains("line 1"), "{error}");
        }
        let error = set("{\n  \"servers\": []\n}", &PATH, &entry()).expect_err("refused").to_string();
        assert!(error.contains("line 2: \"servers\" is not an object"), "{error}");
        let error =
            push("{\n\n\"hooks\": {\"Stop\": {}}}", &["hooks", "Stop"], &entry()).expect_err("refused").to_string();
        assert!(error.contains("line 3"), "{error}");
    }
}
