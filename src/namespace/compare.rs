//! Comparison of an index with git.

use std::collections::BTreeMap;

use cuebase_retrieval::Memory;

/// Describes how the memories of an index differ from those in git, one line per path.
pub(super) fn differences(indexed: Vec<Memory>, in_git: Vec<Memory>) -> Vec<String> {
    let mut indexed_by_path = BTreeMap::new();
    for memory in indexed {
        indexed_by_path.insert(memory.path.clone(), without_vectors(memory));
    }
    let mut in_git_by_path = BTreeMap::new();
    for memory in in_git {
        in_git_by_path.insert(memory.path.clone(), without_vectors(memory));
    }
    let mut differences = Vec::new();
    for (path, memory) in in_git_by_path {
        match indexed_by_path.remove(&path) {
            None => differences.push(format!("{path} is missing from the index")),
            Some(indexed) if indexed != memory => differences.push(format!("{path} differs from git")),
            Some(_) => {}
        }
    }
    for path in indexed_by_path.into_keys() {
        differences.push(format!("{path} is not in git"));
    }
    differences
}

/// Removes the vectors of a memory, which may be computed after the memory is indexed.
fn without_vectors(mut memory: Memory) -> Memory {
    memory.waiting = false;
    for cue in &mut memory.cues {
        cue.vector = None;
    }
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(path: &str, content: &str) -> Memory {
        Memory { path: path.into(), content: content.into(), ..Memory::default() }
    }

    #[test]
    fn missing_surplus_and_different_memories_are_listed_by_path() {
        let (a, b, c) = (memory("a", "1"), memory("b", "2"), memory("c", "3"));
        assert!(differences(vec![b.clone(), a.clone()], vec![a.clone(), b.clone()]).is_empty());
        let differences = differences(vec![a, memory("b", "other"), c], vec![memory("b", "2"), memory("d", "4")]);
        let expected = ["b differs from git", "d is missing from the index", "a is not in git", "c is not in git"];
        assert_eq!(differences, expected);
    }
}
