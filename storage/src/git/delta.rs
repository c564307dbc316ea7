//! Encoding a large tree as a delta from another version. A commit into a directory of thousands of files then takes a
//! few hundred bytes in the long run, not a few hundred thousand.
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
use gix::objs::Kind;

use super::pack_entry::EntryEncoder;
use super::tree::RawTree;
use crate::error::Result;

/// Smallest tree that is encoded as a delta. Smaller trees take little space when they are whole.
pub(super) const LARGE_TREE_BYTES: u64 = 8 << 10;
/// Length of a chain of deltas. Reading a tree applies the whole chain; without a limit, reads would become slower with
/// every write.
pub(super) const CHAIN_MAX: u32 = 32;
/// Bytes that one instruction copies: the largest size that takes two bytes.
const COPY_BYTES_MAX: usize = 0xffff;
/// Bytes that one instruction can insert.
const INSERT_BYTES_MAX: usize = 127;
/// Trees that are held as possible bases while a pack is written.
const WINDOW_TREES: usize = 4;
/// Largest tree that is held. Clones run concurrently, and each may hold four trees.
const WINDOW_TREE_BYTES_MAX: usize = 8 << 20;

/// Encodes a tree as a delta from `base`. The delta is short if most entries are equal.
pub(super) fn encode(base: &RawTree, result: &RawTree) -> Vec<u8> {
    let mut delta = DeltaEncoder { result, bytes: Vec::new(), copied: 0..0, inserted: 0..0 };
    put_size(&mut delta.bytes, base.bytes().len());
    put_size(&mut delta.bytes, result.bytes().len());
    let mut at_base = 0;
    for index in 0..result.len() {
        // Most entries are equal, and equal bytes need no parsing.
        if !base.has_entry_of(at_base, result, index) {
            at_base = base.first_not_below(at_base, result, index);
        }
        if base.has_entry_of(at_base, result, index) {
            delta.copy(base.range(at_base));
            at_base += 1;
        } else {
            delta.insert(result.range(index));
        }
    }
    delta.flush();
    delta.bytes
}

/// A delta being encoded: finished instructions, and a pending copy or insertion that may still grow. At most one of
/// the two is not empty.
struct DeltaEncoder<'a> {
    result: &'a RawTree,
    bytes: Vec<u8>,
    /// Range of the base that the pending copy covers.
    copied: Range<usize>,
    /// Range of the result that the pending insertion covers.
    inserted: Range<usize>,
}

impl DeltaEncoder<'_> {
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
        if let Some(inserted) = self.result.bytes().get(self.inserted.clone()) {
            for part in inserted.chunks(INSERT_BYTES_MAX) {
                self.bytes.push(part.len() as u8);
                self.bytes.extend_from_slice(part);
            }
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

/// Appends a copy instruction. Zero bytes of offset and size are left out; bits of the instruction mark the others.
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

/// An encoder for the entries of one pack. It holds the last large trees, as possible bases for the next ones.
#[derive(Default)]
pub(super) struct DeltaWindow {
    trees: VecDeque<WindowTree>,
    encoder: EntryEncoder,
}

struct WindowTree {
    id: ObjectId,
    tree: RawTree,
    /// Length of the chain of deltas that the tree needs.
    chain: u32,
}

impl DeltaWindow {
    /// Encodes the pack entry of an object. That of a large tree is a delta from a held tree if that takes less than a
    /// quarter of the tree's size, otherwise it is whole as that of any other object.
    pub(super) fn encode(&mut self, id: ObjectId, kind: Kind, content: Vec<u8>) -> Result<Vec<u8>> {
        let is_large_tree = kind == Kind::Tree && content.len() as u64 >= LARGE_TREE_BYTES;
        if !is_large_tree || content.len() > WINDOW_TREE_BYTES_MAX {
            return self.encoder.encode(kind, &content);
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
                entry = Some(self.encoder.encode_delta(held.id, &delta)?);
                break;
            }
        }
        let entry = match entry {
            Some(entry) => entry,
            None => self.encoder.encode(Kind::Tree, tree.bytes())?,
        };
        if self.trees.len() == WINDOW_TREES {
            self.trees.pop_front();
        }
        self.trees.push_back(WindowTree { id, tree, chain });
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

    /// Applies a delta as git does.
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
    fn a_delta_reproduces_the_other_tree_and_is_short() {
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
        // If the base is empty, or no entry is equal, everything is inserted.
        let other: Vec<(u32, u8)> = (0..50).map(|number| (number, 9)).collect();
        for old in [Vec::new(), base] {
            let (old, new) = (tree(&old), tree(&other));
            assert_eq!(applied(old.bytes(), &encode(&old, &new)), new.bytes());
        }
    }
}
