//! The OpenAPI description of the API, generated from the code.
//!
//! `operations` has a function per route with its summary, parameters and responses. Tests compare them with the route
//! table, which is above this folder and not imported. Schemas of bodies come from the types that handlers decode and
//! return ([`super::views`]): the doc comment of a field is its description, its attributes have the limits. `values`
//! describes the values that several of them have. `cargo xtask docs` writes the document to
//! `docs/reference/openapi.json`, and a test compares that file with it. Start at `generate`.

mod errors;
mod generate;
mod objects;
mod operation;
mod operations;
mod parameters;
mod schemas;
pub mod values;

pub use self::generate::document;
