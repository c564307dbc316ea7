//! Lines with their length before them, as git frames everything that it says.

use std::io::{self, Write};

use gix_packetline::blocking_io::encode;
use gix_packetline::decode::{self, Stream};
use gix_packetline::{Channel, PacketLineRef};

use super::Malformed;

/// Data that fits into one line of a side band: 65,520 bytes without four for the length and one for the band.
const BAND_BYTES: usize = 65_515;

/// One line of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Text, without a newline at its end.
    Text(&'a str),
    /// The end of a part.
    Flush,
    /// Stands between a command's name and what it is given.
    Delimiter,
}

/// Reads a request line by line.
pub struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    /// A request's lines.
    pub fn new(request: &'a [u8]) -> Self {
        Self { rest: request }
    }

    /// The next line; none at the end.
    pub fn read(&mut self) -> Result<Option<Line<'a>>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let decoded = decode::streaming(self.rest).map_err(|error| Malformed::new(error.to_string()))?;
        let Stream::Complete { line, bytes_consumed } = decoded else {
            return Err(Malformed::new("it is cut short"));
        };
        self.rest = &self.rest[bytes_consumed..];
        match line {
            PacketLineRef::Flush => Ok(Some(Line::Flush)),
            PacketLineRef::Delimiter => Ok(Some(Line::Delimiter)),
            PacketLineRef::ResponseEnd => Err(Malformed::new("it holds a mark that servers alone send")),
            PacketLineRef::Data(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| Malformed::new("a line is no text"))?;
                Ok(Some(Line::Text(text.strip_suffix('\n').unwrap_or(text))))
            }
        }
    }

    /// What comes after the lines that were read.
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }
}

/// Writes a line of text.
pub fn text(out: &mut impl Write, text: &str) -> io::Result<()> {
    encode::text_to_write(text.as_bytes(), out).map(drop)
}

/// Writes the end of a part.
pub fn flush(out: &mut impl Write) -> io::Result<()> {
    encode::flush_to_write(out).map(drop)
}

/// Writes what stands between two sections.
pub fn delimiter(out: &mut impl Write) -> io::Result<()> {
    encode::delim_to_write(out).map(drop)
}

/// Writes a line that says what is wrong, instead of an answer.
pub fn error(out: &mut impl Write, message: &str) -> io::Result<()> {
    text(out, &format!("ERR {message}"))
}

/// Writes words for people on a side band; git shows them behind `remote:`.
pub fn words(out: &mut impl Write, words: &str) -> io::Result<()> {
    for part in words.as_bytes().chunks(BAND_BYTES) {
        encode::band_to_write(Channel::Progress, part, &mut *out)?;
    }
    Ok(())
}

/// Writes on a side band what ends the answer before its time.
pub fn broken(out: &mut impl Write, message: &str) -> io::Result<()> {
    let end = message.floor_char_boundary(BAND_BYTES);
    encode::band_to_write(Channel::Error, &message.as_bytes()[..end], out).map(drop)
}

/// Data on its way out: on a side band where the client can read one, else as it is.
pub struct Data<'a, W: Write> {
    out: &'a mut W,
    on_band: bool,
    held: Vec<u8>,
}

impl<'a, W: Write> Data<'a, W> {
    /// Data that goes to `out`.
    pub fn new(out: &'a mut W, on_band: bool) -> Self {
        Self { out, on_band, held: Vec::with_capacity(BAND_BYTES) }
    }

    fn send(&mut self) -> io::Result<()> {
        if !self.held.is_empty() {
            match self.on_band {
                true => drop(encode::band_to_write(Channel::Data, &self.held, &mut *self.out)?),
                false => self.out.write_all(&self.held)?,
            }
            self.held.clear();
        }
        Ok(())
    }
}

impl<W: Write> Write for Data<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BAND_BYTES - self.held.len());
        self.held.extend_from_slice(&bytes[..taken]);
        if self.held.len() == BAND_BYTES {
            self.send()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let mut sent = Vec::new();
        text(&mut sent, "command=fetch").expect("written");
        delimiter(&mut sent).expect("written");
        text(&mut sent, "done").expect("written");
        flush(&mut sent).expect("written");
        sent.extend_from_slice(b"PACK");
        let mut lines = Lines::new(&sent);
        let expected = [Line::Text("command=fetch"), Line::Delimiter, Line::Text("done"), Line::Flush];
        for line in expected {
            assert_eq!(lines.read(), Ok(Some(line)));
        }
        assert_eq!(lines.rest(), b"PACK");
    }

    #[test]
    fn what_is_cut_short_or_no_text_is_refused() {
        for wrong in [&b"00"[..], b"0009do", b"zzzz", b"0003", b"0006\xff\xfe", b"0002"] {
            assert!(Lines::new(wrong).read().is_err(), "{wrong:?}");
        }
        assert_eq!(Lines::new(b"").read(), Ok(None));
    }

    #[test]
    fn data_on_a_band_comes_in_lines_that_fit() {
        let mut sent = Vec::new();
        let mut data = Data::new(&mut sent, true);
        data.write_all(&vec![7; BAND_BYTES + 10]).and_then(|()| data.flush()).expect("written");
        assert_eq!((&sent[..4], sent[4]), (&b"fff0"[..], 1));
        assert_eq!((&sent[0xfff0..0xfff4], sent.len()), (&b"000f"[..], 0xfff0 + 15));
    }
}
