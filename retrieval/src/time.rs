//! Times as the index stores them.

/// Milliseconds since the Unix epoch, UTC.
pub type Millis = i64;

/// An unknown time; before all others.
pub(crate) const UNKNOWN: Millis = Millis::MIN;
/// A time that never comes: the expiry of a memory that does not expire.
pub(crate) const NEVER: Millis = Millis::MAX;
