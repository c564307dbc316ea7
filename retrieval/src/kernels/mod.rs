//! The innermost loops, compiled for the vector instructions of common processors.
//!
//! Each loop also has a portable form that returns the same bits. The form is chosen at run time.

mod bit_slices;
mod dot;
mod prefetch;

use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use bit_slices::{Differences, QuerySketch, Sketches, TILE_ROWS, Tile, differences};
pub use dot::dot;
pub use prefetch::prefetch;
pub(crate) use prefetch::{AHEAD, prefetch_at};

static PORTABLE: AtomicBool = AtomicBool::new(false);

/// Switches the whole process to the portable forms, or back: to measure what vector instructions gain, and to test
/// that they do not change a result.
pub fn force_portable(portable: bool) {
    PORTABLE.store(portable, Ordering::Relaxed);
}

fn is_portable() -> bool {
    PORTABLE.load(Ordering::Relaxed)
}
