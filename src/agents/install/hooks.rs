//! The hooks of Claude Code: which events have one, and how they are added to a file of settings and removed from it.

use serde_json::Value;

use super::super::edit::json::{parse, push, remove_elements};
use super::super::edit::ordered::OrderedJson;
use super::super::hook::HookEvent;
use super::setup::Setup;

/// An event of Claude Code with a hook.
struct ClaudeHook {
    name: &'static str,
    event: HookEvent,
    /// Seconds after which Claude Code stops the hook. The hook itself ends long before.
    timeout_seconds: u32,
}

const HOOKS: [ClaudeHook; 5] = [
    ClaudeHook { name: "SessionStart", event: HookEvent::SessionStart, timeout_seconds: 5 },
    ClaudeHook { name: "UserPromptSubmit", event: HookEvent::UserPrompt, timeout_seconds: 5 },
    ClaudeHook { name: "Stop", event: HookEvent::Stop, timeout_seconds: 10 },
    ClaudeHook { name: "PreCompact", event: HookEvent::PreCompact, timeout_seconds: 10 },
    // An answer that was written after its `Stop`.
    ClaudeHook { name: "SessionEnd", event: HookEvent::Stop, timeout_seconds: 10 },
];

impl ClaudeHook {
    /// Returns the entry in the list of the event.
    fn entry(&self, setup: &Setup) -> anyhow::Result<OrderedJson> {
        let command = OrderedJson::Object(vec![
            ("type".to_owned(), OrderedJson::text("command")),
            ("command".to_owned(), OrderedJson::text(&setup.hook_command(self.event.name())?)),
            ("timeout".to_owned(), OrderedJson::Scalar(Value::from(self.timeout_seconds))),
        ]);
        Ok(OrderedJson::member("hooks", OrderedJson::List(vec![command])))
    }
}

/// Adds the hooks, or replaces those of another installation.
pub(super) fn add(text: &str, setup: &Setup) -> anyhow::Result<String> {
    let mut text = remove(text)?;
    for hook in &HOOKS {
        text = push(&text, &["hooks", hook.name], &hook.entry(setup)?)?;
    }
    Ok(text)
}

/// Returns whether the file has exactly the hooks of a setup.
pub(super) fn is_current(text: &str, setup: &Setup) -> anyhow::Result<bool> {
    let settings = parse(text)?;
    for hook in &HOOKS {
        let mut own = Vec::new();
        for entry in settings["hooks"][hook.name].as_array().into_iter().flatten() {
            if is_own(entry) {
                own.push(entry);
            }
        }
        if own != [&hook.entry(setup)?.to_value()] {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes the hooks. An entry that a person added another command to stays.
pub(super) fn remove(text: &str) -> anyhow::Result<String> {
    let settings = parse(text)?;
    let mut text = text.to_owned();
    let Some(events) = settings["hooks"].as_object() else { return Ok(text) };
    for event in events.keys() {
        if settings["hooks"][event].is_array() {
            text = remove_elements(&text, &["hooks", event.as_str()], &is_own)?;
        }
    }
    Ok(text)
}

/// Returns whether every command of an entry is a hook of Cuebase.
fn is_own(entry: &Value) -> bool {
    let Some(commands) = entry["hooks"].as_array() else { return false };
    !commands.is_empty() && commands.iter().all(is_own_command)
}

fn is_own_command(command: &Value) -> bool {
    let Some(line) = command["command"].as_str() else { return false };
    HOOKS.iter().any(|hook| line.contains("cuebase") && line.contains(&format!(" hook {}", hook.event.name())))
}

#[cfg(test)]
mod tests {
    use super::super::setup::ServerSource;
    use super::*;

    fn setup(data: &str) -> Setup {
        Setup {
            command: "cuebase".into(),
            source: ServerSource::DataDirectory(data.into()),
            namespace: None,
            project_namespace: None,
            uses_hooks: true,
        }
    }

    #[test]
    fn hooks_stand_after_those_of_others_and_are_removed_without_a_trace() {
        let lines = [
            "{",
            "  \"hooks\": {",
            "    \"Stop\": [",
            "      {",
            "        \"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]",
            "      }",
            "    ]",
            "  }",
            "}",
            "",
        ];
        let others = lines.join("\n");
        for text in [others.as_str(), "{\n  \"model\": \"opus\"\n}\n"] {
            let added = add(text, &setup("/a")).expect("adds");
            assert!(is_current(&added, &setup("/a")).expect("reads"), "{added}");
            assert!(
                !is_current(&added, &setup("/b")).expect("reads") && !is_current(text, &setup("/a")).expect("reads")
            );
            assert_eq!(add(&added, &setup("/a")).expect("adds"), added, "a second time changes nothing");
            let moved = add(&added, &setup("/b")).expect("adds");
            assert!(is_current(&moved, &setup("/b")).expect("reads") && !moved.contains("/a "), "{moved}");
            assert_eq!(remove(&moved).expect("removes"), text);
        }
    }

    #[test]
    fn an_entry_with_another_command_stays() {
        let mixed = r#"{"hooks": {"Stop": [{"hooks": [{"command": "cuebase hook stop"}, {"command": "say done"}]}]}}"#;
        assert_eq!(remove(mixed).expect("leaves it"), mixed);
        assert_eq!(
            remove(r#"{"hooks": {"Stop": "no list"}}"#).expect("leaves it"),
            r#"{"hooks": {"Stop": "no list"}}"#
        );
    }
}
