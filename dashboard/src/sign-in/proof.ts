// Proofs of identity: the code of a one-time link, an API key, a pasted session, and the response of an external issuer
// (authorization code with PKCE, RFC 7636). The server exchanges codes for a session.

import { send, type ResponseOf, type Result } from "../api";
import { confirmAction } from "../parts";
import { describeSession, haveSameUser, openSession, readClaims, session, type Session } from "../session";

/** The external issuer, as `GET /session` returns it. */
export interface Issuer {
  unreachable?: true;
  issuer: string;
  authorization_endpoint: string;
  client_id: string;
  scope: string;
}

/** A sign-in that was started in this tab. */
interface Pending {
  state: string;
  nonce: string;
  verifier: string;
}

const PENDING = "sign-in";
const LINK = /#code=([\w-]+)$/;

/**
 * Signs in with the code or the issuer's response in the address, once `ready` is resolved. Returns null if the address
 * holds neither.
 */
export function signInFromAddress(ready: Promise<void> = Promise.resolve()): Promise<Result<null>> | null {
  const code = LINK.exec(location.hash)?.[1];
  const returned = new URLSearchParams(location.search);
  if (!code && !returned.has("state")) return null;
  // The proof is removed from the address, so that it is not in the history and not used a second time.
  history.replaceState(null, "", pageAddress());
  return ready.then(() => (code ? redeem({ code }) : finishIssuer(returned)));
}

/** Signs in when a link is opened in a tab that shows the page already. Returns a function that stops this. */
export function arriveLater(onArrival: (result: Promise<Result<null>>) => void): () => void {
  function arrive(): void {
    const result = LINK.test(location.hash) ? signInFromAddress() : null;
    if (result) onArrival(result);
  }
  window.addEventListener("hashchange", arrive);
  return () => window.removeEventListener("hashchange", arrive);
}

/** Signs in with a pasted text: a link, its code, an API key or a session. */
export function signInWith(text: string): Promise<Result<null>> {
  const code = LINK.exec(text)?.[1];
  if (code) return redeem({ code });
  return text.startsWith("svc_") || text.includes(".") ? accept(text) : redeem({ code: text });
}

/** Returns the external issuer; null if the server has none. */
export async function findIssuer(): Promise<Issuer | null> {
  const result = await send<{ external: Issuer | null }>("get", "/session");
  return result.ok ? result.value.external : null;
}

/** Leaves the page for the issuer's. */
export async function startIssuer(issuer: Issuer): Promise<void> {
  const pending: Pending = { state: random(), nonce: random(), verifier: random() };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier));
  const query = new URLSearchParams({
    response_type: "code",
    client_id: issuer.client_id,
    redirect_uri: pageAddress(),
    scope: issuer.scope,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  });
  const joint = issuer.authorization_endpoint.includes("?") ? "&" : "?";
  location.assign(issuer.authorization_endpoint + joint + query.toString());
}

/** Checks the issuer's response against the sign-in that this tab started, and exchanges its code. */
async function finishIssuer(returned: URLSearchParams): Promise<Result<null>> {
  const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? "null") as Pending | null;
  sessionStorage.removeItem(PENDING);
  if (!pending || pending.state !== returned.get("state")) {
    return refuse("This sign-in was not started in this tab. Sign in again.");
  }
  const code = returned.get("code");
  if (!code) {
    const reason = returned.get("error_description") ?? returned.get("error") ?? "no reason given";
    return refuse(`The issuer rejected the sign-in: ${reason}`);
  }
  const body = { authorization_code: code, code_verifier: pending.verifier, redirect_uri: pageAddress() };
  return redeem(body, pending.nonce);
}

/** Exchanges a code for a session. `nonce` is the one that the session must contain. */
async function redeem(body: object, nonce?: string): Promise<Result<null>> {
  const exchanged = await send<{ token: string }>("post", "/session", body, undefined, null);
  if (!exchanged.ok) return exchanged;
  if (nonce && readClaims(exchanged.value.token)?.nonce !== nonce) {
    return refuse("The issuer's token is not for this sign-in. Sign in again.");
  }
  return accept(exchanged.value.token);
}

/** Opens a session with a credential, if the server accepts it, and if the user lets it replace another user's. */
async function accept(credential: string): Promise<Result<null>> {
  type Whoami = ResponseOf<"get", "/v1/whoami">;
  const found = await send<Whoami>("get", "/v1/whoami", undefined, undefined, credential);
  if (!found.ok) return found;
  const opened = describeSession(credential, found.value.auth, found.value.account);
  const current = session.value;
  if (!current || haveSameUser(current, opened) || (await mayReplace(current, opened))) openSession(opened, current);
  return { ok: true, value: null };
}

/** Asks before the session of another user is replaced. Anybody can send a link, also one for an account of their own. */
function mayReplace(current: Session, opened: Session): Promise<boolean> {
  const user = nameUser(opened);
  return confirmAction({
    title: "Replace your session?",
    text:
      `You are signed in as ${nameUser(current)}, and this sign-in is for ${user}. Go on only if you asked for it: ` +
      `what you store from then on belongs to ${opened.account}.`,
    action: `Sign in as ${user}`,
  });
}

function nameUser({ account, email }: Session): string {
  return email ? `${account} (${email})` : account;
}

function refuse(message: string): Result<null> {
  return { ok: false, error: { status: 0, code: "code_refused", message } };
}

function pageAddress(): string {
  return location.origin + location.pathname;
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
