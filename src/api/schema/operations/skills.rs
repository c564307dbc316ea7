//! Operations of `/v1/skills`.

use schemars::json_schema;

use crate::api::schema::errors::{BUSY, NOT_FOUND, PAYMENT_REQUIRED};
use crate::api::schema::operation::Operation;
use crate::api::schema::parameters::{self, Parameter};
use crate::api::schema::schemas::Schemas;
use crate::api::skills::StoreRequest;
use crate::api::views::skills::{AcceptedSkillsView, SkillsView};

/// A directory under `skills/`.
const TOPIC_PATTERN: &str = "^[a-z0-9][a-z0-9-]{0,20}(/[a-z0-9][a-z0-9-]{0,20}){0,2}$";

/// Returns the operations.
pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![store_skills(schemas), find_skills(schemas)]
}

fn store_skills(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/skills",
        "storeSkills",
        "Store skills, in the background, at the paths that the response returns. Counts as a write.",
    )
    .body(schemas.body::<StoreRequest>())
    .responds(202, "The skills are durable and will be stored at `paths`.", schemas.response::<AcceptedSkillsView>())
    .waits(schemas)
    .errors(&[PAYMENT_REQUIRED, NOT_FOUND])
}

fn find_skills(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/skills", "findSkills", "Find skills for a task, or list them. Counts as a read with `q`.")
        .parameter(parameters::namespace(schemas))
        .parameter(Parameter::query("q", json_schema!({"type": "string"})).about("Description of the task."))
        .parameter(
            Parameter::list(
                "paths",
                json_schema!({"type": "array", "items": {"type": "string", "pattern": TOPIC_PATTERN}}),
            )
            .about("Topics under `skills/`. Only their skills are returned."),
        )
        .parameter(parameters::tags(schemas))
        .parameter(parameters::conditions(schemas))
        .parameter(
            Parameter::query("limit", json_schema!({"type": "integer", "minimum": 1, "default": 20}))
                .about("A limit above 200 is reduced to 200."),
        )
        .responds(200, "The skills, best first with `q`, otherwise sorted by path.", schemas.response::<SkillsView>())
        .errors(&[NOT_FOUND, BUSY])
}
