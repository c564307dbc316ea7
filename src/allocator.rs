//! How much memory the C library's allocator keeps that nobody uses.

/// Lets it split the heap into no more parts than there are processors, or into none where address space is limited.
/// glibc makes up to eight for each, every thread leaves gaps in its own, and memory in gaps is not given back: after
/// minutes of writes, pushes and reads in nine namespaces three quarters of the heap were gaps. Each part also reserves
/// 64 MiB of address space. Other C libraries are left as they are.
pub(crate) fn share_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let heaps = libc::c_int::try_from(crate::memory_limit::heaps()).unwrap_or(libc::c_int::MAX);
        // SAFETY: it takes two numbers, checks them, and locks what it changes.
        #[allow(unsafe_code, reason = "without it a server soon holds half as much memory again, and more later")]
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, heaps);
        }
    }
}
