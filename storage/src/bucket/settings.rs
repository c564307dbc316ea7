//! Where a bucket is, and with which credentials.

use crate::error::{Error, Result};

/// The scheme of a bucket's URL.
const SCHEME: &str = "s3://";

/// The place of a bucket. Credentials that are absent are taken as AWS's own tools take them: from the role of the
/// machine or container.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BucketSettings {
    /// `s3://bucket` or `s3://bucket/prefix`: the bucket, and the beginning of all names in it.
    pub url: String,
    /// URL of the service, for others than Amazon: `https://host:port`. Plain `http` is accepted.
    pub endpoint: Option<String>,
    /// Region of the bucket; `us-east-1` if absent.
    pub region: Option<String>,
    /// Id of the access key.
    pub access_key_id: Option<String>,
    /// Secret of the access key.
    pub secret_access_key: Option<String>,
    /// Token of a temporary access key.
    pub session_token: Option<String>,
}

/// A bucket and the beginning of all names in it, which is empty or ends with a slash.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BucketLocation {
    pub(super) bucket: String,
    pub(super) prefix: String,
}

impl BucketSettings {
    /// Splits the URL into bucket and prefix.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the URL has another form.
    pub(super) fn location(&self) -> Result<BucketLocation> {
        let Some(rest) = self.url.strip_prefix(SCHEME) else {
            return Err(invalid("must begin with s3://"));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_name = |text: &str| {
            let mut characters = text.chars();
            characters.all(|each| each.is_ascii_alphanumeric() || matches!(each, '-' | '_' | '.'))
        };
        if bucket.is_empty() || !is_name(bucket) {
            return Err(invalid("must name a bucket of letters, digits, hyphens, dots and underscores"));
        }
        let prefix = prefix.trim_end_matches('/');
        if prefix.is_empty() {
            return Ok(BucketLocation { bucket: bucket.to_owned(), prefix: String::new() });
        }
        for part in prefix.split('/') {
            if part.is_empty() || part.starts_with('.') || !is_name(part) {
                return Err(invalid("must have a prefix of names of letters, digits, hyphens, dots and underscores"));
            }
        }
        Ok(BucketLocation { bucket: bucket.to_owned(), prefix: format!("{prefix}/") })
    }
}

fn invalid(reason: &str) -> Error {
    Error::invalid("bucket", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(url: &str) -> Result<BucketLocation> {
        BucketSettings { url: url.to_owned(), ..BucketSettings::default() }.location()
    }

    #[test]
    fn a_url_names_a_bucket_and_a_prefix() {
        for (url, bucket, prefix) in [
            ("s3://memories", "memories", ""),
            ("s3://memories/", "memories", ""),
            ("s3://memories/a", "memories", "a/"),
            ("s3://memories/a/b-1/", "memories", "a/b-1/"),
        ] {
            let expected = BucketLocation { bucket: bucket.to_owned(), prefix: prefix.to_owned() };
            assert_eq!(location(url).expect("is valid"), expected, "{url}");
        }
    }

    #[test]
    fn a_url_of_another_form_is_refused() {
        for url in ["", "memories", "https://memories", "s3://", "s3:///a", "s3://a b", "s3://a//b", "s3://a/../b"] {
            assert!(matches!(location(url), Err(Error::Invalid { what: "bucket", .. })), "{url}");
        }
    }
}
