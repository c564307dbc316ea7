//! Keys of the column `usage`, when several processes share the database: see `usage_parts.rs`.

use super::ownership::NodeId;
use super::usage_record::Meter;
use crate::identity::AccountId;
use crate::key_value::columns::joined;

/// The first byte of the keys of ids. No account id is empty, so no key of a meter begins with it.
pub(super) const ID_PREFIX: &[u8] = &[0];

/// The id in the key of an id's record. `None` for other keys.
pub(super) fn id_of_key(key: &[u8]) -> Option<NodeId> {
    NodeId::of_key(key.strip_prefix(ID_PREFIX)?)
}

/// The key of an id's record: NUL, 16 bytes.
pub(super) fn id_key(id: NodeId) -> Vec<u8> {
    let mut key = ID_PREFIX.to_vec();
    key.extend_from_slice(&id.to_bytes());
    key
}

/// The key of a part: `account NUL meter NUL`, 16 bytes.
pub(super) fn part_key(account: &AccountId, meter: Meter, id: NodeId) -> Vec<u8> {
    let mut key = joined(account, meter.name());
    key.push(0);
    key.extend_from_slice(&id.to_bytes());
    key
}

/// Splits the key of a part into the key of its meter and the id. `None` for other keys.
pub(super) fn split_part_key(key: &[u8]) -> Option<(Vec<u8>, NodeId)> {
    let (front, id) = key.split_last_chunk::<16>()?;
    let meter_key = front.strip_suffix(&[0])?;
    // The key of an id's record has nothing before its NUL byte. Names of meters are shorter than an id, so the key of
    // a meter has no NUL byte at this place.
    if !meter_key.contains(&0) {
        return None;
    }
    Some((meter_key.to_vec(), NodeId::of_key(id)?))
}
