//! How many namespaces a node gives up because it owns more than its share.

/// Namespaces that are given up in one sweep, so that they are opened elsewhere one after another.
pub(super) const RELEASES_MAX: usize = 8;

/// Returns how many of its namespaces a node must give up: those above 1.25 times its share plus one. Nodes within this
/// margin keep what they have, since each move closes a namespace here and opens it elsewhere.
pub(super) fn surplus(owned: usize, owned_by_all: usize, nodes: usize) -> usize {
    let share = owned_by_all.div_ceil(nodes.max(1));
    owned.saturating_sub(share + share / 4 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_gives_up_what_exceeds_its_share_by_more_than_the_margin() {
        for (owned, owned_by_all, nodes, expected) in [
            (100, 100, 1, 0),
            (0, 0, 3, 0),
            (100, 100, 2, 37),
            (63, 100, 2, 0),
            (64, 100, 2, 1),
            (2, 3, 3, 0),
            (3, 3, 3, 1),
            (300, 300, 3, 174),
            (5, 5, 0, 0),
        ] {
            assert_eq!(surplus(owned, owned_by_all, nodes), expected, "{owned} of {owned_by_all}, {nodes} nodes");
        }
    }
}
