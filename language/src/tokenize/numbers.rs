//! Numbers: the ways of writing an amount.

/// Digits after a separator of thousands.
const GROUP: usize = 3;

/// Whether a folded word is a number: digits, perhaps with points and commas.
pub(super) fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b',')
}

/// Returns a number without separators of thousands and with a point before the decimals: "1,000" and "3,5" are "1000"
/// and "3.5". A list such as "1,2,3" stays as it is.
pub(super) fn plain(number: &str) -> String {
    let Some((before, after)) = number.rsplit_once(',') else { return number.to_owned() };
    let (whole, _) = number.split_once('.').unwrap_or((number, ""));
    if are_thousands(whole, ',') {
        return number.replace(',', "");
    }
    let is_decimal_comma = is_digits(after) && (is_digits(before) || are_thousands(before, '.'));
    if is_decimal_comma { format!("{}.{after}", before.replace('.', "")) } else { number.to_owned() }
}

/// Returns what a number with points is if they separate thousands: "1.000" may be one or one thousand.
pub(super) fn with_points_as_thousands(number: &str) -> Option<String> {
    if are_thousands(number, '.') { Some(number.replace('.', "")) } else { None }
}

/// Returns a plain number without zeros at the end of its decimals. Only amounts of money are equal without them; a
/// version is not.
pub(super) fn without_final_zeros(number: &str) -> Option<&str> {
    let (whole, decimals) = number.split_once('.')?;
    let kept = decimals.trim_end_matches('0');
    if kept.len() == decimals.len() || !is_digits(decimals) {
        return None;
    }
    if kept.is_empty() { Some(whole) } else { number.get(..whole.len() + 1 + kept.len()) }
}

/// Whether a number consists of one to three digits and groups of three. Indian groups have two, except for the last.
fn are_thousands(number: &str, separator: char) -> bool {
    let groups: Vec<&str> = number.split(separator).collect();
    let [first, middle @ .., last] = groups.as_slice() else { return false };
    let begins = (1..=GROUP).contains(&first.len()) && !first.starts_with('0');
    let continues = middle.iter().all(|group| group.len() == GROUP || (separator == ',' && group.len() == GROUP - 1));
    begins && continues && last.len() == GROUP && groups.iter().all(|group| is_digits(group))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_of_thousands_are_removed() {
        for (number, expected) in [
            ("1,000", "1000"),
            ("12,345.67", "12345.67"),
            ("1,00,000", "100000"),
            ("3,5", "3.5"),
            ("1.234,56", "1234.56"),
            ("1,2,3", "1,2,3"),
            ("2024", "2024"),
            ("3.14", "3.14"),
        ] {
            assert_eq!(plain(number), expected, "{number}");
        }
        assert_eq!(with_points_as_thousands("1.000.000").as_deref(), Some("1000000"));
        assert_eq!(with_points_as_thousands("0.125"), None);
        assert_eq!(with_points_as_thousands("192.168.0.1"), None);
    }

    #[test]
    fn an_amount_is_the_same_without_final_zeros() {
        assert_eq!(without_final_zeros("3.50"), Some("3.5"));
        assert_eq!(without_final_zeros("10.00"), Some("10"));
        assert_eq!(without_final_zeros("3.5"), None);
        assert_eq!(without_final_zeros("1.2.0"), None);
    }
}
