//! Changes between the built-in table and a hosted model, and a local encoder.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use super::{any_is_found_by_cue, best_is_found_by_cue, memories, models_command, remember_all};
use crate::support::provider::{Fault, Provider};
use crate::support::{Server, fresh, index, wait_for, with_models};

/// Memories in the tests that switch models: enough for several batches of embeddings.
const CRATES: usize = 600;
/// Texts in a batch of embeddings.
const BATCH: usize = 128;

/// A stopped data directory with 600 memories that were embedded with the built-in table.
struct EmbeddedCrates {
    data: PathBuf,
    /// Keeps the temporary folder.
    _folder: TempDir,
}

impl EmbeddedCrates {
    fn new() -> Self {
        let (folder, data) = fresh();
        let server = Server::start_with_models(&data, "");
        let texts: Vec<String> =
            (0..CRATES).map(|n| format!("Crate {n} holds the brass instruments of the orchestra")).collect();
        for part in texts.chunks(100) {
            remember_all(&server, "default", part);
        }
        wait_for("the memories", || any_is_found_by_cue(&server, "q=crate+599+brass+instruments"));
        wait_for("the memories", || memories(&server) == CRATES);
        server.kill();
        let crates = Self { data, _folder: folder };
        assert!(crates.index_state().contains("static-table:"));
        crates
    }

    /// Returns the state file of the index, which names the model. It is missing for a moment while an index replaces
    /// another.
    fn index_state(&self) -> String {
        std::fs::read_to_string(index(&self.data, "default").join("state")).unwrap_or_default()
    }

    /// Starts a server with a hosted model.
    fn start_hosted(&self, provider: &Provider) -> Server {
        let limits = "timeout_ms = 20000\nembedding_deadline_ms = 20000\n";
        let settings = format!("{}{limits}", provider.embedding_settings());
        Server::start_with_models(&self.data, &settings)
    }

    /// Starts a server with a slow hosted model and waits until it has embedded the first batch.
    fn start_reembedding(&self, provider: &Provider) -> Server {
        provider.embedding_fault(Some(Fault::Slow(500)));
        let server = self.start_hosted(provider);
        wait_for("a first batch", || provider.embedded().len() > BATCH);
        server
    }
}

#[test]
fn the_vectors_of_the_old_model_serve_during_reembedding() {
    let (crates, provider) = (EmbeddedCrates::new(), Provider::start());
    let calls = AtomicUsize::new(0);
    // Only the test call at the start and the first batch are answered, so re-embedding does not end.
    provider.inject_faults(move || (calls.fetch_add(1, Ordering::SeqCst) >= 2).then_some(Fault::Silence));
    let server = crates.start_hosted(&provider);
    wait_for("a first batch", || provider.embedded().len() > BATCH);
    assert!(any_is_found_by_cue(&server, "q=crate+17+brass+instruments"));
    assert!(crates.index_state().contains("static-table:"));
    let printed = models_command(&crates.data, "");
    assert!(printed.contains("behind     default/default"), "{printed}");
}

#[test]
fn reembedding_resumes_after_a_kill_without_repeating_work() {
    let (crates, provider) = (EmbeddedCrates::new(), Provider::start());
    crates.start_reembedding(&provider).kill();
    let server = crates.start_hosted(&provider);
    server.remember("default", &["Crate 600 holds the conductor's umbrella"]);
    provider.embedding_fault(None);
    wait_for("the new model", || crates.index_state().contains("hosted:"));
    wait_for("vectors", || best_is_found_by_cue(&server, "default", "q=whose+umbrella+is+in+crate+600"));
    assert!(any_is_found_by_cue(&server, "q=crate+18+brass+instruments"));
    // A memory is found shortly before the acknowledgement of its write counts it.
    wait_for("the number of memories", || memories(&server) == CRATES + 1);
    let mut embedded: Vec<String> =
        provider.embedded().into_iter().filter(|text| text.starts_with("User: Crate")).collect();
    let all = embedded.len();
    embedded.sort();
    embedded.dedup();
    assert_eq!(embedded.len(), CRATES + 1);
    // Only the batch in flight at the kill may be embedded a second time.
    assert!(all - embedded.len() <= BATCH, "{all}");
    let indexes = crates.data.join("indexes/default");
    wait_for("the old index to be removed", || std::fs::read_dir(&indexes).expect("a folder").count() == 1);
}

#[test]
fn switching_back_to_the_built_in_model_reembeds() {
    let (crates, provider) = (EmbeddedCrates::new(), Provider::start());
    let server = crates.start_hosted(&provider);
    wait_for("the hosted model", || crates.index_state().contains("hosted:"));
    server.kill();
    let server = Server::start_with_models(&crates.data, "");
    wait_for("the built-in model", || crates.index_state().contains("static-table:"));
    // The server uses the new index a moment after the file is there.
    wait_for("its vectors", || any_is_found_by_cue(&server, "q=crate+18+brass+instruments"));
}

#[test]
fn a_missing_local_encoder_is_refused_at_the_start() {
    let (_folder, data) = fresh();
    let output = with_models(&data, "[model]\nlocal = '/nowhere/at/all'\n", &["serve"]).output().expect("runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("model.local") && error.contains("/nowhere/at/all"), "{error}");
}

/// Returns the folder of all-MiniLM-L6-v2 if `CUEBASE_TEST_ENCODER` names one.
fn encoder() -> Option<PathBuf> {
    std::env::var_os("CUEBASE_TEST_ENCODER").map(PathBuf::from).filter(|folder| folder.exists())
}

#[test]
fn a_local_encoder_serves_queries() {
    let Some(encoder) = encoder() else {
        eprintln!("CUEBASE_TEST_ENCODER names no folder: the local encoder was not tested");
        return;
    };
    let (_folder, data) = fresh();
    let settings = format!("[model]\nlocal = '{}'\n", encoder.display());
    let server = Server::start_with_models(&data, &settings);
    server.remember("default", &["The kitten fell asleep on the radiator", "Rates were raised by the bank"]);
    wait_for("the memories", || best_is_found_by_cue(&server, "default", "q=where+does+the+young+cat+nap"));
    let contents = server.retrieve("default", "q=where+does+the+young+cat+nap").contents();
    assert!(contents[0].contains("kitten"), "{contents:?}");
    let printed = models_command(&data, &settings);
    assert!(printed.contains("local-int8:384:") && printed.contains("per second"), "{printed}");
}
