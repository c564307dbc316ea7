//! What memories quote of each other: the question that a statement answers, or the message that it corrects. Where the
//! statement is shown, the quoted memory is not.

use std::collections::HashSet;

use cuebase_language::text::words::flat;

/// The texts that some memories quote.
#[derive(Debug, Default)]
pub struct Quotations(HashSet<String>);

impl Quotations {
    /// Reads the quotations of contents.
    pub fn of<'a>(contents: impl Iterator<Item = &'a str>) -> Self {
        let mut quoted = HashSet::new();
        for content in contents {
            for line in content.lines() {
                if let Some(quote) = line.strip_prefix("> ") {
                    quoted.insert(quote.trim().to_owned());
                }
            }
        }
        Self(quoted)
    }

    /// Whether a content is quoted: on one line, without the sign of its title.
    pub fn contain(&self, content: &str) -> bool {
        self.0.contains(&flat(content.trim_start_matches('#')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_quoted_by_its_correction() {
        let correction = "# Mara: no wait, at half past six\n\n> Mara: We open at seven.\n";
        let quotations = Quotations::of([correction].into_iter());
        assert!(quotations.contain("# Mara: We open at seven.\n"));
        assert!(!quotations.contain("# Mara: We open at eight.\n") && !quotations.contain(correction));
    }
}
