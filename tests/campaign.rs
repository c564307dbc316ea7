//! The crash campaign: a real server under mixed load is killed, or loses its power, at random and at named moments, and
//! is started again; every write that it acknowledged must be there once, and all that it keeps must agree.
//!
//! `CUEBASE_CAMPAIGN_KILLS` says how often (some, where it is unset), `CUEBASE_CAMPAIGN_SEED` repeats a run's choices.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::support::disk::Disk;
use crate::support::provider::Provider;
use crate::support::{Chance, Server, committed_messages, cuebase, git, run, stdout};

/// Kills in an ordinary run of the tests: every named moment once, and as many random ones.
const KILLS: u32 = 68;
/// A data directory lives through so many.
const KILLS_PER_DIRECTORY: u32 = 34;
/// Writes that a client makes in a round at most.
const WRITES_PER_CLIENT: u32 = 25;
/// Namespaces that are written to.
const NAMESPACES: [&str; 2] = ["default", "other"];
/// Statements of a conversation whose memories fill a layer of the index that has a file of its own.
const STATEMENTS_OF_A_LAYER: usize = 2100;

/// What goes on beside the clients' writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    Nothing,
    Backup,
    /// A conversation that fills a layer.
    Layer,
    /// Another model than before, so that every namespace is embedded anew.
    Model,
    Deletion,
}

/// Moments at which the server is killed: a name, the rule that does it (see `disk.c`), and what must go on for it to be
/// reached.
const POINTS: [(&str, &str, Beside); 34] = [
    ("before the queue's sync", "kill sync records/ 9", Beside::Nothing),
    ("after the queue's sync", "killafter sync records/ 9", Beside::Nothing),
    ("in the middle of a record", "tear write records/ 21", Beside::Nothing),
    ("before the pack's name is noted", "kill open cuebase-pending 3", Beside::Nothing),
    ("after the pack's name was noted", "killafter write cuebase-pending 3", Beside::Nothing),
    ("in the middle of a pack", "tear write objects/pack/tmp_ 5", Beside::Nothing),
    ("after a pack's bytes, before its sync", "kill sync objects/pack/tmp_ 5", Beside::Nothing),
    ("before a pack has its name", "kill rename .pack 3", Beside::Nothing),
    ("between a pack and its index", "killafter rename .pack 3", Beside::Nothing),
    ("after the pack, before the branch", "killafter rename .idx 3", Beside::Nothing),
    ("with the branch locked", "killafter open main.lock 3", Beside::Nothing),
    ("in the middle of the branch's lock", "tear write main.lock 3", Beside::Nothing),
    ("before the branch moves", "kill rename refs/heads/main 3", Beside::Nothing),
    ("after the branch moved", "killafter rename refs/heads/main 3", Beside::Nothing),
    ("before the branch's folder is synced", "kill sync refs/heads 4", Beside::Nothing),
    ("before the commit's note is removed", "kill unlink cuebase-pending 3", Beside::Nothing),
    ("in the middle of the index's log", "tear write memories.log 4", Beside::Nothing),
    ("between the index's two logs", "killafter write memories.log 4", Beside::Nothing),
    ("in the middle of the vectors", "tear write vectors.log 4", Beside::Nothing),
    ("after the vectors", "killafter write vectors.log 4", Beside::Nothing),
    ("before the index's state", "kill rename /state 4", Beside::Nothing),
    ("between index and head", "killafter rename /state 4", Beside::Nothing),
    ("in the middle of joining packs", "kill write cuebase-replaced 1", Beside::Nothing),
    ("after packs were joined", "killafter rename cuebase-replaced 1", Beside::Nothing),
    ("in the middle of a layer's file", "tear write layer.new 1", Beside::Layer),
    ("after a layer's file", "killafter rename layer- 1", Beside::Layer),
    ("when an index is begun anew", "killafter open .next/ 1", Beside::Model),
    ("in the middle of embedding anew", "tear write .next/vectors.log 2", Beside::Model),
    ("before an index takes another's place", "kill rename .former 1", Beside::Model),
    ("between two indexes", "killafter rename .former 1", Beside::Model),
    ("when a backup's records are linked", "kill mkdir trash/checkpoint 1", Beside::Backup),
    ("in the middle of a backup", "kill write .unfinished- 12", Beside::Backup),
    ("before a backup has its name", "kill rename backups/ 1", Beside::Backup),
    ("in the middle of a deletion", "killafter rename trash/ 1", Beside::Deletion),
];

/// A write that was acknowledged.
#[derive(Clone, Debug)]
enum Kept {
    Memory { namespace: &'static str, token: String },
    Direct { namespace: &'static str, path: String, content: String },
    Forgotten { namespace: &'static str, path: String },
    Term { namespace: &'static str, term: String },
    Skill { namespace: &'static str, path: String, token: String },
    Message { conversation: String, token: String },
    Media { id: String },
}

/// What clients have been told, and what they do not know.
#[derive(Default)]
struct Told {
    kept: Vec<Kept>,
    /// Sent, whatever became of it: may be there, but not twice.
    sent: Vec<(&'static str, String)>,
}

/// What the campaign came to.
#[derive(Default)]
struct Tally {
    kills: BTreeMap<String, u32>,
    power_cuts: u32,
    acknowledged: u64,
    not_reached: u32,
    backups: u64,
}

#[test]
fn whatever_was_acknowledged_is_there_once_however_often_the_server_dies() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let kills = number("CUEBASE_CAMPAIGN_KILLS").map_or(KILLS, |kills| kills as u32);
    let seed = number("CUEBASE_CAMPAIGN_SEED").unwrap_or(1);
    let began = std::time::Instant::now();
    println!("seed {seed}, {kills} kills");
    let mut chance = Chance(seed);
    let mut tally = Tally::default();
    let mut done = 0;
    while done < kills {
        let mut campaign = Campaign::new(done);
        let rounds = KILLS_PER_DIRECTORY.min(kills - done);
        for round in 0..rounds {
            campaign.round(done + round, &mut chance, &mut tally);
        }
        campaign.finish(&mut tally);
        done += rounds;
    }
    for (point, times) in &tally.kills {
        println!("{times:>5}  {point}");
    }
    println!(
        "{done} kills, {} of them with the loss of power, {} acknowledged writes, {} backups, {} moments not reached, {:.0?}",
        tally.power_cuts,
        tally.acknowledged,
        tally.backups,
        tally.not_reached,
        began.elapsed()
    );
}

/// One data directory and what is known of it.
struct Campaign {
    /// Kept where the campaign fails, so that one can look.
    folder: PathBuf,
    root: PathBuf,
    data: PathBuf,
    disk: Disk,
    key: String,
    conversation: String,
    numbers: AtomicU32,
    told: Told,
    hosted: bool,
}

impl Campaign {
    fn new(begin: u32) -> Self {
        let folder = tempfile::tempdir().expect("temporary directory").keep();
        println!("in {}", folder.display());
        let root = folder.join("box");
        let data = root.join("data");
        std::fs::create_dir_all(&root).expect("creates");
        let server = Server::start(&data);
        server.namespace("other");
        let conversation = server.post("/v1/conversations", &json!({})).body["id"].as_str().expect("an id").to_owned();
        let key = server.key.clone();
        assert!(server.terminate());
        Self {
            disk: Disk::under(&root, &folder.join("disk")),
            root,
            data,
            key,
            conversation,
            numbers: AtomicU32::new(begin * 1000),
            told: Told::default(),
            hosted: false,
            folder,
        }
    }

    /// A server, or none where it died before it served.
    fn start(&self, watched: bool) -> Option<Server> {
        let mut command: Command = cuebase(&self.data, &["serve", "--listen", "127.0.0.1:0"]);
        for name in ["CUEBASE_MODEL_BASE_URL", "CUEBASE_MODEL_EMBEDDING", "CUEBASE_MODEL_CHAT", "CUEBASE_MODEL_LOCAL"] {
            command.env_remove(name);
        }
        if self.hosted {
            command.env("CUEBASE_MODEL_BASE_URL", &Provider::shared().url).env("CUEBASE_MODEL_EMBEDDING", "imitation");
        }
        if watched {
            self.disk.watch(&mut command, true);
        }
        let mut server = Server::try_start(&self.data, command)?;
        server.key.clone_from(&self.key);
        Some(server)
    }

    /// Kills a server once and looks at what is left.
    fn round(&mut self, number: u32, chance: &mut Chance, tally: &mut Tally) {
        // Every named moment in turn, and after each one a random one.
        let named = number.is_multiple_of(2).then(|| POINTS[(number as usize / 2) % POINTS.len()]);
        let (point, rule, beside) = match named {
            Some((point, rule, beside)) => (point.to_owned(), rule.to_owned(), beside),
            None => {
                let beside = *chance.one_of(&[Beside::Nothing, Beside::Nothing, Beside::Backup, Beside::Model]);
                let action = *chance.one_of(&["kill", "killafter", "tear"]);
                (format!("at random, {action}"), format!("{action} any * {}", 1 + chance.below(900)), beside)
            }
        };
        let power = chance.below(2) == 0;
        if beside == Beside::Model {
            self.hosted = !self.hosted;
        }
        println!("round {number}: {point} ({rule}), beside: {beside:?}, power cut: {power}");
        self.disk.obey(&[&rule]);
        let before = self.told.kept.len();
        let begun = self.told.sent.len();
        let reached = match self.start(true) {
            None => true,
            Some(mut server) => {
                self.load(&server, beside);
                let reached = server.has_ended();
                server.kill();
                reached
            }
        };
        self.disk.obey(&[]);
        tally.not_reached += u32::from(!reached);
        if !reached {
            println!("not reached: killed afterwards");
        }
        *tally.kills.entry(if reached { point } else { "amid idleness".into() }).or_default() += 1;
        if power {
            self.disk.lose_power(chance);
            // Under which boot of the machine the records were open.
            std::fs::write(self.data.join("records/BOOT"), "another boot").expect("writes");
            tally.power_cuts += 1;
        }
        tally.acknowledged += (self.told.kept.len() - before) as u64;
        let server = self.start(false).unwrap_or_else(|| {
            let log = std::fs::read_to_string(self.data.with_extension("log")).unwrap_or_default();
            panic!("the server does not start again: {}", log.lines().last().unwrap_or_default());
        });
        NAMESPACES.iter().for_each(|namespace| server.settle(namespace));
        self.verify(&server, before, begun);
        self.agree();
        server.kill();
        for namespace in NAMESPACES {
            let repository = self.data.join(format!("repositories/default/{namespace}.git"));
            git(&repository, &["fsck", "--strict", "--full"]);
        }
    }

    /// Clients write until the server dies or they have written enough.
    fn load(&mut self, server: &Server, beside: Beside) {
        let told = Mutex::new(std::mem::take(&mut self.told));
        let this = &*self;
        std::thread::scope(|scope| {
            for namespace in NAMESPACES {
                for client in ["remember", "direct", "rest"] {
                    let told = &told;
                    scope.spawn(move || {
                        for turn in 0..WRITES_PER_CLIENT {
                            let number = this.numbers.fetch_add(1, Ordering::SeqCst);
                            let written = match client {
                                "remember" => this.remember(server, namespace, number, told),
                                "direct" => this.direct(server, namespace, number, turn, told),
                                _ => this.rest(server, namespace, number, turn, told),
                            };
                            if written.is_none() {
                                return;
                            }
                        }
                    });
                }
            }
            match beside {
                Beside::Nothing | Beside::Model => {}
                Beside::Backup => {
                    scope.spawn(|| {
                        let backups = this.root.join("backups");
                        cuebase(&this.data, &["backup", backups.to_str().expect("a path")]).output().expect("runs");
                    });
                }
                Beside::Layer => {
                    scope.spawn(|| {
                        let number = this.numbers.fetch_add(1, Ordering::SeqCst);
                        let said: Vec<Value> = (0..STATEMENTS_OF_A_LAYER)
                            .map(|n| json!({"role": "user", "content": format!("Shelf {n} of hall {number} carries jar number {}", n * 7)}))
                            .collect();
                        send(server, "POST", "/v1/memories", &json!({"namespace": "other", "messages": said}));
                    });
                }
                Beside::Deletion => {
                    scope.spawn(|| {
                        let number = this.numbers.fetch_add(1, Ordering::SeqCst);
                        let name = format!("n{number}");
                        send(server, "POST", "/v1/namespaces", &json!({"name": name}))?;
                        send(server, "POST", "/v1/memories/facts/a.md", &json!({"namespace": name, "content": "# A"}))?;
                        cuebase(&this.data, &["namespaces", "delete", &name]).output().expect("runs");
                        Some(())
                    });
                }
            }
        });
        self.told = told.into_inner().expect("no panic");
        // Whatever is still queued goes on meanwhile, and may reach the moment that was meant.
        let mut chance = Chance(self.numbers.load(Ordering::SeqCst).into());
        for _ in 0..chance.below(20) {
            if send(server, "GET", "/v1/namespaces", &Value::Null).is_none() {
                return;
            }
        }
    }

    fn remember(&self, server: &Server, namespace: &'static str, number: u32, told: &Mutex<Told>) -> Option<()> {
        let token = format!("token{number}x");
        told.lock().expect("no panic").sent.push((namespace, token.clone()));
        let content = format!("Ledger entry {token} was signed by the harbour master");
        let body = json!({"namespace": namespace, "messages": [{"role": "user", "content": content}]});
        send(server, "POST", "/v1/memories", &body)?;
        told.lock().expect("no panic").kept.push(Kept::Memory { namespace, token });
        Some(())
    }

    fn direct(
        &self,
        server: &Server,
        namespace: &'static str,
        number: u32,
        turn: u32,
        told: &Mutex<Told>,
    ) -> Option<()> {
        let path = format!("facts/notes/{number}.md");
        let content = format!("# Note {number}\n");
        let body = json!({"namespace": namespace, "content": content});
        send(server, "POST", &format!("/v1/memories/{path}"), &body)?;
        let kept = if turn % 3 == 2 {
            // Until the answer comes it is unknown which of the two it is.
            send(server, "DELETE", &format!("/v1/memories/{path}?namespace={namespace}"), &Value::Null)?;
            Kept::Forgotten { namespace, path }
        } else {
            Kept::Direct { namespace, path, content }
        };
        told.lock().expect("no panic").kept.push(kept);
        Some(())
    }

    fn rest(&self, server: &Server, namespace: &'static str, number: u32, turn: u32, told: &Mutex<Told>) -> Option<()> {
        let token = format!("mark{number}q");
        let kept = match turn % 4 {
            0 => {
                let body = json!({"namespace": namespace, "terms": [{"term": token}]});
                send(server, "POST", "/v1/vocab", &body)?;
                Kept::Term { namespace, term: token }
            }
            1 => {
                let skill = json!({"name": format!("Skill {number}"), "content": token});
                let body = json!({"namespace": namespace, "skills": [skill]});
                let answer = send(server, "POST", "/v1/skills", &body)?;
                Kept::Skill { namespace, path: answer["paths"][0].as_str().expect("a path").to_owned(), token }
            }
            2 => {
                let body = json!({"messages": [{"role": "user", "content": format!("The remark {token} was noted")}]});
                told.lock().expect("no panic").sent.push(("default", token.clone()));
                send(server, "POST", &format!("/v1/conversations/{}/messages", self.conversation), &body)?;
                Kept::Message { conversation: self.conversation.clone(), token }
            }
            _ => {
                let answer = send(server, "POST", &format!("/v1/media?namespace={namespace}"), &json!(token))?;
                Kept::Media { id: answer["id"].as_str().expect("an id").to_owned() }
            }
        };
        told.lock().expect("no panic").kept.push(kept);
        Some(())
    }

    /// Everything that was acknowledged, from the `before`-th on, is there; nothing that was sent is there twice.
    fn verify(&self, server: &Server, before: usize, begun: usize) {
        let mut messages: HashMap<&str, String> = HashMap::new();
        for kept in &self.told.kept[before..] {
            match kept {
                Kept::Memory { namespace, token } => {
                    assert_eq!(holding(server, namespace, token), 1, "{kept:?}");
                }
                Kept::Direct { namespace, path, content } => {
                    let read = server.get(&format!("/v1/memories/{path}?namespace={namespace}"));
                    assert_eq!(read.body["content"].as_str(), Some(content.as_str()), "{kept:?} {read:?}");
                }
                Kept::Forgotten { namespace, path } => {
                    let read = server.get(&format!("/v1/memories/{path}?namespace={namespace}"));
                    assert_eq!(read.status, 404, "{kept:?} {read:?}");
                }
                Kept::Term { namespace, term } => {
                    let found = server.get(&format!("/v1/vocab?namespace={namespace}&word={term}"));
                    assert_eq!(found.body["found"], true, "{kept:?}");
                }
                Kept::Skill { namespace, path, token } => {
                    let read = server.get(&format!("/v1/memories/{path}?namespace={namespace}"));
                    assert!(
                        read.body["content"].as_str().is_some_and(|text| text.contains(token)),
                        "{kept:?} {read:?}"
                    );
                }
                Kept::Message { conversation, token } => {
                    let all = messages.entry(conversation).or_insert_with(|| {
                        server.get(&format!("/v1/conversations/{conversation}")).body["messages"].to_string()
                    });
                    assert_eq!(all.matches(token).count(), 1, "{kept:?}");
                    assert_eq!(holding(server, "default", token), 1, "{kept:?}");
                }
                Kept::Media { id } => {
                    assert_eq!(server.get(&format!("/v1/media/{id}")).status, 200, "{kept:?}");
                }
            }
        }
        for (namespace, token) in &self.told.sent[begun..] {
            assert!(holding(server, namespace, token) <= 1, "{token} is there twice");
        }
    }

    /// The doctor finds nothing, nothing has died, and no message was committed twice.
    fn agree(&self) {
        let examined = run(&self.data, &["doctor"]);
        let (said, error) = (String::from_utf8_lossy(&examined.stdout), String::from_utf8_lossy(&examined.stderr));
        assert!(examined.status.success(), "{said}{error}");
        assert!(said.contains("0 dead letters"), "{said}");
        for namespace in NAMESPACES {
            let repository = self.data.join(format!("repositories/default/{namespace}.git"));
            committed_messages(&repository);
        }
    }

    /// At the end everything ever acknowledged is there, also in an index made anew, and the newest backup is sound.
    fn finish(&mut self, tally: &mut Tally) {
        let listed = |server: &Server| NAMESPACES.map(|namespace| paths(server, namespace));
        let server = self.start(false).expect("starts");
        NAMESPACES.iter().for_each(|namespace| server.settle(namespace));
        self.verify(&server, 0, 0);
        let before = listed(&server);
        server.kill();
        std::fs::remove_dir_all(self.data.join("indexes")).expect("removes");
        let server = self.start(false).expect("starts");
        assert_eq!(listed(&server), before, "an index made anew holds the same");
        let backups = self.root.join("backups");
        let backups = backups.to_str().expect("a path");
        let newest = stdout(&self.data, &["backup", backups]);
        drop(server);
        tally.backups += std::fs::read_dir(backups).expect("a folder").count() as u64;
        let restored = self.root.join("restored");
        stdout(&restored, &["restore", &newest]);
        let examined = run(&restored, &["doctor"]);
        assert!(examined.status.success(), "{}", String::from_utf8_lossy(&examined.stdout));
        std::fs::remove_dir_all(&self.folder).expect("removes");
    }
}

/// Every memory's path.
fn paths(server: &Server, namespace: &str) -> Vec<String> {
    fn below(server: &Server, namespace: &str, folder: &str, found: &mut Vec<String>) {
        let tree = server.get(&format!("/v1/tree?namespace={namespace}&path={folder}"));
        for entry in tree.body["entries"].as_array().into_iter().flatten() {
            let path = entry["path"].as_str().expect("a path");
            match entry["kind"].as_str() {
                Some("directory") => below(server, namespace, path, found),
                _ => found.push(path.to_owned()),
            }
        }
    }
    let mut found = Vec::new();
    below(server, namespace, "", &mut found);
    found
}

/// How many hits hold a token.
fn holding(server: &Server, namespace: &str, token: &str) -> usize {
    let hits = server.retrieve(namespace, &format!("q={token}&limit=5")).contents();
    hits.iter().filter(|hit| hit.contains(token)).count()
}

/// Sends a request; none where the server has died. Whatever it answers must be a success.
fn send(server: &Server, method: &str, path: &str, body: &Value) -> Option<Value> {
    let bearer = format!("Bearer {}", server.key);
    let body = (!body.is_null()).then(|| body.to_string().into_bytes());
    let answer = server.try_request(method, path, Some(&bearer), body).ok()?;
    assert!((200..300).contains(&answer.status), "{method} {path}: {answer:?}");
    Some(answer.body)
}
