//! The open bucket.

use std::fs::File;
use std::future::Future;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::memory::InMemory;
use object_store::path::Path as ObjectPath;
use object_store::{ClientOptions, MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig};
use tokio::time::timeout;

use super::errors::convert;
use super::settings::BucketSettings;
use crate::call_threads::CallThreads;
use crate::error::{Error, Result};

/// Threads that exchange messages with the service.
const THREADS: usize = 2;
/// Longest time to connect to the service.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// Longest pause between two parts of a response.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Time during which a failed request is repeated.
const REPEAT_MAX: Duration = Duration::from_secs(10);
/// Longest time of one request. At 1 MB/s a part of a file needs eight seconds.
const REQUEST_MAX: Duration = Duration::from_secs(60);
/// Files up to this size are stored with one request, larger ones in parts of this size. S3 allows 10,000 parts of at
/// least 5 MiB.
const PART_BYTES: usize = 8 << 20;
/// Deletions of a directory's objects that run at the same time.
const DELETIONS_AT_ONCE: usize = 16;

/// A bucket of an S3-compatible service. Each call blocks the calling thread until the service answers, and repeats
/// failed requests for ten seconds.
pub struct Bucket {
    threads: CallThreads,
    store: Arc<dyn ObjectStore>,
    /// The beginning of all names in the bucket.
    prefix: String,
}

/// An object in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The name, without the bucket's prefix.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// When the object was stored, in milliseconds since the epoch by the clock of the service.
    pub stored_at_ms: i64,
}

impl Bucket {
    /// Prepares the client. Sends no request yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the URL has another form, [`Error::Bucket`] if the settings contradict each other.
    pub fn open(settings: &BucketSettings) -> Result<Self> {
        let location = settings.location()?;
        let options = ClientOptions::new()
            .with_connect_timeout(CONNECT_MAX)
            .with_timeout(REQUEST_MAX)
            .with_read_timeout(PAUSE_MAX);
        let retries = RetryConfig { retry_timeout: REPEAT_MAX, ..RetryConfig::default() };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&location.bucket)
            .with_client_options(options)
            .with_retry(retries)
            .with_region(settings.region.as_deref().unwrap_or("us-east-1"));
        if let Some(endpoint) = &settings.endpoint {
            builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
        }
        if let Some(id) = &settings.access_key_id {
            builder = builder.with_access_key_id(id);
        }
        if let Some(secret) = &settings.secret_access_key {
            builder = builder.with_secret_access_key(secret);
        }
        if let Some(token) = &settings.session_token {
            builder = builder.with_token(token);
        }
        let store = builder.build().map_err(|error| convert("open", &settings.url, error))?;
        Self::over(Arc::new(store), location.prefix)
    }

    /// A bucket in memory, for tests.
    pub fn in_memory() -> Result<Self> {
        Self::over(Arc::new(InMemory::new()), String::new())
    }

    fn over(store: Arc<dyn ObjectStore>, prefix: String) -> Result<Self> {
        Ok(Self { threads: CallThreads::start("bucket", THREADS)?, store, prefix })
    }

    /// Stores an object. It is durable when this returns, and readers never see a part of it.
    pub fn put(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        self.put_shared(name, Bytes::from(bytes))
    }

    /// Stores an object as [`Bucket::put`] does, from bytes that the caller keeps as well. They are not copied.
    pub fn put_shared(&self, name: &str, bytes: Bytes) -> Result<()> {
        let request = self.request("write", name);
        self.threads.call(async move {
            let stored = request.store.put(&request.path, PutPayload::from(bytes));
            request.limit(stored).await?;
            Ok(())
        })
    }

    /// Stores the content of a file, in several requests if it is large. Memory use is bounded by the size of a part.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read. Parts that were already stored are removed, if the service answers.
    pub fn put_file(&self, name: &str, file: &Path) -> Result<()> {
        let mut source = File::open(file).map_err(Error::io("open", file))?;
        self.put_from(name, &mut source, file)
    }

    /// Stores a range of an open file as [`Bucket::put_file`] stores a whole one. Moves the position of the file, which
    /// `path` names in errors.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::Corrupt`] if it ends before the range does.
    pub fn put_range(&self, name: &str, mut file: &File, range: Range<u64>, path: &Path) -> Result<()> {
        let found = file.metadata().map_err(Error::io("read", path))?.len();
        if found < range.end {
            let reason = format!("has {found} bytes, expected at least {}", range.end);
            return Err(Error::corrupt(path.display().to_string(), reason));
        }
        file.seek(SeekFrom::Start(range.start)).map_err(Error::io("read", path))?;
        let mut source = file.take(range.end.saturating_sub(range.start));
        self.put_from(name, &mut source, path)
    }

    /// Stores what a source returns until its end. `path` names the source in errors.
    fn put_from<R: Read>(&self, name: &str, source: &mut R, path: &Path) -> Result<()> {
        let first = read_part(source, path)?;
        if first.len() < PART_BYTES {
            return self.put(name, first);
        }
        let request = self.request("write", name);
        let opened = request.clone();
        let mut upload = self.threads.call(async move {
            let started = opened.store.put_multipart(&opened.path);
            opened.limit(started).await
        })?;
        let mut part = first;
        while !part.is_empty() {
            upload = self.put_part(&request, upload, part)?;
            part = read_part(source, path)?;
        }
        self.threads.call(async move {
            request.limit(upload.complete()).await?;
            Ok(())
        })
    }

    /// Stores a part. Gives the upload up if that fails.
    fn put_part(
        &self,
        request: &Request,
        mut upload: Box<dyn MultipartUpload>,
        part: Vec<u8>,
    ) -> Result<Box<dyn MultipartUpload>> {
        let request = request.clone();
        self.threads.call(async move {
            let stored = upload.put_part(PutPayload::from(part));
            if let Err(error) = request.limit(stored).await {
                // A part that stays is removed by the service's rules for unfinished uploads.
                let _ = request.limit(upload.abort()).await;
                return Err(error);
            }
            Ok(upload)
        })
    }

    /// Reads an object. `None` if no object has the name.
    pub fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let request = self.request("read", name);
        self.threads.call(async move {
            let read = async { request.store.get(&request.path).await?.bytes().await };
            match present(request.limit(read).await)? {
                Some(bytes) => Ok(Some(Vec::from(bytes))),
                None => Ok(None),
            }
        })
    }

    /// Reads a part of an object. The range must be within the object. `None` if no object has the name.
    pub fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let request = self.request("read", name);
        self.threads.call(async move {
            let read = request.store.get_range(&request.path, range);
            match present(request.limit(read).await)? {
                Some(bytes) => Ok(Some(Vec::from(bytes))),
                None => Ok(None),
            }
        })
    }

    /// Returns the size of an object in bytes. `None` if no object has the name.
    pub fn size(&self, name: &str) -> Result<Option<u64>> {
        let request = self.request("find", name);
        self.threads.call(async move {
            let found = request.store.head(&request.path);
            match present(request.limit(found).await)? {
                Some(found) => Ok(Some(found.size)),
                None => Ok(None),
            }
        })
    }

    /// Deletes an object. Deleting a missing object succeeds.
    pub fn delete(&self, name: &str) -> Result<()> {
        self.threads.call(delete_object(self.request("delete", name)))
    }

    /// Deletes all objects below a directory, whose name ends with a slash. An error leaves the rest.
    pub fn delete_all(&self, directory: &str) -> Result<()> {
        let mut requests: Vec<Result<Request>> = Vec::new();
        for object in self.list(directory)? {
            requests.push(Ok(self.request("delete", &object.name)));
        }
        self.threads.call(stream::iter(requests).try_for_each_concurrent(DELETIONS_AT_ONCE, delete_object))
    }

    /// Lists the objects below a directory, whose name ends with a slash or is empty, in the order of their names.
    pub fn list(&self, directory: &str) -> Result<Vec<ObjectInfo>> {
        let request = self.request("list", directory);
        let prefix = self.prefix.clone();
        self.threads.call(async move {
            let listed = request.store.list(Some(&request.path)).try_collect::<Vec<_>>();
            let mut objects = Vec::new();
            for object in request.limit(listed).await? {
                let path = object.location.to_string();
                let Some(name) = path.strip_prefix(&prefix) else { continue };
                let stored_at_ms = object.last_modified.timestamp_millis();
                objects.push(ObjectInfo { name: name.to_owned(), bytes: object.size, stored_at_ms });
            }
            objects.sort_by(|left, right| left.name.cmp(&right.name));
            Ok(objects)
        })
    }

    fn request(&self, action: &'static str, name: &str) -> Request {
        let path = ObjectPath::from(format!("{}{name}", self.prefix));
        Request { store: Arc::clone(&self.store), path, action, name: name.to_owned() }
    }
}

/// A request about one object.
#[derive(Clone)]
struct Request {
    store: Arc<dyn ObjectStore>,
    path: ObjectPath,
    /// The action as a verb, for errors.
    action: &'static str,
    /// The name, for errors.
    name: String,
}

impl Request {
    /// Waits for the answer of the service, for a bounded time.
    async fn limit<T>(&self, answer: impl Future<Output = object_store::Result<T>>) -> Result<T> {
        let limit = REQUEST_MAX + REPEAT_MAX;
        match timeout(limit, answer).await {
            Ok(answer) => answer.map_err(|error| convert(self.action, &self.name, error)),
            Err(_) => {
                let source = format!("the service did not answer within {} seconds", limit.as_secs()).into();
                let error = object_store::Error::Generic { store: "S3", source };
                Err(convert(self.action, &self.name, error))
            }
        }
    }
}

/// Deletes an object. A missing one is deleted already.
async fn delete_object(request: Request) -> Result<()> {
    let deleted = request.store.delete(&request.path);
    present(request.limit(deleted).await)?;
    Ok(())
}

/// The result of a request, or `None` if no object has the name.
fn present<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Bucket { source, .. })
            if matches!(source.downcast_ref(), Some(object_store::Error::NotFound { .. })) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reads the next part of a source. It is shorter than a part only at the end of the source.
fn read_part<R: Read>(source: &mut R, path: &Path) -> Result<Vec<u8>> {
    let mut part = Vec::new();
    let read = source.take(PART_BYTES as u64).read_to_end(&mut part);
    read.map_err(Error::io("read", path))?;
    Ok(part)
}
