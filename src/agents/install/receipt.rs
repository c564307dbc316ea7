//! What a file of an agent held before Cuebase was added.
//!
//! Two files in the state folder belong to each: the former content as it was, and a record with the hash of what was
//! written. While the file still has that content, removing Cuebase gives back every byte.

use std::fs;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::super::places::{Places, RECORD_FORMAT, read, write};
use crate::sha256::sha256;

/// Bytes of the hash in the names of the files.
const NAME_BYTES: usize = 8;

/// The record of one file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Receipt {
    /// The path of the agent's file, for a person who looks at the record.
    path: String,
    /// Whether the file existed before.
    existed: bool,
    /// Hash of what was written.
    written: String,
    /// The format of the record.
    #[serde(default)]
    format: u32,
}

/// The former content of a file.
#[derive(Debug)]
pub(super) enum Original {
    /// The file did not exist.
    Absent,
    /// The file had this text.
    Text(String),
}

/// Where the record and the former content of one file are.
pub(super) struct ReceiptFiles {
    record: PathBuf,
    /// The former content. Its name ends with that of the file.
    content: PathBuf,
}

impl ReceiptFiles {
    /// Returns the places for a file.
    pub(super) fn of(file: &Path, places: &Places) -> Self {
        let hash = HEXLOWER.encode(&sha256(&[file.as_os_str().as_encoded_bytes()])[..NAME_BYTES]);
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = places.installations();
        Self { record: folder.join(format!("{hash}.json")), content: folder.join(format!("{hash}-{name}")) }
    }

    /// Returns the record; `None` if there is none or it cannot be decoded.
    pub(super) fn read(&self) -> anyhow::Result<Option<Receipt>> {
        let Some(text) = read(&self.record)? else { return Ok(None) };
        Ok(serde_json::from_str(&text).ok())
    }

    /// Returns the former content, if the file still holds what was written.
    pub(super) fn original(&self, current: &str) -> anyhow::Result<Option<Original>> {
        let Some(receipt) = self.read()? else { return Ok(None) };
        if receipt.written != hash(current) {
            return Ok(None);
        }
        if !receipt.existed {
            return Ok(Some(Original::Absent));
        }
        Ok(read(&self.content)?.map(Original::Text))
    }

    /// Keeps the former content of a file, before it is written.
    pub(super) fn write(&self, file: &Path, original: Option<&str>, written: &str) -> anyhow::Result<()> {
        if let Some(text) = original {
            write(&self.content, text)?;
        }
        let path = file.display().to_string();
        let receipt = Receipt { path, existed: original.is_some(), written: hash(written), format: RECORD_FORMAT };
        write(&self.record, &serde_json::to_string(&receipt)?)
    }

    /// Removes the record and the former content. What is missing already is removed as well.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.record);
        let _ = fs::remove_file(&self.content);
    }
}

impl Receipt {
    /// Returns whether the file existed before.
    pub(super) fn existed(&self) -> bool {
        self.existed
    }
}

fn hash(text: &str) -> String {
    HEXLOWER.encode(&sha256(&[text.as_bytes()]))
}
