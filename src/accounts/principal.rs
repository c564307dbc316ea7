//! The caller of a request, as its credential identifies it.

use cuebase_storage::records::Environment;
use cuebase_storage::{AccountId, NamespaceName};

/// The caller of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The account of the credential.
    pub account: AccountId,
    /// The kind of the credential.
    pub credential: Credential,
}

/// The kinds of credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// An API key. It opens all namespaces of the account unless it is confined to one.
    Key {
        /// The id of the key.
        id: String,
        /// The environment of the key.
        env: Environment,
        /// The namespace that the key is confined to.
        namespace: Option<NamespaceName>,
    },
    /// A dashboard session.
    Session {
        /// The email address of the person, if the issuer provides it.
        email: Option<String>,
    },
}

impl Principal {
    /// Returns the namespace that the credential is confined to.
    pub fn scope(&self) -> Option<&NamespaceName> {
        match &self.credential {
            Credential::Key { namespace, .. } => namespace.as_ref(),
            Credential::Session { .. } => None,
        }
    }

    /// Returns the email address of the person with a dashboard session, if it is known.
    pub fn email(&self) -> Option<&str> {
        match &self.credential {
            Credential::Key { .. } => None,
            Credential::Session { email } => email.as_deref(),
        }
    }
}
