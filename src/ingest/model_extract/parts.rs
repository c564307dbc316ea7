//! Splits a conversation into parts that a model reads one at a time.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::memory::conversation::{Conversation, Role};

/// Characters of messages in one part. With prompt and answer they fit into the smallest usual context, 8,192 tokens.
const PART_CHARS_MAX: usize = 8000;
/// Characters from the end of the previous part that a part repeats.
const OVERLAP_CHARS_MAX: usize = 1200;

/// A message, or a piece of one that is too long for a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The index of the message.
    pub(super) message: usize,
    /// The text of the message, or a piece of it.
    pub(super) text: String,
}

/// A part of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// The last pieces of the previous part, for context.
    pub(super) before: Vec<Piece>,
    /// The pieces to read.
    pub(super) pieces: Vec<Piece>,
}

impl Part {
    /// Splits the part in two halves. Returns `None` if it is a single piece.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        if self.pieces.len() < 2 {
            return None;
        }
        let (first, second) = self.pieces.split_at(self.pieces.len() / 2);
        let first = Self { before: self.before.clone(), pieces: first.to_vec() };
        let second = Self { before: overlap(&first.pieces), pieces: second.to_vec() };
        Some([first, second])
    }

    /// Returns the text of its pieces, one per line.
    pub(super) fn text(&self) -> String {
        let texts: Vec<&str> = self.pieces.iter().map(|piece| piece.text.as_str()).collect();
        texts.join("\n")
    }

    /// Returns the range of its messages.
    pub(super) fn messages(&self) -> RangeInclusive<usize> {
        match (self.pieces.first(), self.pieces.last()) {
            (Some(first), Some(last)) => first.message..=last.message,
            _ => 0..=0,
        }
    }
}

/// Splits a conversation into parts. Empty messages and those of the system are left out.
pub(super) fn split(conversation: &Conversation) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut part_characters = 0;
    for (number, message) in conversation.messages.iter().enumerate() {
        if message.role == Role::System {
            continue;
        }
        for text in pieces(message.text.trim()) {
            let characters = text.chars().count();
            match parts.last_mut() {
                Some(part) if part_characters + characters <= PART_CHARS_MAX => {
                    part_characters += characters;
                    part.pieces.push(Piece { message: number, text });
                }
                last => {
                    let before = match last {
                        Some(part) => overlap(&part.pieces),
                        None => Vec::new(),
                    };
                    part_characters = characters;
                    parts.push(Part { before, pieces: vec![Piece { message: number, text }] });
                }
            }
        }
    }
    parts
}

/// Returns the last pieces of a part, up to [`OVERLAP_CHARS_MAX`] characters.
fn overlap(pieces: &[Piece]) -> Vec<Piece> {
    let mut kept = VecDeque::new();
    let mut characters = 0;
    for piece in pieces.iter().rev() {
        characters += piece.text.chars().count();
        if characters > OVERLAP_CHARS_MAX {
            break;
        }
        kept.push_front(piece.clone());
    }
    kept.into()
}

/// Splits a text into pieces of at most [`PART_CHARS_MAX`] characters. Cuts after a line or sentence that ends in the
/// second half of a piece, if there is one.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((end, _)) = rest.char_indices().nth(PART_CHARS_MAX) {
        let window = &rest[..end];
        let half = window.floor_char_boundary(end / 2);
        let mut cut = end;
        for mark in ["\n", ". ", "! ", "? ", " "] {
            if let Some(position) = window[half..].rfind(mark) {
                cut = half + position + mark.len();
                break;
            }
        }
        let (piece, after) = rest.split_at(cut);
        pieces.push(piece.trim_end().to_owned());
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest.to_owned());
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::conversation::Message;
    use proptest::prelude::*;

    fn conversation(texts: &[String]) -> Conversation {
        let message = |text: &String| Message {
            role: Role::User,
            name: None,
            text: text.clone(),
            references: Vec::new(),
            occurred_at: None,
            store: true,
        };
        Conversation { messages: texts.iter().map(message).collect(), ..Conversation::default() }
    }

    #[test]
    fn a_short_conversation_is_one_part_and_an_empty_one_has_none() {
        let parts = split(&conversation(&["Hello there".into(), "  ".into(), "Bye".into()]));
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].pieces.iter().map(|piece| piece.message).collect::<Vec<_>>(), [0, 2]);
        assert!(split(&conversation(&["".into()])).is_empty());
    }

    #[test]
    fn a_part_repeats_the_end_of_the_previous_one() {
        let texts: Vec<String> = (0..40).map(|n| format!("{n} {}", "word ".repeat(100))).collect();
        let parts = split(&conversation(&texts));
        assert!(parts.len() > 2);
        for pair in parts.windows(2) {
            assert_eq!(pair[1].before.last(), pair[0].pieces.last());
            assert!(pair[1].before.len() < pair[0].pieces.len());
        }
        let [first, second] = parts[0].halves().expect("many pieces");
        assert_eq!([first.pieces, second.pieces].concat(), parts[0].pieces);
    }

    proptest! {
        #[test]
        fn every_character_is_read_exactly_once(
            texts in proptest::collection::vec("[a-zé .\n]{0,4000}", 0..12),
        ) {
            let squeezed = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let parts = split(&conversation(&texts));
            let read: String = parts.iter().map(|part| squeezed(&part.text())).collect();
            prop_assert_eq!(read, squeezed(&texts.concat()));
            for part in &parts {
                let characters: usize = part.pieces.iter().map(|piece| piece.text.chars().count()).sum();
                prop_assert!(characters <= PART_CHARS_MAX);
            }
        }

        #[test]
        fn pieces_of_a_text_of_any_length_keep_all_characters(text in "[a-zé .\n]{0,40}", times in 0usize..900) {
            let whole = text.repeat(times);
            let squeezed = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let joined: String = pieces(&whole).iter().map(|piece| squeezed(piece)).collect();
            prop_assert_eq!(joined, squeezed(&whole));
        }
    }
}
