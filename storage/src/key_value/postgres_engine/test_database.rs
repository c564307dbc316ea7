//! A database for one test: a schema of its own in the server that `CUEBASE_TEST_POSTGRES` names.

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls};
use ulid::Ulid;

use super::PostgresEngine;

/// The setting with the connection string of the server.
const SERVER: &str = "CUEBASE_TEST_POSTGRES";

/// A schema that is removed when it is dropped.
pub(crate) struct TestDatabase {
    runtime: Runtime,
    client: Client,
    server: String,
    schema: String,
}

impl TestDatabase {
    /// Creates the schema.
    pub(crate) fn create() -> Self {
        let server = std::env::var(SERVER).expect("CUEBASE_TEST_POSTGRES is set, as scripts/test-cluster.sh does");
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("starts threads");
        let client = runtime.block_on(connect(&server));
        let database = Self { runtime, client, server, schema: format!("test_{}", Ulid::generate()).to_lowercase() };
        database.run(&format!("CREATE SCHEMA {}", database.schema));
        database
    }

    /// Opens an engine on the schema.
    pub(crate) fn engine(&self, process: &str) -> PostgresEngine {
        PostgresEngine::open(&self.url(), process).expect("opens")
    }

    /// The connection string of the schema. The name of the schema is also the name of the application.
    pub(crate) fn url(&self) -> String {
        let schema = &self.schema;
        format!("{} application_name={schema} options='-c search_path={schema}'", self.server)
    }

    /// Runs statements in the schema.
    pub(crate) fn run(&self, statements: &str) {
        let scoped = format!("SET search_path TO {}; {statements}", self.schema);
        self.runtime.block_on(self.client.batch_execute(&scoped)).expect("runs");
    }

    /// Ends every connection of the engines, as a server that stops does.
    pub(crate) fn end_connections(&self) {
        self.run(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}'",
            self.schema
        ));
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        self.run(&format!("DROP SCHEMA {} CASCADE", self.schema));
    }
}

async fn connect(server: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(server, NoTls).await.expect("connects");
    tokio::spawn(connection);
    client
}
