//! The uploaded files of a migration: files of the data directory become objects of the bucket, and the reverse.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use cuebase_storage::Store;
use cuebase_storage::files::replace;
use cuebase_storage::records::{MediaRecord, NamespaceRecord};
use data_encoding::HEXLOWER;

use super::cluster::{Cluster, media_object};
use crate::file_errors::explained;
use crate::maintenance::manifest;
use crate::maintenance::private_files::create_folder;
use crate::maintenance::progress::Progress;
use crate::sha256::sha256;

/// What the uploaded files of a namespace take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MediaTotals {
    /// Number of files.
    pub(super) files: u64,
    /// Bytes of the files.
    pub(super) bytes: u64,
}

/// Stores the files of a data directory in the bucket. Objects that have the right size are left as they are.
pub(super) fn upload(
    data: &Path,
    directory: &Store,
    cluster: &Cluster,
    on_progress: &dyn Fn(Progress),
) -> anyhow::Result<()> {
    let mut done = 0;
    for namespace in directory.all_namespaces()? {
        let records = directory.media_of_namespace(namespace.id)?;
        if records.is_empty() {
            continue;
        }
        let stored = cluster.media_sizes(namespace.id)?;
        for record in records {
            let object = media_object(&record);
            if stored.get(&object) != Some(&record.bytes) {
                let path = file_of(data, &record);
                require_intact(&path, &record)?;
                cluster.bucket.put_file(&object, &path)?;
            }
            done += 1;
            on_progress(Progress::new("files copied", done, 0));
        }
    }
    Ok(())
}

/// Writes the files of a bucket into a data directory. Files that have the right size are left as they are.
pub(in crate::maintenance) fn download(
    data: &Path,
    directory: &Store,
    cluster: &Cluster,
    on_progress: &dyn Fn(Progress),
) -> anyhow::Result<()> {
    let mut done = 0;
    for namespace in directory.all_namespaces()? {
        for record in directory.media_of_namespace(namespace.id)? {
            let path = file_of(data, &record);
            if size_of(&path)? != Some(record.bytes) {
                download_one(cluster, &record, &path)?;
            }
            done += 1;
            on_progress(Progress::new("files copied", done, 0));
        }
    }
    Ok(())
}

fn download_one(cluster: &Cluster, record: &MediaRecord, path: &Path) -> anyhow::Result<()> {
    let object = media_object(record);
    let bytes = cluster.bucket.get(&object)?.with_context(|| format!("{object} is missing in the bucket"))?;
    ensure!(
        HEXLOWER.encode(&sha256(&[bytes.as_slice()])) == record.sha256,
        "{object} in the bucket is damaged: its SHA-256 differs from that of the upload"
    );
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    replace(path, &bytes).map_err(explained("write", path))
}

/// Compares the sizes of a namespace's files on both sides with those of the records.
pub(super) fn compare(
    data: &Path,
    directory: &Store,
    cluster: &Cluster,
    namespace: &NamespaceRecord,
) -> anyhow::Result<MediaTotals> {
    let mut totals = MediaTotals::default();
    let records = directory.media_of_namespace(namespace.id)?;
    if records.is_empty() {
        return Ok(totals);
    }
    let stored = cluster.media_sizes(namespace.id)?;
    for record in records {
        let (object, path) = (media_object(&record), file_of(data, &record));
        ensure!(
            stored.get(&object) == Some(&record.bytes) && size_of(&path)? == Some(record.bytes),
            "the uploaded file {} has another size in the data directory or in the bucket",
            record.id
        );
        totals.files += 1;
        totals.bytes += record.bytes;
    }
    Ok(totals)
}

/// Fails if a file differs from what was uploaded.
fn require_intact(path: &Path, record: &MediaRecord) -> anyhow::Result<()> {
    let found = manifest::copy(path, io::sink()).map_err(explained("read", path))?;
    ensure!(
        found.sha256 == record.sha256,
        "{} is damaged: its SHA-256 differs from that of the upload; run `cuebase doctor`, and restore a backup",
        path.display()
    );
    Ok(())
}

/// Returns the size of a file, if it exists.
fn size_of(path: &Path) -> anyhow::Result<Option<u64>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata.len())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(explained("read", path)(error)),
    }
}

/// The path of an uploaded file, as the service stores it.
fn file_of(data: &Path, record: &MediaRecord) -> PathBuf {
    data.join("media").join(record.namespace_id.to_string()).join(record.id.to_string())
}
