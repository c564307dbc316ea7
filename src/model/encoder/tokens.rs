//! The tokens of an input.

/// The token that begins an input.
const START: u32 = 101;
/// The token that ends each text of an input.
const END: u32 = 102;

/// The tokens of a text, or of a pair of texts.
pub(super) struct Tokens {
    ids: Vec<u32>,
    /// Where the second text begins; the number of tokens if there is none.
    second: usize,
}

impl Tokens {
    /// Returns the tokens of a text that has its first and last token already.
    pub(super) fn of_text(ids: Vec<u32>) -> Self {
        let second = ids.len();
        Self { ids, second }
    }

    /// Returns the word pieces of a text, at most `max`, between the first and the last token.
    pub(super) fn text(pieces: &[u32], max: usize) -> Self {
        let mut ids = vec![START];
        push(&mut ids, pieces, max);
        Self::of_text(ids)
    }

    /// Returns the word pieces of two texts, at most `first_max` and `second_max`, each with its last token.
    pub(super) fn pair(first: &[u32], first_max: usize, second: &[u32], second_max: usize) -> Self {
        let Self { mut ids, second: second_begin } = Self::text(first, first_max);
        push(&mut ids, second, second_max);
        Self { ids, second: second_begin }
    }

    /// Returns all tokens.
    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Returns where the second text begins; the number of tokens if there is none.
    pub(super) fn second(&self) -> usize {
        self.second
    }
}

fn push(ids: &mut Vec<u32>, pieces: &[u32], max: usize) {
    ids.extend(pieces.iter().take(max));
    ids.push(END);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_of_a_pair_is_cut_by_itself() {
        let pair = Tokens::pair(&[1, 2, 3], 2, &[4, 5], 9);
        assert_eq!(pair.ids(), [START, 1, 2, END, 4, 5, END]);
        assert_eq!(pair.second(), 4);
        let text = Tokens::text(&[], 2);
        assert_eq!((text.ids(), text.second()), (&[START, END][..], 2));
    }
}
