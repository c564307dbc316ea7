//! The clients of the campaign. Each sends one kind of write until the server is killed or a limit is reached. Those of
//! documents, kept conversations and erasures are in [`super::documents`].
//!
//! A client records its acknowledged writes. For a last write that was not answered it records both possible results.

use std::sync::Mutex;

use fastrand::Rng;
use serde_json::{Value, json};

use super::writes::{ExpectedFile, Fate, Generation, RecordedWrite, WriteLog};
use super::{Background, Campaign, IMPORTED, NAMESPACES, PUSHED, send, send_as};
use crate::support::conversation_state::ConversationState;
use crate::support::{Server, stdout};

/// Most writes of a client per round.
const WRITES_PER_CLIENT: u32 = 22;
/// Statements of a conversation whose memories fill an index layer, which is then written to a file.
const STATEMENTS_PER_LAYER: usize = 2100;
/// Statements of a conversation whose extraction takes longer than a direct write.
const STATEMENTS_PER_LONG_CONVERSATION: u32 = 20;
/// The namespace of the conversations that are edited and rewound.
const EDITED: &str = "other";
/// Conversations that are edited and rewound per round.
const CONVERSATIONS_PER_ROUND: u32 = 3;
const PUSHES_PER_ROUND: u32 = 2;
/// Attempts of a push, which fails if another write moves the branch.
const PUSH_ATTEMPTS: u32 = 5;
/// Conversations per import.
const CONVERSATIONS_PER_IMPORT: usize = 4;
/// Generations of a namespace per round, all with the same name.
const GENERATIONS: u32 = 2;
const KEYS_PER_ROUND: u32 = 4;
const RECHARGES_PER_ROUND: u32 = 2;
/// Smallest recharge, paise. Its number is added to each recharge, so that all amounts differ.
const RECHARGE_PAISE: i64 = 50_000;

/// A direct write to a path.
enum Step {
    Write,
    Forget,
}

/// A function that sends a write to a namespace, given its number in the campaign and its turn in the round. Returns
/// `None` if the server has been killed.
type WriteFn = fn(&Campaign, &Server, &str, (u32, u32), &Mutex<WriteLog>) -> Option<()>;
/// A function that runs a client for a round. It returns `None` if the server has been killed.
type ClientFn = fn(&Campaign, &Server, &Mutex<WriteLog>) -> Option<()>;

pub(super) fn record(log: &Mutex<WriteLog>, write: RecordedWrite) {
    log.lock().expect("no panic").recorded.push(write);
}

pub(super) fn note_sent(log: &Mutex<WriteLog>, namespace: &str, token: &str) {
    log.lock().expect("no panic").sent.push((namespace.to_owned(), token.to_owned()));
}

pub(super) fn text(answer: &Value, field: &str) -> String {
    answer[field].as_str().unwrap_or_else(|| panic!("{field} in {answer}")).to_owned()
}

pub(super) fn write_file(server: &Server, namespace: &str, path: &str, content: &str) -> Option<Value> {
    send(server, "POST", &format!("/v1/memories/{path}"), &json!({"namespace": namespace, "content": content}))
}

/// Uploads a document of markdown. Returns `None` if the server has been killed.
pub(super) fn upload(server: &Server, namespace: &str, id: &str, markdown: &str) -> Option<()> {
    let path = format!("/v1/documents?namespace={namespace}&document_id={id}&filename={id}.md");
    let bearer = format!("Bearer {}", server.key);
    let answer = server.try_request("POST", &path, Some(&bearer), Some(markdown.as_bytes().to_vec())).ok()?;
    assert_eq!(answer.status, 202, "{path}: {answer:?}");
    Some(())
}

fn forget(server: &Server, namespace: &str, path: &str) -> Option<Value> {
    send(server, "DELETE", &format!("/v1/memories/{path}?namespace={namespace}"), &Value::Null)
}

/// Returns a message with a token, from which one memory is extracted.
pub(super) fn remark(token: &str) -> String {
    format!("The remark {token} was noted")
}

/// Sends changes of a managed conversation and keeps its possible states.
struct ConversationEditor<'a> {
    server: &'a Server,
    /// Route of the conversation.
    at: String,
    /// Possible states. `None` means that it is deleted.
    possible: Vec<Option<ConversationState>>,
}

impl ConversationEditor<'_> {
    /// Sends a change that leads to the state `next`. Returns `None` if the server has been killed.
    fn act(&mut self, method: &str, below: &str, body: &Value, next: Option<ConversationState>) -> Option<Value> {
        self.possible.push(next);
        let answer = send(self.server, method, &format!("{}{below}", self.at), body)?;
        let former = self.possible.len() - 1;
        self.possible.drain(..former);
        Some(answer)
    }

    /// Appends messages to the active branch and returns their ids.
    fn append(
        &mut self,
        expected: &mut ConversationState,
        tokens: &[String],
        log: &Mutex<WriteLog>,
    ) -> Option<Vec<String>> {
        let texts: Vec<String> = tokens.iter().map(|token| remark(token)).collect();
        let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
        expected.branches.entry(expected.active.clone()).or_default().extend(texts);
        for token in tokens {
            note_sent(log, EDITED, token);
        }
        let answer = self.act("POST", "/messages", &json!({"messages": messages}), Some(expected.clone()))?;
        for token in tokens {
            record(log, RecordedWrite::Memory { namespace: EDITED.to_owned(), token: token.clone() });
        }
        let ids = answer["ids"].as_array().expect("ids");
        Some(ids.iter().map(|id| id.as_str().expect("an id").to_owned()).collect())
    }
}

impl Campaign {
    /// Runs the clients until the server is killed or they reach their limits.
    pub(super) fn load(&mut self, server: &Server, background: Background) {
        let log = Mutex::new(std::mem::take(&mut self.log));
        let this = &*self;
        std::thread::scope(|scope| {
            for namespace in NAMESPACES {
                for send_write in [Self::remember as WriteFn, Self::direct, Self::write_other] {
                    let log = &log;
                    scope.spawn(move || this.repeat(server, namespace, send_write, log));
                }
            }
            for client in [
                Self::edit_conversations as ClientFn,
                Self::pushes,
                Self::imports,
                Self::generations,
                Self::keys,
                Self::recharges,
                Self::documents,
                Self::sources,
            ] {
                let log = &log;
                scope.spawn(move || client(this, server, log));
            }
            // An erasure removes files of an index too, and would be killed in place of the deletion.
            if background != Background::Deletion {
                scope.spawn(|| this.erasures(server, &log));
            }
            scope.spawn(|| this.run_background(server, background));
        });
        self.log = log.into_inner().expect("no panic");
        // Ingestion of the queue continues during these requests, and may reach the kill point.
        let mut random = Rng::with_seed(self.next_number().into());
        for _ in 0..random.u8(..20) {
            if send(server, "GET", "/v1/namespaces", &Value::Null).is_none() {
                return;
            }
        }
    }

    fn repeat(&self, server: &Server, namespace: &str, send_write: WriteFn, log: &Mutex<WriteLog>) {
        for turn in 0..WRITES_PER_CLIENT {
            if send_write(self, server, namespace, (self.next_number(), turn), log).is_none() {
                return;
            }
        }
    }

    /// Runs the background task of a round.
    fn run_background(&self, server: &Server, background: Background) -> Option<()> {
        match background {
            Background::Nothing | Background::Model => {}
            Background::Backup => {
                let backups = self.root.join("backups");
                self.run_concurrently(&["backup", backups.to_str().expect("a path")]);
            }
            Background::Layer => {
                let number = self.next_number();
                let mut messages = Vec::new();
                for n in 0..STATEMENTS_PER_LAYER {
                    let content = format!("Shelf {n} of hall {number} carries jar number {}", n * 7);
                    messages.push(json!({"role": "user", "content": content}));
                }
                send(server, "POST", "/v1/memories", &json!({"namespace": "other", "messages": messages}))?;
            }
            Background::Deletion => {
                let name = format!("n{}", self.next_number());
                send(server, "POST", "/v1/namespaces", &json!({"name": name}))?;
                write_file(server, &name, "facts/a.md", "# A")?;
                self.run_concurrently(&["namespaces", "delete", "--yes", &name]);
            }
        }
        Some(())
    }

    /// Sends a conversation to remember. One conversation per round is long.
    fn remember(
        &self,
        server: &Server,
        namespace: &str,
        (number, turn): (u32, u32),
        log: &Mutex<WriteLog>,
    ) -> Option<()> {
        let token = format!("token{number}x");
        note_sent(log, namespace, &token);
        let content = format!("Ledger entry {token} was signed by the harbour master");
        let mut messages = vec![json!({"role": "user", "content": content})];
        if turn == 5 {
            for n in 0..STATEMENTS_PER_LONG_CONVERSATION {
                let content = format!("Drawer {n} of desk {number} holds letter number {}", n * 3);
                messages.push(json!({"role": "user", "content": content}));
            }
        }
        send(server, "POST", "/v1/memories", &json!({"namespace": namespace, "messages": messages}))?;
        record(log, RecordedWrite::Memory { namespace: namespace.to_owned(), token });
        Some(())
    }

    /// Writes to a path, deletes it and writes to it again, depending on the turn.
    fn direct(
        &self,
        server: &Server,
        namespace: &str,
        (number, turn): (u32, u32),
        log: &Mutex<WriteLog>,
    ) -> Option<()> {
        let steps: &[Step] = match turn % 6 {
            2 => &[Step::Write, Step::Forget],
            3 => &[Step::Write, Step::Write],
            4 => &[Step::Write, Step::Forget, Step::Write],
            5 => &[Step::Write, Step::Forget, Step::Write, Step::Forget],
            _ => &[Step::Write],
        };
        let (path, token) = (format!("facts/notes/{number}.md"), format!("note{number}f"));
        note_sent(log, namespace, &token);
        let mut possible = vec![ExpectedFile::Absent];
        let mut answered = Some(());
        for (version, step) in steps.iter().enumerate() {
            let content = format!("# Note {token}, version {version}\n");
            let (next, answer) = match step {
                Step::Write => (ExpectedFile::Is(content.clone()), write_file(server, namespace, &path, &content)),
                Step::Forget => (ExpectedFile::Absent, forget(server, namespace, &path)),
            };
            // Without an answer it is unknown whether the step was applied.
            if answer.is_none() {
                possible.push(next);
                answered = None;
                break;
            }
            possible = vec![next];
        }
        let is_only_direct = steps.iter().all(|step| matches!(step, Step::Write));
        record(log, RecordedWrite::File { namespace: namespace.to_owned(), path, token, is_only_direct, possible });
        answered
    }

    /// Sends terms, skills, messages of a conversation and media, depending on the turn.
    fn write_other(
        &self,
        server: &Server,
        namespace: &str,
        (number, turn): (u32, u32),
        log: &Mutex<WriteLog>,
    ) -> Option<()> {
        let token = format!("mark{number}q");
        let own = namespace.to_owned();
        match turn % 6 {
            0 => {
                send(server, "POST", "/v1/vocab", &json!({"namespace": namespace, "terms": [{"term": token}]}))?;
                record(log, RecordedWrite::Term { namespace: own, term: token, possible: vec![true] });
            }
            1 => {
                send(server, "POST", "/v1/vocab", &json!({"namespace": namespace, "terms": [{"term": token}]}))?;
                let path = format!("/v1/vocab?namespace={namespace}&term={token}");
                let forgotten = send(server, "DELETE", &path, &Value::Null);
                let possible = if forgotten.is_some() { vec![false] } else { vec![true, false] };
                record(log, RecordedWrite::Term { namespace: own, term: token, possible });
                forgotten?;
            }
            2 => {
                let path = self.store_skill(server, namespace, number, &token)?;
                record(log, RecordedWrite::Skill { namespace: own, path, token });
            }
            3 => {
                let path = self.store_skill(server, namespace, number, &token)?;
                let direct_token = format!("written{number}f");
                let content = format!("# Skill {direct_token}, written directly\n");
                let written = write_file(server, namespace, &path, &content);
                let mut possible = vec![ExpectedFile::Is(content)];
                if written.is_none() {
                    possible.push(ExpectedFile::Holds(token));
                }
                let (token, is_only_direct) = (direct_token, false);
                record(log, RecordedWrite::File { namespace: own, path, token, is_only_direct, possible });
                written?;
            }
            4 => {
                note_sent(log, "default", &token);
                let body = json!({"messages": [{"role": "user", "content": remark(&token)}]});
                send(server, "POST", &format!("/v1/conversations/{}/messages", self.conversation), &body)?;
                record(log, RecordedWrite::Message { conversation: self.conversation.clone(), token });
            }
            _ => {
                let answer = send(server, "POST", &format!("/v1/media?namespace={namespace}"), &json!(token))?;
                record(log, RecordedWrite::Media { id: text(&answer, "id"), bytes: json!(token).to_string() });
            }
        }
        Some(())
    }

    /// Sends a skill and returns its path from the response.
    fn store_skill(&self, server: &Server, namespace: &str, number: u32, content: &str) -> Option<String> {
        let skill = json!({"name": format!("Skill {number}"), "content": content});
        let answer = send(server, "POST", "/v1/skills", &json!({"namespace": namespace, "skills": [skill]}))?;
        Some(answer["paths"][0].as_str().expect("a path").to_owned())
    }

    /// Creates managed conversations and changes them in every way.
    fn edit_conversations(&self, server: &Server, log: &Mutex<WriteLog>) -> Option<()> {
        for _ in 0..CONVERSATIONS_PER_ROUND {
            let number = self.next_number();
            let expected = ConversationState::new(format!("Talk {number}"));
            let body = json!({"namespace": EDITED, "title": expected.title});
            let id = text(&send(server, "POST", "/v1/conversations", &body)?, "id");
            let at = format!("/v1/conversations/{id}");
            let mut editor = ConversationEditor { server, at, possible: vec![Some(expected.clone())] };
            let finished = make_all_changes(&mut editor, expected, number, log);
            record(log, RecordedWrite::Conversation { id, possible: editor.possible });
            finished?;
        }
        Some(())
    }

    /// Pushes commits. Before the second push a direct write moves the branch.
    fn pushes(&self, server: &Server, log: &Mutex<WriteLog>) -> Option<()> {
        self.working_copy.point_at(server, PUSHED);
        self.working_copy.catch_up().then_some(())?;
        for turn in 0..PUSHES_PER_ROUND {
            if turn == 1 {
                self.direct(server, PUSHED, (self.next_number(), 0), log)?;
            }
            let number = self.next_number();
            let (path, token) = (format!("facts/pushed/{number}.md"), format!("push{number}y"));
            note_sent(log, PUSHED, &token);
            self.working_copy.commit(&path, &format!("# Crate {token} by hand\n"));
            self.push()?;
            record(log, RecordedWrite::Pushed { commit: self.working_copy.head(), path, token });
        }
        Some(())
    }

    fn push(&self) -> Option<()> {
        for _ in 0..PUSH_ATTEMPTS {
            if self.working_copy.push() {
                return Some(());
            }
            self.working_copy.rebase().then_some(())?;
        }
        None
    }

    /// Imports a file with the command line.
    fn imports(&self, _: &Server, log: &Mutex<WriteLog>) -> Option<()> {
        let number = self.next_number();
        let tokens: Vec<String> = (0..CONVERSATIONS_PER_IMPORT).map(|n| format!("import{number}n{n}w")).collect();
        let mut lines = String::new();
        for token in &tokens {
            note_sent(log, IMPORTED, token);
            let content = format!("The parcel {token} lies in the cellar of the customs house");
            lines += &json!({"messages": [{"role": "user", "content": content}]}).to_string();
            lines.push('\n');
        }
        let file = self.folder.join(format!("import-{number}.jsonl"));
        std::fs::write(&file, lines).expect("writes");
        let is_in = self.run_concurrently(&["import", file.to_str().expect("a path"), "--namespace", IMPORTED]);
        record(log, RecordedWrite::Import { file, tokens, is_in });
        is_in.then_some(())
    }

    /// Creates a namespace, writes to it, deletes it, and creates it again under the same name.
    fn generations(&self, server: &Server, log: &Mutex<WriteLog>) -> Option<()> {
        let number = self.next_number();
        let namespace = format!("g{number}");
        for turn in 0..GENERATIONS {
            send(server, "POST", "/v1/namespaces", &json!({"name": namespace}))?;
            let mut generation = Generation::default();
            let filled = self.fill(server, &namespace, &mut generation, log);
            // The last generation of every second name is not deleted.
            let stays = turn + 1 == GENERATIONS && number.is_multiple_of(2);
            let deleted = if filled.is_some() && !stays { self.delete(server, &namespace) } else { None };
            let fate = match (filled, stays, deleted) {
                (None, ..) | (_, true, _) => Fate::Alive,
                (_, _, Some(())) => Fate::Deleted,
                (_, _, None) => Fate::Unknown,
            };
            record(log, RecordedWrite::Generation { namespace: namespace.clone(), generation, fate });
            filled?;
            if fate != Fate::Deleted {
                return None;
            }
        }
        Some(())
    }

    /// Sends a write of each kind to a namespace.
    fn fill(&self, server: &Server, namespace: &str, into: &mut Generation, log: &Mutex<WriteLog>) -> Option<()> {
        let number = self.next_number();
        let token = format!("tenant{number}v");
        let (path, content) = (format!("facts/{token}.md"), format!("# Note of {token}\n"));
        write_file(server, namespace, &path, &content)?;
        into.files.push((path, content));
        note_sent(log, namespace, &format!("{token}m"));
        let message = json!({"role": "user", "content": remark(&format!("{token}m"))});
        let accepted = send(server, "POST", "/v1/memories", &json!({"namespace": namespace, "messages": [message]}))?;
        into.tokens.push(format!("{token}m"));
        into.routes.push(format!("/v1/sources/{}?namespace={namespace}", text(&accepted, "id")));
        upload(server, namespace, &token, &format!("# Manual of {token}\n\nThe crane is yellow\n"))?;
        into.routes.push(format!("/v1/documents/{token}?namespace={namespace}"));
        send(server, "POST", "/v1/vocab", &json!({"namespace": namespace, "terms": [{"term": token}]}))?;
        into.terms.push(token.clone());
        let media = send(server, "POST", &format!("/v1/media?namespace={namespace}"), &json!(token))?;
        let id = text(&media, "id");
        into.media.push((id.clone(), json!(token).to_string()));
        let address = send(server, "GET", &format!("/v1/media/{id}"), &Value::Null)?;
        into.urls.push(text(&address, "url"));
        let created = send(server, "POST", "/v1/conversations", &json!({"namespace": namespace, "title": token}))?;
        into.conversations.push(text(&created, "id"));
        Some(())
    }

    /// Deletes a namespace, and repeats the request while a backup is in progress.
    fn delete(&self, server: &Server, namespace: &str) -> Option<()> {
        let (bearer, path) = (format!("Bearer {}", self.session), format!("/v1/namespaces/{namespace}"));
        loop {
            let answer = server.try_request("DELETE", &path, Some(&bearer), None).ok()?;
            match (answer.status, answer.code()) {
                (200, _) => return Some(()),
                (503, "backup_in_progress") => {}
                _ => panic!("{path}: {answer:?}"),
            }
        }
    }

    /// Creates keys and revokes half of them.
    fn keys(&self, server: &Server, log: &Mutex<WriteLog>) -> Option<()> {
        for turn in 0..KEYS_PER_ROUND {
            let body = json!({"name": format!("k{}", self.next_number()), "namespace": "default"});
            let made = send_as(server, &self.session, "POST", "/v1/keys", &body)?;
            let (id, key) = (text(&made, "id"), text(&made, "key"));
            let mut can_work = vec![true];
            let mut revoked = Some(Value::Null);
            if turn % 2 == 1 {
                revoked = send_as(server, &self.session, "DELETE", &format!("/v1/keys/{id}"), &Value::Null);
                can_work = if revoked.is_some() { vec![false] } else { vec![true, false] };
            }
            record(log, RecordedWrite::Key { id, key, can_work });
            revoked?;
        }
        Some(())
    }

    /// Starts recharges and pays them on the sandbox's page.
    fn recharges(&self, server: &Server, log: &Mutex<WriteLog>) -> Option<()> {
        for _ in 0..RECHARGES_PER_ROUND {
            let (id, amount, link) = self.start_recharge(server)?;
            let is_paid = self.client.post(&link).send().is_ok_and(|page| page.status().is_success());
            record(log, RecordedWrite::Recharge { id, amount, is_paid });
            is_paid.then_some(())?;
        }
        Some(())
    }

    /// Starts a recharge. Returns the payment's id, its amount in paise, and the URL of its page.
    fn start_recharge(&self, server: &Server) -> Option<(String, i64, String)> {
        let amount = RECHARGE_PAISE + i64::from(self.next_number());
        let body = json!({"amount_paise": amount});
        let started = send_as(server, &self.session, "POST", "/v1/billing/recharge", &body)?;
        Some((text(&started, "payment_id"), amount, text(&started, "payment_link")))
    }

    /// Pays the recharges whose payment was not confirmed. A second payment changes nothing.
    pub(super) fn pay_open_recharges(&mut self, server: &Server) {
        let is_open = |write: &RecordedWrite| matches!(write, RecordedWrite::Recharge { is_paid: false, .. });
        if !self.log.recorded.iter().any(is_open) {
            return;
        }
        // A new recharge has the current URL of the page.
        let (id, amount, link) = self.start_recharge(server).expect("the server answers");
        let page = link.strip_suffix(id.as_str()).expect("the address ends with the payment's id").to_owned();
        self.log.recorded.push(RecordedWrite::Recharge { id, amount, is_paid: false });
        for write in &mut self.log.recorded {
            if let RecordedWrite::Recharge { id, is_paid, .. } = write
                && !*is_paid
            {
                let paid = self.client.post(format!("{page}{id}")).send().expect("the page answers");
                assert!(paid.status().is_success(), "{id}: {paid:?}");
                *is_paid = true;
            }
        }
    }

    /// Repeats the imports that did not succeed.
    pub(super) fn finish_imports(&mut self) {
        for write in &mut self.log.recorded {
            if let RecordedWrite::Import { file, is_in, .. } = write
                && !*is_in
            {
                stdout(&self.data, &["import", file.to_str().expect("a path"), "--namespace", IMPORTED]);
                *is_in = true;
            }
        }
    }

    /// Checks that a repeated import changes nothing.
    pub(super) fn check_repeated_import(&self, server: &Server) {
        // The record of a namespace changes when its last write is acknowledged.
        server.drain();
        let before = server.get("/v1/namespaces");
        for write in self.log.recorded.iter().rev() {
            let RecordedWrite::Import { file, tokens, .. } = write else { continue };
            let output = stdout(&self.data, &["import", file.to_str().expect("a path"), "--namespace", IMPORTED]);
            assert!(output.contains(&format!("{} messages imported before", tokens.len())), "{output}");
            break;
        }
        assert_eq!(server.get("/v1/namespaces").body, before.body, "an import changed something");
    }
}

/// Sends every kind of change to a managed conversation, in turn.
fn make_all_changes(
    editor: &mut ConversationEditor<'_>,
    mut expected: ConversationState,
    number: u32,
    log: &Mutex<WriteLog>,
) -> Option<()> {
    let tokens: Vec<String> = (0..4).map(|n| format!("talk{number}k{n}z")).collect();
    let ids = editor.append(&mut expected, &tokens[..3], log)?;
    expected.title = format!("Talk {number}, renamed");
    editor.act("PATCH", "", &json!({"title": expected.title}), Some(expected.clone()))?;

    let line = expected.branches.get("main").cloned().unwrap_or_default();
    expected.branches.insert("main".into(), line[..2].to_vec());
    expected.branches.insert("rewound-1".into(), line);
    editor.act("POST", "/rewind", &json!({"to": ids[1]}), Some(expected.clone()))?;
    editor.append(&mut expected, &tokens[3..], log)?;

    // An edit in place changes the message in every branch that contains it.
    let edited = format!("Edited {number}");
    for line in expected.branches.values_mut() {
        line[0].clone_from(&edited);
    }
    editor.act("PATCH", &format!("/messages/{}", ids[0]), &json!({"content": edited}), Some(expected.clone()))?;

    let otherwise = format!("Otherwise {number}");
    expected.branches.insert("edit-1".into(), vec![edited, otherwise.clone()]);
    expected.active = "edit-1".into();
    editor.act(
        "POST",
        &format!("/messages/{}/edit", ids[1]),
        &json!({"content": otherwise}),
        Some(expected.clone()),
    )?;
    expected.active = "main".into();
    editor.act("PATCH", "", &json!({"branch": "main"}), Some(expected))?;
    if number.is_multiple_of(3) {
        editor.act("DELETE", "", &Value::Null, None)?;
    }
    Some(())
}
