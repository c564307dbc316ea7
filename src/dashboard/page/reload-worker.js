// A service worker that holds the session of a tab in memory while the tab reloads (see src/reload.ts). It stores nothing
// and handles no request. What nobody takes is forgotten after `KEPT_MS`.

const KEPT_MS = 15_000;
/** Sessions by the id of their tab. */
const kept = new Map();

self.addEventListener("message", (event) => {
  const { kind, tab, session } = event.data;
  if (kind === "keep") {
    kept.set(tab, session);
    event.waitUntil(forgetLater(tab, session));
  } else if (kind === "take") {
    event.ports[0].postMessage(kept.get(tab) ?? null);
    kept.delete(tab);
  } else if (kind === "forget") {
    kept.clear();
  }
});

/** The browser lets the worker run until the result is resolved. */
function forgetLater(tab, session) {
  return new Promise((resolve) => {
    setTimeout(() => {
      if (kept.get(tab) === session) kept.delete(tab);
      resolve();
    }, KEPT_MS);
  });
}
