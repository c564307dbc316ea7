//! The content of an uploaded file while it is sent: a file of the folder, or an object that is read in ranges.

use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::sync::Arc;

use cuebase_storage::bucket::Bucket;

/// An object is read in ranges of this size, so that memory does not grow with the file: 1 MiB.
const RANGE_BYTES: usize = 1 << 20;

/// The content of an uploaded file, from its start to its end.
#[derive(Debug)]
pub enum MediaContent {
    /// A file on disk, positioned at its start.
    File(File),
    /// An object in the bucket.
    Object(ObjectReader),
}

impl MediaContent {
    /// Returns the memory that a reader of the content holds, in bytes.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::File(_) => 0,
            Self::Object(object) => usize::try_from(object.bytes).unwrap_or(usize::MAX).min(RANGE_BYTES),
        }
    }
}

impl Read for MediaContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Object(object) => object.read(buffer),
        }
    }
}

/// Reads an object of the bucket from its start to its end. Each range is one request, which blocks the thread.
pub struct ObjectReader {
    bucket: Arc<Bucket>,
    name: String,
    /// Size of the object.
    bytes: u64,
    /// Start of the next range.
    next: u64,
    /// The range that is being read.
    range: Cursor<Vec<u8>>,
}

impl ObjectReader {
    /// Makes a reader of an object whose size is known. Sends no request yet.
    pub(crate) fn new(bucket: Arc<Bucket>, name: String, bytes: u64) -> Self {
        Self { bucket, name, bytes, next: 0, range: Cursor::default() }
    }

    /// Requests the next range. Fails if the object ends before the range does.
    fn request(&mut self) -> io::Result<Vec<u8>> {
        let end = self.bytes.min(self.next + RANGE_BYTES as u64);
        let range = match self.bucket.get_range(&self.name, self.next..end) {
            Ok(Some(range)) => range,
            Ok(None) => return Err(io::Error::new(ErrorKind::NotFound, format!("{} is not in the bucket", self.name))),
            Err(error) => return Err(io::Error::other(error)),
        };
        if range.len() as u64 != end - self.next {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.next = end;
        Ok(range)
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.range.read(buffer)?;
        if read > 0 || buffer.is_empty() || self.next == self.bytes {
            return Ok(read);
        }
        // Gives the memory of the former range back before the next one arrives.
        self.range = Cursor::default();
        self.range = Cursor::new(self.request()?);
        self.range.read(buffer)
    }
}

impl fmt::Debug for ObjectReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, bytes, next, .. } = self;
        formatter
            .debug_struct("ObjectReader")
            .field("name", name)
            .field("bytes", bytes)
            .field("next", next)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a bucket with an object `a` of some bytes.
    fn bucket_with(content: &[u8]) -> Arc<Bucket> {
        let bucket = Bucket::in_memory().expect("creates");
        bucket.put("a", content.to_vec()).expect("writes");
        Arc::new(bucket)
    }

    fn reader(bucket: &Arc<Bucket>, bytes: usize) -> ObjectReader {
        ObjectReader::new(Arc::clone(bucket), "a".to_owned(), bytes as u64)
    }

    #[test]
    fn an_object_is_read_to_its_end_whatever_its_size() {
        for length in [1, 1000, RANGE_BYTES - 1, RANGE_BYTES, RANGE_BYTES + 1, 2 * RANGE_BYTES + 70_000] {
            let mut content = Vec::with_capacity(length);
            for number in 0..length {
                content.push(number.to_le_bytes()[1]);
            }
            let bucket = bucket_with(&content);
            let mut read = Vec::new();
            reader(&bucket, length).read_to_end(&mut read).expect("reads");
            assert!(read == content, "{length}");
        }
    }

    #[test]
    fn one_range_is_in_memory_at_a_time() {
        let bucket = bucket_with(&vec![7; 3 * RANGE_BYTES]);
        let mut content = MediaContent::Object(reader(&bucket, 3 * RANGE_BYTES));
        assert_eq!(content.memory_bytes(), RANGE_BYTES);
        let mut chunk = [0; 100_000];
        let mut read = 0;
        loop {
            let length = content.read(&mut chunk).expect("reads");
            if length == 0 {
                break;
            }
            read += length;
            let MediaContent::Object(object) = &content else { panic!("an object") };
            assert!(object.range.get_ref().len() <= RANGE_BYTES);
        }
        assert_eq!(read, 3 * RANGE_BYTES);
    }

    #[test]
    fn a_shorter_object_is_an_error_and_not_the_end() {
        let bucket = bucket_with(&[7; 1000]);
        let mut read = Vec::new();
        let error = reader(&bucket, 1001).read_to_end(&mut read).expect_err("is too short");
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn an_object_that_was_deleted_meanwhile_is_an_error() {
        let bucket = bucket_with(&vec![7; 2 * RANGE_BYTES]);
        let mut object = reader(&bucket, 2 * RANGE_BYTES);
        object.read_exact(&mut [0; 10]).expect("reads the first range");
        bucket.delete("a").expect("deletes");
        let error = object.read_to_end(&mut Vec::new()).expect_err("is deleted");
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::NotFound, "a is not in the bucket"));
    }
}
