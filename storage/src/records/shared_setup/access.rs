//! Checks that the bucket permits all kinds of requests, with a small object.

use ulid::Ulid;

use super::{BucketStep, SetupError};
use crate::bucket::{Bucket, ObjectInfo};
use crate::error::Result;

/// The directory of test objects. One stays there only if a node ends during the check.
const DIRECTORY: &str = "checks/";

/// Stores, reads, lists and deletes a test object.
pub(super) fn check_access(bucket: &Bucket) -> Result<(), SetupError> {
    let name = format!("{DIRECTORY}{}", Ulid::generate());
    if let Err(source) = bucket.put(&name, name.clone().into_bytes()) {
        return Err(SetupError::BucketRefused { step: BucketStep::Put, source });
    }
    let shown = check_shown(bucket, &name);
    // Deleted in any case. An earlier failure explains more than the one of the deletion.
    let deleted = bucket.delete(&name);
    shown?;
    match deleted {
        Ok(()) => Ok(()),
        Err(source) => Err(SetupError::BucketRefused { step: BucketStep::Delete, source }),
    }
}

/// Checks that a stored test object, whose content is its name, is found in both ways.
fn check_shown(bucket: &Bucket, name: &str) -> Result<(), SetupError> {
    match bucket.get(name) {
        Ok(content) => require_content(content.as_deref(), name)?,
        Err(source) => return Err(SetupError::BucketRefused { step: BucketStep::Get, source }),
    }
    match bucket.list(DIRECTORY) {
        Ok(objects) => require_listed(&objects, name),
        Err(source) => Err(SetupError::BucketRefused { step: BucketStep::List, source }),
    }
}

fn require_content(content: Option<&[u8]>, name: &str) -> Result<(), SetupError> {
    if content == Some(name.as_bytes()) {
        return Ok(());
    }
    Err(SetupError::BucketInconsistent { step: BucketStep::Get })
}

fn require_listed(objects: &[ObjectInfo], name: &str) -> Result<(), SetupError> {
    for object in objects {
        if object.name == name {
            return Ok(());
        }
    }
    Err(SetupError::BucketInconsistent { step: BucketStep::List })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::BucketSettings;

    #[test]
    fn a_bucket_that_permits_everything_is_used_and_left_empty() {
        let bucket = Bucket::in_memory().expect("creates");
        check_access(&bucket).expect("permits everything");
        assert!(bucket.list("").expect("lists").is_empty());
    }

    #[test]
    fn an_object_must_be_read_and_listed_as_it_was_written() {
        require_content(Some(&b"checks/1"[..]), "checks/1").expect("is the content");
        for content in [None, Some(&b"checks/2"[..])] {
            let refused = require_content(content, "checks/1").expect_err("is other content").to_string();
            assert!(refused.contains("a request to get it returned something else"), "{refused}");
        }
        let other = ObjectInfo { name: "checks/2".to_owned(), bytes: 8, stored_at_ms: 0 };
        let wanted = ObjectInfo { name: "checks/1".to_owned(), ..other.clone() };
        require_listed(&[other.clone(), wanted], "checks/1").expect("is listed");
        let refused = require_listed(&[other], "checks/1").expect_err("is missing").to_string();
        assert!(refused.contains("a request to list it returned something else"), "{refused}");
    }

    #[test]
    fn the_error_of_an_unreachable_bucket_names_the_failed_request() {
        let settings = BucketSettings {
            url: "s3://memories".to_owned(),
            // Port 9 (discard) of this machine: nothing listens there.
            endpoint: Some("http://127.0.0.1:9".to_owned()),
            access_key_id: Some("id".to_owned()),
            secret_access_key: Some("secret".to_owned()),
            ..BucketSettings::default()
        };
        let bucket = Bucket::open(&settings).expect("opens");
        let refused = check_access(&bucket).expect_err("cannot connect").to_string();
        assert!(refused.starts_with("cannot put a test object in the bucket: "), "{refused}");
    }
}
