//! The limits of a plan.

use super::meter::Meter;
use crate::config::{BillingSettings, PLANS};

/// The smallest limit that counts as unlimited.
pub const UNLIMITED: u64 = 1_000_000_000;
/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// A configured plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// `payg`, `starter`, `growth`, `scale` or `max`.
    pub name: &'static str,
    /// Limits of usage.
    pub limits: Limits,
    /// Whether each unit is charged.
    pub priced: bool,
}

/// Limits of a month's usage, or the usage itself. `memories` and `media_bytes` are levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Limits {
    /// Accepted writes.
    pub writes: u64,
    /// Retrievals.
    pub reads: u64,
    /// Memories stored at a time.
    pub memories: u64,
    /// Answers.
    pub chats: u64,
    /// Bytes of uploaded files stored at a time.
    pub media_bytes: u64,
}

impl Plan {
    /// Returns the plan of this name. An unknown name, or none, is the default plan.
    pub fn of(settings: &BillingSettings, name: Option<&str>) -> Self {
        let name = known_plan(name.unwrap_or(&settings.default_plan))
            .or(known_plan(&settings.default_plan))
            .unwrap_or(PLANS[0]);
        let limits = Limits {
            writes: limit_of(settings, name, "writes"),
            reads: limit_of(settings, name, "reads"),
            memories: limit_of(settings, name, "memories"),
            chats: limit_of(settings, name, "chats"),
            media_bytes: limit_of(settings, name, "media_mib").saturating_mul(MIB),
        };
        Self { name, limits, priced: name == PLANS[0] }
    }
}

/// Returns the name of a plan as it is in [`PLANS`].
fn known_plan(name: &str) -> Option<&'static str> {
    PLANS.into_iter().find(|plan| *plan == name)
}

/// Returns a configured limit of a plan; [`UNLIMITED`] if none is configured.
fn limit_of(settings: &BillingSettings, plan: &str, limit: &str) -> u64 {
    let Some(limits) = settings.plans.get(plan) else { return UNLIMITED };
    limits.get(limit).copied().unwrap_or(UNLIMITED)
}

impl Limits {
    /// Returns the limit of a meter.
    pub fn of(&self, meter: Meter) -> u64 {
        match meter {
            Meter::Writes => self.writes,
            Meter::Reads => self.reads,
            Meter::Chats => self.chats,
            Meter::MediaBytes => self.media_bytes,
        }
    }
}
