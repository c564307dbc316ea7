//! The head of an index: the commit that the index stands for.

use std::fmt;

/// Bytes of a SHA-1 id.
const BYTES: usize = 20;

/// The commit that an index stands for, as the bytes of its SHA-1 id.
///
/// The index does not read the commit: it keeps the head that [`Index::apply`](crate::Index::apply) received last, and
/// returns it until the next change. The `state` file holds it as text, in 40 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Head([u8; BYTES]);

impl Head {
    /// Returns the bytes of the commit's id.
    pub fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// Reads the form that `Display` writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
        if pairs.len() != BYTES {
            return None;
        }
        let mut bytes = [0; BYTES];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = (digit_value(*high)? << 4) | digit_value(*low)?;
        }
        Some(Self(bytes))
    }
}

impl From<[u8; BYTES]> for Head {
    fn from(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Head {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Head({self})")
    }
}

/// Returns the value of a lowercase hexadecimal digit.
fn digit_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_back_from_its_text() {
        let head = Head::from(std::array::from_fn(|index| index as u8 * 13));
        let text = head.to_string();
        assert_eq!((text.len(), Head::parse(&text)), (40, Some(head)));
        assert_eq!(format!("{:?}", Head::from([0xa7; BYTES])), format!("Head({})", "a7".repeat(BYTES)));
        for invalid in ["", "a7", &text[1..], &text[2..], &text.replace('d', "+"), &format!("{text}00")] {
            assert_eq!(Head::parse(invalid), None, "{invalid:?}");
        }
    }
}
