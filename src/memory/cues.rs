//! Cues derived from a text that has none of its own.

use cuebase_language::text::questions::last_question;
use cuebase_language::text::steps::Steps;
use cuebase_language::text::words::flat;

/// Returns the cues of a text: the whole text on one line, the names of its sections, and its last question. The time
/// is linear in the text's length.
pub fn of_markdown(body: &str) -> Vec<String> {
    let mut cues = vec![flat(body.trim_start_matches(['#', ' ']))];
    for section in cuebase_storage::memory_file::markdown::sections(body) {
        cues.push(section.name);
    }
    if let Ok(Some(question)) = last_question(body, &Steps::unlimited()) {
        cues.push(flat(&question));
    }
    cues.retain(|cue| !cue.is_empty());
    cues.dedup();
    cues
}
