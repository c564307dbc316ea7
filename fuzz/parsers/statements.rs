//! The built-in extractor on the text of a message (statements, dates, names, cues), and the times that the text names when
//! it is read as a question.

use cuebase::ingest::extraction;
use cuebase_language::dates::question;
use cuebase_language::text::steps::Steps;
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub(super) fn enter(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let named = question::find(&text, Timestamp::UNIX_EPOCH, &TimeZone::UTC);
    assert!(named.times.iter().all(|range| range.start < range.end));
    let roles = ["user", "assistant"].map(|role| serde_json::json!({"role": role, "content": text}));
    let body = serde_json::json!({"messages": roles});
    let Some(body) = body.as_object() else { return };
    let Ok(conversation) = cuebase::memory::request::conversation(body) else { return };
    let drafts = extraction::extract(&conversation, Timestamp::UNIX_EPOCH, &Steps::unlimited());
    for draft in drafts.expect("nothing interrupts").drafts {
        assert!(draft.body.starts_with("# "));
        assert!(!draft.cues.is_empty());
    }
}
