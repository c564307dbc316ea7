//! Limits of request bodies, and of the texts that both a handler and the OpenAPI document check.

/// Largest JSON body, in bytes: 8 MiB.
pub const BODY_BYTES_MAX: usize = 8 << 20;
/// Largest JSON body whose fields are the parameters of a retrieval, in bytes: 1 MiB. Escapes can make a query of 64 KiB
/// six times as long.
pub const PARAMETERS_BYTES_MAX: usize = 1 << 20;
/// Largest uploaded file, in bytes: 32 MiB.
pub const MEDIA_BYTES_MAX: usize = 32 << 20;
/// Largest push, in bytes: 64 MiB.
pub const PACK_BYTES_MAX: usize = 64 << 20;
/// Largest body of a sender without a credential, in bytes: 64 KiB.
pub const OPEN_BODY_BYTES_MAX: usize = 64 << 10;
/// Most namespaces that one request searches.
pub const NAMESPACES_MAX: usize = 8;
/// Deepest nesting of a JSON body. The decoder's own limit is 128, and stored records wrap the values of a body.
pub const JSON_DEPTH_MAX: usize = 64;
/// Most characters of a text of one line, such as the description of a skill.
pub const LINE_CHARS_MAX: usize = 1000;
/// Most characters of a term or an alias.
pub const TERM_CHARS_MAX: usize = 120;
/// Most characters of the title of a conversation.
pub const TITLE_CHARS_MAX: usize = 500;
