//! References to memories that get other paths: paths in front matter and text, and relative links.

use std::collections::BTreeMap;

use super::erased::path_words;
use super::markdown::resolve;

/// The new paths of memories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedPaths {
    targets: BTreeMap<String, String>,
}

impl MovedPaths {
    /// Takes the new path of each former path.
    pub fn new(targets: BTreeMap<String, String>) -> Self {
        Self { targets }
    }

    /// Returns the new path of a file; `None` if the file does not move.
    pub fn target(&self, path: &str) -> Option<&str> {
        self.targets.get(path).map(String::as_str)
    }

    /// Returns the content of the file at a former path with new paths in it. `None` if it names no moved memory.
    pub fn rewrite(&self, path: &str, content: &str) -> Option<String> {
        let own = self.target(path).unwrap_or(path);
        let mut rewritten = String::new();
        let mut copied = 0;
        for word in path_words(content) {
            let Some(reference) = self.reference(path, own, &content[word.clone()]) else { continue };
            rewritten.push_str(&content[copied..word.start]);
            rewritten.push_str(&reference);
            copied = word.end;
        }
        rewritten.push_str(&content[copied..]);
        if rewritten == content { None } else { Some(rewritten) }
    }

    /// Returns the new text of a path in the file `from`, which moves to `own`.
    fn reference(&self, from: &str, own: &str, word: &str) -> Option<String> {
        if let Some(target) = self.target(word) {
            return Some(target.to_owned());
        }
        let target = self.target(&resolve(from, word)?)?;
        Some(relative(own, target))
    }
}

/// Returns the link from a file to another one.
fn relative(from: &str, to: &str) -> String {
    let mut folders: Vec<&str> = from.split('/').collect();
    folders.pop();
    let mut segments: Vec<&str> = to.split('/').collect();
    while let (Some(folder), Some(segment)) = (folders.first(), segments.first())
        && folder == segment
        && segments.len() > 1
    {
        folders.remove(0);
        segments.remove(0);
    }
    format!("{}{}", "../".repeat(folders.len()), segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(path: &str, content: &str) -> Option<String> {
        let pairs = [("facts/a.md/b.md", "facts/a/b.md"), ("facts/a.md/c.md", "facts/a-2/c.md")];
        let targets = pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        MovedPaths::new(targets).rewrite(path, content)
    }

    #[test]
    fn front_matter_wiki_links_and_relative_links_get_the_new_paths() {
        let text = "---\nsupersedes: [facts/a.md/b.md]\n---\n[b](a.md/b.md#Top), [[facts/a.md/b.md]], facts/a.md.\n";
        let expected = "---\nsupersedes: [facts/a/b.md]\n---\n[b](a/b.md#Top), [[facts/a/b.md]], facts/a.md.\n";
        assert_eq!(moved("facts/x.md", text).as_deref(), Some(expected));
        assert_eq!(moved("rules/x/y.md", "[b](../../facts/a.md/b.md)").as_deref(), Some("[b](../../facts/a/b.md)"));
        assert_eq!(moved("facts/x.md", "[a](a.md), [[facts/a.md]], b.md"), None);
    }

    #[test]
    fn links_between_moved_files_lead_to_the_new_paths() {
        assert_eq!(moved("facts/a.md/b.md", "[c](c.md)").as_deref(), Some("[c](../a-2/c.md)"));
        assert_eq!(moved("facts/a.md/c.md", "[b](./b.md)").as_deref(), Some("[b](../a/b.md)"));
        assert_eq!(moved("facts/a.md/b.md", "[a](../a.md), [b](b.md)"), None);
    }
}
