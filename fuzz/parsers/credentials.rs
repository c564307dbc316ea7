//! Bearer credentials. Only the exact text of an issued API key or session token is accepted.

use std::sync::LazyLock;

use cuebase::accounts::credentials::{KeyText, MintedKey};
use cuebase::accounts::sessions::LocalIssuer;
use cuebase_storage::records::Environment;
use cuebase_storage::{AccountId, Store};
use jiff::Timestamp;

struct IssuedCredentials {
    key: MintedKey,
    token: String,
    issuer: LocalIssuer,
}

static ISSUED: LazyLock<IssuedCredentials> = LazyLock::new(|| {
    let folder = super::scratch();
    let store = Store::open(folder.path()).expect("opens");
    let issuer = LocalIssuer::open(&store).expect("opens");
    let token = issuer.mint(&AccountId::default(), Timestamp::now()).expect("mints");
    IssuedCredentials { key: MintedKey::new(Environment::Live).expect("random bytes"), token, issuer }
});

pub(super) fn enter(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let IssuedCredentials { key, token, issuer } = &*ISSUED;
    if let Some(read) = KeyText::parse(text)
        && read.secret_matches(&key.secret_sha256)
        && (read.id, read.env) == (key.id.as_str(), Environment::Live)
    {
        assert_eq!(text, key.full, "another text was accepted as the key");
    }
    if issuer.verify(text, Timestamp::now()).is_some() {
        assert_eq!(text, token, "another text was accepted as the token");
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let IssuedCredentials { key, token, .. } = &*ISSUED;
    [key.full.as_str(), token, "", "a.b.c"].map(|text| text.as_bytes().to_vec()).to_vec()
}
