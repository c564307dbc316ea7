// Sign-in with a one-time code from a link, with an external issuer and PKCE, or with a pasted session.

import { h, fill } from "./dom.js";
import { call, open, close } from "./api.js";

const PENDING = "sign-in";
const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
const here = () => location.origin + location.pathname;

/** Signs in with the one-time code or the issuer's response in the address. Returns whether the user is signed in. */
export async function arrive() {
  const own = /^#code=([\w-]+)$/.exec(location.hash);
  const returned = new URLSearchParams(location.search);
  if (!own && !returned.has("state")) return false;
  // The code is removed from the address, so that it is not in the history and not used a second time.
  history.replaceState(null, "", here());
  if (own) {
    open((await call("POST", "/session", { body: { code: own[1] } })).token);
    return true;
  }
  const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? "null");
  sessionStorage.removeItem(PENDING);
  if (!pending || pending.state !== returned.get("state")) throw new Error("This sign-in was not started in this tab. Sign in again.");
  if (!returned.get("code")) throw new Error(`The issuer rejected the sign-in: ${returned.get("error_description") ?? returned.get("error") ?? "no reason given"}`);
  const body = { authorization_code: returned.get("code"), code_verifier: pending.verifier, redirect_uri: here() };
  const { token } = await call("POST", "/session", { body });
  const claims = JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
  if (claims.nonce !== pending.nonce) throw new Error("The issuer's token is not for this sign-in. Sign in again.");
  open(token);
  return true;
}

async function leave(external) {
  const pending = { state: random(), nonce: random(), verifier: random() };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const challenge = base64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier)));
  const query = new URLSearchParams({
    response_type: "code",
    client_id: external.client_id,
    redirect_uri: here(),
    scope: external.scope,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: challenge,
    code_challenge_method: "S256",
  });
  const joint = external.authorization_endpoint.includes("?") ? "&" : "?";
  location.assign(external.authorization_endpoint + joint + query);
}

/** Shows the sign-in page. */
export async function show(into, done, message) {
  document.title = "Sign in · Cuebase";
  const problem = h("p", { class: "bad", role: "alert" }, message ?? "");
  const field = h("input", { id: "proof", autocomplete: "off", spellcheck: "false", required: true });
  async function submit(event) {
    event.preventDefault();
    fill(problem);
    const text = field.value.trim();
    try {
      const code = /#code=([\w-]+)/.exec(text)?.[1] ?? (text.includes(".") ? null : text);
      open(code ? (await call("POST", "/session", { body: { code } })).token : text);
      await call("GET", "/v1/whoami");
      done();
    } catch (error) {
      close();
      fill(problem, error.message);
    }
  }
  const other = h("div", {});
  fill(
    into,
    h(
      "main",
      { id: "main", class: "gate", tabindex: "-1" },
      h("img", { src: "icon.svg", alt: "", width: "56", height: "56" }),
      h("h1", {}, "Cuebase"),
      h("p", {}, "To print a link that signs you in, run this on the server's machine:"),
      h("pre", { tabindex: "0" }, "cuebase token --link"),
      other,
      h(
        "form",
        { onsubmit: submit },
        h("label", { for: "proof" }, "Or paste the link, its code, or a session"),
        h("div", { class: "row" }, field, h("button", { class: "main" }, "Sign in")),
        problem,
      ),
    ),
  );
  field.focus();
  try {
    const { external } = await call("GET", "/session");
    if (external?.unreachable) fill(other, h("p", { class: "dim" }, "The configured external issuer cannot be reached right now."));
    else if (external) fill(other, h("button", { class: "main", onclick: () => leave(external) }, `Sign in with ${new URL(external.issuer).host}`));
  } catch {
    // Signing in with a link works without an external issuer.
  }
}
