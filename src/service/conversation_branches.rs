//! The branches of a managed conversation: named leaves of its tree of messages.

use cuebase_storage::records::{BranchRecord, ConversationRecord, MessageRecord};
use ulid::Ulid;

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// Returns a branch of a conversation.
pub(super) fn find_branch<'a>(record: &'a ConversationRecord, name: &str) -> Result<&'a BranchRecord> {
    match record.branches.iter().find(|branch| branch.name == name) {
        Some(branch) => Ok(branch),
        None => Err(no_branch(name)),
    }
}

/// Returns a branch of a conversation, to be changed.
pub(super) fn find_branch_mut<'a>(record: &'a mut ConversationRecord, name: &str) -> Result<&'a mut BranchRecord> {
    match record.branches.iter_mut().find(|branch| branch.name == name) {
        Some(branch) => Ok(branch),
        None => Err(no_branch(name)),
    }
}

/// Returns `stem-1`, or the same with the next number that no branch has.
pub(super) fn free_branch_name(record: &ConversationRecord, stem: &str) -> String {
    let mut number = 1;
    loop {
        let name = format!("{stem}-{number}");
        if record.branches.iter().all(|branch| branch.name != name) {
            return name;
        }
        number += 1;
    }
}

/// Adds messages to the end of a branch. Sets the parent of each.
pub(super) fn extend_branch(branch: &mut BranchRecord, added: &mut [MessageRecord]) {
    for message in added {
        message.parent = branch.head;
        branch.head = Some(message.id);
        branch.messages += 1;
    }
}

/// Ends the active branch at a message, up to which it has `messages` messages. Keeps the later ones on a new branch.
pub(super) fn end_active_branch(record: &mut ConversationRecord, last: Ulid, messages: u64) -> Result<()> {
    let new_name = free_branch_name(record, "rewound");
    let name = record.branch.clone();
    let branch = find_branch_mut(record, &name)?;
    let former = branch.clone();
    branch.head = Some(last);
    branch.messages = messages;
    if former.head != branch.head {
        record.branches.push(BranchRecord { name: new_name, forked_from: Some(last), ..former });
    }
    Ok(())
}

fn no_branch(name: &str) -> Error {
    Error::not_found(ErrorCode::NotFound, format!("the conversation has no branch {name:?}"))
}
