//! Plans and prices as values of settings: names of plans, limits of a plan, prices of units.

use std::collections::BTreeMap;

use cuebase_storage::records::{Meter, PlanName};
use strum::VariantArray;

use super::pairs::{figures, pairs};
use super::refusal::Refusal;

/// The limit that a plan's setting may omit, because it was added later. The setting's default applies.
const MEDIA_MIB: &str = "media_mib";
/// The names of a plan's limits, in the order of the fields of [`PlanLimits`].
const LIMITS: [&str; 5] = ["writes", "reads", "memories", "chats", MEDIA_MIB];
/// The names of the meters that have a price, in the order of the fields of [`Rates`].
const PRICED_METERS: [&str; 3] = ["writes", "reads", "chats"];

/// Limits of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanLimits {
    /// Accepted writes per month.
    pub writes: u64,
    /// Retrievals per month.
    pub reads: u64,
    /// Memories stored at a time.
    pub memories: u64,
    /// Answers per month.
    pub chats: u64,
    /// Uploaded files stored at a time, in MiB.
    pub media_mib: u64,
}

/// Prices of one unit, in hundredths of the currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Price of an accepted write.
    pub writes: u64,
    /// Price of a retrieval.
    pub reads: u64,
    /// Price of an answer.
    pub chats: u64,
}

impl Rates {
    /// Returns the prices by meter, as records hold them.
    pub fn by_meter(&self) -> BTreeMap<Meter, u64> {
        BTreeMap::from([(Meter::Writes, self.writes), (Meter::Reads, self.reads), (Meter::Chats, self.chats)])
    }
}

/// Parses the name of a plan.
pub(super) fn plan_name(text: &str) -> Result<PlanName, Refusal> {
    if let Ok(plan) = text.parse() {
        return Ok(plan);
    }
    let names: Vec<&str> = PlanName::VARIANTS.iter().map(|plan| plan.name()).collect();
    Err(Refusal::new(text, format!("one of {}", names.join(", "))))
}

/// Makes a parser of the limits of a plan. `default` is the default of its setting.
pub(super) fn plan_limits(default: &'static str) -> impl Fn(&str) -> Result<PlanLimits, Refusal> {
    move |text: &str| {
        let mut fallback = pairs(default)?;
        fallback.retain(|name, _| name == MEDIA_MIB);
        let [writes, reads, memories, chats, media_mib] = figures(text, LIMITS, &fallback)?;
        Ok(PlanLimits { writes, reads, memories, chats, media_mib })
    }
}

/// Parses the prices of units.
pub(super) fn rates(text: &str) -> Result<Rates, Refusal> {
    let [writes, reads, chats] = figures(text, PRICED_METERS, &BTreeMap::new())?;
    Ok(Rates { writes, reads, chats })
}
