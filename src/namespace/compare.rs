//! Whether an index holds what git holds.

use std::collections::BTreeMap;

use cuebase_retrieval::Memory;

/// How two sets of memories differ, by path.
pub(super) fn differences(found: Vec<Memory>, expected: Vec<Memory>) -> Vec<String> {
    let by_path = |memories: Vec<Memory>| -> BTreeMap<String, Memory> {
        memories.into_iter().map(|memory| (memory.path.clone(), memory)).collect()
    };
    let (mut found, expected) = (by_path(found), by_path(expected));
    let mut differences = Vec::new();
    for (path, expected) in expected {
        match found.remove(&path) {
            None => differences.push(format!("{path} is missing")),
            Some(found) if !same(&found, &expected) => differences.push(format!("{path} is another")),
            Some(_) => {}
        }
    }
    differences.extend(found.into_keys().map(|path| format!("{path} is too many")));
    differences
}

/// Whether two memories are the same but for vectors, which may be on their way.
fn same(found: &Memory, expected: &Memory) -> bool {
    let texts = |memory: &Memory| memory.cues.iter().map(|cue| cue.text.clone()).collect::<Vec<_>>();
    let rest = |memory: &Memory| Memory { cues: Vec::new(), waiting: false, ..memory.clone() };
    texts(found) == texts(expected) && rest(found) == rest(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_too_many_or_another_is_told_by_path() {
        let memory =
            |path: &str, content: &str| Memory { path: path.into(), content: content.into(), ..Memory::default() };
        let (a, b, c) = (memory("a", "1"), memory("b", "2"), memory("c", "3"));
        assert!(differences(vec![b.clone(), a.clone()], vec![a.clone(), b.clone()]).is_empty());
        let told = differences(vec![a, memory("b", "other"), c], vec![memory("b", "2"), memory("d", "4")]);
        assert_eq!(told, ["b is another", "d is missing", "a is too many", "c is too many"]);
    }
}
