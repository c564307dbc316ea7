//! The crash campaign: a real server under mixed load is killed, or loses its power, at random and at named moments, and
//! is started again. Every write that it acknowledged must be there once, nothing that was deleted may come back, and all
//! that the server keeps must agree.
//!
//! Here are the moments, the rounds and the checks of the whole; [`clients`] sends every kind of write, [`kept`] says what
//! must hold of each after a kill. The first requests after a kill are direct writes to every namespace, some of which
//! hold commits that were not acknowledged.
//!
//! `CUEBASE_CAMPAIGN_KILLS` is the number of kills, `CUEBASE_CAMPAIGN_SEED` repeats the choices of a run.

mod clients;
mod kept;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use reqwest::blocking::Client;
use serde_json::{Value, json};

use self::kept::{Kept, State, Told};
use crate::support::disk::Disk;
use crate::support::provider::Provider;
use crate::support::working_copy::WorkingCopy;
use crate::support::{Chance, Server, committed_messages, cuebase, git, repository, run, stdout};

/// Kills in an ordinary run of the tests: every named moment once, and random ones between them.
const KILLS: u32 = 68;
/// Kills that one data directory lives through.
const KILLS_PER_DIRECTORY: u32 = 34;
/// Of so many rounds in a row the first, the third and so on are at named moments, the others at random ones.
const ROUNDS_OF_A_CYCLE: u32 = 9;
const NAMED_OF_A_CYCLE: u32 = 5;
/// Namespaces that conversations, direct writes, terms, skills and media are written to.
const NAMESPACES: [&str; 2] = ["default", "other"];
/// The namespace that git pushes to, beside a few other writes.
const PUSHED: &str = "pushed";
/// The namespace that the command line imports into.
const BROUGHT: &str = "brought";
/// All that live as long as the data directory.
const ALL: [&str; 4] = ["default", "other", PUSHED, BROUGHT];

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
const POINTS: [(&str, &str, Beside); 38] = [
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
    ("in the middle of a deletion", "kill unlink indexes/ 1", Beside::Deletion),
    ("in the middle of removing what was deleted", "kill unlink indexes/ 3", Beside::Deletion),
    ("in the middle of an upload", "tear write media/ 2", Beside::Nothing),
    ("after an upload has its name", "killafter rename media/ 2", Beside::Nothing),
    ("while a push is unpacked", "kill write pushed.git 2", Beside::Nothing),
];

/// What the campaign came to.
#[derive(Default)]
struct Tally {
    kills: BTreeMap<String, u32>,
    power_cuts: u32,
    acknowledged: BTreeMap<&'static str, u64>,
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
    for (kind, times) in &tally.acknowledged {
        println!("{times:>5}  acknowledged: {kind}");
    }
    println!(
        "{done} kills, {} of them with the loss of power, {} acknowledged writes, {} backups, {} moments not reached, {:.0?}",
        tally.power_cuts,
        tally.acknowledged.values().sum::<u64>(),
        tally.backups,
        tally.not_reached,
        began.elapsed()
    );
    if kills >= KILLS {
        for kind in Kept::KINDS {
            assert!(tally.acknowledged.contains_key(kind), "no {kind} was ever acknowledged");
        }
    }
}

/// The number of the named moment of a round; none where the moment is a random one.
fn named_moment(round: u32) -> Option<usize> {
    let (cycle, place) = (round / ROUNDS_OF_A_CYCLE, round % ROUNDS_OF_A_CYCLE);
    place.is_multiple_of(2).then(|| (cycle * NAMED_OF_A_CYCLE + place / 2) as usize % POINTS.len())
}

/// One data directory and what is known of it.
struct Campaign {
    /// Kept where the campaign fails, so that one can look.
    folder: PathBuf,
    root: PathBuf,
    data: PathBuf,
    disk: Disk,
    /// An account-wide key, and a dashboard session.
    key: String,
    session: String,
    /// The conversation that every round appends to.
    conversation: String,
    /// The month in which it began, as usage names it.
    period: Value,
    working_copy: WorkingCopy,
    numbers: AtomicU32,
    told: Told,
    hosted: bool,
    /// For addresses that need no credential.
    client: Client,
}

impl Campaign {
    fn new(begin: u32) -> Self {
        let folder = tempfile::tempdir().expect("temporary directory").keep();
        println!("in {}", folder.display());
        let root = folder.join("box");
        let data = root.join("data");
        std::fs::create_dir_all(&root).expect("creates");
        let mut server = Server::try_start(&data, serving(&data)).expect("starts");
        server.key = stdout(&data, &["keys", "create"]);
        ALL.iter().for_each(|namespace| server.namespace(namespace));
        let conversation = server.post("/v1/conversations", &json!({})).body["id"].as_str().expect("an id").to_owned();
        // So that there is a branch to clone.
        let body = json!({"namespace": PUSHED, "content": "# The first note\n"});
        assert_eq!(server.post("/v1/memories/facts/first.md", &body).status, 201);
        let working_copy = WorkingCopy::of(&server, PUSHED, &folder.join("copy"));
        let (key, session) = (server.key.clone(), stdout(&data, &["token"]));
        let period = server.get("/v1/usage").body["period"].clone();
        assert!(server.terminate());
        Self {
            disk: Disk::under(&root, &folder.join("disk")),
            root,
            data,
            key,
            session,
            conversation,
            period,
            working_copy,
            numbers: AtomicU32::new(begin * 1000),
            told: Told::default(),
            hosted: false,
            client: Client::new(),
            folder,
        }
    }

    /// A server, or none where it died before it served.
    fn start(&self, watched: bool) -> Option<Server> {
        let mut command = serving(&self.data);
        self.choose_model(&mut command);
        if watched {
            self.disk.watch(&mut command, true);
        }
        let mut server = Server::try_start(&self.data, command)?;
        server.key.clone_from(&self.key);
        Some(server)
    }

    /// A server that is looked at, and does not die of itself.
    fn start_again(&self) -> Server {
        self.start(false).unwrap_or_else(|| {
            let log = std::fs::read_to_string(self.data.with_extension("log")).unwrap_or_default();
            panic!("the server does not start again: {}", log.lines().last().unwrap_or_default());
        })
    }

    /// Runs a command beside the server, on the same disk: where the server has died, the command works on the data
    /// directory itself. True when it succeeded.
    fn run_beside(&self, arguments: &[&str]) -> bool {
        let mut command = without_models(cuebase(&self.data, arguments));
        self.choose_model(&mut command);
        self.disk.watch_too(&mut command);
        command.output().expect("the binary runs").status.success()
    }

    fn choose_model(&self, command: &mut Command) {
        if self.hosted {
            command.env("CUEBASE_MODEL_BASE_URL", &Provider::shared().url).env("CUEBASE_MODEL_EMBEDDING", "imitation");
        }
    }

    fn next_number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::SeqCst)
    }

    /// Kills a server once and looks at what is left.
    fn round(&mut self, number: u32, chance: &mut Chance, tally: &mut Tally) {
        let (point, rule, beside) = match named_moment(number) {
            Some(place) => {
                let (point, rule, beside) = POINTS[place];
                (point.to_owned(), rule.to_owned(), beside)
            }
            None => {
                let beside = *chance.one_of(&[Beside::Nothing, Beside::Nothing, Beside::Backup, Beside::Model]);
                let action = *chance.one_of(&["kill", "killafter", "tear"]);
                (format!("at random, {action}"), format!("{action} any * {}", 1 + chance.below(1200)), beside)
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
        let server = self.start_again();
        self.strike(&server);
        self.import_the_rest();
        self.pay_the_rest(&server);
        for kept in &self.told.kept[before..] {
            *tally.acknowledged.entry(kept.kind()).or_default() += 1;
        }
        self.settle(&server, before);
        self.verify(&server, before, begun);
        self.agree(&server, before);
        server.kill();
        self.check_repositories(&ALL);
    }

    /// Direct writes to every namespace at once, as the first requests after a start.
    fn strike(&mut self, server: &Server) {
        let mut kept = Vec::new();
        std::thread::scope(|scope| {
            let mut strikes = Vec::new();
            for namespace in ALL {
                let number = self.next_number();
                strikes.push(scope.spawn(move || strike_one(server, namespace, number)));
            }
            for strike in strikes {
                kept.push(strike.join().expect("the write is answered"));
            }
        });
        self.told.kept.extend(kept);
    }

    /// Waits until what was accepted is in, in every namespace that is still there.
    fn settle(&self, server: &Server, before: usize) {
        let names = self.there(server, before);
        std::thread::scope(|scope| {
            for name in &names {
                scope.spawn(move || server.settle(name));
            }
        });
    }

    /// The namespaces that live long, and of those that were made since the `before`-th write the ones that are there.
    fn there(&self, server: &Server, before: usize) -> BTreeSet<String> {
        let listed = namespaces(server);
        let mut names: BTreeSet<String> = ALL.iter().map(|name| (*name).to_owned()).collect();
        for kept in &self.told.kept[before..] {
            if let Kept::Generation { namespace, .. } = kept
                && listed.contains(namespace)
            {
                names.insert(namespace.clone());
            }
        }
        names
    }

    /// The doctor finds nothing, nothing has died, and no message was committed twice.
    fn agree(&self, server: &Server, before: usize) {
        let examined = run(&self.data, &["doctor"]);
        let (said, error) = (String::from_utf8_lossy(&examined.stdout), String::from_utf8_lossy(&examined.stderr));
        assert!(examined.status.success(), "{said}{error}");
        assert!(said.contains("0 dead letters"), "{said}");
        for name in self.there(server, before) {
            committed_messages(&repository(&self.data, &name));
        }
        self.check_pushes(before);
    }

    /// No server runs: while one joins packs, an fsck may list one that is gone when it comes to it.
    fn check_repositories(&self, names: &[&str]) {
        for name in names {
            git(&repository(&self.data, name), &["fsck", "--strict", "--full"]);
        }
    }

    /// At the end everything ever acknowledged is there, also in an index made anew, and the newest backup is sound.
    fn finish(&mut self, tally: &mut Tally) {
        let server = self.start_again();
        ALL.iter().for_each(|namespace| server.settle(namespace));
        self.verify(&server, 0, 0);
        self.agree(&server, 0);
        self.import_again(&server);
        let before = listed(&server);
        let names = namespaces(&server);
        server.kill();
        let with_history = names.iter().map(String::as_str).filter(|name| repository(&self.data, name).exists());
        self.check_repositories(&with_history.collect::<Vec<_>>());
        std::fs::remove_dir_all(self.data.join("indexes")).expect("removes");
        let server = self.start_again();
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

/// The command that serves: pushes are taken, and payments go to the sandbox.
fn serving(data: &Path) -> Command {
    let mut command = without_models(cuebase(data, &["serve", "--listen", "127.0.0.1:0"]));
    command.env("CUEBASE_GIT_ACCEPT_PUSH", "true").env("CUEBASE_RETRIEVAL_WARM_NAMESPACES", "8");
    command.env("CUEBASE_PAYMENTS_PROVIDER", "sandbox").env("CUEBASE_PAYMENTS_SANDBOX_LISTEN", "127.0.0.1:0");
    command
}

/// The campaign says itself which model it wants.
fn without_models(mut command: Command) -> Command {
    for name in ["CUEBASE_MODEL_BASE_URL", "CUEBASE_MODEL_EMBEDDING", "CUEBASE_MODEL_CHAT", "CUEBASE_MODEL_LOCAL"] {
        command.env_remove(name);
    }
    command
}

fn strike_one(server: &Server, namespace: &str, number: u32) -> Kept {
    let (path, content) = (format!("facts/strike/{number}.md"), format!("# Strike {number}\n"));
    let body = json!({"namespace": namespace, "content": content});
    let answer = server.post(&format!("/v1/memories/{path}"), &body);
    assert_eq!(answer.status, 201, "{answer:?}");
    Kept::File { namespace: namespace.to_owned(), path, may_be: vec![State::Is(content)] }
}

/// The names of the namespaces that are there.
fn namespaces(server: &Server) -> BTreeSet<String> {
    let answer = server.get("/v1/namespaces");
    let listed = answer.body["namespaces"].as_array().expect("a list");
    listed.iter().map(|record| record["name"].as_str().expect("a name").to_owned()).collect()
}

/// Every path of the namespaces that live long.
fn listed(server: &Server) -> [Vec<String>; ALL.len()] {
    ALL.map(|namespace| paths(server, namespace))
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

/// Sends a request with the account's key; none where the server has died. Whatever it answers must be a success.
fn send(server: &Server, method: &str, path: &str, body: &Value) -> Option<Value> {
    send_as(server, &server.key, method, path, body)
}

/// The same with another credential.
fn send_as(server: &Server, credential: &str, method: &str, path: &str, body: &Value) -> Option<Value> {
    let bearer = format!("Bearer {credential}");
    let body = (!body.is_null()).then(|| body.to_string().into_bytes());
    let answer = server.try_request(method, path, Some(&bearer), body).ok()?;
    assert!((200..300).contains(&answer.status), "{method} {path}: {answer:?}");
    Some(answer.body)
}
