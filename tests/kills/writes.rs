//! The kinds of writes during which servers are killed.

use serde_json::{Value, json};

use super::{CREATED, DELETED, NAMESPACE, Origin};
use crate::support::Server;

/// A kind of write.
#[derive(Clone, Copy, Debug)]
pub(super) enum Write {
    /// A direct write to a new path.
    Direct,
    /// A direct write to an existing path.
    Overwrite,
    /// A conversation to remember.
    Queued,
    /// A message for a managed conversation.
    Append,
    /// A deletion of a memory.
    Forget,
    Erasure,
    /// A push of a commit.
    Push,
    Rewind,
    /// An edit of a message on a new branch.
    Edit,
    EditInPlace,
    ConversationDeletion,
    Upload,
    NamespaceCreation,
    NamespaceDeletion,
}

/// A request and its credential.
struct Request<'a> {
    method: &'static str,
    path: String,
    body: Value,
    credential: &'a str,
}

impl Write {
    /// Sends the write. Returns `None` if the server has been killed.
    pub(super) fn send(self, origin: &Origin, server: &Server) -> Option<()> {
        let Some(request) = self.request(origin) else {
            origin.working_copy.point_at(server, NAMESPACE);
            return origin.working_copy.push().then_some(());
        };
        let bearer = format!("Bearer {}", request.credential);
        let body = if request.body.is_null() { None } else { Some(request.body.to_string().into_bytes()) };
        let answer = server.try_request(request.method, &request.path, Some(&bearer), body).ok()?;
        // A repeated deletion finds nothing to delete.
        let is_repeated_deletion = request.method == "DELETE" && answer.status == 404;
        assert!((200..300).contains(&answer.status) || is_repeated_deletion, "{self:?}: {answer:?}");
        Some(())
    }

    /// Whether the same request a second time changes nothing. The others add another object each time.
    pub(super) fn can_be_repeated(self) -> bool {
        !matches!(self, Self::Append | Self::Edit | Self::Upload)
    }

    /// Returns the request of the write; `None` for a push, which git sends.
    fn request(self, origin: &Origin) -> Option<Request<'_>> {
        let talk = format!("/v1/conversations/{}", origin.conversation);
        let (first, second) = (&origin.messages[0], &origin.messages[1]);
        let edited = json!({"content": "Edited"});
        let (method, path, body) = match self {
            Self::Push => return None,
            Self::Direct => ("POST", "/v1/memories/facts/new.md".into(), json!({"content": "# The gramophone\n"})),
            Self::Overwrite => ("POST", "/v1/memories/facts/quay.md".into(), json!({"content": "# The gramophone\n"})),
            Self::Queued => ("POST", "/v1/memories".into(), said("The parcel on the quay holds a harmonium")),
            Self::Append => ("POST", format!("{talk}/messages"), said("The harbour sold an astrolabe in Lisbon")),
            Self::Forget => ("DELETE", "/v1/memories/facts/rope.md".into(), Value::Null),
            Self::Erasure => ("POST", "/v1/erase".into(), json!({"paths": ["facts/rope.md"]})),
            Self::Rewind => ("POST", format!("{talk}/rewind"), json!({"to": first})),
            Self::Edit => ("POST", format!("{talk}/messages/{second}/edit"), edited),
            Self::EditInPlace => ("PATCH", format!("{talk}/messages/{second}"), edited),
            Self::ConversationDeletion => ("DELETE", talk, Value::Null),
            Self::Upload => ("POST", "/v1/media".into(), json!("A photograph of the quay")),
            Self::NamespaceCreation => ("POST", "/v1/namespaces".into(), json!({"name": CREATED})),
            Self::NamespaceDeletion => ("DELETE", format!("/v1/namespaces/{DELETED}"), Value::Null),
        };
        let needs_session = matches!(self, Self::Erasure | Self::NamespaceDeletion);
        let credential = if needs_session { &origin.session } else { &origin.key };
        Some(Request { method, path, body, credential })
    }
}

/// Returns the body of a request with one message.
fn said(content: &str) -> Value {
    json!({"messages": [{"role": "user", "content": content}]})
}
