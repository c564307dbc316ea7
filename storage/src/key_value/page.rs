//! Pages of entries, which scans return.

/// Size at which a page of [`Engine::read_page`](super::Engine::read_page) ends, 1 MiB of keys and values.
const PAGE_BYTES: usize = 1 << 20;

/// A key and its value.
pub type KeyValuePair = (Vec<u8>, Vec<u8>);

/// A page of entries that is being filled.
pub(super) struct Page {
    entries: Vec<KeyValuePair>,
    /// Bytes of the keys and values.
    bytes: usize,
    entries_max: usize,
    /// The page is full when it has this number of bytes or more.
    bytes_full: usize,
}

impl Page {
    /// A page of at most `limit` entries of any size.
    pub(super) fn with_limit(limit: usize) -> Self {
        Self { entries: Vec::new(), bytes: 0, entries_max: limit, bytes_full: usize::MAX }
    }

    /// A page of any number of entries that is full after 1 MiB. It may consist of one larger entry.
    pub(super) fn of_bounded_size() -> Self {
        Self { entries: Vec::new(), bytes: 0, entries_max: usize::MAX, bytes_full: PAGE_BYTES }
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= self.entries_max || self.bytes >= self.bytes_full
    }

    pub(super) fn push(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.bytes += key.len() + value.len();
        self.entries.push((key, value));
    }

    pub(super) fn into_entries(self) -> Vec<KeyValuePair> {
        self.entries
    }
}
