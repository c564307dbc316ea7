//! pkt-lines: the framing of git's protocol, in which each line starts with its length.

use std::io::{self, Write};

use gix_packetline::blocking_io::encode;
use gix_packetline::decode::{self, Stream};
use gix_packetline::{Channel, PacketLineRef};

use super::error::InvalidRequest;
use super::protocol::Framing;

/// Data in one line of a side band: 65,520 bytes minus four for the length and one for the band.
const BAND_BYTES: usize = 65_515;

/// One line of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Text without the newline at its end.
    Text(&'a str),
    /// The end of a section.
    Flush,
    /// Separates a command from its arguments.
    Delimiter,
}

/// Reads a request line by line.
pub struct LineReader<'a> {
    rest: &'a [u8],
}

impl<'a> LineReader<'a> {
    /// Reads the lines of `request`.
    pub fn new(request: &'a [u8]) -> Self {
        Self { rest: request }
    }

    /// Returns the next line; none at the end.
    pub fn read(&mut self) -> Result<Option<Line<'a>>, InvalidRequest> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let decoded = decode::streaming(self.rest).map_err(|error| InvalidRequest::new(error.to_string()))?;
        let Stream::Complete { line, bytes_consumed } = decoded else {
            return Err(InvalidRequest::new("the last line is incomplete"));
        };
        self.rest = &self.rest[bytes_consumed..];
        match line {
            PacketLineRef::Flush => Ok(Some(Line::Flush)),
            PacketLineRef::Delimiter => Ok(Some(Line::Delimiter)),
            PacketLineRef::ResponseEnd => {
                Err(InvalidRequest::new("it contains a response-end packet, which only servers send"))
            }
            PacketLineRef::Data(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| InvalidRequest::new("a line is not UTF-8 text"))?;
                Ok(Some(Line::Text(text.strip_suffix('\n').unwrap_or(text))))
            }
        }
    }

    /// Returns the bytes after the lines that were read.
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }
}

/// Writes a line of text.
pub fn text(out: &mut impl Write, text: &str) -> io::Result<()> {
    encode::text_to_write(text.as_bytes(), out).map(drop)
}

/// Writes the end of a section.
pub fn flush(out: &mut impl Write) -> io::Result<()> {
    encode::flush_to_write(out).map(drop)
}

/// Writes a delimiter between two sections.
pub fn delimiter(out: &mut impl Write) -> io::Result<()> {
    encode::delim_to_write(out).map(drop)
}

/// Writes an error in place of an answer.
pub fn error(out: &mut impl Write, message: &str) -> io::Result<()> {
    text(out, &format!("ERR {message}"))
}

/// Writes a message on a side band. git shows it after `remote:`.
pub fn message(out: &mut impl Write, message: &str) -> io::Result<()> {
    for part in message.as_bytes().chunks(BAND_BYTES) {
        encode::band_to_write(Channel::Progress, part, &mut *out)?;
    }
    Ok(())
}

/// Writes the error that ends an incomplete answer on a side band.
pub fn fatal_error(out: &mut impl Write, message: &str) -> io::Result<()> {
    let end = message.floor_char_boundary(BAND_BYTES);
    encode::band_to_write(Channel::Error, &message.as_bytes()[..end], out).map(drop)
}

/// Writes data in the framing that the client asked for.
pub struct DataWriter<'a, W: Write> {
    out: &'a mut W,
    framing: Framing,
    buffer: Vec<u8>,
}

impl<'a, W: Write> DataWriter<'a, W> {
    /// Writes to `out`.
    pub fn new(out: &'a mut W, framing: Framing) -> Self {
        Self { out, framing, buffer: Vec::with_capacity(BAND_BYTES) }
    }

    fn send(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        match self.framing {
            Framing::SideBand => drop(encode::band_to_write(Channel::Data, &self.buffer, &mut *self.out)?),
            Framing::Raw => self.out.write_all(&self.buffer)?,
        }
        self.buffer.clear();
        Ok(())
    }
}

impl<W: Write> Write for DataWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BAND_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() == BAND_BYTES {
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
    fn written_lines_are_read_back() {
        let mut sent = Vec::new();
        text(&mut sent, "command=fetch").expect("written");
        delimiter(&mut sent).expect("written");
        text(&mut sent, "done").expect("written");
        flush(&mut sent).expect("written");
        sent.extend_from_slice(b"PACK");
        let mut lines = LineReader::new(&sent);
        let expected = [Line::Text("command=fetch"), Line::Delimiter, Line::Text("done"), Line::Flush];
        for line in expected {
            assert_eq!(lines.read(), Ok(Some(line)));
        }
        assert_eq!(lines.rest(), b"PACK");
    }

    #[test]
    fn incomplete_lines_and_bytes_that_are_not_text_are_refused() {
        for wrong in [&b"00"[..], b"0009do", b"zzzz", b"0003", b"0006\xff\xfe", b"0002"] {
            assert!(LineReader::new(wrong).read().is_err(), "{wrong:?}");
        }
        assert_eq!(LineReader::new(b"").read(), Ok(None));
    }

    #[test]
    fn data_on_a_side_band_is_split_into_lines() {
        let mut sent = Vec::new();
        let mut data = DataWriter::new(&mut sent, Framing::SideBand);
        data.write_all(&vec![7; BAND_BYTES + 10]).and_then(|()| data.flush()).expect("written");
        assert_eq!((&sent[..4], sent[4]), (&b"fff0"[..], 1));
        assert_eq!((&sent[0xfff0..0xfff4], sent.len()), (&b"000f"[..], 0xfff0 + 15));
    }
}
