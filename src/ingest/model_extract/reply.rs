//! The operations in a model's reply.

use serde_json::Value;

use super::operations::{Operation, OperationContext, check};
use crate::model::hosted::chat::{ChatReply, elements_of_cut, object_with};

/// A model's reply, checked.
pub(super) struct CheckedReply {
    /// Whether the reply has a list of operations.
    pub(super) is_list: bool,
    /// The valid operations.
    pub(super) operations: Vec<Operation>,
    /// The problems of the invalid operations, or of the reply as a whole; one line each.
    pub(super) problems: Vec<String>,
}

impl CheckedReply {
    /// Parses and checks a complete reply.
    pub(super) fn parse(reply: &ChatReply, context: &OperationContext<'_>) -> Self {
        if let Some(object) = object_with(&reply.text, "operations")
            && let Some(list) = object["operations"].as_array()
        {
            return Self::check(list, context);
        }
        let problem = "the answer has no list of operations".to_owned();
        Self { is_list: false, operations: Vec::new(), problems: vec![problem] }
    }

    /// Parses and checks a reply that may have been cut off. The complete operations of a cut reply are used.
    pub(super) fn parse_partial(reply: &ChatReply, context: &OperationContext<'_>) -> Self {
        let parsed = Self::parse(reply, context);
        if parsed.is_list || !reply.cut {
            return parsed;
        }
        Self::check(&elements_of_cut(&reply.text, "operations"), context)
    }

    fn check(list: &[Value], context: &OperationContext<'_>) -> Self {
        let (mut operations, mut problems) = (Vec::new(), Vec::new());
        for (number, value) in list.iter().enumerate() {
            match check(value, context) {
                Ok(operation) => operations.push(operation),
                Err(problem) => problems.push(format!("operation {number}: {problem}")),
            }
        }
        Self { is_list: true, operations, problems }
    }
}
