//! The built-in encoder on one thread: milliseconds of a call, by the tokens of its texts and by their number.
//!
//! ```sh
//! cargo bench --bench encoder                    # every size once
//! cargo bench --bench encoder -- 16 8            # texts of 16 tokens, 8 in a call
//! ```
//!
//! Each line of the output is `TOKENS TEXTS MILLISECONDS`, the median of several calls.

#![allow(missing_docs, reason = "a bench has no documentation")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::time::{Duration, Instant};

use cuebase::model::encoder::BuiltInEncoder;
use cuebase::model::{Deadline, Embedder};

/// Tokens of the texts, with the first and the last.
const TOKENS: [usize; 5] = [8, 16, 32, 64, 128];
/// Texts of a call.
const TEXTS: [usize; 3] = [1, 8, 32];
/// Shortest time of the calls for one figure, and their lowest number.
const TIME: Duration = Duration::from_millis(400);
const CALLS_MIN: usize = 7;
/// Words of one token each.
const WORDS: [&str; 8] = ["kitten", "rain", "wedding", "chain", "island", "cake", "job", "concert"];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let encoder = BuiltInEncoder::get()?;
    encoder.embed(&["the first call packs the weights"], background())?;
    if let [tokens, texts] = arguments[..] {
        return measure(encoder, tokens, texts);
    }
    for tokens in TOKENS {
        for texts in TEXTS {
            measure(encoder, tokens, texts)?;
        }
    }
    Ok(())
}

/// Background work takes one thread.
fn background() -> Deadline {
    Deadline::background(Duration::from_secs(60))
}

/// Prints the median time of a call.
fn measure(encoder: &BuiltInEncoder, tokens: usize, texts: usize) -> anyhow::Result<()> {
    let texts: Vec<String> = (0..texts).map(|number| text_of(tokens, number)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (began, mut times) = (Instant::now(), Vec::new());
    while began.elapsed() < TIME || times.len() < CALLS_MIN {
        let call = Instant::now();
        encoder.embed(&texts, background())?;
        times.push(call.elapsed());
    }
    times.sort_unstable();
    println!("{tokens} {} {:.3}", texts.len(), times[times.len() / 2].as_secs_f64() * 1e3);
    Ok(())
}

/// Returns a text of a number of tokens, two of which are the first and the last.
fn text_of(tokens: usize, number: usize) -> String {
    let words: Vec<&str> = (0..tokens.saturating_sub(2)).map(|at| WORDS[(at * 5 + number) % WORDS.len()]).collect();
    words.join(" ")
}
