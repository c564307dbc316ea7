//! Numbers in words: "thirty-five" is 35, and "six thousand two hundred" is 6200.

/// Numbers below a hundred.
const SMALL: [(&str, u64); 28] = [
    ("zero", 0),
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
];

/// Words that multiply the number before them.
const SCALES: [(&str, u64); 5] =
    [("dozen", 12), ("hundred", 100), ("thousand", 1000), ("grand", 1000), ("million", 1_000_000)];

/// Reads the number in words that begins some folded words. Returns it with how many words it has. "And" may stand
/// after a hundred.
pub(super) fn read(words: &[&str]) -> Option<(u64, usize)> {
    let mut all: u64 = 0;
    // What the next scale multiplies.
    let mut part: Option<u64> = None;
    let mut length = 0;
    for (index, word) in words.iter().enumerate() {
        if let Some(scale) = value_of(word, &SCALES) {
            let multiplied = part.unwrap_or(1).checked_mul(scale)?;
            if scale == 1000 || scale == 1_000_000 {
                all = all.checked_add(multiplied)?;
                part = None;
            } else {
                part = Some(multiplied);
            }
        } else if let Some(small) = below_hundred(word) {
            match part {
                None => part = Some(small),
                // "One hundred five", "twenty five"; "three four" are two numbers.
                Some(before) if before.is_multiple_of(100) && before > 0 => part = Some(before + small),
                Some(before) if ends_in_tens(before) && (1..10).contains(&small) => part = Some(before + small),
                Some(_) => break,
            }
        } else if *word == "and" && length > 0 && words[index - 1] == "hundred" {
            let continues = words.get(index + 1).is_some_and(|next| below_hundred(next).is_some());
            if !continues {
                break;
            }
            continue;
        } else {
            break;
        }
        length = index + 1;
    }
    // "Grand" by itself is not read as a number.
    let is_number = length > 1 || words.first().is_some_and(|first| below_hundred(first).is_some() || is_scale(first));
    (length > 0 && is_number).then_some((all + part.unwrap_or(0), length))
}

/// Whether a number ends in a multiple of ten from twenty on: "four hundred and fifty".
fn ends_in_tens(number: u64) -> bool {
    number % 100 >= 20 && number.is_multiple_of(10)
}

fn is_scale(word: &str) -> bool {
    word != "grand" && value_of(word, &SCALES).is_some()
}

/// Returns a number below a hundred: "five", "thirty-five".
fn below_hundred(word: &str) -> Option<u64> {
    if let Some((tens, ones)) = word.split_once('-') {
        let (tens, ones) = (value_of(tens, &SMALL)?, value_of(ones, &SMALL)?);
        return (tens >= 20 && (1..10).contains(&ones)).then_some(tens + ones);
    }
    value_of(word, &SMALL)
}

fn value_of(word: &str, numbers: &[(&str, u64)]) -> Option<u64> {
    numbers.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<(u64, usize)> {
        read(&text.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn numbers_in_words_are_added_and_multiplied() {
        assert_eq!(number("seven dogs"), Some((7, 1)));
        assert_eq!(number("thirty-five"), Some((35, 1)));
        assert_eq!(number("twenty five euros"), Some((25, 2)));
        assert_eq!(number("four hundred and fifty two seats"), Some((452, 5)));
        assert_eq!(number("six thousand two hundred"), Some((6200, 4)));
        assert_eq!(number("two dozen"), Some((24, 2)));
        assert_eq!(number("fifteen grand"), Some((15_000, 2)));
    }

    #[test]
    fn other_words_are_no_numbers() {
        assert_eq!(number("grand piano"), None);
        assert_eq!(number("dog-eared"), None);
        assert_eq!(number("three four"), Some((3, 1)), "two numbers");
        assert_eq!(number("hundred and counting"), Some((100, 1)));
    }
}
