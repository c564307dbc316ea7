// One memory: its text, cues, sources, relations and history, and the values over time of the facts that it claims.

import { h, fill, time, day, notice } from "../dom.js";
import { get, post, remove, encoded } from "../api.js";
import { heading, card, chips, diff, markdown, confirmed, ask, attempt, field, words, to } from "../parts.js";
import { crumbs } from "./memories.js";

/** Most paths that one memory replaces. */
const SUPERSEDES_MAX = 32;

export default async function memory({ namespace, rest: path, query }) {
  const revision = query.get("revision");
  const address = `/v1/memories/${encoded(path)}`;
  const [shown, facts] = await Promise.all([
    get(address, { namespace, detail: "full", revision }),
    revision ? { timelines: [] } : get("/v1/timeline", { namespace, path }),
  ]);
  const [, first, rest] = /^#\s+(.*)\n*([^]*)$/.exec(shown.content) ?? [];
  const title = first ?? path.split("/").at(-1);
  const actions = revision
    ? [h("a", { class: "button", href: to.memory(namespace, path) }, "Current version")]
    : [
        h("a", { class: "button", href: to.graph(namespace, path) }, "Graph"),
        h("button", { onclick: () => edit(namespace, address, shown) }, "Edit"),
        h("button", { class: "danger", onclick: () => forget(namespace, address, title) }, "Forget"),
      ];
  return [
    heading(title, actions),
    crumbs(namespace, path),
    revision && h("p", { class: "flag" }, "Version ", h("code", {}, revision.slice(0, 8))),
    h(
      "div",
      { class: "columns" },
      h("div", {}, card(null, await markdown(rest ?? shown.content, namespace, path)), card("History", history(namespace, path, address, shown))),
      h("div", {}, card("About it", about(namespace, shown)), facts.timelines.length > 0 && card("Timeline", facts.timelines.map((fact) => timeline(namespace, path, fact))), card("Cues", list(shown.cues, "No explicit cues.")), card("Relations", relations(namespace, shown))),
    ),
  ];
}

function about(namespace, shown) {
  const rows = [
    ["Happened", shown.occurred_at && (shown.occurred_precision === "day" ? day(shown.occurred_at) : time(shown.occurred_at))],
    ["Changed", time(shown.updated_at)],
    ["Created", time(shown.created_at)],
    ["Expires", shown.expires_at && time(shown.expires_at)],
    ["Tags", (shown.user_tags?.length || shown.tags?.length) && [chips(shown.user_tags, "own"), chips(shown.tags.filter((tag) => !shown.user_tags.includes(tag)))]],
    ["Metadata", Object.keys(shown.metadata ?? {}).length && chips(Object.entries(shown.metadata).map(([key, value]) => `${key}: ${value}`))],
    ["Sections", shown.sections?.length > 1 && chips(shown.sections)],
    ["Sources", shown.sources?.length && list(shown.sources.map((source) => provenance(namespace, source)))],
  ];
  return h("dl", {}, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** A message that the memory was extracted from, with its text if the conversation is kept. */
function provenance(namespace, { session_id: session, message, write }) {
  const place = h("div", {});
  const show = async () => {
    const { messages } = await get(`/v1/sources/${write}`, { namespace });
    const { role, name, content } = messages[message];
    const text = typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n");
    fill(place, h("blockquote", {}, `${name ?? role}: ${text}`));
  };
  const button = write && h("button", { onclick: (event) => attempt(show, event.target) }, "Show message");
  return [`${session ?? "no session"}, message ${message} `, button, place];
}

/** The values of a fact, oldest first. Words say which one holds and which one is claimed by the memory at `own`. */
function timeline(namespace, own, { subject, attribute, values }) {
  const row = ({ value, path, valid_from: from, valid_until: until, current }) =>
    h(
      "li",
      { class: path === own && "own" },
      h("a", { href: to.memory(namespace, path) }, value),
      " ",
      h("span", { class: "dim" }, [from && `from ${day(from)}`, until && `until ${day(until)}`].filter(Boolean).join(" ") || "time unknown"),
      " ",
      chips([current && "present", path === own && "this memory"].filter(Boolean)),
    );
  return [h("h3", {}, subject ? `${subject}: ${attribute}` : attribute), h("ol", { class: "timeline" }, values.map(row))];
}

const list = (items, none) => (items?.length ? h("ul", {}, items.map((item) => h("li", {}, item))) : h("p", { class: "dim" }, none));

function relations(namespace, shown) {
  const row = (relation) => [h("span", { class: "chip" }, relation.kind), " ", h("a", { href: to.memory(namespace, relation.path) }, relation.path), relation.snippet && h("p", { class: "dim" }, relation.snippet)];
  return list(shown.relations?.map(row), "None.");
}

function history(namespace, path, address, shown) {
  const place = h("div", {}, shown.last_diff ? diff(shown.last_diff) : null);
  const row = (revision) =>
    h(
      "li",
      {},
      h("code", {}, revision.commit.slice(0, 8)),
      " ",
      revision.message.split("\n")[0],
      " ",
      h("span", { class: "dim" }, time(revision.at)),
      " ",
      h("button", { onclick: (event) => attempt(async () => fill(place, diff((await get(address, { namespace, detail: "full", revision: revision.commit })).last_diff ?? "")), event.target) }, "Diff"),
      " ",
      h("a", { href: `${to.memory(namespace, path)}?revision=${revision.commit}` }, "Show"),
    );
  return [h("ol", { class: "revisions" }, (shown.revisions ?? []).map(row)), place];
}

/** Returns the time of the event for a rewrite; nothing if it is only the time of the write. */
function happened({ occurred_at: at, occurred_precision: precision, occurred_source: source }) {
  if (!at || source === "written") return undefined;
  return precision === "day" ? at.slice(0, 10) : at;
}

async function edit(namespace, address, shown) {
  const content = h("textarea", { rows: "14", required: true, value: shown.content });
  const tags = h("input", { value: (shown.user_tags ?? []).join(", ") });
  const cues = h("textarea", { rows: "4", value: (shown.cues ?? []).join("\n") });
  const done = await ask(
    "Edit",
    [field("Content", content, "Markdown, the title as the first heading"), field("Tags", tags, "comma-separated"), field("Cues", cues, "questions that should find this memory, one per line")],
    "Save",
    () =>
      post(address, {
        namespace,
        content: content.value,
        tags: words(tags.value),
        cues: cues.value.split("\n").map((line) => line.trim()).filter(Boolean),
        occurred_at: happened(shown),
        expires_at: shown.expires_at ?? undefined,
        metadata: shown.metadata,
        valid_from: shown.valid_from ?? undefined,
        // The end that a successor brought is not the memory's own: it is gone once the successor is forgotten.
        valid_until: shown.superseded_by?.length ? undefined : (shown.valid_until ?? undefined),
        supersedes: shown.supersedes?.slice(0, SUPERSEDES_MAX),
      }),
  );
  if (done) notice("Saved"), window.dispatchEvent(new Event("hashchange"));
}

async function forget(namespace, address, title) {
  if (!(await confirmed("Forget this memory?", `“${title}” will not be found any more. Its history stays in git.`, "Forget"))) return;
  if (await attempt(() => remove(address, { namespace }))) {
    notice("It will be gone in a moment");
    location.hash = to.memories(namespace);
  }
}
