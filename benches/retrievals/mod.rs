//! Retrievals over HTTP by some clients at once, and how long each took.

use std::io;
use std::time::Instant;

use crate::corpus::Corpus;
use crate::loopback::Client;

/// Retrievals of each measurement.
const REQUESTS: usize = 4000;

/// Retrievals split over clients.
pub(crate) struct Load<'a> {
    pub(crate) address: &'a str,
    pub(crate) key: &'a str,
    pub(crate) clients: usize,
    /// Query parameters beside the question, each with its `&`.
    pub(crate) filter: &'a str,
}

/// What a load took.
pub(crate) struct Measured {
    pub(crate) a_second: f64,
    pub(crate) times: Spread,
    /// Answers that were none.
    pub(crate) errors: usize,
}

impl Load<'_> {
    pub(crate) fn run(&self) -> io::Result<Measured> {
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
        Ok(Measured { a_second: times.len() as f64 / seconds, times: Spread::of(times), errors })
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

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0} a second, {}, {} errors", self.a_second, self.times, self.errors)
    }
}

/// A question of the corpus as a path.
pub(crate) fn query(corpus: &mut Corpus, filter: &str) -> String {
    let question = corpus.question().replace(' ', "+").replace('?', "%3F");
    format!("/v1/retrieve?namespace=bench{filter}&q={question}")
}

/// Milliseconds since then.
pub(crate) fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// Percentiles of milliseconds.
pub(crate) struct Spread(Vec<f64>);

impl Spread {
    pub(crate) fn of(mut milliseconds: Vec<f64>) -> Self {
        milliseconds.sort_by(f64::total_cmp);
        Self(milliseconds)
    }

    /// The value that this part of them does not exceed.
    pub(crate) fn at(&self, part: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * part) as usize).copied().unwrap_or(f64::NAN)
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms", self.at(0.5), self.at(0.99), self.at(0.999))
    }
}
