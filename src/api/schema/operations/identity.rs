//! Operations of `/health`, `/v1/whoami`, `/v1/openapi.json` and `/v1/keys`.

use schemars::json_schema;

use crate::api::keys::NewKeyRequest;
use crate::api::schema::errors::NOT_FOUND;
use crate::api::schema::operation::Operation;
use crate::api::schema::parameters::Parameter;
use crate::api::schema::schemas::Schemas;
use crate::api::views::identity::{HealthView, WhoamiView};
use crate::api::views::keys::{KeysView, NewKeyView, RevokedKeyView};

/// Returns the operations.
pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![health(schemas), whoami(schemas), document(), create_key(schemas), list_keys(schemas), revoke_key(schemas)]
}

fn health(schemas: &mut Schemas) -> Operation {
    Operation::open("GET /health", "health", "Liveness check.").responds(
        200,
        "The server is running.",
        schemas.response::<HealthView>(),
    )
}

fn whoami(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/whoami", "whoami", "Return the account and the kind of the credential.").responds(
        200,
        "Account and kind of credential.",
        schemas.response::<WhoamiView>(),
    )
}

fn document() -> Operation {
    Operation::new("GET /v1/openapi.json", "document", "Return this document.").responds(
        200,
        "The OpenAPI 3.1 document.",
        json_schema!({"type": "object", "required": ["openapi", "paths"]}),
    )
}

fn create_key(schemas: &mut Schemas) -> Operation {
    Operation::new("POST /v1/keys", "createKey", "Create an API key.")
        .about(
            "A dashboard session can create any key. An account-wide key can create keys with a namespace. A key \
             with a namespace cannot create keys. Only this response contains the full key.",
        )
        .body(schemas.body::<NewKeyRequest>())
        .responds(201, "The new key.", schemas.response::<NewKeyView>())
}

fn list_keys(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/keys", "listKeys", "List the keys of the account. Requires a dashboard session.").responds(
        200,
        "The keys, oldest first.",
        schemas.response::<KeysView>(),
    )
}

fn revoke_key(schemas: &mut Schemas) -> Operation {
    Operation::new("DELETE /v1/keys/{key_id}", "revokeKey", "Revoke a key permanently. Requires a dashboard session.")
        .parameter(Parameter::path("key_id", json_schema!({"type": "string", "minLength": 1})))
        .responds(
            200,
            "The key is revoked. Caches outside of this server may accept it for up to 30 seconds.",
            schemas.response::<RevokedKeyView>(),
        )
        .errors(&[NOT_FOUND])
}
