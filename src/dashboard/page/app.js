// The frame of the page: the signed-in user, the navigation and the current view.

import { h, s, fill } from "./dom.js";
import { session, close, onEnd, get, decoded } from "./api.js";
import { arrive, show as showSignIn } from "./sign_in.js";

const shell = document.getElementById("shell");
const NAMESPACE = "namespace";
let namespaces = [];
/** Optional features of the server; `billing` only with a payment provider. */
let features = {};
/** Number of views shown so far, so that a late response does not appear in another view. */
let turn = 0;

// The views of the account, and those of a namespace (`OWN`). Each is loaded when it is first shown.
const ACCOUNT = [
  ["overview", "Overview", "M3 13h8V3H3zm0 8h8v-6H3zm10 0h8V11h-8zm0-18v6h8V3z"],
  ["namespaces", "Namespaces", "M4 6h16v4H4zm0 8h16v4H4z"],
  ["keys", "Keys", "M14 4a6 6 0 0 0-5.7 7.9L2 18v4h5v-3h3v-3h2.1l1-1A6 6 0 1 0 14 4zm2 6a2 2 0 1 1 0-4 2 2 0 0 1 0 4z"],
  ["billing", "Billing", "M3 5h18v3H3zm0 5h18v9H3zm3 5v2h5v-2z"],
];
const OWN = [
  ["memories", "Memories", "M5 3h10l4 4v14H5zm3 8v2h8v-2zm0 4v2h8v-2z"],
  ["search", "Search", "M10 3a7 7 0 1 0 4.2 12.6l5.1 5.1 1.4-1.4-5.1-5.1A7 7 0 0 0 10 3zm0 2a5 5 0 1 1 0 10 5 5 0 0 1 0-10z"],
  ["graph", "Graph", "M6 3a3 3 0 1 0 1 5.8l3 4.5A3 3 0 1 0 15 15h2.2a3 3 0 1 0 0-2H15a3 3 0 0 0-3.3-1.8l-3-4.5A3 3 0 0 0 6 3z"],
  ["vocabulary", "Vocabulary", "M4 4h7a2 2 0 0 1 1 .3A2 2 0 0 1 13 4h7v15h-7l-1 1-1-1H4zm2 2v11h5V6zm7 0v11h5V6z"],
  ["skills", "Skills", "M13 2 4 14h6l-1 8 9-12h-6z"],
  ["conversations", "Conversations", "M3 4h18v13H9l-4 4v-4H3zm4 4v2h10V8zm0 4v2h7v-2z"],
];

/** The views of the account; billing only with a payment provider. */
const accountViews = () => ACCOUNT.filter(([view]) => view !== "billing" || features.billing);

function theme(next) {
  const now = localStorage.getItem("theme") ?? "";
  const value = next ? { "": "dark", dark: "light", light: "" }[now] : now;
  if (value) localStorage.setItem("theme", value);
  else localStorage.removeItem("theme");
  document.documentElement.dataset.theme = value;
  return value || "system";
}

/** Parses the address: a view, its namespace, and the rest of the path. */
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map((part) => decoded(part));
  const found = { query: new URLSearchParams(query ?? ""), namespace: null };
  if (parts[0] === "n" && parts[1]) {
    found.namespace = parts[1];
    sessionStorage.setItem(NAMESPACE, parts[1]);
    parts.splice(0, 2);
  }
  found.view = parts.shift() ?? "overview";
  found.rest = parts.join("/");
  return found;
}

function current() {
  const kept = sessionStorage.getItem(NAMESPACE);
  if (namespaces.some(({ name }) => name === kept)) return kept;
  // The largest namespace is the most likely choice.
  const fullest = namespaces.reduce((best, each) => (each.memories > (best?.memories ?? -1) ? each : best), null);
  return fullest?.name ?? "default";
}

const icon = (path) => s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: path }));

function frame(main, at, who) {
  const own = at.namespace ?? current();
  const entry = ([view, name, path], address) => {
    const here = at.view === view || (view === "memories" && at.view === "memory");
    return h("li", {}, h("a", { href: address, "aria-current": here ? "page" : null }, icon(path), name));
  };
  const choice = h(
    "select",
    { "aria-label": "Namespace", onchange: (event) => (location.hash = `#/n/${event.target.value}/${OWN.some(([view]) => view === at.view) ? at.view : "memories"}`) },
    namespaces.map(({ name }) => h("option", { value: name, selected: name === own }, name)),
  );
  const menu = h("button", { class: "menu", "aria-expanded": "false", "aria-controls": "nav" }, "Menu");
  const nav = h(
    "nav",
    { id: "nav", "aria-label": "Main" },
    h("ul", {}, accountViews().map((view) => entry(view, `#/${view[0]}`))),
    h("div", { class: "choice" }, choice),
    h("ul", {}, OWN.map((view) => entry(view, `#/n/${own}/${view[0]}`))),
    h(
      "div",
      { class: "foot" },
      h("p", { title: who.email ?? "" }, who["custom:tenant_id"] ?? ""),
      h("button", { onclick: (event) => (event.target.textContent = `Theme: ${theme(true)}`) }, `Theme: ${theme()}`),
      h("button", { onclick: leave }, "Sign out"),
    ),
  );
  menu.addEventListener("click", () => menu.setAttribute("aria-expanded", String(nav.classList.toggle("open"))));
  fill(
    shell,
    h("header", { class: "top" }, h("a", { class: "brand", href: "#/overview" }, h("img", { src: "icon.svg", alt: "", width: "26", height: "26" }), "Cuebase"), menu),
    nav,
    main,
  );
}

function leave() {
  close();
  location.hash = "";
  begin();
}

/** Shows the view of the current address. */
async function show() {
  const who = session();
  if (!who) return showSignIn(shell, begin);
  const mine = ++turn;
  const at = place();
  const known = [...accountViews(), ...OWN].find(([view]) => view === at.view);
  const file = known || at.view === "memory" ? at.view : "overview";
  const main = h("main", { id: "main", tabindex: "-1", "aria-busy": "true" });
  frame(main, at, who);
  document.title = `${known?.[1] ?? (file === "memory" ? "Memory" : "Overview")} · Cuebase`;
  try {
    const view = await import(`./views/${file}.js`);
    const body = await view.default({ ...at, namespace: at.namespace ?? current(), namespaces, features, refresh: () => restart() });
    if (mine !== turn) return;
    fill(main, body);
  } catch (error) {
    if (mine !== turn || !session()) return;
    fill(main, h("h1", { tabindex: "-1" }, "Could not load this page"), h("p", { class: "bad", role: "alert" }, error.message), h("button", { onclick: show }, "Try again"));
  }
  main.removeAttribute("aria-busy");
  main.querySelector("h1")?.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

/** Reloads the namespaces and features, and shows the view. */
async function restart() {
  [namespaces, features] = await Promise.all([everyNamespace(), get("/features")]);
  await show();
}

async function everyNamespace() {
  const all = [];
  for (;;) {
    const { namespaces: page } = await get("/v1/namespaces", { after: all.at(-1)?.name });
    all.push(...page);
    if (page.length < 200) return all;
  }
}

async function begin() {
  let message;
  try {
    await arrive();
    if (session()) return await restart();
  } catch (error) {
    message = error.message;
  }
  await showSignIn(shell, begin, message);
}

theme();
onEnd(() => showSignIn(shell, begin, "This session is over. Sign in again."));
window.addEventListener("hashchange", () => (location.hash.startsWith("#code=") ? begin() : location.hash === "#main" ? undefined : show()));
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey || !session()) return;
  event.preventDefault();
  const field = document.getElementById("query");
  if (field) field.focus();
  else location.hash = `#/n/${place().namespace ?? current()}/search`;
});
begin();
