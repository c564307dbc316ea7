//! Passes: proof that a node forwards a request of an authenticated caller.
//!
//! A node has checked the caller before it forwards a request to the owner. It sends a pass instead of the caller's
//! credential: who calls, until when the pass is valid, and a signature (HMAC with SHA-256) over both and over method and
//! target of the request. The key is in the shared records, so only nodes can sign.

use aws_lc_rs::hmac;
use cuebase_storage::records::Environment;
use cuebase_storage::{AccountId, NamespaceName, Store};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};

use crate::accounts::principal::{Credential, Principal};
use crate::secrets::stored_secret;

/// Validity of a pass. The clocks of nodes differ by less.
const VALIDITY_MS: i64 = 5 * 60 * 1000;

/// The key that signs passes.
pub struct PassKey(hmac::Key);

/// What a pass says.
#[derive(Serialize, Deserialize)]
struct Statement {
    caller: Option<Caller>,
    expires_ms: i64,
}

/// The caller of a forwarded request.
#[derive(Serialize, Deserialize)]
struct Caller {
    account: AccountId,
    credential: CallerCredential,
}

#[derive(Serialize, Deserialize)]
enum CallerCredential {
    Key { id: String, env: Environment, namespace: Option<NamespaceName> },
    Session { email: Option<String> },
}

impl PassKey {
    /// Reads the key of the shared records. The first node makes it.
    pub(super) fn open(store: &Store) -> anyhow::Result<Self> {
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &stored_secret(store, "cluster")?)))
    }

    /// Makes the pass for a request at a time in milliseconds. A request to an open route has no caller.
    pub fn sign(&self, caller: Option<&Principal>, method: &str, target: &str, now_ms: i64) -> String {
        let statement = Statement { caller: caller.map(Caller::of), expires_ms: now_ms + VALIDITY_MS };
        // Texts and numbers, which cannot fail to become JSON.
        let statement = serde_json::to_vec(&statement).unwrap_or_default();
        let signature = hmac::sign(&self.0, &signed(&statement, method, target));
        format!("{}.{}", BASE64URL_NOPAD.encode(&statement), BASE64URL_NOPAD.encode(signature.as_ref()))
    }

    /// Checks the pass of a request. Returns its caller. The outer `None` means that the pass is not valid.
    pub fn verify(&self, pass: &str, method: &str, target: &str, now_ms: i64) -> Option<Option<Principal>> {
        let (statement, signature) = pass.split_once('.')?;
        let statement = BASE64URL_NOPAD.decode(statement.as_bytes()).ok()?;
        let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).ok()?;
        hmac::verify(&self.0, &signed(&statement, method, target), &signature).ok()?;
        let statement: Statement = serde_json::from_slice(&statement).ok()?;
        if statement.expires_ms < now_ms {
            return None;
        }
        Some(statement.caller.map(Caller::principal))
    }
}

/// The bytes under a signature. A method has no line break.
fn signed(statement: &[u8], method: &str, target: &str) -> Vec<u8> {
    let mut bytes = format!("{method}\n{}\n{target}", target.len()).into_bytes();
    bytes.extend_from_slice(statement);
    bytes
}

impl Caller {
    fn of(principal: &Principal) -> Self {
        let credential = match principal.credential.clone() {
            Credential::Key { id, env, namespace } => CallerCredential::Key { id, env, namespace },
            Credential::Session { email } => CallerCredential::Session { email },
        };
        Self { account: principal.account.clone(), credential }
    }

    fn principal(self) -> Principal {
        let credential = match self.credential {
            CallerCredential::Key { id, env, namespace } => Credential::Key { id, env, namespace },
            CallerCredential::Session { email } => Credential::Session { email },
        };
        Principal { account: self.account, credential }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> PassKey {
        PassKey::open(&Store::in_memory().expect("creates")).expect("a key")
    }

    #[test]
    fn a_pass_is_valid_for_one_request_of_one_caller_until_it_expires() {
        let key = key();
        let caller = Principal {
            account: AccountId::default(),
            credential: Credential::Key {
                id: "k".into(),
                env: Environment::Live,
                namespace: Some(NamespaceName::default()),
            },
        };
        let pass = key.sign(Some(&caller), "POST", "/v1/memories?wait=1", 1_000);
        assert_eq!(key.verify(&pass, "POST", "/v1/memories?wait=1", 2_000), Some(Some(caller)));
        assert_eq!(key.verify(&pass, "DELETE", "/v1/memories?wait=1", 2_000), None);
        assert_eq!(key.verify(&pass, "POST", "/v1/memories", 2_000), None);
        assert_eq!(key.verify(&pass, "POST", "/v1/memories?wait=1", 1_001 + VALIDITY_MS), None);
        assert_eq!(self::key().verify(&pass, "POST", "/v1/memories?wait=1", 2_000), None, "the key of another cluster");
        for broken in ["", ".", "a.b", &pass[1..]] {
            assert_eq!(key.verify(broken, "POST", "/v1/memories?wait=1", 2_000), None);
        }
        let open = key.sign(None, "GET", "/v1/media/1/content", 1_000);
        assert_eq!(key.verify(&open, "GET", "/v1/media/1/content", 2_000), Some(None));
    }
}
