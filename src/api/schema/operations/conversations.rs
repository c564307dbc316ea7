//! Operations of `/v1/conversations`.

use schemars::json_schema;

use crate::api::conversations::{AppendRequest, CreateRequest, EditRequest, RewindRequest, UpdateRequest};
use crate::api::schema::errors::{NOT_FOUND, PAYMENT_REQUIRED};
use crate::api::schema::operation::Operation;
use crate::api::schema::parameters::{self, Parameter};
use crate::api::schema::schemas::Schemas;
use crate::api::schema::values::Id;
use crate::api::views::DeletedView;
use crate::api::views::conversations::{
    AppendedMessagesView, BranchesView, ConversationMessagesView, ConversationView, ConversationsView, MessageView,
    NewBranchView,
};

/// Returns the operations.
pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        create_conversation(schemas),
        list_conversations(schemas),
        get_conversation(schemas),
        update_conversation(schemas),
        delete_conversation(schemas),
        append_messages(schemas),
        rewind(schemas),
        edit_in_place(schemas),
        edit_as_branch(schemas),
        branches(schemas),
    ]
}

fn create_conversation(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/conversations",
        "createConversation",
        "Create an empty conversation with the branch `main`.",
    )
    .body(schemas.body::<CreateRequest>())
    .responds(201, "The conversation.", schemas.shared_response::<ConversationView>())
    .errors(&[NOT_FOUND])
}

fn list_conversations(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/conversations", "listConversations", "List the conversations of a namespace, newest first.")
        .parameter(parameters::namespace(schemas))
        .parameter(
            Parameter::query("limit", json_schema!({"type": "integer", "minimum": 1, "default": 50}))
                .about("A limit above 200 is reduced to 200."),
        )
        .parameter(Parameter::query("before", schemas.reference::<Id>()).about("Id at which the previous page ended."))
        .responds(200, "The page, newest first.", schemas.response::<ConversationsView>())
        .errors(&[NOT_FOUND])
}

fn get_conversation(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "GET /v1/conversations/{id}",
        "getConversation",
        "Return a conversation with the messages of a branch.",
    )
    .parameter(parameters::id("id"))
    .parameter(parameters::own_namespace(schemas))
    .parameter(
        Parameter::query("branch", json_schema!({"type": "string"}))
            .about("Name of the branch; the active branch by default."),
    )
    .responds(200, "The conversation, with its messages in order.", schemas.response::<ConversationMessagesView>())
    .errors(&[NOT_FOUND])
}

fn update_conversation(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "PATCH /v1/conversations/{id}",
        "updateConversation",
        "Change the title or the active branch of a conversation.",
    )
    .parameter(parameters::id("id"))
    .parameter(parameters::own_namespace(schemas))
    .body(schemas.body::<UpdateRequest>())
    .responds(200, "The conversation.", schemas.shared_response::<ConversationView>())
    .errors(&[NOT_FOUND])
}

fn delete_conversation(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "DELETE /v1/conversations/{id}",
        "deleteConversation",
        "Delete a conversation and its messages. Memories extracted from it stay.",
    )
    .parameter(parameters::id("id"))
    .parameter(parameters::own_namespace(schemas))
    .responds(200, "The conversation is deleted.", schemas.response::<DeletedView>())
    .errors(&[NOT_FOUND])
}

fn append_messages(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/conversations/{id}/messages",
        "appendMessages",
        "Append messages to a branch. They are ingested as one write and count as one.",
    )
    .parameter(parameters::id("id"))
    .parameter(parameters::own_namespace(schemas))
    .body(schemas.body::<AppendRequest>())
    .responds(201, "The appended messages and their ids.", schemas.response::<AppendedMessagesView>())
    .errors(&[PAYMENT_REQUIRED, NOT_FOUND])
}

fn rewind(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/conversations/{id}/rewind",
        "rewind",
        "End the active branch at a message. Later messages stay on a separate branch.",
    )
    .parameter(parameters::id("id"))
    .parameter(parameters::own_namespace(schemas))
    .body(schemas.body::<RewindRequest>())
    .responds(200, "The conversation.", schemas.shared_response::<ConversationView>())
    .errors(&[NOT_FOUND])
}

fn edit_in_place(schemas: &mut Schemas) -> Operation {
    Operation::new("PATCH /v1/conversations/{id}/messages/{mid}", "editInPlace", "Replace the content of a message.")
        .parameter(parameters::id("id"))
        .parameter(parameters::id("mid"))
        .parameter(parameters::own_namespace(schemas))
        .body(schemas.body::<EditRequest>())
        .responds(200, "The message.", schemas.shared_response::<MessageView>())
        .errors(&[NOT_FOUND])
}

fn edit_as_branch(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/conversations/{id}/messages/{mid}/edit",
        "editAsBranch",
        "Edit a message on a new branch, which forks before it and becomes the active branch.",
    )
    .parameter(parameters::id("id"))
    .parameter(parameters::id("mid"))
    .parameter(parameters::own_namespace(schemas))
    .body(schemas.body::<EditRequest>())
    .responds(201, "The new branch.", schemas.response::<NewBranchView>())
    .errors(&[NOT_FOUND])
}

fn branches(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/conversations/{id}/branches", "branches", "List the branches of a conversation.")
        .parameter(parameters::id("id"))
        .parameter(parameters::own_namespace(schemas))
        .responds(200, "The branches, oldest first.", schemas.response::<BranchesView>())
        .errors(&[NOT_FOUND])
}
