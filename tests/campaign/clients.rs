//! The clients of the campaign: every kind of write, each until the server dies or enough is written.
//!
//! A client notes what was acknowledged, and of what was sent last and not answered, both ways that it may have gone.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::kept::{Fate, Generation, Kept, State, Talk, Told};
use super::{BROUGHT, Beside, Campaign, NAMESPACES, PUSHED, send, send_as};
use crate::support::{Chance, Server, stdout};

/// Writes that a client makes in a round at most.
const WRITES_PER_CLIENT: u32 = 25;
/// Statements of a conversation whose memories fill a layer of the index that has a file of its own.
const STATEMENTS_OF_A_LAYER: usize = 2100;
/// Statements of a conversation whose extraction takes longer than a direct write.
const STATEMENTS_OF_A_LONG_ONE: u32 = 20;
/// The namespace of the conversations that are edited and rewound.
const TALKS: &str = "other";
/// Conversations that are edited and rewound in a round.
const TALKS_PER_ROUND: u32 = 3;
const PUSHES_PER_ROUND: u32 = 2;
/// A push is tried so often when somebody else has written meanwhile.
const PUSH_TRIES: u32 = 5;
/// Conversations of an import.
const IMPORTED: usize = 4;
/// A namespace is made so often in a round, under one name.
const GENERATIONS: u32 = 2;
const KEYS_PER_ROUND: u32 = 4;
const RECHARGES_PER_ROUND: u32 = 2;
/// The smallest recharge, paise. Each one is larger by its number, so that no two are the same.
const RECHARGE_PAISE: i64 = 50_000;

/// What is done to a path.
enum Step {
    Write,
    Forget,
}

/// A write to a namespace, by its number in the campaign and its turn in the round; none where the server has died.
type Writing = fn(&Campaign, &Server, &str, (u32, u32), &Mutex<Told>) -> Option<()>;
/// What a client does in a round.
type Round = fn(&Campaign, &Server, &Mutex<Told>) -> Option<()>;

fn keep(told: &Mutex<Told>, kept: Kept) {
    told.lock().expect("no panic").kept.push(kept);
}

fn note_sent(told: &Mutex<Told>, namespace: &str, token: &str) {
    told.lock().expect("no panic").sent.push((namespace.to_owned(), token.to_owned()));
}

fn text(answer: &Value, field: &str) -> String {
    answer[field].as_str().unwrap_or_else(|| panic!("{field} in {answer}")).to_owned()
}

fn write(server: &Server, namespace: &str, path: &str, content: &str) -> Option<Value> {
    send(server, "POST", &format!("/v1/memories/{path}"), &json!({"namespace": namespace, "content": content}))
}

fn forget(server: &Server, namespace: &str, path: &str) -> Option<Value> {
    send(server, "DELETE", &format!("/v1/memories/{path}?namespace={namespace}"), &Value::Null)
}

/// A message that a memory is made of, with a token in it.
fn remark(token: &str) -> String {
    format!("The remark {token} was noted")
}

/// A managed conversation on its way through several changes.
struct Walk<'a> {
    server: &'a Server,
    /// Its address.
    at: String,
    /// How it may be now.
    may_be: Vec<Option<Talk>>,
}

impl Walk<'_> {
    /// Makes a change after which the conversation is another; none where the server has died.
    fn act(&mut self, method: &str, below: &str, body: &Value, next: Option<Talk>) -> Option<Value> {
        self.may_be.push(next);
        let answer = send(self.server, method, &format!("{}{below}", self.at), body)?;
        let former = self.may_be.len() - 1;
        self.may_be.drain(..former);
        Some(answer)
    }

    /// Appends messages to the active branch and returns their ids.
    fn append(&mut self, talk: &mut Talk, tokens: &[String], told: &Mutex<Told>) -> Option<Vec<String>> {
        let texts: Vec<String> = tokens.iter().map(|token| remark(token)).collect();
        let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
        talk.branches.entry(talk.active.clone()).or_default().extend(texts);
        for token in tokens {
            note_sent(told, TALKS, token);
        }
        let answer = self.act("POST", "/messages", &json!({"messages": messages}), Some(talk.clone()))?;
        for token in tokens {
            keep(told, Kept::Memory { namespace: TALKS.to_owned(), token: token.clone() });
        }
        let ids = answer["ids"].as_array().expect("ids");
        Some(ids.iter().map(|id| id.as_str().expect("an id").to_owned()).collect())
    }
}

impl Campaign {
    /// Clients write until the server dies or they have written enough.
    pub(super) fn load(&mut self, server: &Server, beside: Beside) {
        let told = Mutex::new(std::mem::take(&mut self.told));
        let this = &*self;
        std::thread::scope(|scope| {
            for namespace in NAMESPACES {
                for writing in [Self::remember as Writing, Self::direct, Self::rest] {
                    let told = &told;
                    scope.spawn(move || this.repeat(server, namespace, writing, told));
                }
            }
            for client in
                [Self::talks as Round, Self::pushes, Self::imports, Self::generations, Self::keys, Self::recharges]
            {
                let told = &told;
                scope.spawn(move || client(this, server, told));
            }
            scope.spawn(|| this.go_on_beside(server, beside));
        });
        self.told = told.into_inner().expect("no panic");
        // Whatever is still queued goes on meanwhile, and may reach the moment that was meant.
        let mut chance = Chance(self.next_number().into());
        for _ in 0..chance.below(20) {
            if send(server, "GET", "/v1/namespaces", &Value::Null).is_none() {
                return;
            }
        }
    }

    fn repeat(&self, server: &Server, namespace: &str, writing: Writing, told: &Mutex<Told>) {
        for turn in 0..WRITES_PER_CLIENT {
            if writing(self, server, namespace, (self.next_number(), turn), told).is_none() {
                return;
            }
        }
    }

    /// What goes on beside the clients' writes.
    fn go_on_beside(&self, server: &Server, beside: Beside) -> Option<()> {
        match beside {
            Beside::Nothing | Beside::Model => {}
            Beside::Backup => {
                let backups = self.root.join("backups");
                self.run_beside(&["backup", backups.to_str().expect("a path")]);
            }
            Beside::Layer => {
                let number = self.next_number();
                let mut said = Vec::new();
                for n in 0..STATEMENTS_OF_A_LAYER {
                    let content = format!("Shelf {n} of hall {number} carries jar number {}", n * 7);
                    said.push(json!({"role": "user", "content": content}));
                }
                send(server, "POST", "/v1/memories", &json!({"namespace": "other", "messages": said}))?;
            }
            Beside::Deletion => {
                let name = format!("n{}", self.next_number());
                send(server, "POST", "/v1/namespaces", &json!({"name": name}))?;
                write(server, &name, "facts/a.md", "# A")?;
                self.run_beside(&["namespaces", "delete", "--yes", &name]);
            }
        }
        Some(())
    }

    /// A conversation to be remembered; one in a round is a long one.
    fn remember(&self, server: &Server, namespace: &str, (number, turn): (u32, u32), told: &Mutex<Told>) -> Option<()> {
        let token = format!("token{number}x");
        note_sent(told, namespace, &token);
        let content = format!("Ledger entry {token} was signed by the harbour master");
        let mut messages = vec![json!({"role": "user", "content": content})];
        if turn == 5 {
            for n in 0..STATEMENTS_OF_A_LONG_ONE {
                let content = format!("Drawer {n} of desk {number} holds letter number {}", n * 3);
                messages.push(json!({"role": "user", "content": content}));
            }
        }
        send(server, "POST", "/v1/memories", &json!({"namespace": namespace, "messages": messages}))?;
        keep(told, Kept::Memory { namespace: namespace.to_owned(), token });
        Some(())
    }

    /// A path that is written to, forgotten, and written to again.
    fn direct(&self, server: &Server, namespace: &str, (number, turn): (u32, u32), told: &Mutex<Told>) -> Option<()> {
        let steps: &[Step] = match turn % 6 {
            2 => &[Step::Write, Step::Forget],
            3 => &[Step::Write, Step::Write],
            4 => &[Step::Write, Step::Forget, Step::Write],
            5 => &[Step::Write, Step::Forget, Step::Write, Step::Forget],
            _ => &[Step::Write],
        };
        let path = format!("facts/notes/{number}.md");
        let mut may_be = vec![State::Absent];
        let mut answered = Some(());
        for (version, step) in steps.iter().enumerate() {
            let content = format!("# Note {number}, version {version}\n");
            let (next, answer) = match step {
                Step::Write => (State::Is(content.clone()), write(server, namespace, &path, &content)),
                Step::Forget => (State::Absent, forget(server, namespace, &path)),
            };
            // Until the answer comes it is unknown which of the two it is.
            if answer.is_none() {
                may_be.push(next);
                answered = None;
                break;
            }
            may_be = vec![next];
        }
        keep(told, Kept::File { namespace: namespace.to_owned(), path, may_be });
        answered
    }

    /// Terms, skills, messages of a conversation, media.
    fn rest(&self, server: &Server, namespace: &str, (number, turn): (u32, u32), told: &Mutex<Told>) -> Option<()> {
        let token = format!("mark{number}q");
        let own = namespace.to_owned();
        match turn % 6 {
            0 => {
                send(server, "POST", "/v1/vocab", &json!({"namespace": namespace, "terms": [{"term": token}]}))?;
                keep(told, Kept::Term { namespace: own, term: token, may_be: vec![true] });
            }
            1 => {
                send(server, "POST", "/v1/vocab", &json!({"namespace": namespace, "terms": [{"term": token}]}))?;
                let path = format!("/v1/vocab?namespace={namespace}&term={token}");
                let forgotten = send(server, "DELETE", &path, &Value::Null);
                let may_be = if forgotten.is_some() { vec![false] } else { vec![true, false] };
                keep(told, Kept::Term { namespace: own, term: token, may_be });
                forgotten?;
            }
            2 => {
                let path = self.store_skill(server, namespace, number, &token)?;
                keep(told, Kept::Skill { namespace: own, path, token });
            }
            3 => {
                let path = self.store_skill(server, namespace, number, &token)?;
                let content = format!("# Skill {number}, written directly\n");
                let written = write(server, namespace, &path, &content);
                let mut may_be = vec![State::Is(content)];
                if written.is_none() {
                    may_be.push(State::Holds(token));
                }
                keep(told, Kept::File { namespace: own, path, may_be });
                written?;
            }
            4 => {
                note_sent(told, "default", &token);
                let body = json!({"messages": [{"role": "user", "content": remark(&token)}]});
                send(server, "POST", &format!("/v1/conversations/{}/messages", self.conversation), &body)?;
                keep(told, Kept::Message { conversation: self.conversation.clone(), token });
            }
            _ => {
                let answer = send(server, "POST", &format!("/v1/media?namespace={namespace}"), &json!(token))?;
                keep(told, Kept::Media { id: text(&answer, "id"), bytes: json!(token).to_string() });
            }
        }
        Some(())
    }

    /// Returns the path that was promised for it.
    fn store_skill(&self, server: &Server, namespace: &str, number: u32, content: &str) -> Option<String> {
        let skill = json!({"name": format!("Skill {number}"), "content": content});
        let answer = send(server, "POST", "/v1/skills", &json!({"namespace": namespace, "skills": [skill]}))?;
        Some(answer["paths"][0].as_str().expect("a path").to_owned())
    }

    /// Managed conversations with titles, rewinds, edits, branches and deletions.
    fn talks(&self, server: &Server, told: &Mutex<Told>) -> Option<()> {
        for _ in 0..TALKS_PER_ROUND {
            let number = self.next_number();
            let talk = Talk::new(format!("Talk {number}"));
            let body = json!({"namespace": TALKS, "title": talk.title});
            let id = text(&send(server, "POST", "/v1/conversations", &body)?, "id");
            let at = format!("/v1/conversations/{id}");
            let mut walk = Walk { server, at, may_be: vec![Some(talk.clone())] };
            let finished = walk_through(&mut walk, talk, number, told);
            keep(told, Kept::Talk { id, may_be: walk.may_be });
            finished?;
        }
        Some(())
    }

    /// Commits of git's own, beside a direct write that comes first.
    fn pushes(&self, server: &Server, told: &Mutex<Told>) -> Option<()> {
        self.working_copy.point_at(server, PUSHED);
        self.working_copy.catch_up().then_some(())?;
        for turn in 0..PUSHES_PER_ROUND {
            if turn == 1 {
                self.direct(server, PUSHED, (self.next_number(), 0), told)?;
            }
            let number = self.next_number();
            let (path, token) = (format!("facts/pushed/{number}.md"), format!("push{number}y"));
            note_sent(told, PUSHED, &token);
            self.working_copy.commit(&path, &format!("# Crate {token} by hand\n"));
            self.push()?;
            keep(told, Kept::Pushed { commit: self.working_copy.head(), path, token });
        }
        Some(())
    }

    fn push(&self) -> Option<()> {
        for _ in 0..PUSH_TRIES {
            if self.working_copy.push() {
                return Some(());
            }
            self.working_copy.rebase().then_some(())?;
        }
        None
    }

    /// An import by the command line.
    fn imports(&self, _: &Server, told: &Mutex<Told>) -> Option<()> {
        let number = self.next_number();
        let tokens: Vec<String> = (0..IMPORTED).map(|n| format!("import{number}n{n}w")).collect();
        let mut lines = String::new();
        for token in &tokens {
            note_sent(told, BROUGHT, token);
            let content = format!("The parcel {token} lies in the cellar of the customs house");
            lines += &json!({"messages": [{"role": "user", "content": content}]}).to_string();
            lines.push('\n');
        }
        let file = self.folder.join(format!("import-{number}.jsonl"));
        std::fs::write(&file, lines).expect("writes");
        let is_in = self.run_beside(&["import", file.to_str().expect("a path"), "--namespace", BROUGHT]);
        keep(told, Kept::Import { file, tokens, is_in });
        is_in.then_some(())
    }

    /// A namespace that is made, filled, deleted, and made again under the same name.
    fn generations(&self, server: &Server, told: &Mutex<Told>) -> Option<()> {
        let number = self.next_number();
        let namespace = format!("g{number}");
        for turn in 0..GENERATIONS {
            send(server, "POST", "/v1/namespaces", &json!({"name": namespace}))?;
            let mut generation = Generation::default();
            let filled = self.fill(server, &namespace, &mut generation, told);
            // The last one of every second name lives on.
            let lives_on = turn + 1 == GENERATIONS && number.is_multiple_of(2);
            let deleted = if filled.is_some() && !lives_on { self.delete(server, &namespace) } else { None };
            let fate = match (filled, lives_on, deleted) {
                (None, ..) | (_, true, _) => Fate::Alive,
                (_, _, Some(())) => Fate::Deleted,
                (_, _, None) => Fate::Unknown,
            };
            keep(told, Kept::Generation { namespace: namespace.clone(), generation, fate });
            filled?;
            if fate != Fate::Deleted {
                return None;
            }
        }
        Some(())
    }

    /// Writes one thing of each kind to a namespace.
    fn fill(&self, server: &Server, namespace: &str, into: &mut Generation, told: &Mutex<Told>) -> Option<()> {
        let number = self.next_number();
        let token = format!("tenant{number}v");
        let (path, content) = (format!("facts/{token}.md"), format!("# Note of {token}\n"));
        write(server, namespace, &path, &content)?;
        into.files.push((path, content));
        note_sent(told, namespace, &format!("{token}m"));
        let message = json!({"role": "user", "content": remark(&format!("{token}m"))});
        send(server, "POST", "/v1/memories", &json!({"namespace": namespace, "messages": [message]}))?;
        into.tokens.push(format!("{token}m"));
        send(server, "POST", "/v1/vocab", &json!({"namespace": namespace, "terms": [{"term": token}]}))?;
        into.terms.push(token.clone());
        let media = send(server, "POST", &format!("/v1/media?namespace={namespace}"), &json!(token))?;
        let id = text(&media, "id");
        into.media.push((id.clone(), json!(token).to_string()));
        let address = send(server, "GET", &format!("/v1/media/{id}"), &Value::Null)?;
        into.urls.push(text(&address, "url"));
        let talk = send(server, "POST", "/v1/conversations", &json!({"namespace": namespace, "title": token}))?;
        into.conversations.push(text(&talk, "id"));
        Some(())
    }

    /// Deletes a namespace; while a backup is made the server asks to wait for that.
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

    /// Keys that are made, and half of them revoked.
    fn keys(&self, server: &Server, told: &Mutex<Told>) -> Option<()> {
        for turn in 0..KEYS_PER_ROUND {
            let body = json!({"name": format!("k{}", self.next_number()), "namespace": "default"});
            let made = send_as(server, &self.session, "POST", "/v1/keys", &body)?;
            let (id, key) = (text(&made, "id"), text(&made, "key"));
            let mut may_work = vec![true];
            let mut revoked = Some(Value::Null);
            if turn % 2 == 1 {
                revoked = send_as(server, &self.session, "DELETE", &format!("/v1/keys/{id}"), &Value::Null);
                may_work = if revoked.is_some() { vec![false] } else { vec![true, false] };
            }
            keep(told, Kept::Key { id, key, may_work });
            revoked?;
        }
        Some(())
    }

    /// Recharges that are paid on the sandbox's page.
    fn recharges(&self, server: &Server, told: &Mutex<Told>) -> Option<()> {
        for _ in 0..RECHARGES_PER_ROUND {
            let (id, amount, link) = self.start_recharge(server)?;
            let is_paid = self.client.post(&link).send().is_ok_and(|page| page.status().is_success());
            keep(told, Kept::Recharge { id, amount, is_paid });
            is_paid.then_some(())?;
        }
        Some(())
    }

    /// Returns the payment's id, its amount in paise, and the address of its page.
    fn start_recharge(&self, server: &Server) -> Option<(String, i64, String)> {
        let amount = RECHARGE_PAISE + i64::from(self.next_number());
        let body = json!({"amount_paise": amount});
        let started = send_as(server, &self.session, "POST", "/v1/billing/recharge", &body)?;
        Some((text(&started, "payment_id"), amount, text(&started, "payment_link")))
    }

    /// Pays what was not known to be paid, as whoever sees the page again would. Paying twice changes nothing.
    pub(super) fn pay_the_rest(&mut self, server: &Server) {
        let is_open = |kept: &Kept| matches!(kept, Kept::Recharge { is_paid: false, .. });
        if !self.told.kept.iter().any(is_open) {
            return;
        }
        // A new one tells where the page is by now.
        let (id, amount, link) = self.start_recharge(server).expect("the server answers");
        let page = link.strip_suffix(id.as_str()).expect("the address ends with the payment's id").to_owned();
        self.told.kept.push(Kept::Recharge { id, amount, is_paid: false });
        for kept in &mut self.told.kept {
            if let Kept::Recharge { id, is_paid, .. } = kept
                && !*is_paid
            {
                let paid = self.client.post(format!("{page}{id}")).send().expect("the page answers");
                assert!(paid.status().is_success(), "{id}: {paid:?}");
                *is_paid = true;
            }
        }
    }

    /// Imports again what was not known to be in.
    pub(super) fn import_the_rest(&mut self) {
        for kept in &mut self.told.kept {
            if let Kept::Import { file, is_in, .. } = kept
                && !*is_in
            {
                stdout(&self.data, &["import", file.to_str().expect("a path"), "--namespace", BROUGHT]);
                *is_in = true;
            }
        }
    }

    /// What was imported once is not imported again.
    pub(super) fn import_again(&self, server: &Server) {
        let before = server.get("/v1/namespaces");
        for kept in self.told.kept.iter().rev() {
            let Kept::Import { file, tokens, .. } = kept else { continue };
            let said = stdout(&self.data, &["import", file.to_str().expect("a path"), "--namespace", BROUGHT]);
            assert!(said.contains(&format!("{} messages imported before", tokens.len())), "{said}");
            break;
        }
        assert_eq!(server.get("/v1/namespaces").body, before.body, "an import changed something");
    }
}

/// Every change that there is of a managed conversation, one after the other.
fn walk_through(walk: &mut Walk<'_>, mut talk: Talk, number: u32, told: &Mutex<Told>) -> Option<()> {
    let tokens: Vec<String> = (0..4).map(|n| format!("talk{number}k{n}z")).collect();
    let ids = walk.append(&mut talk, &tokens[..3], told)?;
    talk.title = format!("Talk {number}, renamed");
    walk.act("PATCH", "", &json!({"title": talk.title}), Some(talk.clone()))?;

    let line = talk.branches.get("main").cloned().unwrap_or_default();
    talk.branches.insert("main".into(), line[..2].to_vec());
    talk.branches.insert("rewound-1".into(), line);
    walk.act("POST", "/rewind", &json!({"to": ids[1]}), Some(talk.clone()))?;
    walk.append(&mut talk, &tokens[3..], told)?;

    // In place: every branch that leads through the message sees it.
    let edited = format!("Edited {number}");
    for line in talk.branches.values_mut() {
        line[0].clone_from(&edited);
    }
    walk.act("PATCH", &format!("/messages/{}", ids[0]), &json!({"content": edited}), Some(talk.clone()))?;

    let otherwise = format!("Otherwise {number}");
    talk.branches.insert("edit-1".into(), vec![edited, otherwise.clone()]);
    talk.active = "edit-1".into();
    walk.act("POST", &format!("/messages/{}/edit", ids[1]), &json!({"content": otherwise}), Some(talk.clone()))?;
    talk.active = "main".into();
    walk.act("PATCH", "", &json!({"branch": "main"}), Some(talk))?;
    if number.is_multiple_of(3) {
        walk.act("DELETE", "", &Value::Null, None)?;
    }
    Some(())
}
