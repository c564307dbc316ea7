//! Which models there are: the one that vectors are made with, the ones that indexes of before were made with, and the
//! chat model.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use cuebase_storage::Store;
use cuebase_storage::records::ModelRecord;
use parking_lot::Mutex;

use super::encoder::LocalEncoder;
use super::hosted::{Chat, Endpoint, HostedEmbedder};
use super::{Deadline, Embedder, ModelError, StaticTable, Vectors};
use crate::config::{EmbeddingChoice, ModelSettings};

/// How long the first look at a hosted model may take.
const PROBE_TIME: Duration = Duration::from_secs(5);

/// How long a write waits for its vectors at most.
const WRITE_TIME: Duration = Duration::from_secs(10);

/// The model that a choice means. A local one is loaded; nobody is called.
pub fn embedder(choice: &EmbeddingChoice) -> anyhow::Result<Arc<dyn Embedder>> {
    Ok(match choice {
        EmbeddingChoice::BuiltIn => Arc::new(StaticTable::built_in()?),
        EmbeddingChoice::Local(folder) => Arc::new(LocalEncoder::load(folder).context("setting model.local")?),
        EmbeddingChoice::Hosted { endpoint, model } => {
            Arc::new(HostedEmbedder::new(Arc::new(Endpoint::new(endpoint)?), model))
        }
    })
}

/// The chat model that is configured.
pub fn chat(settings: &ModelSettings) -> anyhow::Result<Option<Chat>> {
    let Some((endpoint, model)) = &settings.chat else { return Ok(None) };
    Ok(Some(Chat::new(Arc::new(Endpoint::new(endpoint)?), model)))
}

/// The models of a running service.
pub struct Models {
    store: Arc<Store>,
    settings: ModelSettings,
    /// What vectors are made with from now on.
    current: Arc<Vectors>,
    /// What the vectors of older indexes were made with, by identity; none where it cannot be had any more.
    former: Mutex<HashMap<String, Option<Arc<Vectors>>>>,
    /// The endpoint of the current model, where it is hosted.
    hosted: Option<Arc<HostedEmbedder>>,
    chat: Option<Arc<Chat>>,
}

impl Models {
    /// The models that are configured. A local one is loaded; nobody is called.
    pub fn open(settings: &ModelSettings, store: &Arc<Store>) -> anyhow::Result<Self> {
        let mut hosted = None;
        let current = match &settings.embedding {
            EmbeddingChoice::Hosted { endpoint, model } => {
                let embedder = Arc::new(HostedEmbedder::new(Arc::new(Endpoint::new(endpoint)?), model));
                hosted = Some(Arc::clone(&embedder));
                embedder
            }
            in_process => embedder(in_process)?,
        };
        if let EmbeddingChoice::Local(folder) = &settings.embedding {
            // Absolute, so that it is found again from anywhere.
            let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
            let known = store.model(current.identity())?.unwrap_or_default();
            let folder = Some(folder.display().to_string());
            store.put_model(current.identity(), &ModelRecord { folder, ..known })?;
        }
        let chat = chat(settings)?.map(Arc::new);
        Ok(Self {
            store: Arc::clone(store),
            settings: settings.clone(),
            current: Arc::new(Vectors::new(current, Some(Arc::clone(store)))),
            former: Mutex::default(),
            hosted,
            chat,
        })
    }

    /// Has a first look at a hosted embedding model: one whose vectors are too long is refused, one that does not answer
    /// is told of in the log and may answer later.
    pub fn probe(&self) -> anyhow::Result<()> {
        let Some(hosted) = &self.hosted else { return Ok(()) };
        match hosted.embed(&["a first look"], Deadline::urgent(PROBE_TIME)) {
            Err(ModelError::TooLong { found }) => {
                bail!("setting model.embedding: {}", ModelError::TooLong { found })
            }
            Err(error) => {
                let (model, url) = (hosted.name(), hosted.endpoint().url());
                tracing::error!(model, url, %error, "the embedding model gives no vectors; memories are found by their words until it does (is it running at model.base_url? `cuebase models` tries it)");
            }
            Ok(_) => {}
        }
        Ok(())
    }

    /// What vectors are made with from now on.
    pub fn current(&self) -> &Arc<Vectors> {
        &self.current
    }

    /// The chat model, where one is configured.
    pub fn chat(&self) -> Option<&Arc<Chat>> {
        self.chat.as_ref()
    }

    /// Whether any may be asked over the network.
    pub fn are_remote(&self) -> bool {
        self.settings.endpoint.is_some() || self.chat.is_some()
    }

    /// How long a query may wait for its vector.
    pub fn query_patience(&self) -> Deadline {
        Deadline::urgent(self.settings.embedding_deadline)
    }

    /// How long a write waits for its vectors before it goes on without them, so that it can be found by its words.
    pub fn write_deadline(&self) -> Deadline {
        Deadline::of_work(self.settings.call_time.min(WRITE_TIME))
    }

    /// How long work that nobody waits for may wait for a batch of vectors.
    pub fn work_patience(&self) -> Deadline {
        Deadline::of_work(self.settings.call_time)
    }

    /// How long a chat may take.
    pub fn chat_time(&self) -> Duration {
        self.settings.call_time
    }

    /// What the vectors of an index of this model are made with; none where the model cannot be had any more: then its
    /// index is searched by words until its vectors are made anew.
    pub fn of(&self, identity: &str) -> Option<Arc<Vectors>> {
        if self.current.model().identity() == identity {
            return Some(Arc::clone(&self.current));
        }
        let mut former = self.former.lock();
        if let Some(known) = former.get(identity) {
            return known.clone();
        }
        let found =
            self.former_model(identity).map(|model| Arc::new(Vectors::new(model, Some(Arc::clone(&self.store)))));
        if found.is_none() {
            tracing::warn!(
                model = identity,
                "a model that vectors were made with is gone; memories are found by their words meanwhile"
            );
        }
        former.entry(identity.to_owned()).or_insert(found).clone()
    }

    fn former_model(&self, identity: &str) -> Option<Arc<dyn Embedder>> {
        if let Ok(table) = StaticTable::built_in()
            && Embedder::identity(table) == identity
        {
            return Some(Arc::new(table));
        }
        if LocalEncoder::is_identity(identity) {
            let folder = self.store.model(identity).ok()??.folder?;
            let model = embedder(&EmbeddingChoice::Local(folder.into())).ok()?;
            return (model.identity() == identity).then_some(model);
        }
        let (url, name) = HostedEmbedder::read_identity(identity)?;
        // A key is shown to the endpoint that it was configured for, and to no other.
        let endpoint = self.settings.endpoint.as_ref().filter(|endpoint| endpoint.base_url == url)?;
        Some(Arc::new(HostedEmbedder::new(Arc::new(Endpoint::new(endpoint).ok()?), name)))
    }

    /// Adds to the records how much the hosted models were called since this was last done.
    pub fn note_calls(&self) -> cuebase_storage::Result<()> {
        for (identity, endpoint) in self.endpoints() {
            let calls = endpoint.take_calls();
            if calls == super::hosted::Calls::default() {
                continue;
            }
            let mut record = self.store.model(&identity)?.unwrap_or_default();
            record.calls += calls.answered;
            record.failures += calls.failed;
            record.prompt_tokens += calls.prompt_tokens;
            record.completion_tokens += calls.completion_tokens;
            self.store.put_model(&identity, &record)?;
        }
        Ok(())
    }

    /// The endpoints that are called, with what stands for their models in the records.
    fn endpoints(&self) -> impl Iterator<Item = (String, &Endpoint)> {
        let hosted = self.hosted.iter().map(|hosted| (hosted.identity().to_owned(), hosted.endpoint()));
        hosted.chain(self.chat.iter().map(|chat| (chat.identity(), chat.endpoint())))
    }
}
