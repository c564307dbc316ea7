//! The memory limits of this process, and the division of the memory.
//!
//! Limits come from the system: address space and data (`ulimit -v`, `ulimit -d`, `LimitAS=`), and the control groups
//! of the process (`docker run --memory`, `MemoryMax=`). [`MemoryPlan`] divides the memory between caches, request
//! bodies and threads, so that the server refuses a request before an allocation fails: a failed allocation ends the
//! process. Without a limit the plan equals the configuration.
//!
//! A limit of address space counts mapped memory, not used memory: thread stacks, mapped files, and the heaps that the
//! C library reserves. It therefore has to be larger than a limit of a control group.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use anyhow::ensure;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// Address space of the process before the first request: binary, embedding table, stacks of its own and the store's
/// threads, heap.
const ADDRESS_SPACE_BASE_BYTES: u64 = 384 * MIB;
/// Memory of the process before the first request.
const RESIDENT_BASE_BYTES: u64 = 96 * MIB;
/// Divisor of the memory above the base that gives the memory for request bodies. Reading a body takes its size again,
/// and so do the resulting write and its ingestion.
const BODY_SHARE: u64 = 3;
/// Minimum memory for request bodies: one request of the largest size, and its values.
const BODY_MEMORY_MIB_MIN: u64 = 24;
/// Divisor of the memory above the base that gives the store's block cache.
const CACHE_SHARE: u64 = 16;
/// Size of the store's block cache: without a limit, and the minimum.
const BLOCK_CACHE_BYTES: (u64, u64) = (64 * MIB, 4 * MIB);
/// Total size of the store's write buffers: without a limit, and the minimum.
const WRITE_BUFFER_BYTES: (u64, u64) = (64 * MIB, 8 * MIB);

/// Stack size of a thread of this process.
const STACK_BYTES: u64 = 2 * MIB;
/// Divisor of an address space that gives the stacks of blocking threads.
const STACK_SHARE: u64 = 8;
/// Number of threads for blocking work: without a limit (the default of tokio), and the minimum.
const BLOCKING_THREADS: (u64, u64) = (512, 16);
/// Address space per thread of a pool with one thread per processor.
const ADDRESS_SPACE_PER_WORKER_BYTES: u64 = 128 * MIB;
/// Below this address space the C library gets one heap: each further heap reserves 64 MiB.
const ONE_HEAP_BELOW_BYTES: u64 = 4096 * MIB;

/// Smallest value that means "no limit" in a control group of version 1.
const UNLIMITED_BYTES: u64 = 1 << 60;
/// Mount point of the control groups.
const CGROUPS: &str = "/sys/fs/cgroup";

/// The kind of memory that a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Mapped memory.
    AddressSpace,
    /// Used memory.
    Resident,
}

/// A limit on this process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Size of the limit.
    pub bytes: u64,
    /// The kind of memory that it counts.
    pub kind: LimitKind,
    /// Source of the limit, for an error: a resource or a file.
    pub source: String,
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB ({})", self.bytes / MIB, self.source)
    }
}

/// The division of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Size of the store's block cache, one for all column families.
    pub block_cache_bytes: usize,
    /// Total size of the store's write buffers.
    pub write_buffer_bytes: usize,
    /// `server.body_memory_mib`, lowered if a limit requires it.
    pub body_memory_mib: usize,
    /// Maximum number of threads for blocking work.
    pub blocking_threads: usize,
    /// Maximum number of threads of a pool with one thread per processor.
    pub worker_threads: usize,
}

impl MemoryPlan {
    /// Returns the plan for the limits of this process.
    ///
    /// # Errors
    ///
    /// One sentence, when a limit is too small to serve at all.
    pub fn current(configured_body_mib: usize) -> anyhow::Result<Self> {
        Self::for_limits(&limits(), configured_body_mib)
    }

    /// Returns the plan for the given limits: each part has the smallest size that any of them allows.
    ///
    /// # Errors
    ///
    /// One sentence, when a limit is too small to serve at all.
    pub fn for_limits(limits: &[MemoryLimit], configured_body_mib: usize) -> anyhow::Result<Self> {
        let mut plan = Self {
            block_cache_bytes: saturating_usize(BLOCK_CACHE_BYTES.0),
            write_buffer_bytes: saturating_usize(WRITE_BUFFER_BYTES.0),
            body_memory_mib: configured_body_mib,
            blocking_threads: saturating_usize(BLOCKING_THREADS.0),
            worker_threads: processors(),
        };
        for limit in limits {
            plan.narrow(limit)?;
        }
        Ok(plan)
    }

    /// Lowers the parts to fit a limit.
    fn narrow(&mut self, limit: &MemoryLimit) -> anyhow::Result<()> {
        let needed = minimum(limit.kind);
        ensure!(
            limit.bytes >= needed,
            "the memory limit of {limit} is too small: cuebase needs at least {} MiB of {}",
            needed / MIB,
            match limit.kind {
                LimitKind::AddressSpace => "address space",
                LimitKind::Resident => "memory",
            }
        );
        let left = limit.bytes - base(limit.kind);
        let cache = (left / CACHE_SHARE).clamp(BLOCK_CACHE_BYTES.1, BLOCK_CACHE_BYTES.0);
        self.block_cache_bytes = self.block_cache_bytes.min(saturating_usize(cache));
        let buffers = (left / CACHE_SHARE).clamp(WRITE_BUFFER_BYTES.1, WRITE_BUFFER_BYTES.0);
        self.write_buffer_bytes = self.write_buffer_bytes.min(saturating_usize(buffers));
        self.body_memory_mib = self.body_memory_mib.min(saturating_usize(left / BODY_SHARE / MIB));
        if limit.kind == LimitKind::AddressSpace {
            let blocking = limit.bytes / STACK_SHARE / STACK_BYTES;
            let blocking = blocking.clamp(BLOCKING_THREADS.1, BLOCKING_THREADS.0);
            self.blocking_threads = self.blocking_threads.min(saturating_usize(blocking));
            let workers = (limit.bytes / ADDRESS_SPACE_PER_WORKER_BYTES).max(1);
            self.worker_threads = self.worker_threads.min(saturating_usize(workers));
        }
        Ok(())
    }
}

fn base(kind: LimitKind) -> u64 {
    match kind {
        LimitKind::AddressSpace => ADDRESS_SPACE_BASE_BYTES,
        LimitKind::Resident => RESIDENT_BASE_BYTES,
    }
}

/// Returns the smallest limit with room for the minimum memory of request bodies.
fn minimum(kind: LimitKind) -> u64 {
    base(kind) + BODY_MEMORY_MIB_MIN * BODY_SHARE * MIB
}

fn saturating_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns how many heaps the C library may keep: one for each processor, or one where address space is scarce.
pub fn heaps() -> usize {
    for limit in limits() {
        if limit.kind == LimitKind::AddressSpace && limit.bytes < ONE_HEAP_BELOW_BYTES {
            return 1;
        }
    }
    processors()
}

fn processors() -> usize {
    match std::thread::available_parallelism() {
        Ok(count) => count.get(),
        Err(_) => 1,
    }
}

/// Returns all memory limits of this process.
pub fn limits() -> Vec<MemoryLimit> {
    let mut limits = Vec::new();
    let resources = [(Resource::RLIMIT_AS, "RLIMIT_AS, ulimit -v"), (Resource::RLIMIT_DATA, "RLIMIT_DATA, ulimit -d")];
    for (resource, source) in resources {
        if let Ok((bytes, _)) = getrlimit(resource)
            && bytes != RLIM_INFINITY
        {
            limits.push(MemoryLimit { bytes, kind: LimitKind::AddressSpace, source: source.to_owned() });
        }
    }
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    limits.extend(control_group_limit(Path::new(CGROUPS), &groups));
    limits
}

/// Returns the smallest limit of the control groups named in `/proc/self/cgroup` and of their ancestors.
fn control_group_limit(mount: &Path, groups: &str) -> Option<MemoryLimit> {
    let mut smallest: Option<MemoryLimit> = None;
    for line in groups.lines() {
        // Hierarchy, controllers, path. Controllers are empty in version 2.
        let Some((_, controllers_and_group)) = line.split_once(':') else { continue };
        let Some((controllers, group)) = controllers_and_group.split_once(':') else { continue };
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
                if let Some(smallest) = &smallest
                    && smallest.bytes <= bytes
                {
                    continue;
                }
                smallest = Some(MemoryLimit { bytes, kind: LimitKind::Resident, source: path.display().to_string() });
            }
        }
    }
    smallest
}

/// Returns the paths of the limit's file in the root, in the group, and in all groups between them. Inside a container,
/// a group may have the name of its path outside; then only the file in the root exists.
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

/// Returns the limit in a file. `None` if the file does not exist or sets no limit.
fn limit_in(path: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let bytes = text.trim().parse().ok()?;
    if bytes < UNLIMITED_BYTES { Some(bytes) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(mib: u64, kind: LimitKind) -> MemoryLimit {
        MemoryLimit { bytes: mib * MIB, kind, source: "a test".into() }
    }

    #[test]
    fn without_a_limit_the_plan_equals_the_configuration() {
        let plan = MemoryPlan::for_limits(&[], 512).expect("plans");
        assert_eq!((plan.body_memory_mib, plan.blocking_threads), (512, 512));
    }

    #[test]
    fn a_limit_lowers_the_plan_and_never_raises_it() {
        for kind in [LimitKind::AddressSpace, LimitKind::Resident] {
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
    fn a_limit_that_is_too_small_is_refused_with_its_source() {
        for (mib, kind) in [(0, LimitKind::AddressSpace), (100, LimitKind::AddressSpace), (64, LimitKind::Resident)] {
            let error = MemoryPlan::for_limits(&[limit(mib, kind)], 512).expect_err("refused").to_string();
            let needed = format!("at least {} MiB", minimum(kind) / MIB);
            assert!(error.contains("a test") && error.contains(&needed) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn the_smallest_limit_of_a_group_and_its_ancestors_counts() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
            std::fs::write(path, text).expect("writes");
        };
        let found = |groups: &str| control_group_limit(folder.path(), groups).map(|limit| limit.bytes / MIB);
        assert_eq!(found("0::/system.slice/cuebase.service\n"), None, "without files");
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
