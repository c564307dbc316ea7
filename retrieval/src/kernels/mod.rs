//! The innermost loops, in the instructions of the processor at hand.
//!
//! Each has a portable form that gives the same to the last bit; which one runs is settled while the program runs.

mod bit_slices;
mod dot;
mod prefetch;

use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use bit_slices::{Differences, Sketches, Sought, TILE_ROWS, Tile, differences};
pub use dot::dot;
pub(crate) use prefetch::{AHEAD, prefetch, prefetch_at};

static PORTABLE: AtomicBool = AtomicBool::new(false);

/// Leaves the processor's own instructions unused from now on, everywhere in this process: to see whether they matter,
/// and to test that they do not change an answer.
pub fn force_portable(portable: bool) {
    PORTABLE.store(portable, Ordering::Relaxed);
}

fn is_portable() -> bool {
    PORTABLE.load(Ordering::Relaxed)
}
