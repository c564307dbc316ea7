//! Bytes of a text file as text: UTF-8, or UTF-16 with a byte order mark.

use cuebase_language::text::steps::Steps;

use super::error::DocumentError;

/// Decodes a text. Line ends become `\n`, and control characters other than tabs are left out.
pub(super) fn decode(bytes: &[u8], steps: &Steps<'_>) -> Result<String, DocumentError> {
    steps.take(bytes.len())?;
    match bytes {
        [0xff, 0xfe, rest @ ..] => Ok(clean(&decode_utf16(rest, u16::from_le_bytes)?)),
        [0xfe, 0xff, rest @ ..] => Ok(clean(&decode_utf16(rest, u16::from_be_bytes)?)),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(clean(text.strip_prefix('\u{feff}').unwrap_or(text))),
            Err(error) => Err(DocumentError::NotUtf8 { offset: error.valid_up_to() }),
        },
    }
}

/// Makes the only copy of a text: a file of 32 MiB is in memory once more for each further one.
fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut follows_return = false;
    for c in text.chars() {
        match c {
            '\r' => clean.push('\n'),
            // The carriage return before it has ended the line.
            '\n' if follows_return => {}
            '\n' | '\t' => clean.push(c),
            c if c.is_control() => {}
            c => clean.push(c),
        }
        follows_return = c == '\r';
    }
    clean
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, DocumentError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let mut text = String::with_capacity(bytes.len());
    for (position, c) in char::decode_utf16(units).enumerate() {
        match c {
            Ok(c) => text.push(c),
            Err(_) => return Err(DocumentError::malformed("UTF-16", format!("character {position} is incomplete"))),
        }
    }
    if rest.is_empty() {
        Ok(text)
    } else {
        Err(DocumentError::malformed("UTF-16", "the last byte is half a character"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_8_and_marked_utf_16_are_decoded() {
        let steps = Steps::unlimited();
        for bytes in
            ["a\r\nä\u{7}".as_bytes(), "\u{feff}a\rä".as_bytes(), b"\xff\xfea\0\n\0\xe4\0", b"\xfe\xff\0a\0\n\0\xe4"]
        {
            assert_eq!(decode(bytes, &steps).expect("decodes"), "a\nä", "{bytes:?}");
        }
        assert!(matches!(decode(b"ab\xe4c", &steps), Err(DocumentError::NotUtf8 { offset: 2 })));
        assert!(decode(b"\xff\xfea", &steps).is_err());
        assert!(decode(b"\xff\xfe\x00\xd8", &steps).is_err());
    }
}
