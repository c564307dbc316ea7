//! Settings of the external issuer of dashboard sessions.

use anyhow::Context;

use super::values::Values;

/// An external issuer of ID tokens for the dashboard: `identity.*`.
#[derive(Clone, Debug)]
pub struct IdentitySettings {
    /// `identity.issuer`: expected issuer (`iss`) of its tokens.
    pub issuer: String,
    /// `identity.audience`: expected audience (`aud`) of its tokens. Required.
    pub audience: String,
    /// `identity.jwks_url`: URL of its public keys. Default: the issuer's URL with `/.well-known/jwks.json`.
    pub jwks_url: String,
}

impl IdentitySettings {
    /// Reads `identity.*`; returns `None` if no issuer is set.
    pub(super) fn read(values: &Values<'_>) -> anyhow::Result<Option<Self>> {
        // The audience and the URL are validated even if no issuer is set.
        let audience = values.optional_name("identity.audience")?;
        let jwks_url = values.optional_url("identity.jwks_url")?;
        if !values.is_set("identity.issuer") {
            return Ok(None);
        }
        let audience = audience.context("setting identity.audience is missing: identity.issuer needs it")?;
        let (issuer, jwks_url) = match jwks_url {
            Some(jwks_url) => (values.name("identity.issuer")?, jwks_url),
            None => {
                let base = values.url("identity.issuer")?;
                // The issuer itself keeps its trailing slash: it is compared with the `iss` of tokens.
                (values.text("identity.issuer").to_owned(), format!("{base}/.well-known/jwks.json"))
            }
        };
        Ok(Some(Self { issuer, audience, jwks_url }))
    }
}
