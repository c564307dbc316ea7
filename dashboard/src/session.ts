// The session of the signed-in user, with an expiry. It ends with the last tab.
//
// Security. The credential is in the memory of the open pages only. Whatever a browser stores is in its profile, and some
// of it is still there after the browser was closed: `localStorage`, `sessionStorage`, `history.state`, and cookies
// without an expiry too. Tabs give the credential to each other as messages within this origin, and a reload takes it
// over in the memory of a worker (`reload.ts`). No cookie is used, which the browser would also send with requests that
// other sites cause.
//
// A script of this origin could still read it. The content security policy allows scripts from this server only and
// nothing inline, and untrusted memories become text nodes, never markup (`parts/markdown.tsx`).
//
// A session of the server expires by itself. An API key does not, so the dashboard forgets it after `KEY_LIFETIME_MS`.

import { signal } from "@preact/signals";
import { forgetReloads, keepForReload, startWorker, takeAfterReload } from "./reload";

const KEY_LIFETIME_MS = 12 * 60 * 60 * 1000;
/** Longest delay of a browser's timer. */
const TIMER_MAX_MS = 2 ** 31 - 1;
/** Wait for the answers of other tabs before the sign-in page is shown. A later answer counts too. */
const ANSWER_MS = 200;

export interface Session {
  credential: string;
  /** `jwt` for a session of the server, `api_key` for a key. Some operations require a session. */
  kind: "jwt" | "api_key";
  account: string;
  email?: string;
  /** Milliseconds since 1970 at which the dashboard forgets the credential. */
  expires: number;
}

/** Claims of a session's token. */
export interface Claims {
  exp?: number;
  email?: string;
  nonce?: string;
}

/** A message between tabs. */
type Message =
  /** A new tab asks for the session of the others. */
  | { kind: "ask" }
  | { kind: "tell"; session: Session }
  /** The user signed in, and agreed that the session `replaced` ends. */
  | { kind: "opened"; session: Session; replaced: Session | null }
  /** The session with this credential has ended; without one, the user signed out in all tabs. */
  | { kind: "ended"; credential: string | null; reason: string | null };

/** The current session; null while nobody is signed in. */
export const session = signal<Session | null>(null);

/** Why the last session ended, for the sign-in page. */
export const endReason = signal<string | null>(null);

const tabs = new BroadcastChannel("session");
let timer: number | undefined;

/** Returns the credential for requests. */
export function credential(): string | null {
  return session.value?.credential ?? null;
}

/** Takes the session of this tab before a reload, or that of another tab, and follows the other tabs. */
export async function startSession(): Promise<void> {
  // Former versions stored the session.
  localStorage.removeItem("session");
  tabs.addEventListener("message", (event: MessageEvent<Message>) => receive(event.data));
  window.addEventListener("pagehide", () => session.value && keepForReload(session.value));
  send({ kind: "ask" });
  const others = new Promise<void>((resolve) => window.setTimeout(resolve, ANSWER_MS));
  const adopted = new Promise<void>((resolve) => session.subscribe((found) => found && resolve()));
  const own = takeAfterReload().then(adoptIfNone);
  void startWorker();
  await Promise.race([adopted, Promise.all([others, own])]);
}

/** Describes the session of a credential that the server accepted. */
export function describeSession(text: string, kind: Session["kind"], account: string): Session {
  const claims = kind === "jwt" ? readClaims(text) : null;
  const expires = claims?.exp ? claims.exp * 1000 : Date.now() + KEY_LIFETIME_MS;
  const described: Session = { credential: text, kind, account, expires };
  if (claims?.email) described.email = claims.email;
  return described;
}

/** Opens a session in all tabs, except in those with a session that it does not replace. */
export function openSession(opened: Session, replaced: Session | null): void {
  send({ kind: "opened", session: opened, replaced });
  endReason.value = null;
  adopt(opened);
}

/** Signs out in all tabs. */
export function signOut(): void {
  forgetReloads();
  send({ kind: "ended", credential: null, reason: null });
  end(null);
}

/** Ends the current session in all tabs that have it, because its credential is of no use any more. */
export function dropSession(reason: string): void {
  send({ kind: "ended", credential: credential(), reason });
  end(reason);
}

/** Whether two sessions belong to the same account and person. */
export function haveSameUser(one: Session, other: Session): boolean {
  return one.account === other.account && one.email === other.email;
}

/** Returns the claims of a token; null if the text is not a token. The server verifies the signature. */
export function readClaims(token: string): Claims | null {
  try {
    const part = token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(part), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) as Claims;
  } catch {
    return null;
  }
}

function send(message: Message): void {
  tabs.postMessage(message);
}

function receive(message: Message): void {
  const current = session.value;
  switch (message.kind) {
    case "ask":
      if (current) send({ kind: "tell", session: current });
      break;
    case "tell":
      adoptIfNone(message.session);
      break;
    case "opened": {
      const { session: opened, replaced } = message;
      const gives = !current || haveSameUser(current, opened) || (replaced && haveSameUser(current, replaced));
      if (gives) adopt(opened);
      break;
    }
    case "ended":
      if (message.credential === null || message.credential === current?.credential) end(message.reason);
  }
}

function adoptIfNone(found: Session | null): void {
  if (!session.value && found && found.expires > Date.now()) adopt(found);
}

function end(reason: string | null): void {
  endReason.value = reason;
  adopt(null);
}

function adopt(next: Session | null): void {
  window.clearTimeout(timer);
  session.value = next;
  if (!next) return;
  const left = Math.min(next.expires - Date.now(), TIMER_MAX_MS);
  timer = window.setTimeout(expire, left);
}

function expire(): void {
  const current = session.value;
  if (current && current.expires <= Date.now()) dropSession("This session is over: it has expired.");
  else adopt(current);
}
