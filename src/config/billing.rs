//! Plans of the billing settings.

use cuebase_storage::records::PlanName;

use super::plans::PlanLimits;
use super::settings::BillingSettings;

impl BillingSettings {
    /// Returns the limits of a plan.
    pub fn limits(&self, plan: PlanName) -> &PlanLimits {
        match plan {
            PlanName::Payg => &self.payg,
            PlanName::Starter => &self.starter,
            PlanName::Growth => &self.growth,
            PlanName::Scale => &self.scale,
            PlanName::Max => &self.max,
        }
    }
}
