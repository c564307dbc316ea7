//! Pushes and bundles that are small as they are sent and large, deep or many as they are unpacked. Packs are made by
//! hand, since git itself refuses to make most of them.

use std::io::Write;
use std::path::Path;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;

use crate::support::{Server, fresh, git, run};

/// An idle server with its caches and pools, and what a push may take beside it.
const PEAK_BYTES_MAX: u64 = 640 << 20;
/// Stands for no commit.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";
const COMMIT: u8 = 1;
const TREE: u8 = 2;
const BLOB: u8 = 3;

type Id = [u8; 20];

fn sha1(bytes: &[u8]) -> Id {
    digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref().try_into().expect("twenty bytes")
}

fn hex(id: &Id) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Objects on their way into a pack.
#[derive(Default)]
struct Pack {
    count: u32,
    entries: Vec<u8>,
}

impl Pack {
    fn add(&mut self, kind: u8, data: &[u8]) -> Id {
        let mut rest = data.len() >> 4;
        let mut byte = (kind << 4) | (data.len() & 15) as u8;
        while rest > 0 {
            self.entries.push(byte | 0x80);
            byte = (rest & 0x7f) as u8;
            rest >>= 7;
        }
        self.entries.push(byte);
        let mut encoder = ZlibEncoder::new(&mut self.entries, Compression::fast());
        encoder.write_all(data).expect("compresses");
        encoder.finish().expect("compresses");
        self.count += 1;
        let name = ["", "commit", "tree", "blob"][usize::from(kind)];
        let header = format!("{name} {}\0", data.len());
        sha1(&[header.as_bytes(), data].concat())
    }

    /// A directory of entries in the order that they are given.
    fn tree(&mut self, entries: &[(&str, &str, Id)]) -> Id {
        let mut data = Vec::new();
        for (mode, name, id) in entries {
            data.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            data.extend_from_slice(id);
        }
        self.add(TREE, &data)
    }

    /// A directory with one thing under each of many names.
    fn wide_tree(&mut self, mode: &str, names: u32, id: Id) -> Id {
        let names: Vec<String> = (0..names).map(|n| format!("n{n:03}.md")).collect();
        let entries: Vec<(&str, &str, Id)> = names.iter().map(|name| (mode, name.as_str(), id)).collect();
        self.tree(&entries)
    }

    fn commit(&mut self, tree: Id, parent: Option<Id>) -> Id {
        let parent = parent.map(|id| format!("parent {}\n", hex(&id))).unwrap_or_default();
        let who = "Kim <kim@example.org> 1700000000 +0000";
        let text = format!("tree {}\n{parent}author {who}\ncommitter {who}\n\nby hand\n", hex(&tree));
        self.add(COMMIT, text.as_bytes())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"PACK\0\0\0\x02".to_vec();
        bytes.extend_from_slice(&self.count.to_be_bytes());
        bytes.extend_from_slice(&self.entries);
        let hash = sha1(&bytes);
        bytes.extend_from_slice(&hash);
        bytes
    }
}

fn line(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

fn accepting(data: &Path) -> Server {
    Server::start_configured(data, "[git]\naccept_push = true\n")
}

/// Sends a push of references to an empty namespace. Returns status and answer.
fn send(server: &Server, references: &[&str], head: Id, pack: &Pack) -> (u16, String) {
    let mut body = Vec::new();
    for (number, reference) in references.iter().enumerate() {
        let capabilities = if number == 0 { "\0 report-status" } else { "" };
        let command = format!("{NO_COMMIT} {} {reference}{capabilities}", hex(&head));
        body.extend_from_slice(line(&command).as_bytes());
    }
    body.extend_from_slice(b"0000");
    body.extend_from_slice(&pack.bytes());
    let url = format!("{}/v1/git/default/git-receive-pack", server.url);
    let request = reqwest::blocking::Client::new().post(url).bearer_auth(&server.key).body(body);
    let response = request.send().expect("answers");
    let status = response.status().as_u16();
    (status, String::from_utf8_lossy(&response.bytes().expect("a body")).into_owned())
}

/// What is said of a push of one commit to main that must be refused and must change nothing.
fn refused(server: &Server, head: Id, pack: &Pack) -> String {
    let (status, told) = send(server, &["refs/heads/main"], head, pack);
    assert_eq!(status, 200, "{told}");
    assert!(told.contains("ng refs/heads/main "), "{told}");
    assert!(!server.repository("default").join("refs/heads/main").exists(), "something was taken in");
    told
}

/// The server writes and reads as before, and has never taken much memory.
fn is_well(server: &Server, data: &Path) {
    let answer = server.post("/v1/memories/facts/after.md", &json!({"content": "# The heron lamp is still lit"}));
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    assert!(server.retrieve("default", "q=heron+lamp").contents()[0].contains("still lit"));
    assert!(server.peak_bytes() < PEAK_BYTES_MAX, "{} MiB", server.peak_bytes() >> 20);
    assert_eq!(std::fs::read_dir(data.join("trash")).map_or(0, Iterator::count), 0, "something was left behind");
}

/// A commit whose file has that many directories above it.
fn nested(pack: &mut Pack, depth: usize) -> Id {
    let blob = pack.add(BLOB, b"# Deep\n");
    let mut tree = pack.tree(&[("100644", "x.txt", blob)]);
    for _ in 1..depth {
        tree = pack.tree(&[("40000", "a", tree)]);
    }
    let root = pack.tree(&[("40000", "notes", tree)]);
    pack.commit(root, None)
}

/// One file under 200 names in each of 200 directories, and so on, ten levels deep.
fn bomb(pack: &mut Pack) -> Id {
    let blob = pack.add(BLOB, b"# Boom\n");
    let mut tree = pack.wide_tree("100644", 200, blob);
    for _ in 0..9 {
        tree = pack.wide_tree("40000", 200, tree);
    }
    pack.tree(&[("40000", "facts", tree)])
}

#[test]
fn directories_that_are_nested_too_deep_are_refused() {
    let (_folder, data) = fresh();
    let server = accepting(&data);
    for depth in [33, 3000, 20_000] {
        let mut pack = Pack::default();
        let head = nested(&mut pack, depth);
        let told = refused(&server, head, &pack);
        assert!(told.contains("nested more than 32 deep"), "{depth}: {told}");
    }
    let mut pack = Pack::default();
    let head = nested(&mut pack, 32);
    let (_, told) = send(&server, &["refs/heads/main"], head, &pack);
    assert!(told.contains("ok refs/heads/main"), "{told}");
    is_well(&server, &data);
}

#[test]
fn one_file_under_countless_paths_is_refused() {
    let (_folder, data) = fresh();
    let server = accepting(&data);
    let mut pack = Pack::default();
    let root = bomb(&mut pack);
    let head = pack.commit(root, None);
    assert!(pack.bytes().len() < 100 << 10);
    let told = refused(&server, head, &pack);
    assert!(told.contains("changes more than 100000 files and directories"), "{told}");
    is_well(&server, &data);
}

#[test]
fn countless_paths_in_the_midst_of_a_history_are_refused() {
    let (_folder, data) = fresh();
    let server = accepting(&data);
    let mut pack = Pack::default();
    let root = bomb(&mut pack);
    let armed = pack.commit(root, None);
    let blob = pack.add(BLOB, b"# Harmless\n");
    let facts = pack.tree(&[("100644", "a.md", blob)]);
    let root = pack.tree(&[("40000", "facts", facts)]);
    let head = pack.commit(root, Some(armed));
    let told = refused(&server, head, &pack);
    assert!(told.contains("changes more than 100000 files and directories"), "{told}");
    is_well(&server, &data);
}

#[test]
fn a_file_that_is_large_under_many_names_is_refused() {
    let (_folder, data) = fresh();
    let server = accepting(&data);
    let mut pack = Pack::default();
    let blob = pack.add(BLOB, "# Large\n".repeat(1 << 17).as_bytes());
    let facts = pack.wide_tree("100644", 900, blob);
    let root = pack.tree(&[("40000", "facts", facts)]);
    let head = pack.commit(root, None);
    let told = refused(&server, head, &pack);
    assert!(told.contains("each path counted"), "{told}");
    is_well(&server, &data);
}

#[test]
fn what_is_large_once_it_is_unpacked_is_refused() {
    let (_folder, data) = fresh();
    let server = accepting(&data);
    let mut pack = Pack::default();
    let mut content = vec![0; 60 << 20];
    let mut entries = Vec::new();
    for (number, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        content[0] = number as u8;
        entries.push(("100644", name, pack.add(BLOB, &content)));
    }
    let root = pack.tree(&entries);
    let head = pack.commit(root, None);
    let told = refused(&server, head, &pack);
    assert!(told.contains("unpacked it takes more than"), "{told}");
    is_well(&server, &data);
}

#[test]
fn names_that_a_file_system_takes_for_gits_own_are_refused() {
    let (_folder, data) = fresh();
    let server = accepting(&data);
    for name in [".git", "git~1", "GIT~1", ".git ", ".git.", ".g\u{200c}it", ".git:x", "a\\.git"] {
        let mut pack = Pack::default();
        let blob = pack.add(BLOB, b"[core]\n");
        let facts = pack.tree(&[("100644", name, blob)]);
        let root = pack.tree(&[("40000", "facts", facts)]);
        let head = pack.commit(root, None);
        let told = refused(&server, head, &pack);
        assert!(told.contains("has an entry named"), "{name:?}: {told}");
    }
    for (mode, says) in [("120000", "ng refs/heads/main .gitmodules: is a symbolic link"), ("100644", "ok refs/heads")]
    {
        let mut pack = Pack::default();
        let blob = pack.add(BLOB, b"a");
        let root = pack.tree(&[(mode, ".gitmodules", blob)]);
        let head = pack.commit(root, None);
        let (_, told) = send(&server, &["refs/heads/main"], head, &pack);
        assert!(told.contains(says), "{mode}: {told}");
    }
    is_well(&server, &data);
}

#[test]
fn directories_that_are_not_as_git_sorts_them_are_refused() {
    let (_folder, data) = fresh();
    let server = accepting(&data);
    for names in [["b.md", "a.md"], ["a.md", "a.md"]] {
        let mut pack = Pack::default();
        let blob = pack.add(BLOB, b"# A\n");
        let facts = pack.tree(&names.map(|name| ("100644", name, blob)));
        let root = pack.tree(&[("40000", "facts", facts)]);
        let head = pack.commit(root, None);
        let told = refused(&server, head, &pack);
        assert!(told.contains("is not sorted"), "{names:?}: {told}");
    }
    is_well(&server, &data);
}

#[test]
fn a_reference_that_is_named_twice_is_refused_and_others_are_told_one_by_one() {
    let (_folder, data) = fresh();
    let server = accepting(&data);
    let mut pack = Pack::default();
    let head = nested(&mut pack, 2);
    let (status, told) = send(&server, &["refs/heads/main", "refs/heads/main"], head, &pack);
    assert!(status == 400 && told.contains("twice"), "{status}: {told}");
    let many: Vec<String> = (0..200).map(|n| format!("refs/heads/b{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (status, told) = send(&server, &many, head, &pack);
    assert!(status == 400 && told.contains("more than 100"), "{status}: {told}");
    assert!(!server.repository("default").join("refs/heads/main").exists());
    let (status, told) = send(&server, &["refs/heads/other", "refs/heads/main"], head, &pack);
    assert_eq!(status, 200);
    assert!(told.contains("ok refs/heads/main") && told.contains("ng refs/heads/other "), "{told}");
    let taken = git(&server.repository("default"), &["rev-parse", "main"]);
    assert_eq!(taken.trim(), hex(&head));
    is_well(&server, &data);
}

#[test]
fn a_bundle_with_deep_or_countless_directories_is_refused() {
    let (folder, data) = fresh();
    let server = accepting(&data);
    let mut deep = Pack::default();
    let deep_head = nested(&mut deep, 3000);
    let mut large = Pack::default();
    let blob = large.add(BLOB, "# Large\n".repeat(1 << 19).as_bytes());
    let facts = large.wide_tree("100644", 900, blob);
    let root = large.tree(&[("40000", "facts", facts)]);
    let large_head = large.commit(root, None);
    for (name, head, pack, says) in
        [("deep", deep_head, deep, "nested more than 32 deep"), ("large", large_head, large, "each path counted")]
    {
        let file = folder.path().join(format!("{name}.bundle"));
        let header = format!("# v2 git bundle\n{} refs/heads/main\n\n", hex(&head));
        std::fs::write(&file, [header.as_bytes(), &pack.bytes()].concat()).expect("writes");
        let told = run(&data, &["import", file.to_str().expect("a path"), "--namespace", name]);
        let error = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(!told.status.success() && error.contains(says), "{name}: {error}");
        assert_eq!(server.get(&format!("/v1/tree?namespace={name}")).code(), "namespace_not_found");
    }
    is_well(&server, &data);
}
