//! The limits of a plan.

use cuebase_storage::records::{Meter, PlanName};

use crate::config::{BillingSettings, PlanLimits};

/// The smallest limit that counts as unlimited.
pub const UNLIMITED: u64 = 1_000_000_000;
/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// A configured plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The name of the plan.
    pub name: PlanName,
    /// Limits of usage.
    pub limits: Limits,
    /// Whether each unit is charged.
    pub priced: bool,
}

/// Limits of a month's usage, or the usage itself. `memories` and `media_bytes` are levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Meters")]
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
    /// Returns the plan with the configured limits.
    pub fn of(settings: &BillingSettings, name: PlanName) -> Self {
        let PlanLimits { writes, reads, memories, chats, media_mib } = *settings.limits(name);
        let limits = Limits { writes, reads, memories, chats, media_bytes: media_mib.saturating_mul(MIB) };
        Self { name, limits, priced: name == PlanName::Payg }
    }
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
