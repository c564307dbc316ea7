// The overview: usage, the queue, failed writes, background jobs, and the state of the server.

import { h, number, time, notice } from "../dom.js";
import { get, post, remove } from "../api.js";
import { heading, card, bar, table, empty, confirmed, attempt } from "../parts.js";

const JOBS = { ingestion: "Ingestion", reembedding: "Re-embedding", sweep: "Sweep", expiry: "Expiry", settlement: "Settlement", call_notes: "Model calls and running time" };
const STATES = { active: "active", backing_off: "waits after a failure" };
const METERS = { writes: "Writes", reads: "Reads", chats: "Answers", memories: "Memories" };

export default async function overview({ namespaces, features, refresh }) {
  const [usage, queue, health] = await Promise.all([get("/v1/usage"), get("/v1/queue"), get("/health")]);
  const memories = namespaces.reduce((sum, each) => sum + each.memories, 0);
  const facts = [
    ["Server", health.status === "ok" ? "running" : health.status, `version ${health.version}`],
    ["Memories", number(memories), `in ${number(namespaces.length)} namespace${namespaces.length === 1 ? "" : "s"}`],
    ["Waiting", number(queue.waiting), queue.waiting_since ? h("span", {}, "since ", time(queue.waiting_since)) : "everything is ingested"],
    ["Dead letters", number(queue.dead_letters.length), queue.dead_letters.length ? "failed permanently" : "nothing failed"],
  ];
  const since = queue.model_unavailable_since;
  return [
    heading("Overview", h("button", { onclick: refresh }, "Refresh")),
    h("div", { class: "tiles" }, facts.map(([name, value, more]) => h("div", { class: "tile" }, h("h2", {}, name), h("p", { class: "figure" }, value), h("p", { class: "dim" }, more)))),
    since && card("The chat model does not answer", h("p", { class: "bad" }, "Conversations have waited for it since ", time(since), ". They are ingested once it answers; nothing is lost.")),
    card(features.billing ? `Used in ${usage.period}, plan ${usage.plan}` : `Used in ${usage.period}`, usage.exceeded && h("p", { class: "bad" }, "A limit of the plan is reached."), Object.entries(METERS).map(([meter, name]) => used(name, usage.used[meter], usage.limits[meter]))),
    card("Memories by namespace", chart(namespaces)),
    queue.dead_letters.length > 0 && card("Dead letters", letters(queue.dead_letters, refresh)),
    card("Background jobs", jobs(queue.jobs)),
  ];
}

function used(name, count, limit) {
  const share = limit > 0 ? count / limit : 0;
  const text = `${number(count)} of ${number(limit)}`;
  return h("div", { class: "meter" }, h("span", {}, name), bar(share, `${name}: ${text}`), h("span", { class: "dim" }, text));
}

function chart(namespaces) {
  const largest = [...namespaces].sort((a, b) => b.memories - a.memories).slice(0, 12);
  const most = Math.max(1, ...largest.map((each) => each.memories));
  if (!largest.some((each) => each.memories)) return empty("No memories yet. Post a conversation to /v1/memories, or write one by hand under Memories.");
  return largest.map(({ name, memories }) =>
    h("div", { class: "meter" }, h("a", { href: `#/n/${name}/memories` }, name), bar(memories / most, `${name}: ${number(memories)}`), h("span", { class: "dim" }, number(memories))),
  );
}

function jobs(list) {
  return table(
    "Background jobs",
    ["Job", "State", "Last run", "Failures"],
    list.map((job) => [
      JOBS[job.name] ?? job.name,
      STATES[job.state] ?? job.state,
      time(job.last_run_at),
      job.failures ? `${number(job.failures)}, last: ${job.last_error}` : "0",
    ]),
  );
}

function letters(list, refresh) {
  const retry = async (letter, button) => {
    const done = await attempt(() => post(`/v1/dead-letters/${letter.id}/retry`), button);
    if (done) notice("Back in the queue"), refresh();
  };
  const drop = async (letter) => {
    if (!(await confirmed("Drop this write?", "Its content is lost permanently.", "Drop"))) return;
    if (await attempt(() => remove(`/v1/dead-letters/${letter.id}`))) refresh();
  };
  return table(
    "Dead letters",
    ["Failed", "Namespace", "Reason", ""],
    list.map((letter) => [
      time(letter.died_at),
      letter.namespace,
      letter.reason,
      h("div", { class: "row" }, h("button", { onclick: (event) => retry(letter, event.target) }, "Retry"), h("button", { class: "danger", onclick: () => drop(letter) }, "Drop")),
    ]),
  );
}
