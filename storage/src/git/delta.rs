//! Large trees told as their difference from another version, so that a commit into a directory of thousands of files
//! takes some hundred bytes in the long run, not some hundred thousand.
//!
//! ```text
//! delta        size of the base | size of the result | instructions
//! size         7 bits at a time, lowest first
//! instruction  1 bit set | which bytes of offset and size follow | offset | size   copies from the base
//!              length, 1 to 127 | bytes                                           inserts them
//! ```
//!
//! Format: git's `gitformat-pack`, "Deltified representation".

use std::collections::VecDeque;
use std::ops::Range;

use gix::ObjectId;

use super::pack::{packed_delta, packed_entry};
use super::tree::RawTree;
use crate::error::Result;

/// Trees from this size on are told as differences: a smaller one costs little as it is.
pub(super) const LARGE_TREE_BYTES: u64 = 8 << 10;
/// Deltas that stand on one another, at most. To read a tree all of them are applied; without a bound a read would take
/// longer with every write.
pub(super) const CHAIN_MAX: u32 = 32;
/// The most bytes that one instruction copies here: a size that takes two bytes.
const COPY_BYTES_MAX: usize = 0xffff;
/// The most bytes that one instruction can insert.
const INSERT_BYTES_MAX: usize = 127;
/// Trees that are held while a pack is written, for others to be told by their difference from them.
const WINDOW_TREES: usize = 4;
/// A tree above this is not held: four of them would be much for one of many clones.
const WINDOW_TREE_BYTES_MAX: usize = 8 << 20;

/// The delta that makes one tree of another. It is short where most entries are the same.
pub(super) fn encode(base: &RawTree, result: &RawTree) -> Vec<u8> {
    let mut delta = Delta { result, bytes: Vec::new(), copied: 0..0, inserted: 0..0 };
    put_size(&mut delta.bytes, base.bytes().len());
    put_size(&mut delta.bytes, result.bytes().len());
    let mut at_base = 0;
    for index in 0..result.len() {
        while let (Some(before), Some(now)) = (base.entry(at_base), result.entry(index))
            && before < now
        {
            at_base += 1;
        }
        let (source, target) = (base.range(at_base), result.range(index));
        if !source.is_empty() && base.bytes().get(source.clone()) == result.bytes().get(target.clone()) {
            delta.copy(source);
            at_base += 1;
        } else {
            delta.insert(target);
        }
    }
    delta.flush();
    delta.bytes
}

/// Instructions so far, and a copy or an insertion that may still grow. At most one of both is not empty.
struct Delta<'a> {
    result: &'a RawTree,
    bytes: Vec<u8>,
    /// Of the base.
    copied: Range<usize>,
    /// Of the result.
    inserted: Range<usize>,
}

impl Delta<'_> {
    fn copy(&mut self, source: Range<usize>) {
        if self.copied.is_empty() || self.copied.end != source.start {
            self.flush();
            self.copied = source;
        } else {
            self.copied.end = source.end;
        }
    }

    fn insert(&mut self, target: Range<usize>) {
        if self.inserted.is_empty() {
            self.flush();
            self.inserted = target;
        } else {
            self.inserted.end = target.end;
        }
    }

    fn flush(&mut self) {
        let mut offset = self.copied.start;
        while offset < self.copied.end {
            let size = COPY_BYTES_MAX.min(self.copied.end - offset);
            put_copy(&mut self.bytes, offset, size);
            offset += size;
        }
        let inserted = self.result.bytes().get(self.inserted.clone()).unwrap_or_default();
        for part in inserted.chunks(INSERT_BYTES_MAX) {
            self.bytes.push(part.len() as u8);
            self.bytes.extend_from_slice(part);
        }
        self.copied = 0..0;
        self.inserted = 0..0;
    }
}

fn put_size(delta: &mut Vec<u8>, size: usize) {
    let mut rest = size;
    while rest > 0x7f {
        delta.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    delta.push(rest as u8);
}

/// Bytes of offset and size that are zero are left out; the instruction says which.
fn put_copy(delta: &mut Vec<u8>, offset: usize, size: usize) {
    let at = delta.len();
    let mut instruction = 0x80;
    delta.push(instruction);
    for (bit, shift) in [(0x01, 0), (0x02, 8), (0x04, 16), (0x08, 24)] {
        let byte = (offset >> shift) as u8;
        if byte != 0 {
            instruction |= bit;
            delta.push(byte);
        }
    }
    for (bit, shift) in [(0x10, 0), (0x20, 8)] {
        let byte = (size >> shift) as u8;
        if byte != 0 {
            instruction |= bit;
            delta.push(byte);
        }
    }
    delta[at] = instruction;
}

/// The last large trees that went into a pack, on which others can stand.
#[derive(Default)]
pub(super) struct Window {
    trees: VecDeque<Held>,
}

struct Held {
    id: ObjectId,
    tree: RawTree,
    /// How many deltas it is told by.
    chain: u32,
}

impl Window {
    /// A large tree as it is to stand in the pack: as a delta from one that is held, where that is a quarter of its size
    /// at most, else whole.
    pub(super) fn packed(&mut self, id: ObjectId, content: Vec<u8>) -> Result<Vec<u8>> {
        if content.len() > WINDOW_TREE_BYTES_MAX {
            return packed_entry(gix::objs::Kind::Tree, &content);
        }
        let tree = RawTree::parse(id, content)?;
        let mut chain = 0;
        let mut entry = None;
        for held in self.trees.iter().rev() {
            if held.chain == CHAIN_MAX {
                continue;
            }
            let delta = encode(&held.tree, &tree);
            if delta.len() < tree.bytes().len() / 4 {
                chain = held.chain + 1;
                entry = Some(packed_delta(held.id, &delta)?);
                break;
            }
        }
        let entry = match entry {
            Some(entry) => entry,
            None => packed_entry(gix::objs::Kind::Tree, tree.bytes())?,
        };
        if self.trees.len() == WINDOW_TREES {
            self.trees.pop_front();
        }
        self.trees.push_back(Held { id, tree, chain });
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(names: &[(u32, u8)]) -> RawTree {
        let mut bytes = Vec::new();
        for (number, n) in names {
            bytes.extend_from_slice(format!("100644 m{number:06}.md\0").as_bytes());
            bytes.extend_from_slice(&[*n; 20]);
        }
        RawTree::parse(ObjectId::from_bytes_or_panic(&[1; 20]), bytes).expect("parses")
    }

    fn size(delta: &mut &[u8]) -> usize {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = delta[0];
            *delta = &delta[1..];
            value |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }

    /// Carries out a delta as git does.
    fn applied(base: &[u8], mut delta: &[u8]) -> Vec<u8> {
        assert_eq!(size(&mut delta), base.len());
        let expected = size(&mut delta);
        let mut result = Vec::new();
        while let Some((instruction, rest)) = delta.split_first() {
            delta = rest;
            let instruction = *instruction;
            if instruction & 0x80 == 0 {
                let (inserted, rest) = delta.split_at(usize::from(instruction));
                result.extend_from_slice(inserted);
                delta = rest;
                continue;
            }
            let mut numbers = [0usize; 2];
            for bit in 0..7 {
                if instruction & (1 << bit) != 0 {
                    let (number, shift) = if bit < 4 { (0, bit * 8) } else { (1, (bit - 4) * 8) };
                    numbers[number] |= usize::from(delta[0]) << shift;
                    delta = &delta[1..];
                }
            }
            let size = if numbers[1] == 0 { 0x10000 } else { numbers[1] };
            result.extend_from_slice(&base[numbers[0]..numbers[0] + size]);
        }
        assert_eq!(result.len(), expected);
        result
    }

    #[test]
    fn a_delta_makes_one_tree_of_the_other_and_is_short() {
        let base: Vec<(u32, u8)> = (0..20_000).map(|number| (number * 2, 1)).collect();
        let mut changed = base.clone();
        changed[7000].1 = 2;
        let mut grown = base.clone();
        grown.insert(10_000, (19_999, 3));
        grown.push((900_001, 3));
        let mut shrunk = base.clone();
        shrunk.drain(0..3);
        shrunk.remove(500);
        for result in [&base, &changed, &grown, &shrunk, &Vec::new()] {
            let (old, new) = (tree(&base), tree(result));
            let delta = encode(&old, &new);
            assert_eq!(applied(old.bytes(), &delta), new.bytes());
            assert!(delta.len() < 400, "{} bytes", delta.len());
        }
        // From nothing, and where no entry is the same, all is inserted.
        let other: Vec<(u32, u8)> = (0..50).map(|number| (number, 9)).collect();
        for old in [Vec::new(), base] {
            let (old, new) = (tree(&old), tree(&other));
            assert_eq!(applied(old.bytes(), &encode(&old, &new)), new.bytes());
        }
    }
}
