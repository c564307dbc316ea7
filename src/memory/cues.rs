//! The cues of a text for which nobody wrote cues.

use crate::text::questions::last_question;
use crate::text::steps::Steps;
use crate::text::words::flat;

/// The cues of a text that nobody wrote cues for: its title and its sections' names with their first sentence. Linear in
/// the text's length.
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
