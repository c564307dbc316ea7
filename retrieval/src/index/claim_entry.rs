//! Claims as numbers: names as hashes, values as signatures that can be compared.

use serde::{Deserialize, Serialize};

use crate::claim::{Claim, ClaimKind};
use crate::hash::{AttributeHash, FacetHash, SubjectHash, word_bits};
use crate::time::{Millis, UNKNOWN};

/// Bytes of an entry in a layer's file.
const BYTES: usize = 48;

/// A claim as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClaimEntry {
    pub(crate) subject: SubjectHash,
    pub(crate) attribute: AttributeHash,
    pub(crate) value: ValueSignature,
    /// When the claim began to hold, or when the value ended; [`UNKNOWN`] if not known.
    pub(crate) from: Millis,
    pub(crate) kind: ClaimKind,
}

impl ClaimEntry {
    pub(crate) fn new(claim: &Claim) -> Self {
        Self {
            subject: SubjectHash::of(&claim.subject),
            attribute: AttributeHash::of(&claim.attribute),
            value: ValueSignature::of(&claim.value),
            from: claim.from.unwrap_or(UNKNOWN),
            kind: claim.kind,
        }
    }

    /// Returns the facet of the claims with the same subject and attribute.
    pub(crate) fn key(&self) -> FacetHash {
        FacetHash::of_claim(self.subject, self.attribute)
    }

    /// Returns what the claim says about its fact.
    pub(crate) fn claimed(&self) -> ClaimedValue {
        ClaimedValue { value: self.value, kind: self.kind }
    }

    /// Returns the form on disk: subject, attribute, value, time, kind, and seven zeros.
    pub(crate) fn to_le_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.subject.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.attribute.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.value.0[0].to_le_bytes());
        bytes[24..32].copy_from_slice(&self.value.0[1].to_le_bytes());
        bytes[32..40].copy_from_slice(&self.from.to_le_bytes());
        bytes[40] = match self.kind {
            ClaimKind::Only => 0,
            ClaimKind::Another => 1,
            ClaimKind::Ended => 2,
        };
        bytes
    }

    /// Reads the form on disk.
    pub(crate) fn from_le_bytes(bytes: [u8; BYTES]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        Self {
            subject: SubjectHash::from_le_bytes(words[0]),
            attribute: AttributeHash::from_le_bytes(words[1]),
            value: ValueSignature([u64::from_le_bytes(words[2]), u64::from_le_bytes(words[3])]),
            from: Millis::from_le_bytes(words[4]),
            kind: match bytes[40] {
                0 => ClaimKind::Only,
                1 => ClaimKind::Another,
                _ => ClaimKind::Ended,
            },
        }
    }
}

/// What a claim says about its fact, an attribute of a subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClaimedValue {
    pub(crate) value: ValueSignature,
    pub(crate) kind: ClaimKind,
}

impl ClaimedValue {
    /// Whether a later claim about the same fact ends this one.
    pub(crate) fn is_ended_by(self, later: Self) -> bool {
        let is_same_value = self.value.is_same(later.value);
        match (self.kind, later.kind) {
            // The value holds again.
            (ClaimKind::Ended, ClaimKind::Only | ClaimKind::Another) => is_same_value,
            (ClaimKind::Ended, ClaimKind::Ended) | (_, ClaimKind::Another) => false,
            (_, ClaimKind::Ended) => is_same_value,
            (_, ClaimKind::Only) => !is_same_value,
        }
    }

    /// Whether the claim says that the value holds.
    pub(crate) fn is_positive(self) -> bool {
        is_positive(self.kind)
    }
}

/// Whether a kind of claim says that the value holds.
pub(crate) fn is_positive(kind: ClaimKind) -> bool {
    kind != ClaimKind::Ended
}

/// The words of a value as a Bloom filter of 128 bits. One value is the same as another if it has all of its words:
/// "Berlin" and "Berlin, Germany". Different words are mistaken for each other about once in a hundred thousand times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ValueSignature([u64; 2]);

impl ValueSignature {
    /// Reads the words of a value. A value without words is the same as every other.
    pub(crate) fn of(value: &str) -> Self {
        let mut bits = [0; 2];
        for word in value.split_whitespace() {
            for bit in word_bits(word) {
                bits[usize::from(bit / 64)] |= 1 << (bit % 64);
            }
        }
        Self(bits)
    }

    /// Whether one of the values has all words of the other.
    pub(crate) fn is_same(self, other: Self) -> bool {
        let common = [self.0[0] & other.0[0], self.0[1] & other.0[1]];
        common == self.0 || common == other.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_further_words_is_the_same() {
        let is_same = |a: &str, b: &str| ValueSignature::of(a).is_same(ValueSignature::of(b));
        assert!(is_same("berlin", "berlin germany"));
        assert!(is_same("berlin germany", "berlin"));
        assert!(is_same("", "berlin"));
        assert!(!is_same("berlin", "lisbon"));
        assert!(!is_same("new york", "new orleans"));
        assert!(!is_same("2.1", "2.2"));
    }

    #[test]
    fn an_entry_is_read_back_from_its_bytes() {
        for kind in [ClaimKind::Only, ClaimKind::Another, ClaimKind::Ended] {
            let claim =
                Claim { subject: "ana".into(), attribute: "home".into(), value: "oslo".into(), kind, from: Some(-5) };
            let entry = ClaimEntry::new(&claim);
            assert_eq!(ClaimEntry::from_le_bytes(entry.to_le_bytes()), entry);
        }
    }

    #[test]
    fn what_ends_a_claim_depends_on_kind_and_value() {
        let entry = |value: &str, kind| ClaimedValue { value: ValueSignature::of(value), kind };
        let oslo = entry("oslo", ClaimKind::Only);
        assert!(oslo.is_ended_by(entry("bergen", ClaimKind::Only)));
        assert!(!oslo.is_ended_by(entry("oslo", ClaimKind::Only)));
        assert!(!oslo.is_ended_by(entry("bergen", ClaimKind::Another)));
        assert!(oslo.is_ended_by(entry("oslo", ClaimKind::Ended)));
        assert!(!oslo.is_ended_by(entry("bergen", ClaimKind::Ended)));
        assert!(oslo.is_ended_by(entry("", ClaimKind::Ended)), "an end without a value ends any");
        assert!(entry("oslo", ClaimKind::Ended).is_ended_by(oslo), "the value holds again");
    }
}
