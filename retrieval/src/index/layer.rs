//! A run of documents in columns, with the inverted index of their terms. Immutable; two neighbours merge into one.
//!
//! A document is one version of a memory, numbered in the order in which versions were written. Whether it is the
//! current version is not known here: see [`Table`](super::Table).
//!
//! A layer of [`PERSISTED_MIN`] documents or more is kept in a file, so that opening an index does not work through
//! the log again. It is a function of the log alone, and says by checksums of which bytes:
//!
//! ```text
//! "CBLAYER1" | u32 CRC-32 of what follows | u32 0 | numbers | arrays, each a u64 of bytes and little-endian elements
//! ```

use std::ops::Range;
use std::path::Path;

use super::entry::{Body, Entry, NEVER, UNKNOWN};
use crate::error::{Error, Result};
use crate::filter::TimeField;
use crate::memory::Millis;

/// Smaller layers are made again from the log when the index is opened.
pub(crate) const PERSISTED_MIN: usize = 2048;

const MAGIC: &[u8; 8] = b"CBLAYER1";
/// Bytes before the checksummed part.
const HEADER_BYTES: usize = 16;
const ASKS: u8 = 1;
const FORGOTTEN: u8 = 2;

/// Bytes of a log, and what they must add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) range: Range<u64>,
    pub(crate) checksum: u32,
}

impl Extent {
    /// No bytes yet, from an offset on.
    pub(crate) fn at(offset: u64) -> Self {
        Self { range: offset..offset, checksum: 0 }
    }

    /// Takes in the bytes that follow.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        let mut hasher = crc32fast::Hasher::new_with_initial_len(self.checksum, self.range.end - self.range.start);
        hasher.update(bytes);
        self.range.end += bytes.len() as u64;
        self.checksum = hasher.finalize();
    }

    /// This extent and the one that follows it, as one.
    fn and(&self, next: &Self) -> Self {
        let mut hasher = crc32fast::Hasher::new_with_initial_len(self.checksum, self.range.end - self.range.start);
        let other = crc32fast::Hasher::new_with_initial_len(next.checksum, next.range.end - next.range.start);
        hasher.combine(&other);
        Self { range: self.range.start..next.range.end, checksum: hasher.finalize() }
    }
}

/// Lists of different lengths in one array.
#[derive(Clone, Debug, PartialEq)]
struct Lists<T> {
    /// Where each list begins; one more than there are lists.
    starts: Vec<u32>,
    values: Vec<T>,
}

impl<T: Copy> Lists<T> {
    fn new() -> Self {
        Self { starts: vec![0], values: Vec::new() }
    }

    fn push(&mut self, values: impl IntoIterator<Item = T>) {
        self.values.extend(values);
        self.starts.push(self.values.len() as u32);
    }

    fn get(&self, index: usize) -> &[T] {
        match (self.starts.get(index), self.starts.get(index + 1)) {
            (Some(from), Some(to)) => &self.values[*from as usize..*to as usize],
            _ => &[],
        }
    }

    /// These lists and the other ones.
    fn and(&self, next: &Self) -> Self {
        let base = self.values.len() as u32;
        let later = next.starts[1..].iter().map(|start| base + start);
        Self {
            starts: self.starts.iter().copied().chain(later).collect(),
            values: [&self.values[..], &next.values].concat(),
        }
    }
}

/// The documents that hold a term, ascending, with how often each does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Postings<'a> {
    pub(crate) documents: &'a [u32],
    pub(crate) counts: &'a [u8],
}

/// Documents in columns. Every column has one element a document unless it says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    first: u32,
    log: Extent,
    vectors: Extent,
    path: Vec<u64>,
    session: Vec<u64>,
    times: [Vec<Millis>; 3],
    hidden_from: Vec<Millis>,
    /// Where each document's frame begins in the log; one more than there are documents.
    frames: Vec<u64>,
    /// Its first row in the cue table; one more than there are documents.
    rows: Vec<u32>,
    words: Vec<u32>,
    length: Vec<u32>,
    flags: Vec<u8>,
    speaker: Lists<u64>,
    entities: Lists<u64>,
    tokens: Lists<u16>,
    links: Lists<u64>,
    inverted: Inverted,
}

/// Which documents hold a term.
#[derive(Clone, Debug, PartialEq)]
struct Inverted {
    /// Terms and facets, ascending.
    terms: Vec<u64>,
    /// Where each term's postings begin; one more than there are terms.
    starts: Vec<u32>,
    documents: Vec<u32>,
    counts: Vec<u8>,
}

impl Inverted {
    fn with_capacity(terms: usize, postings: usize) -> Self {
        let mut starts = Vec::with_capacity(terms + 1);
        starts.push(0);
        Self {
            terms: Vec::with_capacity(terms),
            starts,
            documents: Vec::with_capacity(postings),
            counts: Vec::with_capacity(postings),
        }
    }

    /// The index of (term, document, count), ascending.
    fn new(postings: &[(u64, u32, u8)]) -> Self {
        let mut inverted = Self::with_capacity(0, postings.len());
        for same in postings.chunk_by(|a, b| a.0 == b.0) {
            inverted.documents.extend(same.iter().map(|posting| posting.1));
            inverted.counts.extend(same.iter().map(|posting| posting.2));
            inverted.close(same[0].0);
        }
        inverted
    }

    /// What was added since the last term belongs to this one.
    fn close(&mut self, term: u64) {
        self.terms.push(term);
        self.starts.push(self.documents.len() as u32);
    }

    /// The index of these documents and of later ones.
    fn merge(&self, next: &Self) -> Self {
        let postings = self.documents.len() + next.documents.len();
        let mut merged = Self::with_capacity(self.terms.len().max(next.terms.len()), postings);
        let (mut a, mut b) = (0, 0);
        while let Some(term) = self.terms.get(a).into_iter().chain(next.terms.get(b)).min().copied() {
            for (from, at) in [(self, &mut a), (next, &mut b)] {
                if from.terms.get(*at) == Some(&term) {
                    let postings = from.at(*at);
                    merged.documents.extend_from_slice(postings.documents);
                    merged.counts.extend_from_slice(postings.counts);
                    *at += 1;
                }
            }
            merged.close(term);
        }
        merged
    }

    fn at(&self, at: usize) -> Postings<'_> {
        let range = self.starts[at] as usize..self.starts[at + 1] as usize;
        Postings { documents: &self.documents[range.clone()], counts: &self.counts[range] }
    }
}

impl Layer {
    /// The layer of entries whose documents are numbered from `first`, whose vectors begin at `first_row` and whose
    /// frames end where `frames` says, after its first element.
    pub(crate) fn new(
        first: u32,
        entries: &[Entry],
        frames: Vec<u64>,
        first_row: u32,
        log: Extent,
        vectors: Extent,
    ) -> Self {
        let mut layer = Self {
            first,
            log,
            vectors,
            path: Vec::new(),
            session: Vec::new(),
            times: Default::default(),
            hidden_from: Vec::new(),
            frames,
            rows: vec![first_row],
            words: Vec::new(),
            length: Vec::new(),
            flags: Vec::new(),
            speaker: Lists::new(),
            entities: Lists::new(),
            tokens: Lists::new(),
            links: Lists::new(),
            inverted: Inverted::with_capacity(0, 0),
        };
        let gone = Body { times: [UNKNOWN; 3], hidden_from: NEVER, ..Body::default() };
        let (mut row, mut postings) = (first_row, Vec::new());
        for (entry, document) in entries.iter().zip(first..) {
            let body = entry.body.as_ref().unwrap_or(&gone);
            row += entry.rows;
            layer.path.push(entry.path);
            layer.session.push(body.session);
            layer.times.iter_mut().zip(body.times).for_each(|(column, time)| column.push(time));
            layer.hidden_from.push(body.hidden_from);
            layer.rows.push(row);
            layer.words.push(body.words);
            layer.length.push(body.length);
            layer.flags.push(if entry.body.is_none() { FORGOTTEN } else { u8::from(body.asks) * ASKS });
            layer.speaker.push(body.speaker.iter().copied());
            layer.entities.push(body.entities.iter().copied());
            layer.tokens.push(body.tokens.iter().copied());
            layer.links.push(body.links.iter().copied());
            postings.extend(body.terms.iter().map(|(term, count)| (*term, document, *count)));
            postings.extend(body.facets.iter().map(|facet| (*facet, document, 0)));
        }
        postings.sort_unstable();
        layer.inverted = Inverted::new(&postings);
        layer
    }

    /// This layer and the one whose documents follow, as one.
    pub(crate) fn merge(&self, next: &Self) -> Self {
        let [occurred, created, updated] = [0, 1, 2].map(|at| [&self.times[at][..], &next.times[at]].concat());
        Self {
            first: self.first,
            log: self.log.and(&next.log),
            vectors: self.vectors.and(&next.vectors),
            path: [&self.path[..], &next.path].concat(),
            session: [&self.session[..], &next.session].concat(),
            times: [occurred, created, updated],
            hidden_from: [&self.hidden_from[..], &next.hidden_from].concat(),
            frames: [&self.frames[..], &next.frames[1..]].concat(),
            rows: [&self.rows[..], &next.rows[1..]].concat(),
            words: [&self.words[..], &next.words].concat(),
            length: [&self.length[..], &next.length].concat(),
            flags: [&self.flags[..], &next.flags].concat(),
            speaker: self.speaker.and(&next.speaker),
            entities: self.entities.and(&next.entities),
            tokens: self.tokens.and(&next.tokens),
            links: self.links.and(&next.links),
            inverted: self.inverted.merge(&next.inverted),
        }
    }

    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    pub(crate) fn len(&self) -> usize {
        self.path.len()
    }

    /// Its documents' numbers.
    pub(crate) fn range(&self) -> Range<u32> {
        self.first..self.first + self.len() as u32
    }

    pub(crate) fn log(&self) -> &Extent {
        &self.log
    }

    pub(crate) fn vectors(&self) -> &Extent {
        &self.vectors
    }

    /// The document of each of its rows.
    pub(crate) fn owners(&self) -> Vec<u32> {
        let rows = |document: u32| std::iter::repeat_n(document, self.document(document).rows().len());
        self.range().flat_map(rows).collect()
    }

    /// One past its last row in the cue table.
    pub(crate) fn rows_end(&self) -> u32 {
        self.rows.last().copied().unwrap_or_default()
    }

    /// The postings of a term or facet; empty where there are none.
    pub(crate) fn postings(&self, term: u64) -> Postings<'_> {
        self.inverted.terms.binary_search(&term).map_or_else(|_| Postings::default(), |at| self.inverted.at(at))
    }

    /// The lengths in terms of all its documents.
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.length
    }

    /// One time of all its documents.
    pub(crate) fn times(&self, field: TimeField) -> &[Millis] {
        &self.times[field as usize]
    }

    /// From when on each of its documents is not found.
    pub(crate) fn hidden_from(&self) -> &[Millis] {
        &self.hidden_from
    }

    /// The view of one document; its number must be in [`Layer::range`].
    pub(crate) fn document(&self, document: u32) -> Document<'_> {
        Document { layer: self, at: (document - self.first) as usize }
    }

    /// Writes its file and removes those of the layers that it was merged from.
    pub(crate) fn persist(&self, folder: &Path) -> Result<()> {
        let path = folder.join(self.file_name());
        let new = folder.join("layer.new");
        std::fs::write(&new, self.to_bytes()).map_err(Error::io("write", &new))?;
        std::fs::rename(&new, &path).map_err(Error::io("replace", &path))?;
        let inside = |(first, count): &(u32, usize)| {
            (*first, *count) != (self.first, self.len())
                && *first >= self.first
                && *first as usize + count <= self.range().end as usize
        };
        for (first, count) in files(folder)?.into_iter().filter(inside) {
            let old = folder.join(file_name(first, count));
            std::fs::remove_file(&old).map_err(Error::io("remove", &old))?;
        }
        Ok(())
    }

    /// The layers in a folder's files that follow one another from the first document on and that `fits` approves of,
    /// the longest where there is a choice. Any other file is removed: it can be made again.
    pub(crate) fn read_all(folder: &Path, fits: impl Fn(&Self) -> Result<bool>) -> Result<Vec<Self>> {
        let mut layers: Vec<Self> = Vec::new();
        let mut found = files(folder)?;
        found.sort_by_key(|(first, count)| (*first, std::cmp::Reverse(*count)));
        for (first, count) in found {
            let path = folder.join(file_name(first, count));
            if layers.last().map_or(0, |last| last.range().end) == first {
                let bytes = std::fs::read(&path).map_err(Error::io("read", &path))?;
                match Self::from_bytes(&bytes) {
                    Ok(layer) if (layer.first, layer.len()) == (first, count) && fits(&layer)? => {
                        layers.push(layer);
                        continue;
                    }
                    _ => {}
                }
            }
            std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(layers)
    }

    fn file_name(&self) -> String {
        file_name(self.first, self.len())
    }

    /// The file's bytes.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(Vec::with_capacity(HEADER_BYTES + self.inverted.documents.len() * 6 + self.len() * 200));
        out.0.extend_from_slice(MAGIC);
        out.0.extend_from_slice(&[0; HEADER_BYTES - MAGIC.len()]);
        for number in [
            u64::from(self.first),
            self.log.range.start,
            self.log.range.end,
            u64::from(self.log.checksum),
            self.vectors.range.start,
            self.vectors.range.end,
            u64::from(self.vectors.checksum),
        ] {
            out.0.extend_from_slice(&number.to_le_bytes());
        }
        out.array(&self.path, u64::to_le_bytes);
        out.array(&self.session, u64::to_le_bytes);
        self.times.iter().for_each(|column| out.array(column, i64::to_le_bytes));
        out.array(&self.hidden_from, i64::to_le_bytes);
        out.array(&self.frames, u64::to_le_bytes);
        out.array(&self.rows, u32::to_le_bytes);
        out.array(&self.words, u32::to_le_bytes);
        out.array(&self.length, u32::to_le_bytes);
        out.array(&self.flags, |v| [v]);
        for lists in [&self.speaker, &self.entities, &self.links] {
            out.array(&lists.starts, u32::to_le_bytes);
            out.array(&lists.values, u64::to_le_bytes);
        }
        out.array(&self.tokens.starts, u32::to_le_bytes);
        out.array(&self.tokens.values, u16::to_le_bytes);
        out.array(&self.inverted.terms, u64::to_le_bytes);
        out.array(&self.inverted.starts, u32::to_le_bytes);
        out.array(&self.inverted.documents, u32::to_le_bytes);
        out.array(&self.inverted.counts, |v| [v]);
        let checksum = crc32fast::hash(&out.0[HEADER_BYTES..]);
        out.0[MAGIC.len()..MAGIC.len() + 4].copy_from_slice(&checksum.to_le_bytes());
        out.0
    }

    /// Reads what [`Layer::to_bytes`] wrote. A file whose checksum fits was written by this code.
    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let damaged = || Error::Damaged("a layer's file is not whole".into());
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let (checksum, rest) = rest.split_at_checked(HEADER_BYTES - MAGIC.len()).ok_or_else(damaged)?;
        if crc32fast::hash(rest).to_le_bytes() != checksum[..4] {
            return Err(damaged());
        }
        let mut from = Reader(rest);
        let lists = |from: &mut Reader<'_>| -> Result<Lists<u64>> {
            Ok(Lists { starts: from.array(u32::from_le_bytes)?, values: from.array(u64::from_le_bytes)? })
        };
        let first = from.number()? as u32;
        let extent = |from: &mut Reader<'_>| -> Result<Extent> {
            Ok(Extent { range: from.number()?..from.number()?, checksum: from.number()? as u32 })
        };
        Ok(Self {
            first,
            log: extent(&mut from)?,
            vectors: extent(&mut from)?,
            path: from.array(u64::from_le_bytes)?,
            session: from.array(u64::from_le_bytes)?,
            times: [from.array(i64::from_le_bytes)?, from.array(i64::from_le_bytes)?, from.array(i64::from_le_bytes)?],
            hidden_from: from.array(i64::from_le_bytes)?,
            frames: from.array(u64::from_le_bytes)?,
            rows: from.array(u32::from_le_bytes)?,
            words: from.array(u32::from_le_bytes)?,
            length: from.array(u32::from_le_bytes)?,
            flags: from.array(|[byte]| byte)?,
            speaker: lists(&mut from)?,
            entities: lists(&mut from)?,
            links: lists(&mut from)?,
            tokens: Lists { starts: from.array(u32::from_le_bytes)?, values: from.array(u16::from_le_bytes)? },
            inverted: Inverted {
                terms: from.array(u64::from_le_bytes)?,
                starts: from.array(u32::from_le_bytes)?,
                documents: from.array(u32::from_le_bytes)?,
                counts: from.array(|[byte]| byte)?,
            },
        })
    }
}

fn file_name(first: u32, count: usize) -> String {
    format!("layer-{first}-{count}")
}

/// First document and count of every layer's file in a folder.
fn files(folder: &Path) -> Result<Vec<(u32, usize)>> {
    let mut files = Vec::new();
    for file in std::fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let name = file.map_err(Error::io("list", folder))?.file_name();
        let numbers = name.to_str().and_then(|name| name.strip_prefix("layer-")?.split_once('-'));
        let numbers = numbers.and_then(|(first, count)| Some((first.parse().ok()?, count.parse().ok()?)));
        files.extend(numbers);
    }
    Ok(files)
}

/// One document of a layer.
#[derive(Clone, Copy)]
pub(crate) struct Document<'a> {
    layer: &'a Layer,
    at: usize,
}

impl<'a> Document<'a> {
    /// The path's hash.
    pub(crate) fn path(self) -> u64 {
        self.layer.path[self.at]
    }

    /// Its conversation; zero for none.
    pub(crate) fn session(self) -> u64 {
        self.layer.session[self.at]
    }

    pub(crate) fn time(self, field: TimeField) -> Millis {
        self.layer.times(field)[self.at]
    }

    pub(crate) fn hidden_from(self) -> Millis {
        self.layer.hidden_from[self.at]
    }

    /// Its bytes in the log.
    pub(crate) fn frame(self) -> Range<u64> {
        self.layer.frames[self.at]..self.layer.frames[self.at + 1]
    }

    /// Its rows in the cue table.
    pub(crate) fn rows(self) -> Range<usize> {
        self.layer.rows[self.at] as usize..self.layer.rows[self.at + 1] as usize
    }

    pub(crate) fn words(self) -> u32 {
        self.layer.words[self.at]
    }

    pub(crate) fn length(self) -> u32 {
        self.layer.length[self.at]
    }

    /// Whether the content asks something.
    pub(crate) fn asks(self) -> bool {
        self.layer.flags[self.at] & ASKS != 0
    }

    /// Whether it says that the path was forgotten.
    pub(crate) fn forgotten(self) -> bool {
        self.layer.flags[self.at] & FORGOTTEN != 0
    }

    pub(crate) fn speaker(self) -> &'a [u64] {
        self.layer.speaker.get(self.at)
    }

    pub(crate) fn entities(self) -> &'a [u64] {
        self.layer.entities.get(self.at)
    }

    pub(crate) fn tokens(self) -> &'a [u16] {
        self.layer.tokens.get(self.at)
    }

    pub(crate) fn links(self) -> &'a [u64] {
        self.layer.links.get(self.at)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn array<T: Copy, const N: usize>(&mut self, values: &[T], bytes: impl Fn(T) -> [u8; N]) {
        self.0.extend_from_slice(&((values.len() * N) as u64).to_le_bytes());
        self.0.extend(values.iter().flat_map(|value| bytes(*value)));
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, bytes: usize) -> Result<&[u8]> {
        let short = || Error::Damaged("a layer's file is cut short".into());
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64> {
        let mut number = [0; 8];
        number.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(number))
    }

    fn array<T, const N: usize>(&mut self, value: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let bytes = self.number()? as usize;
        let (elements, _) = self.take(bytes)?.as_chunks::<N>();
        Ok(elements.iter().map(|element| value(*element)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: u64, term: u64) -> Entry {
        let terms = vec![(2, 1), (term, 3)];
        Entry {
            path,
            rows: 2,
            rows_checksum: 0,
            body: Some(Body { terms, length: 4, tokens: vec![1, 5], ..Body::default() }),
        }
    }

    fn layer(first: u32, entries: &[Entry]) -> Layer {
        let end = u64::from(first) + entries.len() as u64;
        let frames = (u64::from(first)..=end).collect();
        let bytes: Vec<u8> = (first as u8..end as u8).collect();
        let extent = Extent { range: u64::from(first)..end, checksum: crc32fast::hash(&bytes) };
        Layer::new(first, entries, frames, first * 2, extent.clone(), extent)
    }

    #[test]
    fn merged_layers_are_what_one_layer_of_all_would_have_been() {
        let entries =
            [entry(10, 4), entry(12, 6), Entry { path: 10, rows: 0, rows_checksum: 0, body: None }, entry(14, 4)];
        let merged = layer(0, &entries[..1]).merge(&layer(1, &entries[1..2]));
        let merged = merged.merge(&{
            let mut rest = layer(2, &entries[2..]);
            rest.rows = vec![4, 4, 6];
            rest
        });
        let mut whole = layer(0, &entries);
        whole.rows = vec![0, 2, 4, 4, 6];
        assert_eq!(merged, whole);
        assert_eq!(merged.postings(4).documents, [0, 3]);
        assert!(merged.postings(5).documents.is_empty());
        assert!(merged.document(2).forgotten() && merged.document(3).rows() == (4..6));
    }

    #[test]
    fn a_file_is_read_back_and_a_flipped_bit_is_seen() {
        let layer = layer(7, &[entry(10, 4), entry(12, 6)]);
        let mut bytes = layer.to_bytes();
        assert_eq!(Layer::from_bytes(&bytes).expect("reads"), layer);
        for at in [0, 9, 40, bytes.len() - 1] {
            bytes[at] ^= 4;
            assert!(Layer::from_bytes(&bytes).is_err(), "{at}");
            bytes[at] ^= 4;
        }
        assert!(Layer::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    }
}
