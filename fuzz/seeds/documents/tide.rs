use std::fmt;

/// Doc.
pub struct Tide {
    hour: u8,
}

fn high() -> Tide {
    Tide { hour: 6 }
}
