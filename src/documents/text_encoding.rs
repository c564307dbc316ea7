//! Bytes of a text file as text: UTF-8, or UTF-16 with a byte order mark.

use super::error::DocumentError;

/// Decodes a text. Line ends become `\n`, and control characters other than tabs are left out.
pub(super) fn decode(bytes: &[u8]) -> Result<String, DocumentError> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes)?,
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text).to_owned(),
            Err(error) => return Err(DocumentError::NotUtf8 { offset: error.valid_up_to() }),
        },
    };
    let mut clean = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\r' => clean.push('\n'),
            '\n' | '\t' => clean.push(c),
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    Ok(clean)
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
        for bytes in
            ["a\r\nä\u{7}".as_bytes(), "\u{feff}a\rä".as_bytes(), b"\xff\xfea\0\n\0\xe4\0", b"\xfe\xff\0a\0\n\0\xe4"]
        {
            assert_eq!(decode(bytes).expect("decodes"), "a\nä", "{bytes:?}");
        }
        assert!(matches!(decode(b"ab\xe4c"), Err(DocumentError::NotUtf8 { offset: 2 })));
        assert!(decode(b"\xff\xfea").is_err());
        assert!(decode(b"\xff\xfe\x00\xd8").is_err());
    }
}
