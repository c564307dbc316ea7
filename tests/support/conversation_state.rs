//! The state of a managed conversation, as a client reads it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Server;

/// The state of a managed conversation. Each branch has the texts of its messages, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConversationState {
    pub(crate) title: String,
    pub(crate) active: String,
    pub(crate) branches: BTreeMap<String, Vec<String>>,
}

impl ConversationState {
    /// Returns a conversation without messages.
    pub(crate) fn new(title: String) -> Self {
        let branches = BTreeMap::from([("main".to_owned(), Vec::new())]);
        Self { title, active: "main".into(), branches }
    }

    /// Reads a conversation from the server; `None` if it does not exist.
    pub(crate) fn read(server: &Server, id: &str) -> Option<Self> {
        let at = format!("/v1/conversations/{id}");
        let record = server.get(&at);
        if record.status == 404 {
            return None;
        }
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let mut found = Self { title: text(&record.body["title"]), active: String::new(), branches: BTreeMap::new() };
        let listed = server.get(&format!("{at}/branches")).body["branches"].clone();
        for branch in listed.as_array().expect("branches") {
            let name = text(&branch["name"]);
            let messages = server.get(&format!("{at}?branch={name}")).body["messages"].clone();
            let messages = messages.as_array().expect("messages").iter();
            found.branches.insert(name.clone(), messages.map(|message| text(&message["content"])).collect());
            if branch["active"] == true {
                found.active = name;
            }
        }
        Some(found)
    }
}
