//! What was acknowledged in the campaign, and what must hold of it after a kill.
//!
//! A write that was acknowledged is there once. Of one that was sent and not answered either may hold, wholly: it is there
//! once, or not at all. Of a namespace whose deletion was acknowledged nothing can be read, also when one of its name is
//! there again; of a deletion that was not answered all of it is there, or nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use serde_json::Value;

use super::{BROUGHT, Campaign, PUSHED, namespaces};
use crate::support::{Answer, Server, git, repository};

/// What may be at a memory's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Absent,
    /// Exactly this.
    Is(String),
    /// Something with this in it.
    Holds(String),
}

impl State {
    fn allows(&self, read: &Answer) -> bool {
        let content = read.body["content"].as_str();
        match self {
            Self::Absent => read.status == 404,
            Self::Is(text) => content == Some(text.as_str()),
            Self::Holds(text) => content.is_some_and(|content| content.contains(text.as_str())),
        }
    }
}

/// A managed conversation: the texts of each branch, the first one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Talk {
    pub(super) title: String,
    pub(super) active: String,
    pub(super) branches: BTreeMap<String, Vec<String>>,
}

impl Talk {
    /// One without messages.
    pub(super) fn new(title: String) -> Self {
        let branches = BTreeMap::from([("main".to_owned(), Vec::new())]);
        Self { title, active: "main".into(), branches }
    }

    /// As the server has it; none where it does not.
    fn read(server: &Server, id: &str) -> Option<Self> {
        let at = format!("/v1/conversations/{id}");
        let record = server.get(&at);
        if record.status == 404 {
            return None;
        }
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let mut talk = Self { title: text(&record.body["title"]), active: String::new(), branches: BTreeMap::new() };
        let listed = server.get(&format!("{at}/branches")).body["branches"].clone();
        for branch in listed.as_array().expect("branches") {
            let name = text(&branch["name"]);
            let messages = server.get(&format!("{at}?branch={name}")).body["messages"].clone();
            let messages = messages.as_array().expect("messages").iter();
            talk.branches.insert(name.clone(), messages.map(|message| text(&message["content"])).collect());
            if branch["active"] == true {
                talk.active = name;
            }
        }
        Some(talk)
    }
}

/// What was acknowledged in one generation of a namespace.
#[derive(Clone, Debug, Default)]
pub(super) struct Generation {
    /// Paths with their contents.
    pub(super) files: Vec<(String, String)>,
    /// Of messages that memories are made from.
    pub(super) tokens: Vec<String>,
    pub(super) terms: Vec<String>,
    /// Ids with the bytes, which are text.
    pub(super) media: Vec<(String, String)>,
    /// Signed addresses, from a server that is gone.
    pub(super) urls: Vec<String>,
    pub(super) conversations: Vec<String>,
}

/// What became of a generation of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Alive,
    Deleted,
    /// Its deletion was sent and not answered.
    Unknown,
}

/// A write that was acknowledged, with what followed it at the same place.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// Made of a conversation.
    Memory {
        namespace: String,
        token: String,
    },
    /// A memory's path that was written to directly: in one of some states.
    File {
        namespace: String,
        path: String,
        may_be: Vec<State>,
    },
    /// A term: whether it may be known.
    Term {
        namespace: String,
        term: String,
        may_be: Vec<bool>,
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
    Talk {
        id: String,
        may_be: Vec<Option<Talk>>,
    },
    Media {
        id: String,
        bytes: String,
    },
    /// What git was told is in.
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
    /// A key: whether it may work.
    Key {
        id: String,
        key: String,
        may_work: Vec<bool>,
    },
    Recharge {
        id: String,
        amount: i64,
        is_paid: bool,
    },
}

impl Kept {
    /// The names of the kinds that must come up in every run.
    pub(super) const KINDS: [&'static str; 12] = [
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
    ];

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory",
            Self::File { .. } => "file",
            Self::Term { .. } => "term",
            Self::Skill { .. } => "skill",
            Self::Message { .. } => "message",
            Self::Talk { .. } => "managed conversation",
            Self::Media { .. } => "media",
            Self::Pushed { .. } => "push",
            Self::Import { .. } => "import",
            Self::Generation { .. } => "namespace",
            Self::Key { .. } => "key",
            Self::Recharge { .. } => "recharge",
        }
    }
}

/// What clients have been told, and what they do not know.
#[derive(Default)]
pub(super) struct Told {
    pub(super) kept: Vec<Kept>,
    /// Namespace and token of what was sent, whatever became of it: may be there, but not twice.
    pub(super) sent: Vec<(String, String)>,
}

/// How many hits hold a token; none in a namespace that is not there.
fn holding(server: &Server, namespace: &str, token: &str) -> usize {
    let answer = server.retrieve(namespace, &format!("q={token}&limit=5"));
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

impl Campaign {
    /// Everything that was acknowledged, from the `before`-th on, is there; nothing that was sent is there twice.
    pub(super) fn verify(&self, server: &Server, before: usize, begun: usize) {
        let listed = namespaces(server);
        let mut messages: HashMap<&str, String> = HashMap::new();
        for kept in &self.told.kept[before..] {
            match kept {
                Kept::Message { conversation, token } => {
                    let all = messages.entry(conversation).or_insert_with(|| {
                        server.get(&format!("/v1/conversations/{conversation}")).body["messages"].to_string()
                    });
                    assert_eq!(all.matches(token.as_str()).count(), 1, "{kept:?}");
                    assert_eq!(holding(server, "default", token), 1, "{kept:?}");
                }
                Kept::Generation { namespace, generation, fate } => match fate {
                    Fate::Alive => self.check_there(server, namespace, generation),
                    Fate::Deleted => self.check_gone(server, namespace, generation),
                    Fate::Unknown if listed.contains(namespace) => self.check_there(server, namespace, generation),
                    Fate::Unknown => self.check_gone(server, namespace, generation),
                },
                kept => self.check(server, kept),
            }
        }
        for (namespace, token) in &self.told.sent[begun..] {
            assert!(holding(server, namespace, token) <= 1, "{token} is there twice");
        }
        self.check_wallet(server);
    }

    /// What must hold of one write.
    fn check(&self, server: &Server, kept: &Kept) {
        match kept {
            Kept::Memory { namespace, token } => assert_eq!(holding(server, namespace, token), 1, "{kept:?}"),
            Kept::File { namespace, path, may_be } => {
                let read = read(server, namespace, path);
                assert!(may_be.iter().any(|state| state.allows(&read)), "{kept:?} {read:?}");
            }
            Kept::Term { namespace, term, may_be } => {
                assert!(may_be.contains(&knows_term(server, namespace, term)), "{kept:?}");
            }
            Kept::Skill { namespace, path, token } => {
                let read = read(server, namespace, path);
                assert!(State::Holds(token.clone()).allows(&read), "{kept:?} {read:?}");
            }
            Kept::Talk { id, may_be } => {
                let talk = Talk::read(server, id);
                assert!(may_be.contains(&talk), "{kept:?} is {talk:?}");
                check_remarks(server, &talk);
            }
            Kept::Media { id, bytes } => self.check_media(server, id, bytes),
            Kept::Pushed { path, token, .. } => {
                let read = read(server, PUSHED, path);
                assert!(State::Holds(token.clone()).allows(&read), "{kept:?} {read:?}");
                assert_eq!(holding(server, PUSHED, token), 1, "{kept:?}");
            }
            Kept::Import { tokens, .. } => {
                for token in tokens {
                    assert_eq!(holding(server, BROUGHT, token), 1, "{token} of {kept:?}");
                }
            }
            Kept::Key { id, key, may_work } => {
                let status = server.call_as(key, "GET", "/v1/whoami", None).status;
                assert!(matches!(status, 200 | 403), "{kept:?}: {status}");
                assert!(may_work.contains(&(status == 200)), "{kept:?}: {status}");
                let keys = server.call_as(&self.session, "GET", "/v1/keys", None).body["keys"].clone();
                let mut records = keys.as_array().expect("keys").iter();
                let record = records.find(|record| record["id"] == id.as_str()).expect("the key is listed");
                assert_eq!(record["revoked"], status == 403, "{kept:?}");
            }
            // Looked at together, or with what else is known.
            Kept::Message { .. } | Kept::Generation { .. } | Kept::Recharge { .. } => {}
        }
    }

    fn check_media(&self, server: &Server, id: &str, bytes: &str) {
        let address = server.get(&format!("/v1/media/{id}"));
        assert_eq!(address.status, 200, "media {id}: {address:?}");
        let opened = self.client.get(address.body["url"].as_str().expect("an address")).send().expect("answers");
        assert_eq!(opened.text().expect("text"), bytes, "media {id}");
    }

    /// All of a generation of a namespace is there.
    fn check_there(&self, server: &Server, namespace: &str, generation: &Generation) {
        for (path, content) in &generation.files {
            let read = read(server, namespace, path);
            assert!(State::Is(content.clone()).allows(&read), "{namespace} {path}: {read:?}");
        }
        for token in &generation.tokens {
            assert_eq!(holding(server, namespace, token), 1, "{namespace}: {token}");
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
    }

    /// Nothing of a generation of a namespace can be read, by whatever name.
    fn check_gone(&self, server: &Server, namespace: &str, generation: &Generation) {
        for (path, _) in &generation.files {
            assert_eq!(read(server, namespace, path).status, 404, "{namespace} {path} came back");
        }
        for token in &generation.tokens {
            assert_eq!(holding(server, namespace, token), 0, "{namespace}: {token} came back");
        }
        for term in &generation.terms {
            assert!(!knows_term(server, namespace, term), "{namespace}: {term} came back");
        }
        for (id, _) in &generation.media {
            assert_eq!(server.get(&format!("/v1/media/{id}")).status, 404, "{namespace}: media {id} came back");
        }
        for url in &generation.urls {
            // The address was given out by a server that listened elsewhere.
            let path = &url[url.find("/v1/").expect("a path")..];
            let opened = self.client.get(format!("{}{path}", server.url)).send().expect("answers");
            assert_eq!(opened.status().as_u16(), 403, "{namespace}: {url} opens something");
        }
        for id in &generation.conversations {
            assert_eq!(server.get(&format!("/v1/conversations/{id}")).status, 404, "{namespace}: {id} came back");
        }
    }

    /// Credits are the recharges that were paid, debits what was used; the balance is their difference, to the paisa.
    fn check_wallet(&self, server: &Server) {
        let (billing, usage) = (server.get("/v1/billing").body, server.get("/v1/usage").body);
        if usage["period"] != self.period {
            // Usage tells of the month alone.
            return;
        }
        let mut expected = 0;
        for kept in &self.told.kept {
            if let Kept::Recharge { id, amount, is_paid } = kept {
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

    /// Every commit that git was told is in is in the history.
    pub(super) fn check_pushes(&self, before: usize) {
        let history = git(&repository(&self.data, PUSHED), &["rev-list", "refs/heads/main"]);
        let history: BTreeSet<&str> = history.lines().collect();
        for kept in &self.told.kept[before..] {
            if let Kept::Pushed { commit, .. } = kept {
                assert!(history.contains(commit.as_str()), "{kept:?}");
            }
        }
    }
}

/// What stands in a conversation as it was appended was made a memory of, once.
fn check_remarks(server: &Server, talk: &Option<Talk>) {
    let mut remarks = BTreeSet::new();
    for line in talk.iter().flat_map(|talk| talk.branches.values()).flatten() {
        if let Some(rest) = line.strip_prefix("The remark ") {
            remarks.extend(rest.split(' ').next());
        }
    }
    for token in remarks {
        assert_eq!(holding(server, "other", token), 1, "{token}");
    }
}
