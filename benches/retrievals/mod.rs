//! Retrievals over HTTP by concurrent clients, with the duration of each.

use std::io;
use std::time::Instant;

use crate::corpus::Corpus;
use crate::loopback::Client;

/// Retrievals per measurement.
const REQUESTS: usize = 4000;

/// A number of retrievals, divided among concurrent clients.
pub(crate) struct Load<'a> {
    pub(crate) address: &'a str,
    pub(crate) key: &'a str,
    pub(crate) clients: usize,
    /// Query parameters in addition to the question, each with a leading `&`.
    pub(crate) filter: &'a str,
}

/// The result of a load.
pub(crate) struct LoadResult {
    pub(crate) per_second: f64,
    pub(crate) times: Percentiles,
    /// Responses with another status than 200.
    pub(crate) errors: usize,
}

impl Load<'_> {
    pub(crate) fn run(&self) -> io::Result<LoadResult> {
        let began = Instant::now();
        let results: Vec<io::Result<(Vec<f64>, usize)>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.clients).map(|client| scope.spawn(move || self.client(client))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let seconds = began.elapsed().as_secs_f64();
        let (mut times, mut errors) = (Vec::new(), 0);
        for result in results {
            let (own, failed) = result?;
            times.extend(own);
            errors += failed;
        }
        Ok(LoadResult { per_second: times.len() as f64 / seconds, times: Percentiles::of(times), errors })
    }

    fn client(&self, number: usize) -> io::Result<(Vec<f64>, usize)> {
        let mut connection = Client::connect(self.address, self.key)?;
        let mut corpus = Corpus::new(100 + number as u64);
        let (mut times, mut errors) = (Vec::new(), 0);
        for _ in 0..REQUESTS / self.clients {
            let path = query(&mut corpus, self.filter);
            let began = Instant::now();
            let (status, _) = connection.send("GET", &path, "")?;
            times.push(ms(began));
            errors += usize::from(status != 200);
        }
        Ok((times, errors))
    }
}

impl std::fmt::Display for LoadResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0} per second, {}, {} errors", self.per_second, self.times, self.errors)
    }
}

/// Returns a question of the corpus as the path and query of a retrieval.
pub(crate) fn query(corpus: &mut Corpus, filter: &str) -> String {
    let question = corpus.question().replace(' ', "+").replace('?', "%3F");
    format!("/v1/retrieve?namespace=bench{filter}&q={question}")
}

/// Returns the milliseconds since a moment.
pub(crate) fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// Percentiles of durations in milliseconds.
pub(crate) struct Percentiles(Vec<f64>);

impl Percentiles {
    pub(crate) fn of(mut milliseconds: Vec<f64>) -> Self {
        milliseconds.sort_by(f64::total_cmp);
        Self(milliseconds)
    }

    /// Returns the value that this share of the durations does not exceed.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * share) as usize).copied().unwrap_or(f64::NAN)
    }
}

impl std::fmt::Display for Percentiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms", self.at(0.5), self.at(0.99), self.at(0.999))
    }
}
