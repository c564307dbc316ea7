//! Which node owns which namespace, when several nodes share a database and a bucket.
//!
//! [`Ownership`] is what the rest of the service asks. A process with its own data directory owns everything. A process
//! that shares its storage is a [`node`](node::Node): it has a session, which [`keeper`] renews, and it claims a namespace
//! when a request or a queued write needs it. While it owns the namespace, all requests are its own; other nodes forward
//! theirs.
//!
//! A claim makes this process the only writer. Before the first write, it reads what the former owner left: the newest id
//! and the queue. When the session ends, because others saw no renewal, the process gives up everything and joins again
//! as another node.
//!
//! Nodes divide limits by their number ([`shares`]), and a node that owns too much gives up namespaces that nobody uses
//! ([`rebalance`]). A node that stops drains first: it says so to balancers, ends its work, and then gives up everything.
//!
//! The records behind this are in `storage/src/records/ownership`.

mod cache_lock;
mod keeper;
mod live_node;
mod node;
mod owner_cache;
mod ownership;
mod pass;
mod rebalance;
mod shares;
mod stop;

pub use cache_lock::CacheLock;
pub use live_node::LiveNode;
pub use node::NodeParts;
pub use ownership::{Ownership, Reading};
pub use pass::{Pass, PassKey};
