//! The crash campaign. A real server under mixed load is killed at named and random moments, sometimes with a power
//! cut, and is started again. Every acknowledged write must be stored exactly once, deleted data must not come back,
//! and all stored data must be consistent.
//!
//! This file has the kill points, the rounds and the checks of the whole directory. [`clients`] and [`documents`] send
//! every kind of write, [`writes`] checks their results. Some namespaces have commits that were not acknowledged. In
//! every second round the first requests after a kill therefore read the directly written memories. In the others they
//! are direct writes to every namespace. [`kills`](super::kills) kills at every call of a single write.
//!
//! `CUEBASE_CAMPAIGN_KILLS` sets the number of kills, `CUEBASE_CAMPAIGN_SEED` the seed of the random choices.

mod clients;
mod documents;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use fastrand::Rng;
use reqwest::blocking::Client;
use serde_json::{Value, json};

use self::writes::{ExpectedFile, RecordedWrite, WriteLog};
use crate::support::disk::Disk;
use crate::support::provider::Provider;
use crate::support::working_copy::WorkingCopy;
use crate::support::{Server, committed_messages, cuebase, environment_number, git, repository, run, stdout};

/// Kills in a run of the suite: one at every kill point, and random ones in between.
const KILLS: u32 = 68;
/// Kills per data directory.
const KILLS_PER_DIRECTORY: u32 = 34;
/// Rounds per cycle. The first, the third and so on use a kill point, the others a random moment.
const ROUNDS_PER_CYCLE: u32 = 9;
const KILL_POINTS_PER_CYCLE: u32 = 5;
/// Namespaces that receive conversations, direct writes, terms, skills, media and documents.
const NAMESPACES: [&str; 2] = ["default", "other"];
/// The namespace that receives git pushes and a few other writes.
const PUSHED: &str = "pushed";
/// The namespace that the command line imports into.
const IMPORTED: &str = "brought";
/// The namespace from which text is erased.
const ERASED: &str = "default";
/// Namespaces that are never deleted.
const LASTING: [&str; 4] = ["default", "other", PUSHED, IMPORTED];

/// A task that runs during the clients' writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Background {
    Nothing,
    Backup,
    /// A conversation that fills a layer.
    Layer,
    /// A change of the model, so that every namespace is embedded again.
    Model,
    Deletion,
}

/// A named moment at which the server is killed.
struct KillPoint {
    name: &'static str,
    /// The rule that kills the server; see `disk.c`.
    rule: &'static str,
    /// The task without which the server does not reach the moment.
    background: Background,
}

const fn at(name: &'static str, rule: &'static str, background: Background) -> KillPoint {
    KillPoint { name, rule, background }
}

static KILL_POINTS: [KillPoint; 38] = [
    at("before the queue's sync", "kill sync records/ 9", Background::Nothing),
    at("after the queue's sync", "killafter sync records/ 9", Background::Nothing),
    at("in the middle of a record", "tear write records/ 21", Background::Nothing),
    at("before the pack's name is recorded", "kill open cuebase-pending 3", Background::Nothing),
    at("after the pack's name is recorded", "killafter write cuebase-pending 3", Background::Nothing),
    at("in the middle of a pack", "tear write objects/pack/tmp_ 5", Background::Nothing),
    at("after a pack's bytes, before its sync", "kill sync objects/pack/tmp_ 5", Background::Nothing),
    at("before a pack is renamed", "kill rename .pack 3", Background::Nothing),
    at("between a pack and its index", "killafter rename .pack 3", Background::Nothing),
    at("after the pack, before the branch", "killafter rename .idx 3", Background::Nothing),
    at("with the branch locked", "killafter open main.lock 3", Background::Nothing),
    at("in the middle of the branch's lock", "tear write main.lock 3", Background::Nothing),
    at("before the branch moves", "kill rename refs/heads/main 3", Background::Nothing),
    at("after the branch moved", "killafter rename refs/heads/main 3", Background::Nothing),
    at("before the branch's folder is synced", "kill sync refs/heads 4", Background::Nothing),
    at("before the record of the pending commit is removed", "kill unlink cuebase-pending 3", Background::Nothing),
    at("in the middle of the index's log", "tear write memories.log 4", Background::Nothing),
    at("between the index's two logs", "killafter write memories.log 4", Background::Nothing),
    at("in the middle of the vectors", "tear write vectors.log 4", Background::Nothing),
    at("after the vectors", "killafter write vectors.log 4", Background::Nothing),
    at("before the index's state", "kill rename /state 4", Background::Nothing),
    at("between index and head", "killafter rename /state 4", Background::Nothing),
    at("in the middle of joining packs", "kill write cuebase-replaced 1", Background::Nothing),
    at("after packs were joined", "killafter rename cuebase-replaced 1", Background::Nothing),
    at("in the middle of a layer file", "tear write layer.new 1", Background::Layer),
    at("after a layer file is renamed", "killafter rename layer- 1", Background::Layer),
    at("when an index rebuild starts", "killafter open .next/ 1", Background::Model),
    at("in the middle of a re-embedding", "tear write .next/vectors.log 2", Background::Model),
    at("before an index is replaced", "kill rename .former 1", Background::Model),
    at("in the middle of an index replacement", "killafter rename .former 1", Background::Model),
    at("when a backup's records are linked", "kill mkdir trash/checkpoint 1", Background::Backup),
    at("in the middle of a backup", "kill write .unfinished- 12", Background::Backup),
    at("before a backup is renamed", "kill rename backups/ 1", Background::Backup),
    at("in the middle of a deletion", "kill unlink indexes/ 1", Background::Deletion),
    at("in the middle of removing deleted files", "kill unlink indexes/ 3", Background::Deletion),
    at("in the middle of an upload", "tear write media/ 2", Background::Nothing),
    at("after an upload is renamed", "killafter rename media/ 2", Background::Nothing),
    at("while a push is unpacked", "kill write pushed.git 2", Background::Nothing),
];

/// Tasks that run before a kill at a random moment.
static RANDOM_BACKGROUNDS: [Background; 4] =
    [Background::Nothing, Background::Nothing, Background::Backup, Background::Model];
/// Actions of a kill at a random moment.
static RANDOM_ACTIONS: [&str; 3] = ["kill", "killafter", "tear"];

/// Totals of the campaign.
#[derive(Default)]
struct Tally {
    kills: BTreeMap<String, u32>,
    power_cuts: u32,
    acknowledged: BTreeMap<&'static str, u64>,
    not_reached: u32,
    backups: u64,
}

#[test]
fn acknowledged_writes_survive_every_kill_exactly_once() {
    let kills = environment_number("CUEBASE_CAMPAIGN_KILLS").unwrap_or(KILLS.into()) as u32;
    let seed = environment_number("CUEBASE_CAMPAIGN_SEED").unwrap_or(1);
    let began = std::time::Instant::now();
    println!("seed {seed}, {kills} kills");
    let mut random = Rng::with_seed(seed);
    let mut tally = Tally::default();
    let mut done = 0;
    while done < kills {
        let mut campaign = Campaign::new(done);
        let rounds = KILLS_PER_DIRECTORY.min(kills - done);
        for round in 0..rounds {
            campaign.round(done + round, &mut random, &mut tally);
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
        "{done} kills, {} of them with a power cut, {} acknowledged writes, {} backups, {} kill points not reached, {:.0?}",
        tally.power_cuts,
        tally.acknowledged.values().sum::<u64>(),
        tally.backups,
        tally.not_reached,
        began.elapsed()
    );
    if kills >= KILLS {
        for kind in RecordedWrite::KINDS {
            assert!(tally.acknowledged.contains_key(kind), "no write of the kind {kind} was acknowledged");
        }
    }
}

/// Returns the kill point of a round; `None` if the server is killed at a random moment.
fn kill_point(round: u32) -> Option<&'static KillPoint> {
    let (cycle, position) = (round / ROUNDS_PER_CYCLE, round % ROUNDS_PER_CYCLE);
    if !position.is_multiple_of(2) {
        return None;
    }
    let index = (cycle * KILL_POINTS_PER_CYCLE + position / 2) as usize;
    Some(&KILL_POINTS[index % KILL_POINTS.len()])
}

/// A data directory and the writes that clients have sent to it.
struct Campaign {
    /// Not removed if the campaign fails, so that it can be examined.
    folder: PathBuf,
    root: PathBuf,
    data: PathBuf,
    disk: Disk,
    /// An account-wide key.
    key: String,
    /// A dashboard session.
    session: String,
    /// The conversation that every round appends to.
    conversation: String,
    /// The month in which the campaign started, in the format of usage.
    period: Value,
    working_copy: WorkingCopy,
    numbers: AtomicU32,
    log: WriteLog,
    /// The server uses the imitated provider instead of the built-in model.
    is_hosted: bool,
    /// For URLs that need no credential.
    client: Client,
}

impl Campaign {
    /// Creates a data directory. `first_round` makes the numbers of its writes unique.
    fn new(first_round: u32) -> Self {
        let folder = tempfile::tempdir().expect("temporary directory").keep();
        println!("directory: {}", folder.display());
        let root = folder.join("box");
        let data = root.join("data");
        std::fs::create_dir_all(&root).expect("creates");
        let mut server = Server::try_start(&data, serve_command(&data)).expect("starts");
        server.key = stdout(&data, &["keys", "create"]);
        for namespace in LASTING {
            server.namespace(namespace);
        }
        let conversation = server.post("/v1/conversations", &json!({})).body["id"].as_str().expect("an id").to_owned();
        // A first commit, so that the branch exists and can be cloned.
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
            numbers: AtomicU32::new(first_round * 1000),
            log: WriteLog::default(),
            is_hosted: false,
            client: Client::new(),
            folder,
        }
    }

    /// Starts a server; `None` if it was killed before it listened.
    fn start(&self, watched: bool) -> Option<Server> {
        let mut command = serve_command(&self.data);
        self.choose_model(&mut command);
        if watched {
            self.disk.watch(&mut command, true);
        }
        let mut server = Server::try_start(&self.data, command)?;
        server.key.clone_from(&self.key);
        Some(server)
    }

    /// Starts a server without rules, which must not exit.
    fn start_again(&self) -> Server {
        self.start(false).unwrap_or_else(|| {
            let log = std::fs::read_to_string(self.data.with_extension("log")).unwrap_or_default();
            panic!("the server does not start: {}", log.lines().last().unwrap_or_default());
        })
    }

    /// Runs a command on the same disk while the server runs. If the server has been killed, the command uses the data
    /// directory directly. Returns whether it succeeded.
    fn run_concurrently(&self, arguments: &[&str]) -> bool {
        let mut command = without_models(cuebase(&self.data, arguments));
        self.choose_model(&mut command);
        self.disk.watch_too(&mut command);
        command.output().expect("the binary runs").status.success()
    }

    fn choose_model(&self, command: &mut Command) {
        if self.is_hosted {
            command.env("CUEBASE_MODEL_BASE_URL", &Provider::shared().url).env("CUEBASE_MODEL_EMBEDDING", "imitation");
        }
    }

    fn next_number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::SeqCst)
    }

    /// Kills a server once and checks the data directory.
    fn round(&mut self, number: u32, random: &mut Rng, tally: &mut Tally) {
        let (point, rule, background) = match kill_point(number) {
            Some(point) => (point.name.to_owned(), point.rule.to_owned(), point.background),
            None => {
                let background = RANDOM_BACKGROUNDS[random.usize(..RANDOM_BACKGROUNDS.len())];
                let action = RANDOM_ACTIONS[random.usize(..RANDOM_ACTIONS.len())];
                (format!("at random, {action}"), format!("{action} any * {}", random.u32(1..=1200)), background)
            }
        };
        let cuts_power = random.bool();
        if background == Background::Model {
            self.is_hosted = !self.is_hosted;
        }
        println!("round {number}: {point} ({rule}), background: {background:?}, power cut: {cuts_power}");
        self.disk.set_rules(&[&rule]);
        let recorded_before = self.log.recorded.len();
        let sent_before = self.log.sent.len();
        let reached = match self.start(true) {
            None => true,
            Some(mut server) => {
                self.load(&server, background);
                let reached = server.has_ended();
                server.kill();
                reached
            }
        };
        self.disk.set_rules(&[]);
        tally.not_reached += u32::from(!reached);
        if !reached {
            println!("kill point not reached: the server is killed after the load");
        }
        *tally.kills.entry(if reached { point } else { "while idle".into() }).or_default() += 1;
        if cuts_power {
            self.disk.lose_power(random);
            // The records store the boot id of the machine. A power cut is followed by another boot.
            std::fs::write(self.data.join("records/BOOT"), "another boot").expect("writes");
            tally.power_cuts += 1;
        }
        let server = self.start_again();
        // A write would repair a namespace that was opened incompletely, so reads come first in every second round.
        let mut early = Vec::new();
        if number.is_multiple_of(2) {
            early = self.read_before_writes(&server, recorded_before);
        }
        self.write_to_all(&server);
        self.finish_imports();
        self.pay_open_recharges(&server);
        for write in &self.log.recorded[recorded_before..] {
            *tally.acknowledged.entry(write.kind()).or_default() += 1;
        }
        self.settle(&server, recorded_before);
        self.verify(&server, recorded_before, sent_before);
        for read in early {
            read.check_again(&server);
        }
        self.check_consistency(&server, recorded_before);
        server.kill();
        self.check_repositories(&LASTING);
    }

    /// Sends direct writes to every namespace concurrently, as the first requests after a start.
    fn write_to_all(&mut self, server: &Server) {
        let mut recorded = Vec::new();
        std::thread::scope(|scope| {
            let mut requests = Vec::new();
            for namespace in LASTING {
                let number = self.next_number();
                requests.push(scope.spawn(move || write_first(server, namespace, number)));
            }
            for request in requests {
                recorded.push(request.join().expect("the write is answered"));
            }
        });
        self.log.recorded.extend(recorded);
    }

    /// Waits until accepted writes are ingested in every existing namespace.
    fn settle(&self, server: &Server, recorded_before: usize) {
        let names = self.existing(server, recorded_before);
        std::thread::scope(|scope| {
            for name in &names {
                scope.spawn(move || server.settle(name));
            }
        });
    }

    /// Returns the lasting namespaces, and the existing ones that were created by writes from index `recorded_before`
    /// on.
    fn existing(&self, server: &Server, recorded_before: usize) -> BTreeSet<String> {
        let listed = namespaces(server);
        let mut names: BTreeSet<String> = LASTING.iter().map(|name| (*name).to_owned()).collect();
        for write in &self.log.recorded[recorded_before..] {
            if let RecordedWrite::Generation { namespace, .. } = write
                && listed.contains(namespace)
            {
                names.insert(namespace.clone());
            }
        }
        names
    }

    /// Checks that the doctor finds everything sound, that there are no dead letters, and that no message was committed
    /// twice.
    fn check_consistency(&self, server: &Server, recorded_before: usize) {
        let examined = run(&self.data, &["doctor"]);
        let (report, error) = (String::from_utf8_lossy(&examined.stdout), String::from_utf8_lossy(&examined.stderr));
        assert!(examined.status.success(), "{report}{error}");
        assert!(report.contains("0 dead letters"), "{report}");
        for name in self.existing(server, recorded_before) {
            committed_messages(&repository(&self.data, &name));
        }
        self.check_pushes(recorded_before);
    }

    /// Checks repositories with `git fsck`. No server may run: it joins packs, and fsck could list a pack that is then
    /// removed.
    fn check_repositories(&self, names: &[&str]) {
        for name in names {
            git(&repository(&self.data, name), &["fsck", "--strict", "--full"]);
        }
    }

    /// Checks all acknowledged writes at the end, then a rebuilt index, then a restored backup.
    fn finish(&mut self, tally: &mut Tally) {
        let server = self.start_again();
        for namespace in LASTING {
            server.settle(namespace);
        }
        self.verify(&server, 0, 0);
        self.check_consistency(&server, 0);
        self.check_repeated_import(&server);
        let before = listed(&server);
        let names = namespaces(&server);
        server.kill();
        let with_history = names.iter().map(String::as_str).filter(|name| repository(&self.data, name).exists());
        self.check_repositories(&with_history.collect::<Vec<_>>());
        self.check_erased_history();
        std::fs::remove_dir_all(self.data.join("indexes")).expect("removes");
        let server = self.start_again();
        assert_eq!(listed(&server), before, "a rebuilt index has the same memories");
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

/// Returns the command for a server that accepts pushes and uses the sandbox for payments.
fn serve_command(data: &Path) -> Command {
    let mut command = without_models(cuebase(data, &["serve", "--listen", "127.0.0.1:0"]));
    command.env("CUEBASE_GIT_ACCEPT_PUSH", "true").env("CUEBASE_RETRIEVAL_WARM_NAMESPACES", "8");
    command.env("CUEBASE_PAYMENTS_PROVIDER", "sandbox").env("CUEBASE_PAYMENTS_SANDBOX_LISTEN", "127.0.0.1:0");
    command
}

/// Removes the suite's model settings, since the campaign chooses the model.
fn without_models(mut command: Command) -> Command {
    for name in ["CUEBASE_MODEL_BASE_URL", "CUEBASE_MODEL_EMBEDDING", "CUEBASE_MODEL_CHAT", "CUEBASE_MODEL_LOCAL"] {
        command.env_remove(name);
    }
    command
}

/// Sends a direct write to a namespace, which must succeed.
fn write_first(server: &Server, namespace: &str, number: u32) -> RecordedWrite {
    let (path, token) = (format!("facts/strike/{number}.md"), format!("strike{number}f"));
    let content = format!("# Strike {token}\n");
    let body = json!({"namespace": namespace, "content": content});
    let answer = server.post(&format!("/v1/memories/{path}"), &body);
    assert_eq!(answer.status, 201, "{answer:?}");
    let possible = vec![ExpectedFile::Is(content)];
    RecordedWrite::File { namespace: namespace.to_owned(), path, token, is_only_direct: true, possible }
}

/// Returns the names of the existing namespaces.
fn namespaces(server: &Server) -> BTreeSet<String> {
    let answer = server.get("/v1/namespaces");
    let listed = answer.body["namespaces"].as_array().expect("a list");
    listed.iter().map(|record| record["name"].as_str().expect("a name").to_owned()).collect()
}

/// Returns every memory's path in the lasting namespaces.
fn listed(server: &Server) -> [Vec<String>; LASTING.len()] {
    LASTING.map(|namespace| server.memory_paths(namespace))
}

/// Sends a request with the account's key. The response must be a success. Returns `None` if the server has been
/// killed.
fn send(server: &Server, method: &str, path: &str, body: &Value) -> Option<Value> {
    send_as(server, &server.key, method, path, body)
}

/// Sends a request with another credential.
fn send_as(server: &Server, credential: &str, method: &str, path: &str, body: &Value) -> Option<Value> {
    let bearer = format!("Bearer {credential}");
    let body = (!body.is_null()).then(|| body.to_string().into_bytes());
    let answer = server.try_request(method, path, Some(&bearer), body).ok()?;
    assert!((200..300).contains(&answer.status), "{method} {path}: {answer:?}");
    Some(answer.body)
}
