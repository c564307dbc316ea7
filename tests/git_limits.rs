//! Limits on pushes and bundles: small packs that unpack into large files, deep directories or millions of paths. The
//! tests build the packs byte by byte because git refuses to write most of them.

use std::io::Write;
use std::path::Path;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;

use crate::support::{Server, fresh, git, run};

/// Limit for the peak memory of the server: the idle server with its caches and pools, plus one push.
const PEAK_BYTES_MAX: u64 = 640 << 20;
/// The object id that means "no commit" in the push protocol.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";
const COMMIT: u8 = 1;
const TREE: u8 = 2;
const BLOB: u8 = 3;

type ObjectId = [u8; 20];

fn sha1(bytes: &[u8]) -> ObjectId {
    digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref().try_into().expect("twenty bytes")
}

fn hex(id: &ObjectId) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Builder of a pack file.
#[derive(Default)]
struct Pack {
    count: u32,
    entries: Vec<u8>,
}

impl Pack {
    fn add(&mut self, kind: u8, data: &[u8]) -> ObjectId {
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

    /// Adds a directory whose entries keep the given order.
    fn tree(&mut self, entries: &[(&str, &str, ObjectId)]) -> ObjectId {
        let mut data = Vec::new();
        for (mode, name, id) in entries {
            data.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            data.extend_from_slice(id);
        }
        self.add(TREE, &data)
    }

    /// Adds a directory in which every name has the same object.
    fn wide_tree(&mut self, mode: &str, names: u32, id: ObjectId) -> ObjectId {
        let names: Vec<String> = (0..names).map(|n| format!("n{n:03}.md")).collect();
        let entries: Vec<(&str, &str, ObjectId)> = names.iter().map(|name| (mode, name.as_str(), id)).collect();
        self.tree(&entries)
    }

    fn commit(&mut self, tree: ObjectId, parent: Option<ObjectId>) -> ObjectId {
        let parent = parent.map(|id| format!("parent {}\n", hex(&id))).unwrap_or_default();
        let identity = "Kim <kim@example.org> 1700000000 +0000";
        let text = format!("tree {}\n{parent}author {identity}\ncommitter {identity}\n\nby hand\n", hex(&tree));
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

fn packet_line(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

fn server_accepting_pushes(data: &Path) -> Server {
    Server::start_configured(data, "[git]\naccept_push = true\n")
}

/// Pushes references to an empty namespace. Returns the HTTP status and the response text.
fn push(server: &Server, references: &[&str], head: ObjectId, pack: &Pack) -> (u16, String) {
    let mut body = Vec::new();
    for (number, reference) in references.iter().enumerate() {
        let capabilities = if number == 0 { "\0 report-status" } else { "" };
        let command = format!("{NO_COMMIT} {} {reference}{capabilities}", hex(&head));
        body.extend_from_slice(packet_line(&command).as_bytes());
    }
    body.extend_from_slice(b"0000");
    body.extend_from_slice(&pack.bytes());
    let url = format!("{}/v1/git/default/git-receive-pack", server.url);
    let request = reqwest::blocking::Client::new().post(url).bearer_auth(&server.key).body(body);
    let response = request.send().expect("answers");
    let status = response.status().as_u16();
    (status, String::from_utf8_lossy(&response.bytes().expect("a body")).into_owned())
}

/// Pushes one commit to main, checks that the push is refused and changes nothing, and returns the response text.
fn refused_push(server: &Server, head: ObjectId, pack: &Pack) -> String {
    let (status, response) = push(server, &["refs/heads/main"], head, pack);
    assert_eq!(status, 200, "{response}");
    assert!(response.contains("ng refs/heads/main "), "{response}");
    assert!(!server.repository("default").join("refs/heads/main").exists(), "the refused push created a branch");
    response
}

/// Checks that the server still writes and reads, used little memory and left nothing in the trash.
fn assert_healthy(server: &Server, data: &Path) {
    let answer = server.post("/v1/memories/facts/after.md", &json!({"content": "# The heron lamp is still lit"}));
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    assert!(server.retrieve("default", "q=heron+lamp").contents()[0].contains("still lit"));
    assert!(server.peak_bytes() < PEAK_BYTES_MAX, "{} MiB", server.peak_bytes() >> 20);
    assert_eq!(std::fs::read_dir(data.join("trash")).map_or(0, Iterator::count), 0, "the trash is not empty");
}

/// Adds a commit with one file below `depth` directories.
fn nested(pack: &mut Pack, depth: usize) -> ObjectId {
    let blob = pack.add(BLOB, b"# Deep\n");
    let mut tree = pack.tree(&[("100644", "x.txt", blob)]);
    for _ in 1..depth {
        tree = pack.tree(&[("40000", "a", tree)]);
    }
    let root = pack.tree(&[("40000", "notes", tree)]);
    pack.commit(root, None)
}

/// Adds a tree of ten levels with 200 names in each directory, all ending in the same file.
fn tree_bomb(pack: &mut Pack) -> ObjectId {
    let blob = pack.add(BLOB, b"# Boom\n");
    let mut tree = pack.wide_tree("100644", 200, blob);
    for _ in 0..9 {
        tree = pack.wide_tree("40000", 200, tree);
    }
    pack.tree(&[("40000", "facts", tree)])
}

#[test]
fn deeply_nested_directories_are_refused() {
    let (_folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    for depth in [33, 3000, 20_000] {
        let mut pack = Pack::default();
        let head = nested(&mut pack, depth);
        let response = refused_push(&server, head, &pack);
        assert!(response.contains("nested more than 32 deep"), "{depth}: {response}");
    }
    let mut pack = Pack::default();
    let head = nested(&mut pack, 32);
    let (_, response) = push(&server, &["refs/heads/main"], head, &pack);
    assert!(response.contains("ok refs/heads/main"), "{response}");
    assert_healthy(&server, &data);
}

#[test]
fn one_file_at_too_many_paths_is_refused() {
    let (_folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    let mut pack = Pack::default();
    let root = tree_bomb(&mut pack);
    let head = pack.commit(root, None);
    assert!(pack.bytes().len() < 100 << 10);
    let response = refused_push(&server, head, &pack);
    assert!(response.contains("changes more than 100000 files and directories"), "{response}");
    assert_healthy(&server, &data);
}

#[test]
fn too_many_paths_in_an_older_commit_are_refused() {
    let (_folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    let mut pack = Pack::default();
    let root = tree_bomb(&mut pack);
    let bomb_commit = pack.commit(root, None);
    let blob = pack.add(BLOB, b"# Harmless\n");
    let facts = pack.tree(&[("100644", "a.md", blob)]);
    let root = pack.tree(&[("40000", "facts", facts)]);
    let head = pack.commit(root, Some(bomb_commit));
    let response = refused_push(&server, head, &pack);
    assert!(response.contains("changes more than 100000 files and directories"), "{response}");
    assert_healthy(&server, &data);
}

#[test]
fn a_large_file_at_many_paths_is_refused() {
    let (_folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    let mut pack = Pack::default();
    let blob = pack.add(BLOB, "# Large\n".repeat(1 << 17).as_bytes());
    let facts = pack.wide_tree("100644", 900, blob);
    let root = pack.tree(&[("40000", "facts", facts)]);
    let head = pack.commit(root, None);
    let response = refused_push(&server, head, &pack);
    assert!(response.contains("each path counted"), "{response}");
    assert_healthy(&server, &data);
}

#[test]
fn a_pack_that_unpacks_too_large_is_refused() {
    let (_folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    let mut pack = Pack::default();
    let mut content = vec![0; 60 << 20];
    let mut entries = Vec::new();
    for (number, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        content[0] = number as u8;
        entries.push(("100644", name, pack.add(BLOB, &content)));
    }
    let root = pack.tree(&entries);
    let head = pack.commit(root, None);
    let response = refused_push(&server, head, &pack);
    assert!(response.contains("unpacked it takes more than"), "{response}");
    assert_healthy(&server, &data);
}

#[test]
fn names_that_a_file_system_reads_as_dot_git_are_refused() {
    let (_folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    for name in [".git", "git~1", "GIT~1", ".git ", ".git.", ".g\u{200c}it", ".git:x", "a\\.git"] {
        let mut pack = Pack::default();
        let blob = pack.add(BLOB, b"[core]\n");
        let facts = pack.tree(&[("100644", name, blob)]);
        let root = pack.tree(&[("40000", "facts", facts)]);
        let head = pack.commit(root, None);
        let response = refused_push(&server, head, &pack);
        assert!(response.contains("has an entry named"), "{name:?}: {response}");
    }
    for (mode, expected) in
        [("120000", "ng refs/heads/main .gitmodules: is a symbolic link"), ("100644", "ok refs/heads")]
    {
        let mut pack = Pack::default();
        let blob = pack.add(BLOB, b"a");
        let root = pack.tree(&[(mode, ".gitmodules", blob)]);
        let head = pack.commit(root, None);
        let (_, response) = push(&server, &["refs/heads/main"], head, &pack);
        assert!(response.contains(expected), "{mode}: {response}");
    }
    assert_healthy(&server, &data);
}

#[test]
fn unsorted_directories_are_refused() {
    let (_folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    for names in [["b.md", "a.md"], ["a.md", "a.md"]] {
        let mut pack = Pack::default();
        let blob = pack.add(BLOB, b"# A\n");
        let facts = pack.tree(&names.map(|name| ("100644", name, blob)));
        let root = pack.tree(&[("40000", "facts", facts)]);
        let head = pack.commit(root, None);
        let response = refused_push(&server, head, &pack);
        assert!(response.contains("is not sorted"), "{names:?}: {response}");
    }
    assert_healthy(&server, &data);
}

#[test]
fn references_are_limited_and_each_gets_its_own_result() {
    let (_folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    let mut pack = Pack::default();
    let head = nested(&mut pack, 2);
    let (status, response) = push(&server, &["refs/heads/main", "refs/heads/main"], head, &pack);
    assert!(status == 400 && response.contains("twice"), "{status}: {response}");
    let many: Vec<String> = (0..200).map(|n| format!("refs/heads/b{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (status, response) = push(&server, &many, head, &pack);
    assert!(status == 400 && response.contains("more than 100"), "{status}: {response}");
    assert!(!server.repository("default").join("refs/heads/main").exists());
    let (status, response) = push(&server, &["refs/heads/other", "refs/heads/main"], head, &pack);
    assert_eq!(status, 200);
    assert!(response.contains("ok refs/heads/main") && response.contains("ng refs/heads/other "), "{response}");
    let taken = git(&server.repository("default"), &["rev-parse", "main"]);
    assert_eq!(taken.trim(), hex(&head));
    assert_healthy(&server, &data);
}

#[test]
fn a_bundle_with_too_deep_or_too_many_directories_is_refused() {
    let (folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    let mut deep = Pack::default();
    let deep_head = nested(&mut deep, 3000);
    let mut large = Pack::default();
    let blob = large.add(BLOB, "# Large\n".repeat(1 << 19).as_bytes());
    let facts = large.wide_tree("100644", 900, blob);
    let root = large.tree(&[("40000", "facts", facts)]);
    let large_head = large.commit(root, None);
    for (name, head, pack, expected) in
        [("deep", deep_head, deep, "nested more than 32 deep"), ("large", large_head, large, "each path counted")]
    {
        let file = folder.path().join(format!("{name}.bundle"));
        let header = format!("# v2 git bundle\n{} refs/heads/main\n\n", hex(&head));
        std::fs::write(&file, [header.as_bytes(), &pack.bytes()].concat()).expect("writes");
        let output = run(&data, &["import", file.to_str().expect("a path"), "--namespace", name]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(expected), "{name}: {error}");
        assert_eq!(server.get(&format!("/v1/tree?namespace={name}")).code(), "namespace_not_found");
    }
    assert_healthy(&server, &data);
}
