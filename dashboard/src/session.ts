// The session of the signed-in user: one for all tabs, with an expiry.
//
// Security. The credential is in `localStorage`, so that all tabs share it and none has to sign in again. Any script of
// this origin could read it there. The content security policy allows scripts from this server only and nothing inline,
// and untrusted memories become text nodes, never markup (`parts/markdown.tsx`). A cookie would also be sent with
// requests that other sites cause, so it would need a defence against forged requests; a bearer token needs none.
//
// A session of the server expires by itself. An API key does not, so the dashboard forgets it after `KEY_LIFETIME_MS`.
// Signing out removes the credential from all tabs: the browser reports each change of `localStorage` to the others.

import { signal } from "@preact/signals";

const STORED = "session";
const KEY_LIFETIME_MS = 12 * 60 * 60 * 1000;
/** Longest delay of a browser's timer. */
const TIMER_MAX_MS = 2 ** 31 - 1;

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

/** The current session; null while nobody is signed in. */
export const session = signal<Session | null>(null);

/** Why the last session ended, for the sign-in page. */
export const endReason = signal<string | null>(null);

let timer: number | undefined;

/** Returns the credential for requests. */
export function credential(): string | null {
  return session.value?.credential ?? null;
}

/** Reads the stored session, and follows changes by other tabs. */
export function startSession(): void {
  adopt(readStored());
  window.addEventListener("storage", (event) => {
    // Without a key, all of the storage was cleared.
    if (event.key === STORED || event.key === null) adopt(readStored());
  });
}

/** Stores a credential that the server accepted. */
export function openSession(text: string, kind: Session["kind"], account: string): void {
  const claims = kind === "jwt" ? readClaims(text) : null;
  const expires = claims?.exp ? claims.exp * 1000 : Date.now() + KEY_LIFETIME_MS;
  const opened: Session = { credential: text, kind, account, expires };
  if (claims?.email) opened.email = claims.email;
  localStorage.setItem(STORED, JSON.stringify(opened));
  endReason.value = null;
  adopt(opened);
}

/** Signs out in all tabs. */
export function endSession(reason: string | null = null): void {
  localStorage.removeItem(STORED);
  endReason.value = reason;
  adopt(null);
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

function adopt(next: Session | null): void {
  window.clearTimeout(timer);
  session.value = next;
  if (!next) return;
  const left = Math.min(next.expires - Date.now(), TIMER_MAX_MS);
  timer = window.setTimeout(expire, left);
}

function expire(): void {
  const current = session.value;
  if (current && current.expires <= Date.now()) endSession("This session is over: it has expired.");
  else adopt(current);
}

function readStored(): Session | null {
  let stored: Partial<Session> | null = null;
  try {
    stored = JSON.parse(localStorage.getItem(STORED) ?? "null") as Partial<Session> | null;
  } catch {
    // Another program wrote the entry; it is replaced at the next sign-in.
  }
  if (!stored?.credential || !stored.kind || !stored.account || !stored.expires) return null;
  return stored.expires > Date.now() ? (stored as Session) : null;
}
