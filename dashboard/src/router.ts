// Addresses of the views, and their history.
//
// The server serves `/` and files only, so the address of a view is the fragment: `#/<view>` for views of the account,
// and `#/n/<namespace>/<view>/<rest>?<query>` for views of a namespace. A view keeps its state in the query, so that
// Back, Forward, Reload and a copied address restore it. The scroll position is kept for each entry of the history.

import { signal } from "@preact/signals";
import { encodePath } from "./api";

export interface Route {
  view: string;
  /** The namespace in the address; null for views of the account. */
  namespace: string | null;
  /** The decoded path after the view's name. */
  rest: string;
  query: URLSearchParams;
}

/** The route of the current address. */
export const route = signal<Route>(readRoute());

/** Longest wait for a view to become tall enough for its scroll position. */
const RESTORE_MS = 3000;
const SCROLLS = "scrolls";
/** Scroll positions by the key of the history's entry. */
const scrolls = new Map<string, number>(readScrolls());
let entry = entryKey();
let stopRestoring = () => {};

/** Follows the address. */
export function startRouter(): void {
  history.scrollRestoration = "manual";
  window.addEventListener("popstate", follow);
  window.addEventListener("scroll", () => scrolls.set(entry, window.scrollY), { passive: true });
  window.addEventListener("pagehide", () => sessionStorage.setItem(SCROLLS, JSON.stringify([...scrolls].slice(-100))));
  restoreScroll(scrolls.get(entry) ?? 0);
}

/** Asks whether the view may be left. */
export type LeaveGuard = () => Promise<boolean>;

let guard: LeaveGuard | null = null;

/**
 * Sets the guard of a view with unsaved changes; null removes it. The guard is asked before another view or another
 * content is shown, and not when only the query changes. Closing the page is not its concern.
 */
export function setLeaveGuard(next: LeaveGuard | null): void {
  guard = next;
}

/** Returns whether the guard stops a change to the current address. The change follows if the guard allows it. */
function isStopped(next: Route): boolean {
  const { view, namespace, rest, query } = route.value;
  if (!guard || (next.view === view && next.namespace === namespace && next.rest === rest)) return false;
  const asked = guard;
  const wanted = location.href;
  history.pushState(null, "", href(view, namespace, rest, query));
  entry = entryKey();
  void asked().then((mayLeave) => {
    if (!mayLeave) return;
    if (guard === asked) guard = null;
    navigate(wanted, true);
  });
  return true;
}

/** Goes to an address such as `link.view(…)`. `replace` adds no entry to the history. */
export function navigate(href: string, replace = false): void {
  if (replace) history.replaceState(history.state, "", href);
  else history.pushState(null, "", href);
  follow();
}

/** Changes parameters of the query; an empty value removes its parameter. */
export function setQuery(changes: Record<string, string | null>, replace = false): void {
  const query = new URLSearchParams(route.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  navigate(href(route.value.view, route.value.namespace, route.value.rest, query), replace);
}

/** Returns the address of a view. */
export function href(view: string, namespace: string | null, rest = "", query?: URLSearchParams): string {
  const start = namespace === null ? "#/" : `#/n/${encodeURIComponent(namespace)}/`;
  const text = query?.toString();
  return start + view + (rest ? `/${encodePath(rest)}` : "") + (text ? `?${text}` : "");
}

/** Addresses that several views link to. */
export const link = {
  search: (namespace: string, q: string) => href("search", namespace, "", new URLSearchParams({ q })),
  memory: (namespace: string, path: string) => href("memory", namespace, path),
  memories: (namespace: string, path = "") => href("memories", namespace, path),
  subject: (namespace: string, subject: string) => href("people", namespace, subject),
  /** The graph around a memory. */
  graph: (namespace: string, path: string) => href("graph", namespace, path),
  conversation: (namespace: string, id: string) => href("conversations", namespace, id),
  /** An ingested conversation, by the id of its write. */
  source: (namespace: string, write: string) => href("conversations", namespace, `source/${write}`),
};

/** Decodes a text. Returns it unchanged if its percent signs are invalid, since links in memories are not trusted. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readRoute(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map(decode);
  let namespace: string | null = null;
  if (parts[0] === "n" && parts[1]) {
    namespace = parts[1];
    parts.splice(0, 2);
  }
  return { view: parts.shift() ?? "", namespace, rest: parts.join("/"), query: new URLSearchParams(query) };
}

function follow(): void {
  // The skip link moves the focus; it does not leave the view.
  if (location.hash === "#main") return;
  const before = entry;
  const next = readRoute();
  if (isStopped(next)) return;
  entry = entryKey();
  route.value = next;
  if (entry !== before) restoreScroll(scrolls.get(entry) ?? 0);
}

/** Returns the key of the history's current entry, which a new entry gets here. */
function entryKey(): string {
  const state = history.state as { entry?: string } | null;
  if (state?.entry) return state.entry;
  const key = crypto.getRandomValues(new Uint32Array(2)).join("-");
  history.replaceState({ ...state, entry: key }, "");
  return key;
}

/** Scrolls to a position as soon as the view is tall enough. The user's own scrolling takes precedence. */
function restoreScroll(top: number): void {
  stopRestoring();
  window.scrollTo(0, top);
  if (top === 0 || window.scrollY === top) return;
  const wanted = entry;
  const observer = new ResizeObserver(() => {
    window.scrollTo(0, top);
    if (window.scrollY >= top - 1) stopRestoring();
  });
  const timer = window.setTimeout(() => stopRestoring(), RESTORE_MS);
  const events = ["wheel", "touchstart", "keydown"] as const;
  stopRestoring = () => {
    observer.disconnect();
    window.clearTimeout(timer);
    for (const name of events) window.removeEventListener(name, stopRestoring);
    stopRestoring = () => {};
    scrolls.set(wanted, entry === wanted ? window.scrollY : top);
  };
  for (const name of events) window.addEventListener(name, stopRestoring, { passive: true });
  observer.observe(document.body);
}

function readScrolls(): [string, number][] {
  try {
    return JSON.parse(sessionStorage.getItem(SCROLLS) ?? "[]") as [string, number][];
  } catch {
    return [];
  }
}
