//! Why a node does not start. Each message names the fault and the remedy.

use std::fmt;

use ulid::Ulid;

use crate::error::Error;

/// The oldest major version of PostgreSQL.
pub(super) const OLDEST_VERSION: i32 = 13;

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The server is too old.
    #[error(
        "the PostgreSQL server has version {version}, but version {} or later is required: upgrade it",
        OLDEST_VERSION
    )]
    OldServer {
        /// The major version.
        version: i32,
    },
    /// The server is a standby, which accepts no writes.
    #[error(
        "the PostgreSQL server is a standby and accepts no writes: let storage.postgres.url name the primary, or all \
         servers separated by commas"
    )]
    Standby,
    /// The server does not write its files safely.
    #[error(
        "the PostgreSQL server runs with {setting} = off: a crash of its machine can damage the database and lose \
         acknowledged writes. Set {setting} = on in its configuration. Set cluster.allow_unsafe_database = true if \
         this is a test, or if the server's storage is safe without the setting"
    )]
    UnsafeWrites {
        /// The name of the setting.
        setting: &'static str,
    },
    /// The server does not wait for a standby.
    #[error(
        "the PostgreSQL server has no synchronous standby: synchronous_standby_names is empty, so acknowledged writes \
         could be lost when the database fails over. Set synchronous_standby_names to the names of the standbys. After \
         a fail-over, first build a new standby. Set cluster.allow_unsafe_database = true if one server is enough, or \
         if the server's storage is replicated in another way"
    )]
    NoSynchronousStandby,
    /// Commits of this node would not wait for the disk of a standby.
    #[error(
        "synchronous_commit is \"{value}\" for the role and database of this node: acknowledged writes could be lost \
         when the database fails over. Set it to on or remote_apply, for example with ALTER ROLE … SET \
         synchronous_commit = on. Set cluster.allow_unsafe_database = true if this is a test"
    )]
    WeakCommit {
        /// The value of the setting.
        value: String,
    },
    /// The clocks of this node and of the database are too far apart.
    #[error(
        "the clock of this node is {}: memories get the time of the node that writes them. Synchronize the clocks of \
         both machines, for example with chrony or systemd-timesyncd",
        apart(*ahead_ms)
    )]
    Clocks {
        /// How far the clock of this node is ahead, in milliseconds. Negative if it is behind.
        ahead_ms: i64,
    },
    /// The bucket refused a request about a test object, or cannot be reached.
    #[error(
        "cannot {step} a test object in the bucket: {source}. Check storage.bucket, AWS_ENDPOINT_URL and the \
         credentials, which must permit to put, get, list and delete objects"
    )]
    BucketRefused {
        /// The request that failed.
        step: BucketStep,
        /// The error of the bucket.
        source: Error,
    },
    /// The bucket accepted a test object, but a following request does not show it as it was written.
    #[error(
        "the bucket stored a test object, but a request to {step} it returned something else: the service must show \
         objects as soon as they are written, without a cache in between"
    )]
    BucketInconsistent {
        /// The request with the wrong answer.
        step: BucketStep,
    },
    /// The database is empty, and the bucket has the data of a cluster.
    #[error(
        "the database has no namespaces, but the bucket belongs to the cluster {bucket}: set storage.postgres.url to \
         the database of that cluster, or storage.bucket to an empty bucket or another prefix"
    )]
    BucketInUse {
        /// The id of the cluster in the bucket.
        bucket: Ulid,
    },
    /// Database and bucket belong to different clusters.
    #[error(
        "the database belongs to the cluster {database}, the bucket to the cluster {bucket}: set storage.postgres.url \
         and storage.bucket to those of one cluster"
    )]
    OtherBucket {
        /// The id of the cluster in the database.
        database: Ulid,
        /// The id of the cluster in the bucket.
        bucket: Ulid,
    },
    /// The database has namespaces, and the bucket belongs to no cluster.
    #[error(
        "the database of the cluster {database} has namespaces, but the bucket has no object \"cluster\": \
         storage.bucket names another bucket or prefix than before. If it names the right one, and the object was \
         deleted, store it again with the content {database}"
    )]
    UnmarkedBucket {
        /// The id of the cluster in the database.
        database: Ulid,
    },
    /// Another node is running with other settings.
    #[error(
        "the node at {address} is running with other values of {}: give all nodes the same values, or stop all other \
         nodes before this one starts with new values",
        names.join(", ")
    )]
    OtherSettings {
        /// `host:port` of the other node.
        address: String,
        /// The names of the settings that differ.
        names: Vec<String>,
    },
    /// The database or the bucket cannot be read or written, for a reason that the checks do not know.
    #[error(transparent)]
    Storage(#[from] Error),
}

/// A request of the check of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketStep {
    /// Storing an object.
    Put,
    /// Reading an object.
    Get,
    /// Listing objects.
    List,
    /// Deleting an object.
    Delete,
}

impl fmt::Display for BucketStep {
    /// A verb.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::List => "list",
            Self::Delete => "delete",
        })
    }
}

/// Compares the clock of this node with that of the database, in words.
fn apart(ahead_ms: i64) -> String {
    let seconds = ahead_ms.unsigned_abs() / 1000;
    let direction = if ahead_ms < 0 { "behind" } else { "ahead of" };
    format!("{seconds} s {direction} the clock of the database")
}
