//! Operations of `/v1/media`.

use schemars::json_schema;

use crate::api::schema::errors::{BUSY, FORBIDDEN, NOT_FOUND};
use crate::api::schema::operation::Operation;
use crate::api::schema::parameters::{self, Parameter};
use crate::api::schema::schemas::Schemas;
use crate::api::views::media::{MediaAddressView, MediaView};

/// Returns the operations.
pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![upload(schemas), media_address(schemas), media_content()]
}

fn upload(schemas: &mut Schemas) -> Operation {
    Operation::new("POST /v1/media", "upload", "Upload a file of up to 32 MiB.")
        .parameter(parameters::namespace(schemas))
        .parameter(Parameter::query(
            "filename",
            json_schema!({"type": "string", "maxLength": 255, "pattern": "^[A-Za-z0-9._ -]*$"}),
        ))
        .bytes_body("application/octet-stream", json_schema!({"type": "string", "format": "binary", "minLength": 1}))
        .responds(201, "The stored file.", schemas.response::<MediaView>())
        .errors(&[NOT_FOUND])
}

fn media_address(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/media/{id}", "mediaAddress", "Return a URL that downloads the file for 15 minutes.")
        .parameter(parameters::id("id"))
        .parameter(parameters::own_namespace(schemas))
        .responds(200, "The URL.", schemas.response::<MediaAddressView>())
        .errors(&[NOT_FOUND])
}

fn media_content() -> Operation {
    Operation::open(
        "GET /v1/media/{id}/content",
        "mediaContent",
        "Download a file. The URL is signed, so no credential is needed.",
    )
    .parameter(parameters::id("id"))
    .parameter(Parameter::query("expires", json_schema!({"type": "string"})).required())
    .parameter(Parameter::query("signature", json_schema!({"type": "string"})).required())
    .responds_with(
        200,
        "The file, as an attachment that a browser does not run. The connection is closed before the end if the file \
         differs from the upload.",
        "*/*",
        json_schema!({"type": "string", "format": "binary"}),
    )
    .errors(&[FORBIDDEN, BUSY])
}
