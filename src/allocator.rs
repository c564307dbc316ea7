//! Limits the unused memory that the C library's allocator keeps.

/// Limits the arenas of glibc's heap to the number of processors, or to one if address space is limited.
///
/// By default glibc creates up to eight arenas per processor. Every thread leaves gaps in its arena, and memory in gaps
/// is not returned to the system: after minutes of writes, pushes and reads in nine namespaces, three quarters of the
/// heap were gaps. Each arena also reserves 64 MiB of address space. Other C libraries are not changed.
pub(crate) fn share_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let heaps = libc::c_int::try_from(crate::memory_limit::heaps()).unwrap_or(libc::c_int::MAX);
        // SAFETY: `mallopt` takes two numbers, validates them, and locks the state that it changes.
        #[allow(unsafe_code, reason = "without it a server soon takes 1.5 times the memory, and more later")]
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, heaps);
        }
    }
}
