//! The writes of the campaign, and the checks of their results after a kill.
//!
//! An acknowledged write is stored exactly once. A write that was sent but not answered is stored once or not at all,
//! never in part. After an acknowledged deletion of a namespace nothing of it can be read, also after a namespace of
//! the same name is created. After a deletion that was not answered, all of the namespace exists or nothing. Text of an
//! acknowledged erasure cannot be read and is in no object of the history.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use serde_json::Value;

use super::{Campaign, ERASED, IMPORTED, PUSHED, namespaces};
use crate::support::conversation_state::ConversationState;
use crate::support::{Answer, Server, git, repository};

/// A possible state of a memory's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExpectedFile {
    Absent,
    /// The memory has exactly this content.
    Is(String),
    /// The memory's content contains this text.
    Holds(String),
}

impl ExpectedFile {
    fn allows(&self, read: &Answer) -> bool {
        let content = read.body["content"].as_str();
        match self {
            Self::Absent => read.status == 404,
            Self::Is(text) => content == Some(text.as_str()),
            Self::Holds(text) => content.is_some_and(|content| content.contains(text.as_str())),
        }
    }
}

/// The acknowledged writes to one generation of a namespace.
#[derive(Clone, Debug, Default)]
pub(super) struct Generation {
    /// Paths and contents.
    pub(super) files: Vec<(String, String)>,
    /// Tokens in the messages that memories are extracted from.
    pub(super) tokens: Vec<String>,
    pub(super) terms: Vec<String>,
    /// Ids and contents, which are text.
    pub(super) media: Vec<(String, String)>,
    /// Signed URLs, created by a server that has been killed.
    pub(super) urls: Vec<String>,
    pub(super) conversations: Vec<String>,
    /// Routes of documents and of kept conversations.
    pub(super) routes: Vec<String>,
}

/// Whether a generation of a namespace was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Alive,
    Deleted,
    /// A deletion was sent but not answered.
    Unknown,
}

/// An acknowledged write, with the possible results of later writes to the same object.
#[derive(Clone, Debug)]
pub(super) enum RecordedWrite {
    /// A memory extracted from a conversation.
    Memory {
        namespace: String,
        token: String,
    },
    /// A direct write to a memory's path. Its contents have the token. `is_only_direct` means that no queued write
    /// changes the path.
    File {
        namespace: String,
        path: String,
        token: String,
        is_only_direct: bool,
        possible: Vec<ExpectedFile>,
    },
    /// A vocabulary term: whether it may be known.
    Term {
        namespace: String,
        term: String,
        possible: Vec<bool>,
    },
    Skill {
        namespace: String,
        path: String,
        token: String,
    },
    /// A message of the conversation that every round appends to.
    Message {
        conversation: String,
        token: String,
    },
    Conversation {
        id: String,
        possible: Vec<Option<ConversationState>>,
    },
    Media {
        id: String,
        bytes: String,
    },
    /// A commit whose push succeeded.
    Pushed {
        commit: String,
        path: String,
        token: String,
    },
    Import {
        file: PathBuf,
        tokens: Vec<String>,
        is_in: bool,
    },
    Generation {
        namespace: String,
        generation: Generation,
        fate: Fate,
    },
    /// An API key: whether it may be valid.
    Key {
        id: String,
        key: String,
        can_work: Vec<bool>,
    },
    Recharge {
        id: String,
        amount: i64,
        is_paid: bool,
    },
    /// A document: the tokens of all its versions, and the tokens that its passages may have, in order. A deleted
    /// document has none.
    Document {
        namespace: String,
        id: String,
        tokens: BTreeSet<String>,
        possible: Vec<Vec<String>>,
    },
    /// A kept conversation, which has a memory: whether it may be kept. Its session is the token.
    Source {
        namespace: String,
        id: String,
        token: String,
        possible: Vec<bool>,
    },
    /// Text in the namespace [`ERASED`] with the route of what contains it: whether it may be stored.
    Erased {
        token: String,
        route: String,
        possible: Vec<bool>,
    },
}

impl RecordedWrite {
    /// Names of the kinds. Every run must contain each of them.
    pub(super) const KINDS: [&'static str; 15] = [
        "memory",
        "file",
        "term",
        "skill",
        "message",
        "managed conversation",
        "media",
        "push",
        "import",
        "namespace",
        "key",
        "recharge",
        "document",
        "source",
        "erasure",
    ];

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory",
            Self::File { .. } => "file",
            Self::Term { .. } => "term",
            Self::Skill { .. } => "skill",
            Self::Message { .. } => "message",
            Self::Conversation { .. } => "managed conversation",
            Self::Media { .. } => "media",
            Self::Pushed { .. } => "push",
            Self::Import { .. } => "import",
            Self::Generation { .. } => "namespace",
            Self::Key { .. } => "key",
            Self::Recharge { .. } => "recharge",
            Self::Document { .. } => "document",
            Self::Source { .. } => "source",
            Self::Erased { .. } => "erasure",
        }
    }
}

/// All writes of the clients.
#[derive(Default)]
pub(super) struct WriteLog {
    pub(super) recorded: Vec<RecordedWrite>,
    /// Namespaces and tokens of all writes that were sent, also without an answer. None may be stored twice.
    pub(super) sent: Vec<(String, String)>,
}

/// Returns the number of hits that contain a token; zero if the namespace does not exist.
fn count_hits(server: &Server, namespace: &str, token: &str) -> usize {
    // The tokens of a campaign are alike, so the right memory is not always among the first few.
    let answer = server.retrieve(namespace, &format!("q={token}&limit=50"));
    if answer.status == 404 {
        return 0;
    }
    answer.contents().iter().filter(|hit| hit.contains(token)).count()
}

fn read(server: &Server, namespace: &str, path: &str) -> Answer {
    server.get(&format!("/v1/memories/{path}?namespace={namespace}"))
}

fn knows_term(server: &Server, namespace: &str, term: &str) -> bool {
    server.get(&format!("/v1/vocab?namespace={namespace}&word={term}")).body["found"] == true
}

/// Returns the tokens of a document's passages, in order; none if the document does not exist.
fn read_document(server: &Server, namespace: &str, id: &str, tokens: &BTreeSet<String>) -> Vec<String> {
    let document = server.get(&format!("/v1/documents/{id}?namespace={namespace}"));
    let mut found = Vec::new();
    if document.status == 404 {
        return found;
    }
    for passage in document.body["memories"].as_array().expect("passages") {
        let passage = read(server, namespace, passage["path"].as_str().expect("a path"));
        let content = passage.body["content"].as_str().expect("content");
        found.extend(tokens.iter().filter(|token| content.contains(token.as_str())).cloned());
    }
    found
}

/// Checks that exactly the stored ones of a document's passages are found, each once.
fn check_passages(server: &Server, namespace: &str, tokens: &BTreeSet<String>, stored: &[String]) {
    for token in tokens {
        let expected = usize::from(stored.contains(token));
        assert_eq!(count_hits(server, namespace, token), expected, "{token} of a document with {stored:?}");
    }
}

/// Returns whether a conversation is kept. A kept conversation must be listed once, another one not at all.
fn is_listed_source(server: &Server, namespace: &str, id: &str, session: &str) -> bool {
    let is_kept = server.get(&format!("/v1/sources/{id}?namespace={namespace}")).status == 200;
    let listed = server.get(&format!("/v1/sources?namespace={namespace}&session_id={session}")).body;
    let count = listed["sources"].as_array().map(Vec::len);
    assert_eq!(count, Some(usize::from(is_kept)), "{id}: {listed}");
    is_kept
}

impl Campaign {
    /// Checks the recorded writes from index `recorded_before` on, and that no write from index `sent_before` on is
    /// stored twice.
    pub(super) fn verify(&self, server: &Server, recorded_before: usize, sent_before: usize) {
        let listed = namespaces(server);
        let mut messages: HashMap<&str, String> = HashMap::new();
        for write in &self.log.recorded[recorded_before..] {
            match write {
                RecordedWrite::Message { conversation, token } => {
                    let all = messages.entry(conversation).or_insert_with(|| {
                        server.get(&format!("/v1/conversations/{conversation}")).body["messages"].to_string()
                    });
                    assert_eq!(all.matches(token.as_str()).count(), 1, "{write:?}");
                    assert_eq!(count_hits(server, "default", token), 1, "{write:?}");
                }
                RecordedWrite::Generation { namespace, generation, fate } => match fate {
                    Fate::Alive => self.check_exists(server, namespace, generation),
                    Fate::Deleted => self.check_gone(server, namespace, generation),
                    Fate::Unknown if listed.contains(namespace) => self.check_exists(server, namespace, generation),
                    Fate::Unknown => self.check_gone(server, namespace, generation),
                },
                write => self.check(server, write),
            }
        }
        for (namespace, token) in &self.log.sent[sent_before..] {
            assert!(count_hits(server, namespace, token) <= 1, "{token} is stored twice");
        }
        self.check_wallet(server);
    }

    /// Checks the direct writes from index `recorded_before` on, and returns what their paths have. Nothing was written
    /// since the start.
    pub(super) fn read_before_writes(&self, server: &Server, recorded_before: usize) -> Vec<EarlyRead> {
        let mut early = Vec::new();
        for write in &self.log.recorded[recorded_before..] {
            if let RecordedWrite::File { namespace, path, is_only_direct: true, .. } = write {
                self.check(server, write);
                let answer = read(server, namespace, path);
                assert!(matches!(answer.status, 200 | 404), "{write:?} {answer:?}");
                let content = answer.body["content"].clone();
                early.push(EarlyRead { namespace: namespace.clone(), path: path.clone(), content });
            }
        }
        early
    }

    /// Checks the result of one write.
    fn check(&self, server: &Server, write: &RecordedWrite) {
        match write {
            RecordedWrite::Memory { namespace, token } => {
                assert_eq!(count_hits(server, namespace, token), 1, "{write:?}");
            }
            RecordedWrite::File { namespace, path, token, possible, .. } => {
                let read = read(server, namespace, path);
                assert!(possible.iter().any(|state| state.allows(&read)), "{write:?} {read:?}");
                let is_stored = read.body["content"].as_str().is_some_and(|content| content.contains(token.as_str()));
                assert_eq!(count_hits(server, namespace, token), usize::from(is_stored), "{write:?} {read:?}");
            }
            RecordedWrite::Term { namespace, term, possible } => {
                assert!(possible.contains(&knows_term(server, namespace, term)), "{write:?}");
            }
            RecordedWrite::Skill { namespace, path, token } => {
                let read = read(server, namespace, path);
                assert!(ExpectedFile::Holds(token.clone()).allows(&read), "{write:?} {read:?}");
            }
            RecordedWrite::Conversation { id, possible } => {
                let found = ConversationState::read(server, id);
                assert!(possible.contains(&found), "{write:?} is {found:?}");
                if let Some(conversation) = &found {
                    check_remarks(server, conversation);
                }
            }
            RecordedWrite::Media { id, bytes } => self.check_media(server, id, bytes),
            RecordedWrite::Pushed { path, token, .. } => {
                let read = read(server, PUSHED, path);
                assert!(ExpectedFile::Holds(token.clone()).allows(&read), "{write:?} {read:?}");
                assert_eq!(count_hits(server, PUSHED, token), 1, "{write:?}");
            }
            RecordedWrite::Import { tokens, .. } => {
                for token in tokens {
                    assert_eq!(count_hits(server, IMPORTED, token), 1, "{token} of {write:?}");
                }
            }
            RecordedWrite::Key { id, key, can_work } => {
                let can_call = self.can_call(server, id, key);
                assert!(can_work.contains(&can_call), "{write:?}: {can_call}");
            }
            RecordedWrite::Document { namespace, id, tokens, possible } => {
                let found = read_document(server, namespace, id, tokens);
                assert!(possible.contains(&found), "{write:?} has {found:?}");
                check_passages(server, namespace, tokens, &found);
            }
            RecordedWrite::Source { namespace, id, token, possible } => {
                let is_kept = is_listed_source(server, namespace, id, token);
                assert!(possible.contains(&is_kept), "{write:?}: {is_kept}");
                assert_eq!(count_hits(server, namespace, token), 1, "{write:?}");
            }
            RecordedWrite::Erased { token, route, possible } => {
                let is_stored = server.get(route).status == 200;
                assert!(possible.contains(&is_stored), "{write:?}: {is_stored}");
                assert_eq!(count_hits(server, ERASED, token), usize::from(is_stored), "{write:?}");
            }
            // Checked in `verify` or in `check_wallet`.
            RecordedWrite::Message { .. } | RecordedWrite::Generation { .. } | RecordedWrite::Recharge { .. } => {}
        }
    }

    /// Returns whether a key is accepted, and checks that the list of keys agrees.
    fn can_call(&self, server: &Server, id: &str, key: &str) -> bool {
        let status = server.call_as(key, "GET", "/v1/whoami", None).status;
        assert!(matches!(status, 200 | 403), "{id}: {status}");
        let keys = server.call_as(&self.session, "GET", "/v1/keys", None).body["keys"].clone();
        let mut records = keys.as_array().expect("keys").iter();
        let record = records.find(|record| record["id"] == id).expect("the key is listed");
        assert_eq!(record["revoked"], status == 403, "{id}");
        status == 200
    }

    fn check_media(&self, server: &Server, id: &str, bytes: &str) {
        let address = server.get(&format!("/v1/media/{id}"));
        assert_eq!(address.status, 200, "media {id}: {address:?}");
        let opened = self.client.get(address.body["url"].as_str().expect("an address")).send().expect("answers");
        assert_eq!(opened.text().expect("text"), bytes, "media {id}");
    }

    /// Checks that all writes of a generation are stored.
    fn check_exists(&self, server: &Server, namespace: &str, generation: &Generation) {
        for (path, content) in &generation.files {
            let read = read(server, namespace, path);
            assert!(ExpectedFile::Is(content.clone()).allows(&read), "{namespace} {path}: {read:?}");
        }
        for token in &generation.tokens {
            assert_eq!(count_hits(server, namespace, token), 1, "{namespace}: {token}");
        }
        for term in &generation.terms {
            assert!(knows_term(server, namespace, term), "{namespace}: {term}");
        }
        for (id, bytes) in &generation.media {
            self.check_media(server, id, bytes);
        }
        for id in &generation.conversations {
            assert_eq!(server.get(&format!("/v1/conversations/{id}")).status, 200, "{namespace}: {id}");
        }
        for route in &generation.routes {
            assert_eq!(server.get(route).status, 200, "{route}");
        }
    }

    /// Checks that nothing of a generation can be read.
    fn check_gone(&self, server: &Server, namespace: &str, generation: &Generation) {
        for (path, _) in &generation.files {
            assert_eq!(read(server, namespace, path).status, 404, "{namespace} {path} came back");
        }
        for token in &generation.tokens {
            assert_eq!(count_hits(server, namespace, token), 0, "{namespace}: {token} came back");
        }
        for term in &generation.terms {
            assert!(!knows_term(server, namespace, term), "{namespace}: {term} came back");
        }
        for (id, _) in &generation.media {
            assert_eq!(server.get(&format!("/v1/media/{id}")).status, 404, "{namespace}: media {id} came back");
        }
        for url in &generation.urls {
            // The server that created the URL listened on another port.
            let path = &url[url.find("/v1/").expect("a path")..];
            let opened = self.client.get(format!("{}{path}", server.url)).send().expect("answers");
            assert_eq!(opened.status().as_u16(), 403, "{namespace}: {url} opens something");
        }
        for id in &generation.conversations {
            assert_eq!(server.get(&format!("/v1/conversations/{id}")).status, 404, "{namespace}: {id} came back");
        }
        for route in &generation.routes {
            assert_eq!(server.get(route).status, 404, "{route} came back");
        }
    }

    /// Checks that the balance is exactly the paid recharges minus the used units.
    fn check_wallet(&self, server: &Server) {
        let (billing, usage) = (server.get("/v1/billing").body, server.get("/v1/usage").body);
        if usage["period"] != self.period {
            // Usage covers the current month only.
            return;
        }
        let mut expected = 0;
        for write in &self.log.recorded {
            if let RecordedWrite::Recharge { id, amount, is_paid } = write {
                assert!(*is_paid, "{id}");
                expected += amount;
            }
        }
        for meter in ["writes", "reads", "chats"] {
            let rate = billing["rates_paise"][meter].as_i64().expect("paise");
            expected -= rate * usage["used"][meter].as_i64().expect("a count");
        }
        assert_eq!(billing["balance_paise"].as_i64(), Some(expected), "{billing} {usage}");
    }

    /// Checks that no object of the repository contains the text of an acknowledged erasure.
    pub(super) fn check_erased_history(&self) {
        let all = ["cat-file", "--batch-all-objects", "--unordered", "--batch"];
        let objects = git(&repository(&self.data, ERASED), &all);
        for write in &self.log.recorded {
            if let RecordedWrite::Erased { token, possible, .. } = write
                && !possible.contains(&true)
            {
                assert!(!objects.contains(token.as_str()), "{write:?} is in the repository");
            }
        }
    }

    /// Checks that the history contains every commit whose push succeeded.
    pub(super) fn check_pushes(&self, recorded_before: usize) {
        let history = git(&repository(&self.data, PUSHED), &["rev-list", "refs/heads/main"]);
        let history: BTreeSet<&str> = history.lines().collect();
        for write in &self.log.recorded[recorded_before..] {
            if let RecordedWrite::Pushed { commit, .. } = write {
                assert!(history.contains(commit.as_str()), "{write:?}");
            }
        }
    }
}

/// What a path had before the first write after a start.
pub(super) struct EarlyRead {
    namespace: String,
    path: String,
    /// Null if there was no memory.
    content: Value,
}

impl EarlyRead {
    /// Checks that later writes to other paths did not change the path.
    pub(super) fn check_again(&self, server: &Server) {
        let now = read(server, &self.namespace, &self.path).body["content"].clone();
        assert_eq!(now, self.content, "{} {} before and after other writes", self.namespace, self.path);
    }
}

/// Checks that each unchanged message of a conversation has exactly one memory.
fn check_remarks(server: &Server, conversation: &ConversationState) {
    let mut remarks = BTreeSet::new();
    for line in conversation.branches.values().flatten() {
        if let Some(rest) = line.strip_prefix("The remark ") {
            remarks.extend(rest.split(' ').next());
        }
    }
    for token in remarks {
        assert_eq!(count_hits(server, "other", token), 1, "{token}");
    }
}
