//! Passes: proof that a node forwards a request of an authenticated caller.
//!
//! A node has checked the caller before it forwards a request to the owner. It sends a pass instead of the caller's
//! credential: who calls, the SHA-256 of the body, until when the pass is valid, and a signature (HMAC with SHA-256). The
//! signature covers all three, and method and target (path and query) of the request. The key is in the shared records,
//! so only nodes can sign.
//!
//! The pass is verified before the body is read. The receiver compares the body with the hash before it acts on it.

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

/// What a valid pass says of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The caller. `None` on a route without a credential.
    pub caller: Option<Principal>,
    /// SHA-256 of the body.
    pub body_sha256: [u8; 32],
}

/// The signed text of a pass.
#[derive(Serialize, Deserialize)]
struct Statement {
    caller: Option<Caller>,
    body_sha256: [u8; 32],
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

    /// Returns the text of a pass for a request at a time in milliseconds.
    pub fn sign(&self, pass: Pass, method: &str, target: &str, now_ms: i64) -> String {
        let Pass { caller, body_sha256 } = pass;
        let statement = Statement { caller: caller.map(Caller::of), body_sha256, expires_ms: now_ms + VALIDITY_MS };
        // Texts and numbers, which cannot fail to become JSON.
        let statement = serde_json::to_vec(&statement).unwrap_or_default();
        let signature = hmac::sign(&self.0, &signed(&statement, method, target));
        format!("{}.{}", BASE64URL_NOPAD.encode(&statement), BASE64URL_NOPAD.encode(signature.as_ref()))
    }

    /// Verifies the text of a pass for a request whose body was not read yet. Returns `None` if it is not valid.
    pub fn verify(&self, text: &str, method: &str, target: &str, now_ms: i64) -> Option<Pass> {
        let (statement, signature) = text.split_once('.')?;
        let statement = BASE64URL_NOPAD.decode(statement.as_bytes()).ok()?;
        let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).ok()?;
        hmac::verify(&self.0, &signed(&statement, method, target), &signature).ok()?;
        let statement: Statement = serde_json::from_slice(&statement).ok()?;
        if statement.expires_ms < now_ms {
            return None;
        }
        Some(Pass { caller: statement.caller.map(Caller::principal), body_sha256: statement.body_sha256 })
    }
}

/// The bytes under a signature. A method has no line break.
fn signed(statement: &[u8], method: &str, target: &str) -> Vec<u8> {
    let mut bytes = format!("{method}\n{}\n{target}", target.len()).into_bytes();
    bytes.extend_from_slice(statement);
    bytes
}

impl Caller {
    fn of(principal: Principal) -> Self {
        let credential = match principal.credential {
            Credential::Key { id, env, namespace } => CallerCredential::Key { id, env, namespace },
            Credential::Session { email } => CallerCredential::Session { email },
        };
        Self { account: principal.account, credential }
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
        let signed = Pass { caller: Some(caller), body_sha256: [7; 32] };
        let pass = key.sign(signed.clone(), "POST", "/v1/memories?wait=1", 1_000);
        assert_eq!(key.verify(&pass, "POST", "/v1/memories?wait=1", 2_000), Some(signed));
        assert_eq!(key.verify(&pass, "DELETE", "/v1/memories?wait=1", 2_000), None);
        assert_eq!(key.verify(&pass, "POST", "/v1/memories", 2_000), None);
        assert_eq!(key.verify(&pass, "POST", "/v1/memories?wait=1", 1_001 + VALIDITY_MS), None);
        assert_eq!(self::key().verify(&pass, "POST", "/v1/memories?wait=1", 2_000), None, "the key of another cluster");
        for broken in ["", ".", "a.b", &pass[1..]] {
            assert_eq!(key.verify(broken, "POST", "/v1/memories?wait=1", 2_000), None);
        }
        let without_caller = Pass { caller: None, body_sha256: [0; 32] };
        let open = key.sign(without_caller.clone(), "GET", "/v1/media/1/content", 1_000);
        assert_eq!(key.verify(&open, "GET", "/v1/media/1/content", 2_000), Some(without_caller));
    }

    #[test]
    fn the_hash_of_the_body_in_a_pass_cannot_be_replaced() {
        let key = key();
        let pass = |body_sha256| key.sign(Pass { caller: None, body_sha256 }, "POST", "/v1/memories", 1_000);
        let (first, second) = (pass([1; 32]), pass([2; 32]));
        let (statement, _) = second.split_once('.').expect("two parts");
        let (_, signature) = first.split_once('.').expect("two parts");
        assert_eq!(key.verify(&format!("{statement}.{signature}"), "POST", "/v1/memories", 2_000), None);
    }
}
