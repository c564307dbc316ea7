//! The configured models: the current embedding model, the former ones that older indexes were built with, and the chat
//! model.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use arc_swap::{ArcSwap, ArcSwapOption};
use cuebase_storage::Store;
use cuebase_storage::records::{EmbeddingRecord, ModelRecord};
use parking_lot::Mutex;

use super::choice;
use super::deadline::Deadline;
use super::embedder::Embedder;
use super::encoder::{BuiltInEncoder, LocalEncoder, Reader};
use super::error::ModelError;
use super::hosted::{CallCounts, Chat, Endpoint, HostedEmbedder};
use super::static_table::StaticTable;
use super::vectors::Vectors;
use crate::config::{BuiltInModel, EmbeddingChoice, ModelSettings};

/// Time limit of the test call to a hosted model at the start.
const PROBE_TIME: Duration = Duration::from_secs(5);
/// A time that no batch of a model in the process takes.
const UNLIMITED: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum time that a write waits for its vectors.
const WRITE_TIME: Duration = Duration::from_secs(10);

/// Returns a model in the binary.
pub fn built_in(model: BuiltInModel) -> anyhow::Result<Arc<dyn Embedder>> {
    Ok(match model {
        BuiltInModel::Table => Arc::new(StaticTable::built_in()?),
        BuiltInModel::Encoder | BuiltInModel::Reader => Arc::new(BuiltInEncoder::get()?),
    })
}

/// Packs the networks of a model in the binary in the background. Returns its reader, if it has one.
fn prepare(model: BuiltInModel) -> anyhow::Result<Option<&'static Reader>> {
    if model == BuiltInModel::Table {
        return Ok(None);
    }
    BuiltInEncoder::get()?.pack_in_background();
    if model != BuiltInModel::Reader {
        return Ok(None);
    }
    let reader = Reader::get()?;
    reader.pack_in_background();
    Ok(Some(reader))
}

/// Returns the embedding model of a choice: of the built-in ones that of a new data directory, if none is chosen. Loads a
/// local one; makes no network call.
pub fn embedder(choice: &EmbeddingChoice) -> anyhow::Result<Arc<dyn Embedder>> {
    Ok(match choice {
        EmbeddingChoice::BuiltIn(model) => built_in(model.unwrap_or(BuiltInModel::DEFAULT))?,
        EmbeddingChoice::Local { folder, precision } => {
            Arc::new(LocalEncoder::load(folder, *precision).context("setting model.local")?)
        }
        EmbeddingChoice::Hosted { endpoint, model } => {
            Arc::new(HostedEmbedder::new(Arc::new(Endpoint::new(endpoint)?), model))
        }
    })
}

/// Returns the reader of a choice: of the built-in models that of a new data directory, if none is chosen.
pub fn reader(choice: &EmbeddingChoice) -> anyhow::Result<Option<&'static Reader>> {
    Ok(match choice {
        EmbeddingChoice::BuiltIn(model) if model.unwrap_or(BuiltInModel::DEFAULT) == BuiltInModel::Reader => {
            Some(Reader::get()?)
        }
        EmbeddingChoice::BuiltIn(_) | EmbeddingChoice::Local { .. } | EmbeddingChoice::Hosted { .. } => None,
    })
}

/// Returns the configured chat model.
pub fn chat(settings: &ModelSettings) -> anyhow::Result<Option<Chat>> {
    let Some(chat) = &settings.chat else { return Ok(None) };
    Ok(Some(Chat::new(Arc::new(Endpoint::new(&chat.endpoint)?), &chat.model)))
}

/// The models of a running service.
pub struct Models {
    store: Arc<Store>,
    settings: ModelSettings,
    /// Vectors of the configured embedding model.
    current: ArcSwap<Vectors>,
    /// Vectors of the models of older indexes, by identity; `None` if the model is unavailable.
    former: Mutex<HashMap<String, Option<Arc<Vectors>>>>,
    /// Reads candidates of queries, if the built-in model has a reader.
    reader: ArcSwapOption<&'static Reader>,
    /// The configured embedding model, if it is hosted.
    hosted: Option<Arc<HostedEmbedder>>,
    chat: Option<Arc<Chat>>,
    /// Held while calls are noted, so that [`Models::note_calls`] also waits for those that another thread notes.
    noting: Mutex<()>,
}

impl Models {
    /// Opens the configured models. Loads a local one; makes no network call.
    pub fn open(settings: &ModelSettings, store: &Arc<Store>) -> anyhow::Result<Self> {
        let mut hosted = None;
        let mut reader = None;
        let current = match &settings.embedding {
            EmbeddingChoice::BuiltIn(configured) => {
                let record = choice::record(store, *configured)?;
                let model = configured.unwrap_or_else(|| choice::model_of(&record));
                reader = prepare(model)?;
                built_in(model)?
            }
            EmbeddingChoice::Hosted { endpoint, model } => {
                let embedder = Arc::new(HostedEmbedder::new(Arc::new(Endpoint::new(endpoint)?), model));
                hosted = Some(Arc::clone(&embedder));
                embedder
            }
            local @ EmbeddingChoice::Local { .. } => embedder(local)?,
        };
        if let EmbeddingChoice::Local { folder, .. } = &settings.embedding {
            // Absolute, so that a start from another working directory finds it.
            let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
            let folder = Some(folder.display().to_string());
            store.add_to_model(current.identity(), &ModelRecord { folder, ..ModelRecord::default() })?;
        }
        let chat = chat(settings)?.map(Arc::new);
        Ok(Self {
            store: Arc::clone(store),
            settings: settings.clone(),
            current: ArcSwap::from_pointee(Vectors::new(current, Some(Arc::clone(store)))),
            former: Mutex::default(),
            reader: ArcSwapOption::new(reader.map(Arc::new)),
            hosted,
            chat,
            noting: Mutex::default(),
        })
    }

    /// Makes a test call to a hosted embedding model. A model that does not respond is logged, since it may respond
    /// later.
    ///
    /// # Errors
    ///
    /// The model's vectors have too many dimensions.
    pub fn probe(&self) -> anyhow::Result<()> {
        let Some(hosted) = &self.hosted else { return Ok(()) };
        match hosted.embed(&["a test call"], Deadline::urgent(PROBE_TIME)) {
            Err(ModelError::TooLong { found }) => {
                bail!("setting model.embedding: {}", ModelError::TooLong { found })
            }
            Err(error) => {
                let (model, url) = (hosted.name(), hosted.endpoint().url());
                tracing::error!(model, url, %error, "the embedding model returns no vectors; until it does, memories are found by their words (is it running at model.base_url? `cuebase models` tests it)");
            }
            Ok(_) => {}
        }
        Ok(())
    }

    /// Returns the vectors of the configured embedding model.
    pub fn current(&self) -> Arc<Vectors> {
        self.current.load_full()
    }

    /// Returns the record of the built-in model; `None` if another model is configured.
    pub fn built_in_record(&self) -> cuebase_storage::Result<Option<EmbeddingRecord>> {
        match &self.settings.embedding {
            EmbeddingChoice::BuiltIn(configured) => Ok(Some(choice::record(&self.store, *configured)?)),
            EmbeddingChoice::Local { .. } | EmbeddingChoice::Hosted { .. } => Ok(None),
        }
    }

    /// Returns the built-in model that a setting selects, if one does.
    pub fn configured_built_in(&self) -> Option<BuiltInModel> {
        match &self.settings.embedding {
            EmbeddingChoice::BuiltIn(configured) => *configured,
            EmbeddingChoice::Local { .. } | EmbeddingChoice::Hosted { .. } => None,
        }
    }

    /// Embeds with the built-in model of a record from now on, and stores the record. Indexes keep their vectors until their
    /// namespaces are embedded again.
    pub fn use_built_in(&self, record: &EmbeddingRecord) -> anyhow::Result<()> {
        let chosen = choice::model_of(record);
        let (model, reader) = (built_in(chosen)?, prepare(chosen)?);
        self.store.put_embedding(record)?;
        self.reader.store(reader.map(Arc::new));
        if self.current().model().identity() != model.identity() {
            // It may have the model that is the current one now.
            self.former.lock().clear();
            self.current.store(Arc::new(Vectors::new(model, Some(Arc::clone(&self.store)))));
        }
        Ok(())
    }

    /// Returns the name of the configured embedding model: `built-in` or `built-in-encoder`, the name of its folder, or its
    /// name at its endpoint.
    pub fn embedding_name(&self) -> String {
        match &self.settings.embedding {
            EmbeddingChoice::BuiltIn(_) if self.current().model().is_immediate() => "built-in".to_owned(),
            EmbeddingChoice::BuiltIn(_) => "built-in-encoder".to_owned(),
            EmbeddingChoice::Local { folder, .. } => match folder.file_name() {
                Some(name) => name.to_string_lossy().into_owned(),
                None => "local".to_owned(),
            },
            EmbeddingChoice::Hosted { model, .. } => model.clone(),
        }
    }

    /// Returns the model that reads candidates of queries, if there is one.
    pub fn reader(&self) -> Option<&'static Reader> {
        self.reader.load().as_deref().copied()
    }

    /// Returns how long the reader may take for a query, unless the request says it.
    pub fn read_budget(&self) -> Duration {
        self.settings.read_budget
    }

    /// Returns the chat model, if one is configured.
    pub fn chat(&self) -> Option<&Arc<Chat>> {
        self.chat.as_ref()
    }

    /// Returns whether any model may be called over the network.
    pub fn are_remote(&self) -> bool {
        self.settings.endpoint.is_some() || self.chat.is_some()
    }

    /// Returns the deadline for the vector of a query.
    pub fn query_deadline(&self) -> Deadline {
        Deadline::urgent(self.settings.embedding_deadline)
    }

    /// Returns the deadline for the vectors of a write. After it, the write is committed without vectors and can be
    /// found by its words.
    pub fn write_deadline(&self) -> Deadline {
        Deadline::background(self.settings.call_time.min(WRITE_TIME))
    }

    /// Returns the deadline for a batch of vectors of background work. A model in the process has none, because it does not
    /// hang, and would only compute the batch again.
    pub fn background_deadline(&self) -> Deadline {
        let is_remote = self.current().model().is_remote();
        Deadline::background(if is_remote { self.settings.call_time } else { UNLIMITED })
    }

    /// Returns the time limit of a call to the chat model.
    pub fn chat_time(&self) -> Duration {
        self.settings.call_time
    }

    /// Returns the vectors of the model with this identity. `None` if the model is unavailable; its index is
    /// then searched by words until its memories are re-embedded.
    pub fn of(&self, identity: &str) -> Option<Arc<Vectors>> {
        let current = self.current();
        if current.model().identity() == identity {
            return Some(current);
        }
        let mut former = self.former.lock();
        if let Some(vectors) = former.get(identity) {
            return vectors.clone();
        }
        let vectors = match self.former_model(identity) {
            Some(model) => Some(Arc::new(Vectors::new(model, Some(Arc::clone(&self.store))))),
            None => {
                tracing::warn!(
                    model = identity,
                    "the former embedding model is unavailable; until re-embedding ends, its memories are found by their words"
                );
                None
            }
        };
        former.insert(identity.to_owned(), vectors.clone());
        vectors
    }

    /// Opens the model with this identity. `None` if it is not available, or differs from the one of that time.
    fn former_model(&self, identity: &str) -> Option<Arc<dyn Embedder>> {
        if let Ok(table) = StaticTable::built_in()
            && Embedder::identity(table) == identity
        {
            return Some(Arc::new(table));
        }
        if let Ok(encoder) = BuiltInEncoder::get()
            && encoder.identity() == identity
        {
            return Some(Arc::new(encoder));
        }
        if let Some(precision) = LocalEncoder::precision_of(identity) {
            let folder = self.store.model(identity).ok()??.folder?.into();
            let model = embedder(&EmbeddingChoice::Local { folder, precision }).ok()?;
            return if model.identity() == identity { Some(model) } else { None };
        }
        let (url, name) = HostedEmbedder::read_identity(identity)?;
        let endpoint = self.settings.endpoint.as_ref()?;
        // A key must not be sent to another endpoint than the one it is configured for.
        if endpoint.base_url != url {
            return None;
        }
        Some(Arc::new(HostedEmbedder::new(Arc::new(Endpoint::new(endpoint).ok()?), name)))
    }

    /// Adds the calls to hosted models since the last call of this method to the records.
    pub fn note_calls(&self) -> cuebase_storage::Result<()> {
        let _noting = self.noting.lock();
        for (identity, endpoint) in self.endpoints() {
            let counts = endpoint.take_counts();
            if counts == CallCounts::default() {
                continue;
            }
            let CallCounts { answered, failed, prompt_tokens, completion_tokens } = counts;
            let calls =
                ModelRecord { folder: None, calls: answered, failures: failed, prompt_tokens, completion_tokens };
            self.store.add_to_model(&identity, &calls)?;
        }
        Ok(())
    }

    /// Returns the endpoints in use, each with the identity of its model in the records.
    fn endpoints(&self) -> Vec<(String, &Endpoint)> {
        let mut endpoints = Vec::new();
        if let Some(hosted) = &self.hosted {
            endpoints.push((hosted.identity().to_owned(), hosted.endpoint()));
        }
        if let Some(chat) = &self.chat {
            endpoints.push((chat.identity(), chat.endpoint()));
        }
        endpoints
    }
}
