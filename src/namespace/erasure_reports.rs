//! The reports of the newest erasures, for callers that wait for one.

use std::collections::BTreeMap;

use cuebase_storage::MessageId;
use cuebase_storage::records::ErasureReport;
use parking_lot::Mutex;

/// Reports that are kept.
const REPORTS_MAX: usize = 100;

/// Reports by the id of their write. They are lost when the process ends.
#[derive(Default)]
pub struct ErasureReports {
    newest: Mutex<BTreeMap<MessageId, ErasureReport>>,
}

impl ErasureReports {
    /// Adds a report. Drops the oldest one if there are too many.
    pub fn add(&self, id: MessageId, report: ErasureReport) {
        let mut newest = self.newest.lock();
        newest.insert(id, report);
        if newest.len() > REPORTS_MAX {
            newest.pop_first();
        }
    }

    /// Returns the report of a write. `None` if the write is not complete, or if it was completed long ago or by
    /// another process.
    pub fn get(&self, id: MessageId) -> Option<ErasureReport> {
        self.newest.lock().get(&id).cloned()
    }
}
