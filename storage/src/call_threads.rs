//! Threads that exchange messages with storage servers, for callers that block.

use std::future::Future;
use std::sync::mpsc;

use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, Result};

/// The threads of one client of a storage server. Its calls run on them while the callers wait.
pub(crate) struct CallThreads {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl CallThreads {
    /// Starts threads with a name.
    pub(crate) fn start(name: &str, count: usize) -> Result<Self> {
        match Builder::new_multi_thread().worker_threads(count).thread_name(name).enable_all().build() {
            Ok(runtime) => Ok(Self { runtime: Some(runtime) }),
            Err(error) => Err(Error::Engine { trouble: None, source: Box::new(error) }),
        }
    }

    /// Runs a call, and blocks the calling thread until it ends. Unlike `Runtime::block_on`, this also works on a thread
    /// of another runtime.
    pub(crate) fn call<T: Send + 'static>(&self, call: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
        let (answer, received) = mpsc::sync_channel(1);
        let Some(runtime) = &self.runtime else { return Err(ended()) };
        runtime.spawn(async move {
            // The caller waits until this is sent.
            let _ = answer.send(call.await);
        });
        match received.recv() {
            Ok(result) => result,
            Err(_) => Err(ended()),
        }
    }
}

impl Drop for CallThreads {
    /// Ends the threads without waiting for calls, so that a client can be dropped on any thread.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn ended() -> Error {
    Error::Engine { trouble: None, source: "a call of a storage server ended early".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_may_wait_on_a_thread_of_another_runtime() {
        let outer = Builder::new_current_thread().build().expect("builds");
        let answer = outer.block_on(async {
            let threads = CallThreads::start("inner", 1)?;
            threads.call(async { Ok(tokio::spawn(async { 7 }).await.expect("ends")) })
        });
        assert_eq!(answer.expect("answers"), 7);
    }

    #[test]
    fn a_call_that_panics_fails() {
        let threads = CallThreads::start("failing", 1).expect("starts");
        let result: Result<()> = threads.call(async { panic!("the call fails") });
        assert!(result.is_err());
    }
}
