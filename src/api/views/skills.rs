//! Responses of `/v1/skills`.

use cuebase_storage::{MessageId, NamespaceName};
use schemars::JsonSchema;
use serde::Serialize;

use super::ACCEPTED_STATUSES;
use crate::api::schema::values;
use crate::service::skills::SkillView;

/// The response of `POST /v1/skills`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AcceptedSkillsView<'a> {
    /// Id of the write.
    #[schemars(with = "values::Id")]
    pub id: MessageId,
    /// Namespace of the write.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// `accepted`, or the present status of the write if the request waited for it.
    #[schemars(extend("enum" = ACCEPTED_STATUSES))]
    pub status: &'static str,
    /// Path of each skill, in the order of the request.
    #[schemars(with = "Vec<values::SkillPath>", extend("minItems" = 1))]
    pub paths: &'a [String],
}

/// The response of `GET /v1/skills`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillsView<'a> {
    /// Namespace of the skills.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// The skills, best first with `q`, otherwise sorted by path.
    #[schemars(extend("maxItems" = 200))]
    pub skills: Vec<SkillView>,
    /// Time that the server took, in milliseconds.
    pub millis: u64,
}
