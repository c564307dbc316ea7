//! Operations of `/v1/vocab`.

use schemars::json_schema;

use crate::api::schema::errors::{BUSY, NOT_FOUND, PAYMENT_REQUIRED, TOO_LARGE};
use crate::api::schema::operation::Operation;
use crate::api::schema::parameters::{self, Parameter};
use crate::api::schema::schemas::Schemas;
use crate::api::views::vocabulary::{ResolvedTermView, TermsView};
use crate::api::vocabulary::TeachRequest;

/// Returns the operations.
pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![teach(schemas), list_terms(schemas), forget_terms(schemas)]
}

fn teach(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/vocab",
        "teach",
        "Add or replace terms of the vocabulary, in the background. Counts as a write.",
    )
    .body(schemas.body::<TeachRequest>())
    .accepted(schemas)
    .waits(schemas)
    .errors(&[PAYMENT_REQUIRED, NOT_FOUND])
}

fn list_terms(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/vocab", "listTerms", "List the terms of the vocabulary, or resolve a word.")
        .parameter(parameters::namespace(schemas))
        .parameter(Parameter::query("word", json_schema!({"type": "string"})).about("Surface form to resolve."))
        .parameter(
            Parameter::query("like", json_schema!({"type": "string"}))
                .about("Part of the term, in upper or lower case."),
        )
        .parameter(
            Parameter::query("limit", json_schema!({"type": "integer", "minimum": 1, "default": 200}))
                .about("A limit above 1000 is reduced to 1000."),
        )
        .responds(
            200,
            "The terms, or with `word` the term that it resolves to.",
            json_schema!({"anyOf": [schemas.response::<TermsView>(), schemas.response::<ResolvedTermView>()]}),
        )
        .errors(&[NOT_FOUND])
}

fn forget_terms(schemas: &mut Schemas) -> Operation {
    Operation::new("DELETE /v1/vocab", "forgetTerms", "Remove terms from the vocabulary, in the background.")
        .parameter(parameters::namespace(schemas))
        .parameter(
            Parameter::list(
                "term",
                json_schema!({"type": "array", "minItems": 1, "maxItems": 200, "items": {"type": "string"}}),
            )
            .required()
            .about("Canonical forms of the terms. Unknown terms are skipped."),
        )
        .accepted(schemas)
        .waits(schemas)
        .errors(&[NOT_FOUND, TOO_LARGE, BUSY])
}
