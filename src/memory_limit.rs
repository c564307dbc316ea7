//! The memory that this process may take, and what is made of it.
//!
//! Limits come from the system: address space and data (`ulimit -v`, `ulimit -d`, `LimitAS=`), and the control groups of
//! the process (`docker run --memory`, `MemoryMax=`). [`MemoryPlan`] divides what they leave between the caches, the
//! bodies of requests and the threads, so that a request is refused where an allocation would fail: a failed allocation
//! ends the process. Without a limit the plan is what is configured.
//!
//! An address space limit counts what is mapped, not what is used: stacks of threads, files that are mapped, and the
//! heaps that the C library keeps in reserve. It therefore has to be larger than a limit of a control group.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use anyhow::ensure;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// Address space that the process takes before the first request: the binary, the word table, the stacks of its threads
/// and of the store's, the heap.
const ADDRESS_SPACE_BASE_BYTES: u64 = 384 * MIB;
/// Memory that the process takes before the first request.
const RESIDENT_BASE_BYTES: u64 = 96 * MIB;
/// Of what a limit leaves above the base, one part in this many may be held in bodies: reading one takes as much again, and
/// so do the write that it becomes and its ingestion.
const BODY_SHARE: u64 = 3;
/// Fewer bodies are of no use: one request of the largest size, and its values.
const BODY_MEMORY_MIB_MIN: u64 = 24;
/// Of what a limit leaves above the base, the store's block cache takes one part in this many.
const CACHE_SHARE: u64 = 16;
/// The store's block cache where nothing limits it, and at least.
const BLOCK_CACHE_BYTES: (u64, u64) = (64 * MIB, 4 * MIB);
/// The store's write buffers, all together, where nothing limits them, and at least.
const WRITE_BUFFER_BYTES: (u64, u64) = (64 * MIB, 8 * MIB);

/// Stack of a thread of ours.
const STACK_BYTES: u64 = 2 * MIB;
/// Of an address space one part in this many may be stacks of blocking threads.
const STACK_SHARE: u64 = 8;
/// Threads for blocking work where nothing limits them (tokio's own default), and at least.
const BLOCKING_THREADS: (u64, u64) = (512, 16);
/// Address space for each thread of a pool that has one for each processor.
const ADDRESS_SPACE_PER_WORKER_BYTES: u64 = 128 * MIB;
/// Below this address space the C library's heap is one: each further one reserves 64 MiB.
const ONE_HEAP_BELOW_BYTES: u64 = 4096 * MIB;

/// A value from here on stands for "no limit" in a control group of version 1.
const UNLIMITED_BYTES: u64 = 1 << 60;
/// Where control groups are mounted.
const CGROUPS: &str = "/sys/fs/cgroup";

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What is mapped.
    AddressSpace,
    /// What is used.
    Resident,
}

/// A limit on this process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Its size.
    pub bytes: u64,
    /// What it counts.
    pub kind: Kind,
    /// Where it was found, for an error.
    pub source: String,
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB ({})", self.bytes / MIB, self.source)
    }
}

/// How memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// The store's block cache, one for all column families.
    pub block_cache_bytes: usize,
    /// The store's write buffers, all together.
    pub write_buffer_bytes: usize,
    /// `server.body_memory_mib`, lowered where the limit asks for it.
    pub body_memory_mib: usize,
    /// Threads for blocking work, at most.
    pub blocking_threads: usize,
    /// Threads of a pool that has one for each processor, at most.
    pub worker_threads: usize,
}

impl MemoryPlan {
    /// Plans for the limits of this process.
    ///
    /// # Errors
    ///
    /// One sentence, when a limit is too small to serve at all.
    pub fn current(configured_body_mib: usize) -> anyhow::Result<Self> {
        Self::for_limits(&limits(), configured_body_mib)
    }

    /// Plans for given limits: of each part the smallest that any limit leaves.
    ///
    /// # Errors
    ///
    /// One sentence, when a limit is too small to serve at all.
    pub fn for_limits(limits: &[MemoryLimit], configured_body_mib: usize) -> anyhow::Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let mut plan = Self {
            block_cache_bytes: size(BLOCK_CACHE_BYTES.0),
            write_buffer_bytes: size(WRITE_BUFFER_BYTES.0),
            body_memory_mib: configured_body_mib,
            blocking_threads: size(BLOCKING_THREADS.0),
            worker_threads: processors,
        };
        for limit in limits {
            plan.narrow(limit)?;
        }
        Ok(plan)
    }

    fn narrow(&mut self, limit: &MemoryLimit) -> anyhow::Result<()> {
        let needed = minimum(limit.kind);
        ensure!(
            limit.bytes >= needed,
            "the memory limit of {limit} is too small: cuebase needs at least {} MiB of {}",
            needed / MIB,
            match limit.kind {
                Kind::AddressSpace => "address space",
                Kind::Resident => "memory",
            }
        );
        let left = limit.bytes - base(limit.kind);
        let cache = (left / CACHE_SHARE).clamp(BLOCK_CACHE_BYTES.1, BLOCK_CACHE_BYTES.0);
        self.block_cache_bytes = self.block_cache_bytes.min(size(cache));
        let buffers = (left / CACHE_SHARE).clamp(WRITE_BUFFER_BYTES.1, WRITE_BUFFER_BYTES.0);
        self.write_buffer_bytes = self.write_buffer_bytes.min(size(buffers));
        self.body_memory_mib = self.body_memory_mib.min(size(left / BODY_SHARE / MIB));
        if limit.kind == Kind::AddressSpace {
            let blocking = limit.bytes / STACK_SHARE / STACK_BYTES;
            let blocking = blocking.clamp(BLOCKING_THREADS.1, BLOCKING_THREADS.0);
            self.blocking_threads = self.blocking_threads.min(size(blocking));
            let workers = (limit.bytes / ADDRESS_SPACE_PER_WORKER_BYTES).max(1);
            self.worker_threads = self.worker_threads.min(size(workers));
        }
        Ok(())
    }
}

fn base(kind: Kind) -> u64 {
    match kind {
        Kind::AddressSpace => ADDRESS_SPACE_BASE_BYTES,
        Kind::Resident => RESIDENT_BASE_BYTES,
    }
}

/// The smallest limit that leaves room for the smallest memory of bodies.
fn minimum(kind: Kind) -> u64 {
    base(kind) + BODY_MEMORY_MIB_MIN * BODY_SHARE * MIB
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns how many heaps the C library may keep: one for each processor, or one where address space is scarce.
pub fn heaps() -> usize {
    let scarce = limits().iter().any(|limit| limit.kind == Kind::AddressSpace && limit.bytes < ONE_HEAP_BELOW_BYTES);
    if scarce { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) }
}

/// Returns every limit on this process's memory.
pub fn limits() -> Vec<MemoryLimit> {
    let mut found = Vec::new();
    let resources = [(Resource::RLIMIT_AS, "RLIMIT_AS, ulimit -v"), (Resource::RLIMIT_DATA, "RLIMIT_DATA, ulimit -d")];
    for (resource, source) in resources {
        if let Ok((bytes, _)) = getrlimit(resource)
            && bytes != RLIM_INFINITY
        {
            found.push(MemoryLimit { bytes, kind: Kind::AddressSpace, source: source.to_owned() });
        }
    }
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    found.extend(control_group_limit(Path::new(CGROUPS), &groups));
    found
}

/// Returns the smallest limit of the control groups that `/proc/self/cgroup` names, and of those above them.
fn control_group_limit(mount: &Path, groups: &str) -> Option<MemoryLimit> {
    let mut smallest: Option<MemoryLimit> = None;
    for line in groups.lines() {
        // Hierarchy, controllers, path; version 2 has no controllers.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (folders, file) = if controllers.is_empty() {
            ([mount.to_path_buf(), mount.join("unified")], "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            ([mount.join("memory"), mount.join(controllers)], "memory.limit_in_bytes")
        } else {
            continue;
        };
        for folder in folders {
            for path in files_upwards(&folder, group, file) {
                let Some(bytes) = limit_in(&path) else { continue };
                if smallest.as_ref().is_none_or(|smallest| bytes < smallest.bytes) {
                    smallest = Some(MemoryLimit { bytes, kind: Kind::Resident, source: path.display().to_string() });
                }
            }
        }
    }
    smallest
}

/// The file of a group, of the group above it, and so on up to the root. Inside of a container a group may be named by
/// its path outside: then only the root is there.
fn files_upwards(root: &Path, group: &str, file: &str) -> Vec<PathBuf> {
    let mut folder = root.to_path_buf();
    let mut files = vec![folder.join(file)];
    for component in Path::new(group).components() {
        if let Component::Normal(name) = component {
            folder.push(name);
            files.push(folder.join(file));
        }
    }
    files
}

/// The limit that a file holds; none where there is no such file, or no limit.
fn limit_in(path: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let bytes = text.trim().parse().ok()?;
    (bytes < UNLIMITED_BYTES).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(mib: u64, kind: Kind) -> MemoryLimit {
        MemoryLimit { bytes: mib * MIB, kind, source: "a test".into() }
    }

    #[test]
    fn without_a_limit_the_plan_is_what_is_configured() {
        let plan = MemoryPlan::for_limits(&[], 512).expect("plans");
        assert_eq!((plan.body_memory_mib, plan.blocking_threads), (512, 512));
    }

    #[test]
    fn a_limit_lowers_what_is_planned_and_never_raises_it() {
        for kind in [Kind::AddressSpace, Kind::Resident] {
            let mut former = MemoryPlan::for_limits(&[limit(1 << 20, kind)], 512).expect("plans");
            assert_eq!(former.body_memory_mib, 512, "a large limit changes nothing");
            for mib in (minimum(kind) / MIB..4096).rev() {
                let plan = MemoryPlan::for_limits(&[limit(mib, kind)], 512).expect("plans");
                assert!(plan.body_memory_mib <= former.body_memory_mib, "{mib}");
                let parts = plan.block_cache_bytes + plan.write_buffer_bytes + (plan.body_memory_mib << 20);
                assert!((parts as u64) < mib * MIB - base(kind), "{mib}: {plan:?}");
                former = plan;
            }
            assert_eq!(former.body_memory_mib as u64, BODY_MEMORY_MIB_MIN);
        }
    }

    #[test]
    fn a_limit_that_is_too_small_is_one_sentence_that_names_it() {
        for (mib, kind) in [(0, Kind::AddressSpace), (100, Kind::AddressSpace), (64, Kind::Resident)] {
            let error = MemoryPlan::for_limits(&[limit(mib, kind)], 512).expect_err("refused").to_string();
            let needed = format!("at least {} MiB", minimum(kind) / MIB);
            assert!(error.contains("a test") && error.contains(&needed) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn the_smallest_limit_of_a_group_and_those_above_it_counts() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
            std::fs::write(path, text).expect("writes");
        };
        let found = |groups: &str| control_group_limit(folder.path(), groups).map(|limit| limit.bytes / MIB);
        assert_eq!(found("0::/system.slice/cuebase.service\n"), None, "there are no files");
        write("system.slice/memory.max", &format!("{}\n", 700 * MIB));
        write("system.slice/cuebase.service/memory.max", "max\n");
        assert_eq!(found("0::/system.slice/cuebase.service\n"), Some(700));
        assert_eq!(found("0::/\n"), None);
        write("memory.max", &format!("{}\n", 600 * MIB));
        assert_eq!(found("0::/not/here\n"), Some(600), "named by its path outside of the container");
        write("memory/docker/x/memory.limit_in_bytes", &format!("{}\n", 500 * MIB));
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(found("12:pids:/docker/x\n9:memory:/docker/x\n"), Some(500));
        assert_eq!(found("12:pids:/docker/x\nnonsense\n"), None);
    }
}
