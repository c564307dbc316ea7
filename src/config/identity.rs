//! The external issuer of dashboard sessions.

use super::parsers::{name, url};
use super::settings::{IdentityValues, setting};
use super::values::{Values, missing};

/// An external issuer of ID tokens for the dashboard: `identity.*`.
#[derive(Clone, Debug)]
pub struct IdentitySettings {
    /// Expected issuer (`iss`) of its tokens. Keeps a trailing slash, because it is compared with theirs.
    pub issuer: String,
    /// Expected audience (`aud`) of its tokens.
    pub audience: String,
    /// URL of its public keys.
    pub jwks_url: String,
}

impl IdentitySettings {
    /// Checks that the settings agree with each other. Returns `None` if no issuer is set.
    pub(super) fn new(identity: IdentityValues, values: &Values<'_>) -> anyhow::Result<Option<Self>> {
        let IdentityValues { issuer, audience, jwks_url } = identity;
        let Some(issuer) = issuer else { return Ok(None) };
        let Some(audience) = audience else {
            return Err(missing(&setting::identity::audience, &setting::identity::issuer));
        };
        let jwks_url = match jwks_url {
            Some(jwks_url) => {
                values.read(&setting::identity::issuer, name)?;
                jwks_url
            }
            None => {
                let base = values.read(&setting::identity::issuer, url)?;
                format!("{base}/.well-known/jwks.json")
            }
        };
        Ok(Some(Self { issuer, audience, jwks_url }))
    }
}
