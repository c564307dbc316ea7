//! WordPiece tokens, as the tokenizer of BERT makes them.
//!
//! A run of words of ASCII is split here, which takes a tenth of the time that the general tokenizer takes: it allocates
//! nothing for a word and keeps no offsets. All other words go through the general one. A text is cut only at white
//! space, so no rule of the tokenizer sees across a cut.
//!
//! Rules for ASCII: control characters are removed, letters are lower case, each punctuation mark is a word of its own,
//! and a word is split greedily into the longest pieces of the vocabulary. Source: `BertNormalizer`,
//! `BertPreTokenizer` and `WordPiece` of the crate `tokenizers`.

use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{Model, TokenizerImpl};

/// Begins a piece that continues a word.
const CONTINUATION: &str = "##";
/// Stands for a word that has no pieces.
const UNKNOWN_TOKEN: &str = "[UNK]";
/// Length of a word in characters beyond which it is not split, but unknown.
const WORD_CHARS_MAX: usize = 100;
/// The characters at which a text is cut: white space in ASCII that the tokenizer does not remove.
const SPACES: [char; 4] = [' ', '\t', '\n', '\r'];

type Tokenizer = TokenizerImpl<
    WordPiece,
    BertNormalizer,
    BertPreTokenizer,
    tokenizers::PostProcessorWrapper,
    tokenizers::DecoderWrapper,
>;

/// A vocabulary of word pieces, and what splits texts into them.
pub(super) struct WordPieces {
    tokenizer: Tokenizer,
    /// The token of a word that has no pieces.
    unknown: u32,
}

impl WordPieces {
    /// Reads a vocabulary with one token per line, numbered from zero. An error says what is wrong with it.
    pub(super) fn read(vocabulary: &str) -> Result<Self, String> {
        let mut ids = ahash::AHashMap::new();
        for (id, token) in (0u32..).zip(vocabulary.lines()) {
            ids.insert(token.to_owned(), id);
        }
        let Some(unknown) = ids.get(UNKNOWN_TOKEN).copied() else {
            return Err(format!("the vocabulary lacks {UNKNOWN_TOKEN}"));
        };
        let model = WordPiece::builder()
            .vocab(ids)
            .unk_token(UNKNOWN_TOKEN.to_owned())
            .continuing_subword_prefix(CONTINUATION.to_owned())
            .max_input_chars_per_word(WORD_CHARS_MAX)
            .build()
            .map_err(|error| error.to_string())?;
        let mut tokenizer = Tokenizer::new(model);
        tokenizer.with_normalizer(Some(BertNormalizer::default())).map_err(|error| error.to_string())?;
        tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
        Ok(Self { tokenizer, unknown })
    }

    /// Returns the text of a token, or `None` if no token has this number.
    pub(super) fn text_of(&self, token: u32) -> Option<String> {
        self.tokenizer.id_to_token(token)
    }

    /// Returns the tokens of a text, in order.
    pub(super) fn tokens(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::with_capacity(text.len() / 4);
        let mut word = Word::new();
        // Where a run of words begins that are not ASCII.
        let mut foreign_from = None;
        let mut at = 0;
        for chunk in text.split_inclusive(SPACES) {
            if chunk.is_ascii() {
                if let Some(from) = foreign_from.take() {
                    self.add_general(&text[from..at], &mut tokens);
                }
                self.add_ascii(chunk, &mut word, &mut tokens);
            } else {
                foreign_from = foreign_from.or(Some(at));
            }
            at += chunk.len();
        }
        if let Some(from) = foreign_from {
            self.add_general(&text[from..], &mut tokens);
        }
        tokens
    }

    /// Adds the tokens of any text.
    fn add_general(&self, text: &str, tokens: &mut Vec<u32>) {
        // The tokenizer accepts every text.
        if let Ok(encoding) = self.tokenizer.encode_fast(text, false) {
            tokens.extend_from_slice(encoding.get_ids());
        }
    }

    /// Adds the tokens of ASCII text.
    fn add_ascii(&self, text: &str, word: &mut Word, tokens: &mut Vec<u32>) {
        for character in text.chars() {
            match character {
                ' ' | '\t' | '\n' | '\r' => self.add_word(word, tokens),
                control if control.is_ascii_control() => {}
                mark if mark.is_ascii_punctuation() => {
                    self.add_word(word, tokens);
                    word.push(mark);
                    self.add_word(word, tokens);
                }
                character => word.push(character.to_ascii_lowercase()),
            }
        }
        self.add_word(word, tokens);
    }

    /// Adds the tokens of a word, and clears the word.
    fn add_word(&self, word: &mut Word, tokens: &mut Vec<u32>) {
        if word.len() > WORD_CHARS_MAX {
            tokens.push(self.unknown);
        } else if word.len() > 0 {
            let first = tokens.len();
            if !self.add_pieces(word, tokens) {
                tokens.truncate(first);
                tokens.push(self.unknown);
            }
        }
        word.clear();
    }

    /// Adds the longest pieces that a word begins with, one after another. Returns false if some part of it has none.
    fn add_pieces(&self, word: &mut Word, tokens: &mut Vec<u32>) -> bool {
        let vocabulary = self.tokenizer.get_model();
        let mut start = 0;
        while start < word.len() {
            let mut end = word.len();
            word.begin_piece(start);
            let token = loop {
                if end == start {
                    return false;
                }
                if let Some(token) = vocabulary.token_to_id(word.piece(start, end)) {
                    break token;
                }
                end -= 1;
            };
            tokens.push(token);
            start = end;
        }
        true
    }
}

/// A word of ASCII, of which pieces are looked up in turn.
struct Word {
    /// [`CONTINUATION`], then the word. Where a later piece begins, it is again in front of that piece.
    text: String,
}

impl Word {
    fn new() -> Self {
        Self { text: CONTINUATION.to_owned() }
    }

    fn len(&self) -> usize {
        self.text.len() - CONTINUATION.len()
    }

    fn push(&mut self, character: char) {
        self.text.push(character);
    }

    fn clear(&mut self) {
        self.text.clear();
        self.text.push_str(CONTINUATION);
    }

    /// Prepares the lookup of pieces that begin at an offset. The text in front of it is lost.
    fn begin_piece(&mut self, start: usize) {
        if start > 0 {
            self.text.replace_range(start..start + CONTINUATION.len(), CONTINUATION);
        }
    }

    /// Returns a piece as the vocabulary spells it.
    fn piece(&self, start: usize, end: usize) -> &str {
        let first = if start == 0 { CONTINUATION.len() } else { start };
        &self.text[first..end + CONTINUATION.len()]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::model::StaticTable;

    fn assert_like_the_general_tokenizer(text: &str) {
        let pieces = StaticTable::built_in().expect("a valid table").word_pieces();
        let mut expected = Vec::new();
        pieces.add_general(text, &mut expected);
        assert_eq!(pieces.tokens(text), expected, "{text:?}");
    }

    #[test]
    fn words_marks_and_white_space_are_split_as_by_the_general_tokenizer() {
        for text in [
            "",
            "  ",
            "The ferry leaves at nine, isn't it?",
            "unbelievably UNBELIEVABLY un-believ_ably #hashtag @name $5.30 a+b=c ## ##ing [UNK] [CLS]",
            "tab\there\nline\r\nform\u{c}feed vertical\u{b}tab nul\0 bell\u{7}bell delete\u{7f}d escape\u{1b}[0m",
            "qqqqzxqj 0x1f600 e5b7c1d2-77f0",
            "Zoë's café — “quoted” words… and plain ones",
            "日本語 and 汉字mixed with ascii, мир! ﬁne ＡＢＣ a\u{a0}b c\u{3000}d e\u{300}f g\u{200b}h",
        ] {
            assert_like_the_general_tokenizer(text);
        }
    }

    #[test]
    fn long_words_are_unknown_from_the_same_length_on() {
        for length in [99, 100, 101, 250] {
            for letter in ["a", "7", "-", "é"] {
                assert_like_the_general_tokenizer(&format!("before {} after", letter.repeat(length)));
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_has_the_tokens_of_the_general_tokenizer(
            parts in proptest::collection::vec(prop_oneof!["[a-zA-Z']{1,12}", "[ -~\t\n\r]{0,8}", "\\PC{0,4}", "[\u{0}-\u{20}]{1,2}"], 0..20),
        ) {
            assert_like_the_general_tokenizer(&parts.concat());
        }
    }
}
