//! Lists of skills, of topics and of a directory's entries.

use super::{CLOSING_CHARS, Page};
use crate::mcp::budget::{Fitted, cut, grouped, lines};
use crate::mcp::responses::{Directory, SkillList, TopicList};

/// Most characters of a skill's description in a list.
const DESCRIPTION_CHARS: usize = 200;

/// Renders a list of skills by name.
pub(in crate::mcp) fn skills(response: &SkillList, page: &Page, listed_max: usize) -> String {
    if response.skills.is_empty() {
        return "No skills are stored.".into();
    }
    let mut entries = Vec::new();
    for skill in &response.skills {
        let shown = cut(&skill.description, DESCRIPTION_CHARS);
        let mark = if shown.len() < skill.description.len() { " …" } else { "" };
        entries.push(format!("{}: {} {shown}{mark}", skill.path, skill.name));
    }
    if response.skills.len() >= listed_max {
        entries.push(format!("The list ends at {listed_max} skills: memory_skills with a task finds any."));
    }
    paged(&entries, page, "memory_skills")
}

/// Renders topics by tier.
pub(in crate::mcp) fn topics(response: &TopicList, page: &Page) -> String {
    let mut entries = Vec::new();
    for topic in &response.topics {
        let path = format!("{}/{}", topic.tier, topic.topic);
        entries.push(format!("{} ({})", path.trim_end_matches('/'), topic.memories));
    }
    if entries.is_empty() {
        return "No memories are stored.".into();
    }
    paged(&entries, page, "memory_topics")
}

/// Renders the entries of a directory.
pub(in crate::mcp) fn tree(response: &Directory, page: &Page) -> String {
    let mut entries = Vec::new();
    for entry in &response.entries {
        match entry.memories {
            Some(memories) => entries.push(format!("{}/ ({memories})", entry.path)),
            None => entries.push(entry.path.clone()),
        }
    }
    if entries.is_empty() {
        return "No memories are stored there. memory_topics without a path lists all topics.".into();
    }
    paged(&entries, page, "memory_topics")
}

/// Returns the entries after an offset, as far as they fit, and the call that lists the others.
fn paged(entries: &[String], page: &Page, tool: &str) -> String {
    if page.offset >= entries.len() {
        return format!("The list has {} entries; offset {} is past its end.", entries.len(), page.offset);
    }
    let rest = &entries[page.offset..];
    let Fitted { text, shown } = lines(rest, page.max_characters.saturating_sub(CLOSING_CHARS));
    if shown == rest.len() {
        return text;
    }
    let next = page.offset + shown;
    format!("{text}\n… {} more entries: {tool} with offset {next}", grouped(rest.len() - shown))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_list_says_how_many_more_and_from_which_offset() {
        let topic = |n: usize| json!({"tier": "facts", "topic": format!("topic-{n}"), "memories": 1});
        let body = json!({"topics": (0..2_000).map(topic).collect::<Vec<_>>()});
        let response: TopicList = serde_json::from_value(body).expect("topics");
        let mut offset = 0;
        let mut seen = 0;
        loop {
            let text = topics(&response, &Page { offset, max_characters: 8_000 });
            assert!(text.chars().count() <= 8_000);
            seen += text.lines().filter(|line| line.starts_with("facts/topic-")).count();
            let Some((_, next)) = text.split_once("more entries: memory_topics with offset ") else { break };
            offset = next.parse().expect("a number");
            assert_eq!(offset, seen);
        }
        assert_eq!(seen, 2_000);
        assert_eq!(
            topics(&response, &Page { offset: 2_000, max_characters: 8_000 }),
            "The list has 2000 entries; offset 2000 is past its end."
        );
    }
}
