//! The limit of requests per minute and account: a token bucket that holds a minute's requests and fills evenly. Each of
//! several nodes has buckets for its share of the limit.

use std::time::{Duration, Instant};

use cuebase_storage::AccountId;
use moka::sync::Cache;
use parking_lot::Mutex;
use std::sync::Arc;

/// Maximum number of accounts with a bucket. An evicted account starts again with a full bucket.
const ACCOUNTS_MAX: u64 = 100_000;

/// The limiter of all accounts.
pub struct RateLimit {
    per_minute: u32,
    buckets: Cache<AccountId, Arc<Mutex<Bucket>>>,
}

struct Bucket {
    tokens: f64,
    filled: Instant,
}

impl RateLimit {
    /// Returns a limiter of `per_minute` requests per minute and account; 0 disables the limit.
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute, buckets: Cache::new(ACCOUNTS_MAX) }
    }

    /// Returns the limit of requests per minute and account; 0 if there is none.
    pub fn per_minute(&self) -> u32 {
        self.per_minute
    }

    /// Takes one token.
    ///
    /// # Errors
    ///
    /// The seconds to wait, if the bucket is empty.
    pub fn take(&self, account: &AccountId, now: Instant) -> Result<(), u64> {
        self.take_of_share(account, self.per_minute, now)
    }

    /// Takes one token of a bucket that holds and fills with a share of the limit. The share may change between two
    /// calls; 0 stands for no limit.
    ///
    /// # Errors
    ///
    /// The seconds to wait, if the bucket is empty.
    pub fn take_of_share(&self, account: &AccountId, per_minute: u32, now: Instant) -> Result<(), u64> {
        if per_minute == 0 {
            return Ok(());
        }
        let full = f64::from(per_minute);
        let bucket = match self.buckets.get(account) {
            Some(bucket) => bucket,
            None => {
                self.buckets.get_with_by_ref(account, || Arc::new(Mutex::new(Bucket { tokens: full, filled: now })))
            }
        };
        let mut bucket = bucket.lock();
        let passed = now.saturating_duration_since(bucket.filled);
        bucket.tokens = (bucket.tokens + passed.as_secs_f64() * full / 60.0).min(full);
        bucket.filled = bucket.filled.max(now);
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        let wait = Duration::from_secs_f64((1.0 - bucket.tokens) * 60.0 / full);
        Err(wait.as_secs() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::new(id).expect("is valid")
    }

    #[test]
    fn a_bucket_empties_and_fills_within_a_minute() {
        let limit = RateLimit::new(60);
        let start = Instant::now();
        for _ in 0..60 {
            assert_eq!(limit.take(&account("a"), start), Ok(()));
        }
        let wait = limit.take(&account("a"), start).expect_err("empty");
        assert!((1..=60).contains(&wait));
        assert_eq!(limit.take(&account("b"), start), Ok(()), "accounts do not share");
        assert_eq!(limit.take(&account("a"), start + Duration::from_secs(wait)), Ok(()));
        assert_eq!(RateLimit::new(0).take(&account("a"), start), Ok(()));
    }

    #[test]
    fn a_share_bounds_the_bucket_at_once_and_fills_it_evenly() {
        let limit = RateLimit::new(60);
        let start = Instant::now();
        assert_eq!(limit.take(&account("a"), start), Ok(()));
        for _ in 0..20 {
            assert_eq!(limit.take_of_share(&account("a"), 20, start), Ok(()));
        }
        assert_eq!(limit.take_of_share(&account("a"), 20, start), Err(4), "one token in three seconds");
        let later = start + Duration::from_secs(60);
        for _ in 0..20 {
            assert_eq!(limit.take_of_share(&account("a"), 20, later), Ok(()));
        }
        assert!(limit.take_of_share(&account("a"), 20, later).is_err());
        assert_eq!(limit.take(&account("a"), later + Duration::from_secs(1)), Ok(()), "the share has grown");
    }
}
