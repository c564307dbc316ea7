//! Evidence: what ranking reads of the snapshot, the query and the arms.

use cuebase_language::tokenize::{is_in_other_script, may_be_english};

use super::candidates::ArmResults;
use super::prepared::Search;
use crate::hash::NameHash;
use crate::index::ENCODER_IDENTITY;
use crate::ranking::signals::{Evidence, Pieces, Vectors};

impl Search<'_> {
    pub(super) fn evidence<'s>(&'s self, arms: &'s ArmResults, names: &'s [NameHash]) -> Evidence<'s> {
        Evidence {
            table: &self.snapshot.table,
            graph: &self.snapshot.graph,
            cues: &self.snapshot.cues,
            lexical: &arms.lexical.scores,
            vector: self.vector.as_ref(),
            vectors: self.vectors(),
            names,
            times: self.times.as_ref(),
            lexical_best: &arms.lexical.best,
            cue_best: &arms.cue.best,
            pieces: self.pieces(),
            claims: &self.claims,
            ledger: &self.snapshot.ledger,
            validity: &self.validity,
            threads: self.threads,
        }
    }

    fn vectors(&self) -> Vectors {
        let model = self.snapshot.model();
        if model == self.snapshot.tokens.identity() {
            Vectors::Table
        } else if model.starts_with(ENCODER_IDENTITY) {
            Vectors::Encoder
        } else {
            Vectors::OtherModel
        }
    }

    /// Whether the vectors of the query's word pieces say what they mean. Another model than the built-in ones may know
    /// languages that these do not.
    fn pieces(&self) -> Pieces {
        let are_known = match self.vectors() {
            Vectors::Table => !is_in_other_script(self.query.text),
            Vectors::Encoder => may_be_english(self.query.text),
            Vectors::OtherModel => true,
        };
        if are_known { Pieces::Known } else { Pieces::Unknown }
    }
}
