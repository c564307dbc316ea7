//! The threads that search, on which accounts take turns.
//!
//! The waiting searches of an account form a line, and the threads take from the lines in turn, so that an account with
//! many searches delays the others by the search that runs, not by all that wait. A long search [pauses](pause) where
//! it can: if it has run for a while, searches of other accounts run first, on the same thread. A search whose client
//! has left does not begin, and ends at its next pause.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cuebase_storage::AccountId;
use parking_lot::Mutex;

use crate::error::Error;

/// For how long a search runs before it lets those of other accounts run at its next pause. About three ordinary
/// searches.
const SLICE: Duration = Duration::from_millis(10);
/// Searches on the stack of a thread at most: one that runs, and others that paused for it.
const STACKED_MAX: usize = 4;

/// Threads that search.
pub struct SearchThreads {
    pool: rayon::ThreadPool,
    waiting: Mutex<Lines>,
}

/// A search: who asks for it, whether they still wait, and the work.
pub struct Search {
    /// The account that asks.
    pub account: AccountId,
    /// Whether the client still waits.
    pub client: Arc<ClientPresence>,
    /// The work. Must not panic.
    pub work: Box<dyn FnOnce() + Send>,
}

/// Whether the client of a request still waits for the response.
#[derive(Default)]
pub struct ClientPresence(AtomicBool);

/// Marks the client as gone when it is dropped. The future of the request holds it, and is dropped when the client
/// closes its connection.
pub struct PresenceGuard(Arc<ClientPresence>);

/// The client has closed its connection, so nobody will read the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLeft;

/// The lines of waiting searches, one for each account with any. The first line has the next turn.
#[derive(Default)]
struct Lines(VecDeque<Line>);

struct Line {
    account: AccountId,
    searches: VecDeque<Search>,
}

/// A search on the stack of a thread.
struct Turn {
    threads: Arc<SearchThreads>,
    account: AccountId,
    client: Arc<ClientPresence>,
    /// When the search began, or resumed after its last pause for others.
    since: Instant,
}

thread_local! {
    /// The searches on the stack of this thread; the last one runs.
    static TURNS: RefCell<Vec<Turn>> = const { RefCell::new(Vec::new()) };
}

impl SearchThreads {
    /// Makes the threads of a pool take turns.
    pub fn new(pool: rayon::ThreadPool) -> Arc<Self> {
        Arc::new(Self { pool, waiting: Mutex::default() })
    }

    /// Returns the threads.
    pub fn pool(&self) -> &rayon::ThreadPool {
        &self.pool
    }

    /// Runs a search as soon as it is the turn of its account.
    pub fn spawn(self: &Arc<Self>, search: Search) {
        self.waiting.lock().add(search);
        let threads = Arc::clone(self);
        // One attempt for each search. A search that paused for this one may have run it already.
        self.pool.spawn(move || {
            let next = threads.waiting.lock().next(None);
            if let Some(search) = next {
                threads.run(search);
            }
        });
    }

    fn run(self: &Arc<Self>, search: Search) {
        let Search { account, client, work } = search;
        let turn = Turn { threads: Arc::clone(self), account, client, since: Instant::now() };
        TURNS.with_borrow_mut(|turns| turns.push(turn));
        work();
        TURNS.with_borrow_mut(Vec::pop);
    }

    /// Runs a waiting search of another account, if there is one.
    fn run_other(self: &Arc<Self>, account: &AccountId) {
        let next = self.waiting.lock().next(Some(account));
        if let Some(search) = next {
            self.run(search);
        }
    }
}

/// A point at which a search can wait: it holds no lock. Lets searches of other accounts run first if this one has run
/// for a while. Does nothing outside of a search thread.
///
/// # Errors
///
/// If the client has left.
pub fn pause() -> Result<(), ClientLeft> {
    let Some(paused) = TURNS.with_borrow(|turns| due(turns)) else { return Ok(()) };
    match paused {
        Pause::ClientLeft => Err(ClientLeft),
        Pause::Resume => Ok(()),
        Pause::LetOthersRun(threads, account) => {
            threads.run_other(&account);
            TURNS.with_borrow_mut(|turns| {
                if let Some(turn) = turns.last_mut() {
                    turn.since = Instant::now();
                }
            });
            Ok(())
        }
    }
}

/// What a search does at a pause.
enum Pause {
    ClientLeft,
    Resume,
    LetOthersRun(Arc<SearchThreads>, AccountId),
}

/// Decides what the search that runs does. `None` outside of a search thread.
fn due(turns: &[Turn]) -> Option<Pause> {
    let turn = turns.last()?;
    if turn.client.has_left() {
        return Some(Pause::ClientLeft);
    }
    if turns.len() >= STACKED_MAX || turn.since.elapsed() < SLICE {
        return Some(Pause::Resume);
    }
    Some(Pause::LetOthersRun(Arc::clone(&turn.threads), turn.account.clone()))
}

impl Lines {
    fn add(&mut self, search: Search) {
        for line in &mut self.0 {
            if line.account == search.account {
                line.searches.push_back(search);
                return;
            }
        }
        self.0.push_back(Line { account: search.account.clone(), searches: VecDeque::from([search]) });
    }

    /// Takes the next search, and ends the turn of its account. Searches of `except` stay.
    fn next(&mut self, except: Option<&AccountId>) -> Option<Search> {
        let index = self.0.iter().position(|line| except != Some(&line.account))?;
        let mut line = self.0.remove(index)?;
        let search = line.searches.pop_front();
        if !line.searches.is_empty() {
            self.0.push_back(line);
        }
        search
    }
}

impl ClientPresence {
    /// Whether the client has closed its connection.
    pub fn has_left(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the guard that marks the client as gone.
    pub fn guard(self: &Arc<Self>) -> PresenceGuard {
        PresenceGuard(Arc::clone(self))
    }
}

impl Drop for PresenceGuard {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl From<ClientLeft> for Error {
    fn from(_: ClientLeft) -> Self {
        Self::ClientLeft
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    fn one_thread() -> Arc<SearchThreads> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("starts");
        SearchThreads::new(pool)
    }

    fn search(account: &str, work: impl FnOnce() + Send + 'static) -> Search {
        let account = AccountId::new(account).expect("is valid");
        Search { account, client: Arc::default(), work: Box::new(work) }
    }

    /// Occupies the only thread until the sender is dropped.
    fn occupy(threads: &Arc<SearchThreads>) -> Sender<()> {
        let (release, released): (Sender<()>, Receiver<()>) = channel();
        let (began, has_begun) = channel();
        threads.spawn(search("first", move || {
            began.send(()).expect("the test waits");
            let _ = released.recv();
        }));
        has_begun.recv().expect("begins");
        release
    }

    #[test]
    fn accounts_take_turns_even_if_one_sends_many_searches() {
        let threads = one_thread();
        let release = occupy(&threads);
        let (done, order) = channel();
        for account in ["greedy", "greedy", "greedy", "modest"] {
            let done = done.clone();
            threads.spawn(search(account, move || done.send(account).expect("the test waits")));
        }
        drop((release, done));
        assert_eq!(order.iter().collect::<Vec<_>>(), ["greedy", "modest", "greedy", "greedy"]);
    }

    #[test]
    fn a_long_search_lets_that_of_another_account_run_at_a_pause() {
        let threads = one_thread();
        let (began, has_begun) = channel();
        let (go_on, goes_on) = channel::<()>();
        let (done, order) = channel();
        let done_long = done.clone();
        threads.spawn(search("greedy", move || {
            began.send(()).expect("the test waits");
            goes_on.recv().expect("is released");
            let started = Instant::now();
            while started.elapsed() <= SLICE {
                std::hint::spin_loop();
            }
            pause().expect("the client waits");
            done_long.send("long").expect("the test waits");
        }));
        has_begun.recv().expect("begins");
        let done_own = done.clone();
        threads.spawn(search("greedy", move || done_own.send("own").expect("the test waits")));
        threads.spawn(search("modest", move || done.send("other").expect("the test waits")));
        go_on.send(()).expect("waits");
        assert_eq!(order.iter().collect::<Vec<_>>(), ["other", "long", "own"]);
    }

    #[test]
    fn a_search_ends_at_a_pause_once_its_client_has_left() {
        let threads = one_thread();
        let client: Arc<ClientPresence> = Arc::default();
        let guard = client.guard();
        let (done, results) = channel();
        let work = move || {
            let before = pause();
            drop(guard);
            done.send((before, pause())).expect("the test waits");
        };
        threads.spawn(Search { client, ..search("a", work) });
        assert_eq!(results.recv().expect("a result"), (Ok(()), Err(ClientLeft)));
        assert_eq!(pause(), Ok(()), "outside of a search thread");
    }
}
