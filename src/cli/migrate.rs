//! `cuebase migrate`.

use std::time::Instant;

use anyhow::bail;

use super::arguments::MigrateCommand;
use super::progress::Bar;
use crate::config::{Config, StorageSettings};
use crate::maintenance::migrate::{self, Cluster, MigrationReport};

/// Printed after a migration to a cluster.
const AFTER_TO_CLUSTER: &str = "Start the nodes with storage.engine = postgres; the first start rebuilds the indexes. \
    Do not start a server on the data directory any more.";
/// Printed after a migration to a data directory.
const AFTER_TO_DIRECTORY: &str = "Start a server on the data directory with storage.engine = rocksdb; the first start \
    rebuilds the indexes. Do not start a node of the cluster any more.";

/// Copies all data in one direction, and prints what was copied.
pub(super) fn migrate(config: &Config, command: &MigrateCommand) -> anyhow::Result<()> {
    // The arguments of the command select this engine, so that the settings of the cluster are required.
    let StorageSettings::Shared(settings) = &config.storage else {
        bail!("the settings storage.postgres.url and storage.bucket name the cluster: set both");
    };
    let started = Instant::now();
    let cluster = Cluster::open(&settings.database_url, &settings.bucket, settings.unsafe_database)?;
    let bar = Bar::new()?;
    let (report, advice) = match command {
        MigrateCommand::ToCluster => {
            (migrate::to_cluster(&config.data, &cluster, &|progress| bar.show(progress))?, AFTER_TO_CLUSTER)
        }
        MigrateCommand::ToDirectory => {
            (migrate::to_directory(&config.data, &cluster, &|progress| bar.show(progress))?, AFTER_TO_DIRECTORY)
        }
    };
    drop(bar);
    println!("{}, compared and equal, {:.1} s", summary(&report), started.elapsed().as_secs_f64());
    eprintln!("{advice}");
    Ok(())
}

/// Describes what was copied.
fn summary(report: &MigrationReport) -> String {
    let MigrationReport { records, namespaces, packs, files, bytes } = report;
    format!("{records} records, {namespaces} namespaces, {packs} packs, {files} files, {bytes} bytes")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::arguments::Arguments;
    use super::*;

    fn resolve(environment: &[(&str, &str)]) -> anyhow::Result<Config> {
        let arguments = Arguments::parse_from(["cuebase", "migrate", "to-cluster", "--data", "a"]);
        let variable = |name: &str| {
            let found = environment.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Config::resolve(&arguments.settings(), variable, None)
    }

    #[test]
    fn the_settings_name_the_cluster_with_any_engine() {
        let url = ("CUEBASE_STORAGE_POSTGRES_URL", "postgres://a@b/c");
        let bucket = ("CUEBASE_STORAGE_BUCKET", "s3://memories");
        for engine in ["rocksdb", "postgres"] {
            let config = resolve(&[("CUEBASE_STORAGE_ENGINE", engine), url, bucket]).expect("resolves");
            let StorageSettings::Shared(settings) = &config.storage else { panic!("{engine}: not a cluster") };
            assert_eq!((&*settings.database_url, settings.bucket.url.as_str()), (url.1, bucket.1));
        }
        let refused = resolve(&[bucket]).expect_err("is refused").to_string();
        assert!(refused.contains("storage.postgres.url"), "{refused}");
    }

    #[test]
    fn the_summary_has_what_was_copied() {
        let report = MigrationReport { records: 5, namespaces: 4, packs: 3, files: 2, bytes: 1 };
        assert_eq!(summary(&report), "5 records, 4 namespaces, 3 packs, 2 files, 1 bytes");
    }
}
