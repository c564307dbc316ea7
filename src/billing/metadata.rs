//! The keys under which the metadata of a payment or subscription identifies it to us.

/// Key of the account.
pub(super) const ACCOUNT_KEY: &str = "cuebase_account";
/// Key of the amount of a recharge, in paise.
pub(super) const AMOUNT_KEY: &str = "cuebase_recharge_paise";
/// Key of the plan.
pub(super) const PLAN_KEY: &str = "cuebase_plan";
