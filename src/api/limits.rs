//! Limits of request bodies.

/// Largest JSON body, in bytes: 8 MiB.
pub const BODY_BYTES_MAX: usize = 8 << 20;
/// Largest uploaded file, in bytes: 32 MiB.
pub const MEDIA_BYTES_MAX: usize = 32 << 20;
/// Largest push, in bytes: 64 MiB.
pub const PACK_BYTES_MAX: usize = 64 << 20;
/// Largest body of a sender without a credential, in bytes: 64 KiB.
pub const OPEN_BODY_BYTES_MAX: usize = 64 << 10;
/// Deepest nesting of a JSON body. The decoder's own limit is 128, and stored records wrap the values of a body.
pub const JSON_DEPTH_MAX: usize = 64;
