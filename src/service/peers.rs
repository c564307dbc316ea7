//! Questions to the other nodes of a cluster, and their answers.
//!
//! A request that concerns namespaces or queues of several nodes asks each of those nodes for its part. A question and
//! its answer are bytes (postcard, [`encode`] and [`decode`]), and [`PeerCalls`] carries them: `server` implements it,
//! because the services know no HTTP. `api::peers` answers the questions. A single process has no peers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use cuebase_storage::error::DiskTrouble;
use cuebase_storage::{AccountId, NamespaceKey};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// The version of what nodes send to each other: forwarded requests, questions and answers. Every change of a question
/// or an answer raises it, because their encoding names no fields. Nodes of another version are refused.
pub const PROTOCOL: u32 = 4;

/// Carries questions to other nodes.
pub trait PeerCalls: Send + Sync {
    /// Sends a question to the internal listener at an address and returns the answer. Blocks until then.
    ///
    /// # Errors
    ///
    /// The node cannot be reached, does not answer in time, or refuses the call.
    fn call(&self, address: &str, question: Vec<u8>) -> Result<Vec<u8>>;

    /// Returns the addresses of the other live nodes, in a fixed order. A node that joined a moment ago is among them.
    ///
    /// # Errors
    ///
    /// The records cannot be read.
    fn others(&self) -> Result<Vec<String>>;

    /// Makes sure that this node owns a namespace, and claims it if nobody does.
    ///
    /// # Errors
    ///
    /// [`Error::Elsewhere`] if another node owns it.
    fn hold(&self, namespace: &NamespaceKey) -> Result<()>;
}

/// Runs commands of operators that other nodes send, because this node owns the namespace. `control` implements it.
pub trait PeerCommands: Send + Sync {
    /// Runs a command, as JSON, and returns its result, as JSON. Blocks until the command has ended.
    ///
    /// # Errors
    ///
    /// [`Error::Elsewhere`] if another node owns the namespace, and nothing has changed; else those of the command.
    fn run(&self, command: &str) -> Result<String>;
}

/// The other nodes. Without a connection, the process is alone.
#[derive(Default)]
pub struct Peers {
    calls: OnceLock<Arc<dyn PeerCalls>>,
    /// Runs the commands that other nodes send.
    commands: OnceLock<Arc<dyn PeerCommands>>,
}

/// A question to another node, about one account. The asking node has checked that the caller may ask it.
#[derive(Debug, Serialize, Deserialize)]
pub struct PeerQuestion {
    /// The account.
    pub account: AccountId,
    /// What the node is asked for.
    pub topic: PeerTopic,
    /// The rest of the question, encoded. What it is depends on the topic.
    pub details: Vec<u8>,
}

/// What a node is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerTopic {
    /// The result of a search in one of its namespaces.
    Search,
    /// The claims in one of its namespaces that a query asks for.
    Claims,
    /// What it counted for `GET /v1/statistics`.
    Statistics,
    /// Its part of the queue and its jobs, for `GET /v1/queue`.
    Queue,
    /// To write the units that it counted in memory, before their sums are read.
    WriteUsage,
    /// To write the calls of models that it counted in memory, before their sums are read.
    WriteModelCalls,
    /// The number of writes that the chat model has answered since its start.
    AnsweredWrites,
    /// To run a command of an operator.
    Command,
}

/// The answer of a node.
#[derive(Debug, Serialize, Deserialize)]
enum PeerAnswer<T> {
    Done(T),
    Failed(PeerError),
}

/// An error that another node answered with. It leads to the same response as on that node.
#[derive(Debug, Serialize, Deserialize)]
enum PeerError {
    NotFound { code: String, message: String },
    Unavailable { code: String, message: String },
    LimitReached { code: String, message: String, retry_after: u64 },
    Disk { trouble: SentTrouble, reason: String },
    NamespaceGone,
    DamagedNamespace(String),
    Damaged(String),
    Elsewhere { address: String },
    Internal(String),
}

/// A [`DiskTrouble`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum SentTrouble {
    Full,
    ReadOnly,
    TooManyOpenFiles,
    Failing,
    Unreachable,
    Inaccessible,
}

impl Peers {
    /// Connects the process to the other nodes, before its first request. Only the first call has an effect.
    pub fn connect(&self, calls: Arc<dyn PeerCalls>) {
        self.calls.get_or_init(|| calls);
    }

    /// Makes this node run the commands that other nodes send. Only the first call has an effect.
    pub fn accept_commands(&self, commands: Arc<dyn PeerCommands>) {
        self.commands.get_or_init(|| commands);
    }

    /// Runs a command that another node sent, see [`PeerCommands::run`].
    ///
    /// # Errors
    ///
    /// Those of [`PeerCommands::run`], and [`Error::Unavailable`] while this node starts.
    pub fn run_command(&self, command: &str) -> Result<String> {
        match self.commands.get() {
            Some(commands) => commands.run(command),
            None => {
                let message = "the node that owns the namespace is starting: run the command again".into();
                Err(Error::Unavailable { code: ErrorCode::StorageUnavailable, message })
            }
        }
    }

    /// Returns whether the process is alone: its calls of the service never wait for another node.
    pub fn is_alone(&self) -> bool {
        self.calls.get().is_none()
    }

    /// Returns the addresses of the other live nodes; none for a single process.
    ///
    /// # Errors
    ///
    /// Those of [`PeerCalls::others`].
    pub fn others(&self) -> Result<Vec<String>> {
        match self.calls.get() {
            Some(calls) => calls.others(),
            None => Ok(Vec::new()),
        }
    }

    /// Claims a namespace for this node, see [`PeerCalls::hold`].
    ///
    /// # Errors
    ///
    /// Those of [`PeerCalls::hold`], and [`Error::NotOwner`] without a connection.
    pub fn hold(&self, namespace: &NamespaceKey) -> Result<()> {
        match self.calls.get() {
            Some(calls) => calls.hold(namespace),
            None => Err(Error::NotOwner(namespace.clone())),
        }
    }

    /// Asks the node at an address and returns its answer.
    ///
    /// # Errors
    ///
    /// The error that the node answers with, and those of [`PeerCalls::call`].
    pub fn ask<A: DeserializeOwned>(
        &self,
        address: &str,
        account: &AccountId,
        topic: PeerTopic,
        details: &impl Serialize,
    ) -> Result<A> {
        let Some(calls) = self.calls.get() else {
            return Err(Error::Elsewhere { address: address.to_owned() });
        };
        let details = encode(details)?;
        let question = encode(&PeerQuestion { account: account.clone(), topic, details })?;
        let answer = calls.call(address, question)?;
        match decode(&answer)? {
            PeerAnswer::Done(answer) => Ok(answer),
            PeerAnswer::Failed(error) => Err(error.into()),
        }
    }

    /// Asks all other nodes at the same time, without details. Returns the answers by address. A node that started
    /// again is asked once, although its former session may seem to live.
    ///
    /// # Errors
    ///
    /// Those of [`PeerCalls::others`].
    pub fn ask_all<A: DeserializeOwned + Send>(
        &self,
        account: &AccountId,
        topic: PeerTopic,
    ) -> Result<BTreeMap<String, Result<A>>> {
        let addresses: BTreeSet<String> = self.others()?.into_iter().collect();
        let mut answers = BTreeMap::new();
        std::thread::scope(|scope| {
            let mut calls = Vec::with_capacity(addresses.len());
            for address in addresses {
                let asked = address.clone();
                let thread = std::thread::Builder::new().name("question".into());
                let call = thread.spawn_scoped(scope, move || -> Result<A> { self.ask(&asked, account, topic, &()) });
                calls.push((address, call));
            }
            for (address, call) in calls {
                let answer = match call {
                    Ok(call) => call.join().unwrap_or_else(|_| Err(Error::internal("a question to a node panicked"))),
                    Err(error) => Err(Error::internal(error)),
                };
                answers.insert(address, answer);
            }
        });
        Ok(answers)
    }
}

/// Encodes a question or its details.
///
/// # Errors
///
/// A value that cannot be encoded, which is a fault of the server.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(Error::internal)
}

/// Decodes a question, its details or an answer.
///
/// # Errors
///
/// Bytes that are not its form: the other node runs another version.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|_| {
        Error::internal("the message of another node cannot be decoded: run the same version on all nodes")
    })
}

/// Encodes the answer to a question, which may be an error.
///
/// # Errors
///
/// An answer that cannot be encoded, which is a fault of the server.
pub fn encode_answer<T: Serialize>(answer: Result<T>) -> Result<Vec<u8>> {
    match answer {
        Ok(answer) => encode(&PeerAnswer::Done(answer)),
        Err(error) => encode(&PeerAnswer::<T>::Failed(PeerError::from(error))),
    }
}

impl From<Error> for PeerError {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound { code, message } => Self::NotFound { code: code.to_string(), message },
            Error::Unavailable { code, message } => Self::Unavailable { code: code.to_string(), message },
            Error::LimitReached { code, message, retry_after } => {
                Self::LimitReached { code: code.to_string(), message, retry_after }
            }
            Error::Disk { trouble, reason } => Self::Disk { trouble: trouble.into(), reason },
            Error::NamespaceGone => Self::NamespaceGone,
            Error::DamagedNamespace(detail) => Self::DamagedNamespace(detail),
            Error::Damaged(detail) => Self::Damaged(detail),
            Error::Elsewhere { address } => Self::Elsewhere { address },
            // Given up during the answer. The same question can succeed at the next owner.
            lost @ Error::NotOwner(_) => Self::Disk { trouble: SentTrouble::Unreachable, reason: lost.to_string() },
            other => Self::Internal(other.to_string()),
        }
    }
}

impl From<PeerError> for Error {
    fn from(error: PeerError) -> Self {
        match error {
            PeerError::NotFound { code, message } => Self::NotFound { code: known_code(&code), message },
            PeerError::Unavailable { code, message } => Self::Unavailable { code: known_code(&code), message },
            PeerError::LimitReached { code, message, retry_after } => {
                Self::LimitReached { code: known_code(&code), message, retry_after }
            }
            PeerError::Disk { trouble, reason } => Self::Disk { trouble: trouble.into(), reason },
            PeerError::NamespaceGone => Self::NamespaceGone,
            PeerError::DamagedNamespace(detail) => Self::DamagedNamespace(detail),
            PeerError::Damaged(detail) => Self::Damaged(detail),
            PeerError::Elsewhere { address } => Self::Elsewhere { address },
            PeerError::Internal(detail) => Self::Internal(detail),
        }
    }
}

/// Returns the error code with a text. A code that this version does not know becomes an internal error.
fn known_code(text: &str) -> ErrorCode {
    ErrorCode::from_text(text).unwrap_or(ErrorCode::Internal)
}

impl From<DiskTrouble> for SentTrouble {
    fn from(trouble: DiskTrouble) -> Self {
        match trouble {
            DiskTrouble::Full => Self::Full,
            DiskTrouble::ReadOnly => Self::ReadOnly,
            DiskTrouble::TooManyOpenFiles => Self::TooManyOpenFiles,
            DiskTrouble::Failing => Self::Failing,
            DiskTrouble::Unreachable => Self::Unreachable,
            DiskTrouble::Inaccessible => Self::Inaccessible,
        }
    }
}

impl From<SentTrouble> for DiskTrouble {
    fn from(trouble: SentTrouble) -> Self {
        match trouble {
            SentTrouble::Full => Self::Full,
            SentTrouble::ReadOnly => Self::ReadOnly,
            SentTrouble::TooManyOpenFiles => Self::TooManyOpenFiles,
            SentTrouble::Failing => Self::Failing,
            SentTrouble::Unreachable => Self::Unreachable,
            SentTrouble::Inaccessible => Self::Inaccessible,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers every call with the same bytes.
    struct FixedAnswer(Vec<u8>);

    impl PeerCalls for FixedAnswer {
        fn call(&self, _address: &str, question: Vec<u8>) -> Result<Vec<u8>> {
            let question: PeerQuestion = decode(&question)?;
            assert_eq!((question.topic, decode::<u32>(&question.details)?), (PeerTopic::Queue, 5));
            Ok(self.0.clone())
        }

        fn others(&self) -> Result<Vec<String>> {
            Ok(vec!["10.0.0.2:7071".into()])
        }

        fn hold(&self, _namespace: &NamespaceKey) -> Result<()> {
            Ok(())
        }
    }

    fn asked(answer: Result<u32>) -> Result<u32> {
        let peers = Peers::default();
        peers.connect(Arc::new(FixedAnswer(encode_answer(answer).expect("encodes"))));
        peers.ask("10.0.0.2:7071", &AccountId::new("a").expect("valid"), PeerTopic::Queue, &5_u32)
    }

    #[test]
    fn an_answer_is_read_back() {
        assert_eq!(asked(Ok(7)).expect("an answer"), 7);
    }

    #[test]
    fn an_error_of_another_node_has_the_same_code_and_text_here() {
        for error in [
            Error::not_found(ErrorCode::NamespaceNotFound, "no such namespace"),
            Error::Unavailable { code: ErrorCode::BackupInProgress, message: "later".into() },
            Error::LimitReached { code: ErrorCode::RateLimited, message: "slower".into(), retry_after: 3 },
            Error::Disk { trouble: DiskTrouble::ReadOnly, reason: "read-only".into() },
            Error::NamespaceGone,
            Error::DamagedNamespace("no head".into()),
            Error::Damaged("a record".into()),
            Error::Elsewhere { address: "10.0.0.3:7071".into() },
            Error::Internal("a fault".into()),
        ] {
            let expected = format!("{error:?}");
            let found = asked(Err(error)).expect_err("an error");
            assert_eq!(format!("{found:?}"), expected);
        }
    }

    #[test]
    fn a_namespace_that_was_given_up_during_an_answer_can_be_asked_for_again() {
        let namespace = NamespaceKey {
            account: AccountId::default(),
            name: cuebase_storage::NamespaceName::default(),
            id: cuebase_storage::NamespaceId::default(),
        };
        let found = asked(Err(Error::NotOwner(namespace))).expect_err("an error");
        assert!(found.is_temporary() && found.response_code() == ErrorCode::StorageUnavailable, "{found:?}");
    }

    /// Three other nodes, one of which has two sessions. Only one node can be reached.
    struct OneOfThree;

    impl PeerCalls for OneOfThree {
        fn call(&self, address: &str, question: Vec<u8>) -> Result<Vec<u8>> {
            let question: PeerQuestion = decode(&question)?;
            assert_eq!((question.topic, question.details.len()), (PeerTopic::WriteUsage, 0));
            match address {
                "node-2:1" => encode_answer(Ok(())),
                "node-3:1" => encode_answer::<()>(Err(Error::internal("a fault"))),
                _ => Err(Error::Disk { trouble: DiskTrouble::Unreachable, reason: "ended".into() }),
            }
        }

        fn others(&self) -> Result<Vec<String>> {
            Ok(vec!["node-4:1".into(), "node-2:1".into(), "node-3:1".into(), "node-2:1".into()])
        }

        fn hold(&self, _namespace: &NamespaceKey) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn all_nodes_are_asked_although_one_fails_or_cannot_be_reached() {
        let peers = Peers::default();
        peers.connect(Arc::new(OneOfThree));
        let account = AccountId::new("a").expect("valid");
        let answers = peers.ask_all::<()>(&account, PeerTopic::WriteUsage).expect("asks");
        let mut shown = Vec::new();
        for (address, answer) in answers {
            shown.push(format!("{address} {}", answer.is_ok()));
        }
        assert_eq!(shown, ["node-2:1 true", "node-3:1 false", "node-4:1 false"]);
    }

    /// Repeats commands.
    struct Echo;

    impl PeerCommands for Echo {
        fn run(&self, command: &str) -> Result<String> {
            Ok(format!("ran {command}"))
        }
    }

    #[test]
    fn commands_are_run_once_the_node_has_started() {
        let peers = Peers::default();
        let early = peers.run_command("a").expect_err("the node is starting");
        assert_eq!(early.response_code(), ErrorCode::StorageUnavailable);
        peers.accept_commands(Arc::new(Echo));
        assert_eq!(peers.run_command("a").expect("runs"), "ran a");
    }

    #[test]
    fn a_single_process_asks_nobody() {
        let peers = Peers::default();
        assert!(peers.is_alone() && peers.others().expect("no nodes").is_empty());
        let account = AccountId::new("a").expect("valid");
        let asked: Result<u32> = peers.ask("10.0.0.2:7071", &account, PeerTopic::Queue, &5_u32);
        assert!(matches!(asked, Err(Error::Elsewhere { .. })), "{asked:?}");
    }

    #[test]
    fn bytes_of_another_version_are_an_error() {
        assert!(matches!(decode::<PeerQuestion>(&[9, 9, 9]), Err(Error::Internal(_))));
    }
}
