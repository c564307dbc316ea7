// Takes the session of a tab over a reload. The page gives the session to a service worker when it is left, and takes it
// back when it is loaded again: the worker holds it in memory for some seconds. Without service workers, as at an `http`
// address of another machine, a reload ends the session.

import type { Session } from "./session";

const WORKER = "./reload-worker.js";
/** Id of this tab, not a secret: a session returns to the tab that it came from. */
const TAB = "tab";
/** Longest wait for the worker, which may have to start. */
const ANSWER_MS = 2000;

let registration: ServiceWorkerRegistration | undefined;

/** Registers the worker for the next reload. */
export async function startWorker(): Promise<void> {
  try {
    registration = await navigator.serviceWorker?.register(WORKER);
  } catch {
    // The browser forbids workers, or the server has just stopped.
  }
}

/** Gives the session to the worker, because this page is left. */
export function keepForReload(session: Session): void {
  registration?.active?.postMessage({ kind: "keep", tab: tabId(), session });
}

/** Makes the worker forget the sessions of all tabs. */
export function forgetReloads(): void {
  registration?.active?.postMessage({ kind: "forget" });
}

/** Takes the session back that this tab had before it was reloaded. */
export async function takeAfterReload(): Promise<Session | null> {
  const found = await navigator.serviceWorker?.getRegistration().catch(() => undefined);
  const worker = found?.active;
  if (!worker) return null;
  // A reload can come before `startWorker` has finished, and needs the registration to keep the session.
  registration = found;
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    const timer = window.setTimeout(() => resolve(null), ANSWER_MS);
    port1.onmessage = (event: MessageEvent<Session | null>) => {
      window.clearTimeout(timer);
      resolve(event.data);
    };
    worker.postMessage({ kind: "take", tab: tabId() }, [port2]);
  });
}

function tabId(): string {
  let id = sessionStorage.getItem(TAB);
  if (!id) {
    id = crypto.getRandomValues(new Uint32Array(4)).join("-");
    sessionStorage.setItem(TAB, id);
  }
  return id;
}
