//! [`WriteSender`]: who sent a write.

use serde::{Deserialize, Serialize};

/// Who sent a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WriteSender {
    /// The holder of an API key.
    Key {
        /// The id of the key.
        id: String,
    },
    /// A person with a session of the dashboard.
    Session {
        /// The email address, if the issuer provides it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        email: Option<String>,
    },
}
