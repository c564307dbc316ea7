//! A conversation cut into parts that a model reads one at a time.

use std::collections::VecDeque;

use crate::memory::conversation::{Conversation, Role};

/// Characters of messages in one part: with prompt and answer they fit into the smallest usual context, 8,192 tokens.
const PART_CHARS_MAX: usize = 8000;
/// Characters of what came before that a part repeats.
const OVERLAP_CHARS_MAX: usize = 1200;

/// A message, or a piece of one that is too long for a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Which message.
    pub(super) message: usize,
    /// Its text, or a part of it.
    pub(super) text: String,
}

/// What is read at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// What came before, for context.
    pub(super) before: Vec<Piece>,
    /// What is to be read.
    pub(super) pieces: Vec<Piece>,
}

impl Part {
    /// The part in two halves; none when it is a single piece.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        if self.pieces.len() < 2 {
            return None;
        }
        let (first, second) = self.pieces.split_at(self.pieces.len() / 2);
        let first = Self { before: self.before.clone(), pieces: first.to_vec() };
        let second = Self { before: overlap(&first.pieces), pieces: second.to_vec() };
        Some([first, second])
    }

    /// Its text.
    pub(super) fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// The parts of a conversation, what says nothing and what the system says being left out.
pub(super) fn split(conversation: &Conversation) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut held = 0;
    for (number, message) in conversation.messages.iter().enumerate() {
        if message.role == Role::System {
            continue;
        }
        for text in pieces(message.text.trim()) {
            let characters = text.chars().count();
            match parts.last_mut() {
                Some(part) if held + characters <= PART_CHARS_MAX => {
                    held += characters;
                    part.pieces.push(Piece { message: number, text });
                }
                last => {
                    let before = last.map(|part| overlap(&part.pieces)).unwrap_or_default();
                    held = characters;
                    parts.push(Part { before, pieces: vec![Piece { message: number, text }] });
                }
            }
        }
    }
    parts
}

/// The last pieces of a part, as far as they fit.
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

/// A text in pieces of at most [`PART_CHARS_MAX`] characters, cut after a line or a sentence where there is one in the
/// second half.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((end, _)) = rest.char_indices().nth(PART_CHARS_MAX) {
        let window = &rest[..end];
        let half = window.floor_char_boundary(end / 2);
        let after = ["\n", ". ", "! ", "? ", " "].iter().find_map(|mark| {
            let found = window[half..].rfind(mark)?;
            Some(half + found + mark.len())
        });
        let (piece, after) = rest.split_at(after.unwrap_or(end));
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
        };
        Conversation {
            messages: texts.iter().map(message).collect(),
            session_id: None,
            tags: Vec::new(),
            occurred_at: None,
            timezone: None,
        }
    }

    #[test]
    fn a_short_conversation_is_one_part_and_silence_is_none() {
        let parts = split(&conversation(&["Hello there".into(), "  ".into(), "Bye".into()]));
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].pieces.iter().map(|piece| piece.message).collect::<Vec<_>>(), [0, 2]);
        assert!(split(&conversation(&["".into()])).is_empty());
    }

    #[test]
    fn parts_repeat_the_end_of_the_one_before() {
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
        fn nothing_is_lost_and_nothing_read_twice(
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
        fn a_text_of_any_length_is_cut_where_it_may(text in "[a-zé .\n]{0,40}", times in 0usize..900) {
            let whole = text.repeat(times);
            let squeezed = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let joined: String = pieces(&whole).iter().map(|piece| squeezed(piece)).collect();
            prop_assert_eq!(joined, squeezed(&whole));
        }
    }
}
