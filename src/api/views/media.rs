//! Responses of `/v1/media`.

use cuebase_storage::NamespaceName;
use cuebase_storage::records::MediaRecord;
use schemars::JsonSchema;
use serde::Serialize;
use ulid::Ulid;

use crate::api::schema::values;

/// The response of `POST /v1/media`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MediaView<'a> {
    /// Id of the file.
    #[schemars(with = "values::Id")]
    pub id: Ulid,
    /// Namespace of the file.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// Media type that the upload named.
    pub content_type: &'a str,
    /// Length in bytes.
    #[schemars(extend("minimum" = 1))]
    pub bytes: u64,
    /// SHA-256 of the content, in hexadecimal digits.
    #[schemars(extend("pattern" = "^[0-9a-f]{64}$"))]
    pub sha256: &'a str,
}

impl<'a> MediaView<'a> {
    /// Makes the view of a record.
    pub fn of(record: &'a MediaRecord) -> Self {
        Self {
            id: record.id,
            namespace: &record.namespace,
            content_type: &record.content_type,
            bytes: record.bytes,
            sha256: &record.sha256,
        }
    }
}

/// The response of `GET /v1/media/{id}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MediaAddressView<'a> {
    /// Id of the file.
    #[schemars(with = "values::Id")]
    pub id: Ulid,
    /// URL that returns the file without a credential.
    pub url: String,
    /// Time at which the URL becomes invalid.
    #[schemars(with = "values::Time")]
    pub expires_at: Option<String>,
    /// Media type that the upload named.
    pub content_type: &'a str,
    /// Length in bytes.
    pub bytes: u64,
}
