//! Changes to configuration files that leave every other byte as it is: comments, order and indentation.
//!
//! [`json`] adds and removes members and elements in JSON with comments. [`layout`] finds where they stand, and
//! [`ordered`] writes a value in the style of the file. [`section`] adds and removes a marked section of TOML.

pub(super) mod json;
mod layout;
pub(super) mod ordered;
pub(super) mod section;
