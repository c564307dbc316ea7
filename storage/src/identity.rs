//! What identifies an account, a namespace and an accepted write.
//!
//! Ids of different kinds are different types, so that one cannot be given for another. All are cheap to clone.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

/// Longest account id, in bytes.
pub const ACCOUNT_BYTES_MAX: usize = 128;
/// Longest name of a namespace, in bytes.
pub const NAMESPACE_BYTES_MAX: usize = 64;

/// Declares an identity that is a text, and serialized as that text. Its function `new` checks the rule.
macro_rules! text_identity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Default for $name {
            /// The one that exists without being created: `default`.
            fn default() -> Self {
                Self(Arc::from("default"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&*self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        /// Maps can be searched by text.
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                match Self::new(&text) {
                    Some(identity) => Ok(identity),
                    None => Err(D::Error::custom(Self::RULE)),
                }
            }
        }
    };
}

text_identity! {
    /// The id of an account: 1 to [`ACCOUNT_BYTES_MAX`] bytes without control characters. Keys of the store separate
    /// it from what follows with a NUL byte.
    AccountId
}

text_identity! {
    /// The name of a namespace: 1 to [`NAMESPACE_BYTES_MAX`] characters of `a-z`, `0-9` and `-`. Unique within its
    /// account, and free again once the namespace is deleted.
    NamespaceName
}

impl AccountId {
    /// What an account id must be.
    pub const RULE: &'static str = "an account id has 1 to 128 bytes and no control characters";

    /// Returns the id with this text, or `None` if the text breaks the rule.
    pub fn new(text: &str) -> Option<Self> {
        let is_valid = (1..=ACCOUNT_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control);
        if is_valid { Some(Self(text.into())) } else { None }
    }

    /// Returns the id at the start of a key, up to the NUL byte.
    pub(crate) fn at_start_of(key: &[u8]) -> Self {
        let end = key.iter().position(|byte| *byte == 0).unwrap_or(key.len());
        Self(String::from_utf8_lossy(&key[..end]).into())
    }
}

impl NamespaceName {
    /// What a name must be.
    pub const RULE: &'static str = "a namespace name must have 1 to 64 characters of a-z, 0-9 and -";

    /// Returns the name with this text, or `None` if the text breaks the rule.
    pub fn new(text: &str) -> Option<Self> {
        let is_plain = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let is_valid = is_plain && (1..=NAMESPACE_BYTES_MAX).contains(&text.len());
        if is_valid { Some(Self(text.into())) } else { None }
    }

    /// Returns the name in a part of a key.
    pub(crate) fn of_key(part: &[u8]) -> Self {
        Self(String::from_utf8_lossy(part).into())
    }

    /// Whether this is the namespace that every account has: `default`.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The id of a namespace. A namespace that is deleted and created again gets a new id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NamespaceId(Ulid);

impl NamespaceId {
    /// Creates an id from a ULID.
    pub fn new(id: Ulid) -> Self {
        Self(id)
    }

    /// Returns the id at the start of a key of the namespace's data. `None` if the key is shorter.
    pub(crate) fn at_start_of(key: &[u8]) -> Option<Self> {
        let bytes = key.first_chunk()?;
        Some(Self(Ulid::from_bytes(*bytes)))
    }

    /// The prefix of all keys of the namespace's data.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_bytes()
    }
}

impl fmt::Display for NamespaceId {
    /// Lowercase, as used in folder names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_string().to_lowercase())
    }
}

/// Account, name and id of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceKey {
    /// The owning account.
    pub account: AccountId,
    /// The name, unique within the account.
    pub name: NamespaceName,
    /// The id of this creation. A later namespace of the same name has another id.
    pub id: NamespaceId,
}

/// The id of an accepted write, which clients know as the id of a queue message. Ids sort in the order of acceptance.
/// The conversation that a write brought is a source with the same id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(Ulid);

impl MessageId {
    /// The 16 bytes in keys of the store, whose order is the order of ids.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_bytes()
    }

    /// Returns the id of 16 bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Ulid::from_bytes(bytes))
    }

    /// The time at which the id was made, in milliseconds since the epoch.
    pub fn timestamp_ms(self) -> u64 {
        self.0.timestamp_ms()
    }
}

impl From<Ulid> for MessageId {
    fn from(id: Ulid) -> Self {
        Self(id)
    }
}

impl From<MessageId> for Ulid {
    fn from(id: MessageId) -> Self {
        id.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for MessageId {
    type Err = ulid::DecodeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_id_has_1_to_128_bytes_and_no_control_characters() {
        for good in ["a", "acme corp", "é", &"x".repeat(128)] {
            assert_eq!(AccountId::new(good).expect("is valid").as_str(), good);
        }
        for bad in ["", "a\0b", "a\nb", &"x".repeat(129)] {
            assert_eq!(AccountId::new(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_namespace_name_has_1_to_64_plain_characters() {
        for good in ["a", "default", "a-1", &"x".repeat(64)] {
            assert_eq!(NamespaceName::new(good).expect("is valid").as_str(), good);
        }
        for bad in ["", "A", "a_b", "a/b", "..", "é", &"x".repeat(65)] {
            assert_eq!(NamespaceName::new(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn identities_are_serialized_as_their_text() {
        let account = AccountId::new("acme").expect("is valid");
        assert_eq!(serde_json::to_string(&account).expect("writes"), r#""acme""#);
        assert_eq!(serde_json::from_str::<AccountId>(r#""acme""#).expect("reads"), account);
        let id = MessageId::from(Ulid::from(1u128));
        assert_eq!(serde_json::to_string(&id).expect("writes"), r#""00000000000000000000000001""#);
        assert_eq!(id.to_string().parse(), Ok(id));
    }
}
