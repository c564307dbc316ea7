//! Objects in a bucket of an S3-compatible service: data that several processes share, with the local disk as a cache.
//!
//! [`BucketSettings`] says where the bucket is. [`Bucket`] reads and writes objects. Only puts, gets, deletions and lists
//! are used, so that any service with the S3 API can hold the bucket. Names are never used for other content: whoever
//! reads a name finds its bytes or nothing.

mod client;
mod errors;
mod settings;

pub use client::{Bucket, ObjectInfo};
pub use settings::BucketSettings;

#[cfg(test)]
mod tests;
