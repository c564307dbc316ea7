//! Which built-in model a data directory has: what its record says, and otherwise what its age says.

use cuebase_storage::Store;
use cuebase_storage::records::EmbeddingRecord;

use crate::config::BuiltInModel;

/// How much of a processor core may compute vectors when the model is changed, in percent, until it is set.
pub const SHARE_PERCENT_DEFAULT: u8 = 50;

/// Returns the embedding record of a data directory. One without a record gets one: of the configured model if there is one,
/// otherwise of the table if it has namespaces already, because their vectors are of the table.
pub(super) fn record(store: &Store, configured: Option<BuiltInModel>) -> cuebase_storage::Result<EmbeddingRecord> {
    if let Some(record) = store.embedding()? {
        return Ok(record);
    }
    let model = match configured {
        Some(model) => model,
        None if has_namespaces(store)? => BuiltInModel::Table,
        None => BuiltInModel::DEFAULT,
    };
    store.put_embedding_if_absent(&EmbeddingRecord {
        builtin: model.name().to_owned(),
        share_percent: SHARE_PERCENT_DEFAULT,
        is_paused: false,
    })
}

/// Returns the model of a record. A newer version may have stored the name of a model that this one does not have.
pub(super) fn model_of(record: &EmbeddingRecord) -> BuiltInModel {
    match BuiltInModel::named(&record.builtin) {
        Some(model) => model,
        None => {
            let (unknown, used) = (&record.builtin, BuiltInModel::DEFAULT.name());
            tracing::warn!(unknown, used, "the data directory has a built-in model that this version does not know");
            BuiltInModel::DEFAULT
        }
    }
}

fn has_namespaces(store: &Store) -> cuebase_storage::Result<bool> {
    for account in store.accounts()? {
        if !store.namespaces(&account.account, None, 1)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use cuebase_storage::records::{AccountRecord, NamespaceRecord};
    use cuebase_storage::{AccountId, NamespaceId, NamespaceName};
    use ulid::Ulid;

    use super::*;

    #[test]
    fn a_new_data_directory_has_the_reader_or_what_is_configured_at_first() {
        for (first, later, expected) in [
            (None, Some(BuiltInModel::Table), BuiltInModel::Reader),
            (Some(BuiltInModel::Table), None, BuiltInModel::Table),
        ] {
            let store = Store::in_memory().expect("creates");
            assert_eq!(model_of(&record(&store, first).expect("a record")), expected);
            assert_eq!(model_of(&record(&store, later).expect("a record")), expected);
        }
    }

    #[test]
    fn a_data_directory_from_before_the_encoder_keeps_the_table() {
        let store = Store::in_memory().expect("creates");
        let account = AccountRecord { account: AccountId::default(), created_at_ms: 0, suspended: false };
        let mut batch = store.batch();
        batch.create_account(&account).expect("encodes");
        store.commit(batch).expect("commits");
        let id = NamespaceId::new(Ulid::from(1));
        let namespace = NamespaceRecord::new(&account.account, &NamespaceName::default(), id, 0);
        store.create_namespace(&namespace).expect("creates");
        assert_eq!(model_of(&record(&store, None).expect("a record")), BuiltInModel::Table);
    }

    #[test]
    fn an_unknown_model_is_the_default_one() {
        let record = EmbeddingRecord { builtin: "later".into(), share_percent: 1, is_paused: false };
        assert_eq!(model_of(&record), BuiltInModel::DEFAULT);
    }
}
