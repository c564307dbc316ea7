//! What a plan allows.

use super::meters::Meter;
use crate::config::{BillingSettings, PLANS};

/// A limit from here on is as good as none.
pub const UNLIMITED: u64 = 1_000_000_000;
/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// A plan as it is configured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// `payg`, `starter`, `growth`, `scale` or `max`.
    pub name: &'static str,
    /// What may be used in a month.
    pub limits: Limits,
    /// Whether units are charged one by one.
    pub priced: bool,
}

/// What may be used in a month; `memories` and `media_bytes` are levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Limits {
    /// Accepted writes.
    pub writes: u64,
    /// Retrievals.
    pub reads: u64,
    /// Memories held at a time.
    pub memories: u64,
    /// Answers.
    pub chats: u64,
    /// Bytes of uploaded files stored at a time.
    pub media_bytes: u64,
}

impl Plan {
    /// The plan of that name, or the default one.
    pub fn of(settings: &BillingSettings, name: Option<&str>) -> Self {
        let named = |name: &str| PLANS.into_iter().find(|plan| *plan == name);
        let name = name.and_then(named).or_else(|| named(&settings.default_plan)).unwrap_or(PLANS[0]);
        let figure =
            |what: &str| settings.plans.get(name).and_then(|plan| plan.get(what)).copied().unwrap_or(UNLIMITED);
        let limits = Limits {
            writes: figure("writes"),
            reads: figure("reads"),
            memories: figure("memories"),
            chats: figure("chats"),
            media_bytes: figure("media_mib").saturating_mul(MIB),
        };
        Self { name, limits, priced: name == PLANS[0] }
    }
}

impl Limits {
    /// The limit of a meter.
    pub fn of(&self, meter: Meter) -> u64 {
        match meter {
            Meter::Writes => self.writes,
            Meter::Reads => self.reads,
            Meter::Chats => self.chats,
            Meter::MediaBytes => self.media_bytes,
        }
    }
}
