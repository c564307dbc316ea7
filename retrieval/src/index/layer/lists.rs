//! Lists of different lengths, stored in one array.

/// Lists of different lengths, stored in one array.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lists<T> {
    /// The index at which each list begins, then the end of the last list.
    pub(super) starts: Vec<u32>,
    pub(super) values: Vec<T>,
}

impl<T: Copy> Lists<T> {
    pub(super) fn new() -> Self {
        Self { starts: vec![0], values: Vec::new() }
    }

    pub(super) fn push(&mut self, values: impl IntoIterator<Item = T>) {
        self.values.extend(values);
        self.starts.push(self.values.len() as u32);
    }

    pub(super) fn get(&self, index: usize) -> &[T] {
        match (self.starts.get(index), self.starts.get(index + 1)) {
            (Some(from), Some(to)) => &self.values[*from as usize..*to as usize],
            _ => &[],
        }
    }

    /// Returns these lists followed by the other ones.
    pub(super) fn concat(&self, next: &Self) -> Self {
        let base = self.values.len() as u32;
        let later = next.starts[1..].iter().map(|start| base + start);
        Self {
            starts: self.starts.iter().copied().chain(later).collect(),
            values: [&self.values[..], &next.values].concat(),
        }
    }
}
