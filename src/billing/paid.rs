//! How much a notification says was paid.
//!
//! Only what was paid is credited, in hundredths of the currency of the wallets (setting `billing.currency`). The
//! metadata of a payment say for which account it is and how much was requested, never how much was paid.

use serde_json::Value;

/// Maximum number of characters of a foreign currency in the log.
const CURRENCY_CHARS_MAX: usize = 16;

/// Why a payment is not credited.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PaymentRefusal {
    /// The notification has no currency.
    #[error("currency: missing, expected {expected}")]
    NoCurrency { expected: String },
    /// The payment is in another currency.
    #[error("currency: {paid:?} is not {expected}")]
    OtherCurrency { paid: String, expected: String },
    /// The notification has no whole number as amount, or one above 2^63 - 1.
    #[error("total_amount: missing, or not a whole number up to {}", i64::MAX)]
    NoAmount,
    /// Nothing was paid.
    #[error("total_amount: {0} is not positive")]
    NothingPaid(i64),
}

/// Returns the amount of a payment, from the fields `total_amount` and `currency` of its notification.
///
/// The provider writes a currency as the upper-case code of ISO 4217. Any other spelling is refused.
pub(super) fn paid_amount(total_amount: &Value, currency: &Value, expected: &str) -> Result<i64, PaymentRefusal> {
    let Some(paid_in) = currency.as_str() else {
        return Err(PaymentRefusal::NoCurrency { expected: expected.to_owned() });
    };
    if paid_in != expected {
        let paid = paid_in.chars().take(CURRENCY_CHARS_MAX).collect();
        return Err(PaymentRefusal::OtherCurrency { paid, expected: expected.to_owned() });
    }
    let Some(amount) = total_amount.as_i64() else { return Err(PaymentRefusal::NoAmount) };
    if amount <= 0 {
        return Err(PaymentRefusal::NothingPaid(amount));
    }
    Ok(amount)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_whole_positive_amounts_in_the_upper_case_currency_are_accepted() {
        assert_eq!(paid_amount(&json!(60_000), &json!("INR"), "INR"), Ok(60_000));
        for currency in [json!("JPY"), json!("inr"), json!(" INR"), json!(""), json!(356), Value::Null] {
            assert!(paid_amount(&json!(60_000), &currency, "INR").is_err(), "{currency}");
        }
        for amount in [json!(0), json!(-1), json!(1.5), json!("60000"), json!(1e30), json!(u64::MAX), Value::Null] {
            assert!(paid_amount(&amount, &json!("INR"), "INR").is_err(), "{amount}");
        }
    }
}
