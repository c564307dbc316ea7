//! Where the data is kept: in the data directory, or in a database and a bucket that several nodes share.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, ensure};
use cuebase_storage::bucket::BucketSettings;
use cuebase_storage::records::shared_setup::UnsafeDatabase;

use super::address::ListenAddress;
use super::engine::EngineChoice;
use super::secret::Secret;
use super::settings::{ClusterValues, StorageValues, setting};

/// Where the data is kept.
#[derive(Clone, Debug)]
pub enum StorageSettings {
    /// In the data directory.
    Directory,
    /// In a database and a bucket that several nodes share.
    Shared(Box<SharedStorageSettings>),
}

/// The database and the bucket, and how other nodes reach this one.
#[derive(Clone)]
pub struct SharedStorageSettings {
    /// `storage.postgres.url`.
    pub database_url: Secret,
    /// `storage.bucket`, with endpoint, region and credentials of the environment.
    pub bucket: BucketSettings,
    /// `cluster.advertise`: the address of this node for other nodes.
    pub advertise: ListenAddress,
    /// `cluster.listen`: where requests of other nodes arrive.
    pub listen: ListenAddress,
    /// `cluster.allow_unsafe_database`.
    pub unsafe_database: UnsafeDatabase,
}

impl std::fmt::Debug for SharedStorageSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The bucket has a secret.
        let mut fields = f.debug_struct("SharedStorageSettings");
        fields.field("bucket", &self.bucket.url).field("advertise", &self.advertise).field("listen", &self.listen);
        fields.finish_non_exhaustive()
    }
}

impl StorageSettings {
    /// Combines the settings with the environment, which has the credentials of the bucket.
    ///
    /// # Errors
    ///
    /// A setting that the engine needs is missing.
    pub(super) fn new(
        storage: StorageValues,
        cluster: ClusterValues,
        environment: impl Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Self> {
        if storage.engine == EngineChoice::RocksDb {
            return Ok(Self::Directory);
        }
        let url_key = setting::storage::postgres_url.key.as_str();
        ensure!(!storage.postgres_url.is_empty(), "{}", missing(url_key, "the URL of the database"));
        let url = storage.bucket.with_context(|| missing(setting::storage::bucket.key.as_str(), "s3://bucket"))?;
        let advertise = cluster.advertise.with_context(|| {
            missing(setting::cluster::advertise.key.as_str(), "the host:port at which other nodes reach this one")
        })?;
        let listen = match cluster.listen {
            Some(listen) => listen,
            None => ListenAddress::Ip(SocketAddr::from((Ipv4Addr::UNSPECIFIED, advertise.port()))),
        };
        let bucket = BucketSettings {
            url,
            endpoint: environment("AWS_ENDPOINT_URL_S3").or_else(|| environment("AWS_ENDPOINT_URL")),
            region: environment("AWS_REGION").or_else(|| environment("AWS_DEFAULT_REGION")),
            access_key_id: environment("AWS_ACCESS_KEY_ID"),
            secret_access_key: environment("AWS_SECRET_ACCESS_KEY"),
            session_token: environment("AWS_SESSION_TOKEN"),
        };
        let unsafe_database = match cluster.allow_unsafe_database {
            true => UnsafeDatabase::Allowed,
            false => UnsafeDatabase::Refused,
        };
        let database_url = storage.postgres_url;
        let shared = SharedStorageSettings { database_url, bucket, advertise, listen, unsafe_database };
        Ok(Self::Shared(Box::new(shared)))
    }
}

fn missing(key: &str, what: &str) -> String {
    format!("setting {key} is missing: storage.engine = postgres needs it ({what})")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{Config, Key};

    fn resolve(values: &[(&str, &str)]) -> anyhow::Result<StorageSettings> {
        let environment = |name: &str| {
            let found = values.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Ok(Config::resolve(&BTreeMap::<Key, String>::new(), environment, None)?.storage)
    }

    #[test]
    fn a_database_needs_a_bucket_and_an_address() {
        assert!(matches!(resolve(&[]).expect("resolves"), StorageSettings::Directory));
        let all = [
            ("CUEBASE_STORAGE_ENGINE", "postgres"),
            ("CUEBASE_STORAGE_POSTGRES_URL", "postgres://a@b/c"),
            ("CUEBASE_STORAGE_BUCKET", "s3://memories"),
            ("CUEBASE_CLUSTER_ADVERTISE", "node-1:8090"),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ];
        let StorageSettings::Shared(shared) = resolve(&all).expect("resolves") else { panic!("not shared") };
        assert_eq!(shared.listen.to_string(), "0.0.0.0:8090");
        assert_eq!(shared.bucket.endpoint.as_deref(), Some("http://127.0.0.1:1"));
        for (left_out, key) in [(1, "storage.postgres.url"), (2, "storage.bucket"), (3, "cluster.advertise")] {
            let mut values = all.to_vec();
            values.remove(left_out);
            let error = resolve(&values).expect_err("is missing").to_string();
            assert!(error.contains(key), "{error}");
        }
        assert!(resolve(&[("CUEBASE_STORAGE_ENGINE", "sqlite")]).is_err());
    }
}
