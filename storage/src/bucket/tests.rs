//! The behaviours of a bucket, in memory and in the service that `CUEBASE_TEST_BUCKET` names.

use std::fs;

use ulid::Ulid;

use super::{Bucket, BucketSettings, ObjectInfo};
use crate::error::{DiskTrouble, Error};

/// Declares a test of both kinds of buckets for each behaviour.
macro_rules! test_buckets {
    ($($behaviour:ident,)*) => {
        mod in_memory {
            $(
                #[test]
                fn $behaviour() {
                    super::$behaviour(&super::Bucket::in_memory().expect("creates"));
                }
            )*
        }

        mod s3_service {
            $(
                #[test]
                #[ignore = "needs an S3 service: sh scripts/test-cluster.sh"]
                fn $behaviour() {
                    super::$behaviour(&super::service_bucket());
                }
            )*
        }
    };
}

test_buckets! {
    an_object_is_read_as_it_was_written,
    a_part_of_an_object_is_read,
    an_absent_object_is_found_to_be_absent,
    a_deleted_object_is_absent,
    a_directory_is_deleted_with_all_below_it,
    a_large_file_is_stored_in_parts,
    a_range_of_a_file_is_stored,
    a_list_has_the_objects_of_a_directory_in_order,
}

/// A new prefix in the bucket of the test service.
fn service_bucket() -> Bucket {
    let variable = |name: &str| std::env::var(name).expect("is set, as scripts/test-cluster.sh does");
    let settings = BucketSettings {
        url: format!("{}/{}", variable("CUEBASE_TEST_BUCKET"), Ulid::generate()),
        endpoint: Some(variable("AWS_ENDPOINT_URL")),
        access_key_id: Some(variable("AWS_ACCESS_KEY_ID")),
        secret_access_key: Some(variable("AWS_SECRET_ACCESS_KEY")),
        ..BucketSettings::default()
    };
    Bucket::open(&settings).expect("opens")
}

fn an_object_is_read_as_it_was_written(bucket: &Bucket) {
    for bytes in [Vec::new(), b"content".to_vec(), vec![0xff; 100_000]] {
        let name = format!("packs/{}.pack", bytes.len());
        bucket.put(&name, bytes.clone()).expect("writes");
        assert_eq!(bucket.size(&name).expect("finds"), Some(bytes.len() as u64));
        assert_eq!(bucket.get(&name).expect("reads"), Some(bytes));
    }
}

fn a_part_of_an_object_is_read(bucket: &Bucket) {
    bucket.put("a", b"0123456789".to_vec()).expect("writes");
    assert_eq!(bucket.get_range("a", 2..5).expect("reads").as_deref(), Some(&b"234"[..]));
    assert_eq!(bucket.get_range("a", 9..10).expect("reads").as_deref(), Some(&b"9"[..]));
}

fn an_absent_object_is_found_to_be_absent(bucket: &Bucket) {
    assert_eq!(bucket.get("absent").expect("reads"), None);
    assert_eq!(bucket.get_range("absent", 0..1).expect("reads"), None);
    assert_eq!(bucket.size("absent").expect("finds"), None);
    bucket.delete("absent").expect("deletes");
}

fn a_deleted_object_is_absent(bucket: &Bucket) {
    bucket.put("a", b"a".to_vec()).expect("writes");
    bucket.delete("a").expect("deletes");
    assert_eq!(bucket.get("a").expect("reads"), None);
}

fn a_directory_is_deleted_with_all_below_it(bucket: &Bucket) {
    for name in ["a/1", "a/b/2", "ab/3"] {
        bucket.put(name, b"content".to_vec()).expect("writes");
    }
    bucket.delete_all("a/").expect("deletes");
    for (name, expected) in [("a/1", None), ("a/b/2", None), ("ab/3", Some(7))] {
        assert_eq!(bucket.size(name).expect("finds"), expected, "{name}");
    }
    bucket.delete_all("a/").expect("deletes nothing");
}

fn a_large_file_is_stored_in_parts(bucket: &Bucket) {
    let folder = tempfile::tempdir().expect("temporary directory");
    let file = folder.path().join("pack");
    for bytes in [0, 100, 8 << 20, (17 << 20) + 5] {
        let mut content = Vec::with_capacity(bytes);
        for number in 0..bytes {
            content.push((number % 251) as u8);
        }
        fs::write(&file, &content).expect("writes");
        let name = format!("large/{bytes}");
        bucket.put_file(&name, &file).expect("stores");
        assert!(bucket.get(&name).expect("reads") == Some(content), "{bytes}");
    }
}

fn a_range_of_a_file_is_stored(bucket: &Bucket) {
    let folder = tempfile::tempdir().expect("temporary directory");
    let path = folder.path().join("log");
    let mut content = Vec::new();
    for number in 0..(9 << 20) {
        content.push((number % 251) as u8);
    }
    fs::write(&path, &content).expect("writes");
    let file = fs::File::open(&path).expect("opens");
    fs::remove_file(&path).expect("removes");
    let bytes = content.len() as u64;
    for range in [0..bytes, 5..bytes - 7, 0..3, 9..9] {
        let name = format!("ranges/{}-{}", range.start, range.end);
        bucket.put_range(&name, &file, range.clone(), &path).expect("stores");
        let expected = content[range.start as usize..range.end as usize].to_vec();
        assert!(bucket.get(&name).expect("reads") == Some(expected), "{range:?}");
    }
    assert!(matches!(bucket.put_range("more", &file, 0..bytes + 1, &path), Err(Error::Corrupt { .. })));
    assert_eq!(bucket.size("more").expect("finds"), None);
}

fn a_list_has_the_objects_of_a_directory_in_order(bucket: &Bucket) {
    for name in ["b/2", "b/1", "a", "b/c/3", "bb"] {
        bucket.put(name, name.as_bytes().to_vec()).expect("writes");
    }
    let names = |objects: Vec<ObjectInfo>| {
        let mut names = Vec::new();
        for object in objects {
            assert_eq!(object.bytes, object.name.len() as u64);
            assert!(object.stored_at_ms > 1_700_000_000_000, "{object:?}");
            names.push(object.name);
        }
        names
    };
    assert_eq!(names(bucket.list("b/").expect("lists")), ["b/1", "b/2", "b/c/3"]);
    assert_eq!(names(bucket.list("").expect("lists")), ["a", "b/1", "b/2", "b/c/3", "bb"]);
    assert!(bucket.list("absent/").expect("lists").is_empty());
}

#[test]
fn an_unreachable_service_is_reported_as_such() {
    let settings = BucketSettings {
        url: "s3://memories".to_owned(),
        // Port 9 (discard) of this machine: nothing listens there.
        endpoint: Some("http://127.0.0.1:9".to_owned()),
        access_key_id: Some("id".to_owned()),
        secret_access_key: Some("secret".to_owned()),
        ..BucketSettings::default()
    };
    let refused = Bucket::open(&settings).expect("opens").get("a").expect_err("cannot connect");
    assert_eq!(refused.disk_trouble(), Some(DiskTrouble::Unreachable), "{refused}");
    assert!(refused.to_string().starts_with("bucket: cannot read a: "), "{refused}");
}
