// Every method, tested with a real server.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import * as cuebase from "../src/index.js";
import { Client, type Message } from "../src/index.js";
import { type Service, start } from "./service.js";

const SAID: Message[] = [
  { role: "assistant", content: "Which seat do you like on long flights?" },
  { role: "user", name: "Noor", content: "An aisle seat, always. And I moved to Lisbon last week." },
];

let service: Service;
let client: Client;

before(async () => {
  service = await start();
  client = new Client(service);
});
after(() => service.process.kill());

const fresh = async () => (await client.createNamespace(`n-${randomUUID().slice(0, 12)}`)).name;

async function until<T>(read: () => Promise<T>, holds: (found: T) => boolean): Promise<T> {
  for (let tries = 0; tries < 2000; tries++) {
    const found = await read();
    if (holds(found)) return found;
  }
  throw new Error("the condition did not become true");
}

async function all<T>(many: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of many) found.push(each);
  return found;
}

test("a conversation is remembered and retrieved", async () => {
  const namespace = await fresh();
  const at = new Date("2026-05-04T09:00:00Z");
  const accepted = await client.remember(SAID, { namespace, session_id: "s", tags: ["Travel"], occurred_at: at });
  const made = await client.waitUntilIngested(accepted);
  assert.ok(made.length && made.every((each) => each.sources?.length));
  const found = await client.retrieve("where does Noor live", { namespace });
  const best = found.hits[0]!;
  assert.ok(best.content.includes("Lisbon") && best.score > 0 && best.score <= 1 && best.matched.length);
  assert.deepEqual(best.user_tags, ["travel"]);
  assert.deepEqual(best.occurred_at, at);
  assert.ok(best.created_at instanceof Date && best.revisions === undefined);
  const full = (await client.retrieve(null, { namespace, tags: ["travel"], detail: "full" })).hits[0];
  assert.ok(full?.revisions?.[0]?.at instanceof Date && full.last_diff && full.cues && full.relations);
  assert.equal(full.score, 1);
});

test("a plain text is remembered", async () => {
  const namespace = await fresh();
  const accepted = await client.remember("My bicycle is green and stands in the cellar.", { namespace });
  const [memory] = await client.waitUntilIngested(accepted);
  assert.match(memory?.content ?? "", /bicycle/);
  const { id } = await client.createConversation({ namespace });
  assert.equal((await client.append(id, "The cellar is dry.")).length, 1);
});

test("retrieve needs a query or a filter", async () => {
  await assert.rejects(client.retrieve(null), TypeError);
  await assert.rejects(client.retrieve("  ", { limit: 3 }), TypeError);
  assert.deepEqual((await client.retrieve(null, { tiers: ["facts"], until: "2020-01-01" })).hits, []);
});

test("waiting for a write without memories ends when it is ingested", async () => {
  const accepted = await client.remember([{ role: "user", content: "ok" }], { namespace: await fresh() });
  assert.deepEqual(await client.waitUntilIngested(accepted), []);
});

test("waiting for a write ends with NotIngested when the time is up", async () => {
  const accepted = await client.remember("My bicycle is green and stands in the cellar.", { namespace: await fresh() });
  const queued = { ...accepted, status: "queued", made: [], rewritten: [], merged: [] };
  const answers = () => Promise.resolve(Response.json(queued));
  const slow = new Client({ url: "http://127.0.0.1:9", key: "key", fetch: answers as typeof fetch });
  await assert.rejects(slow.waitUntilIngested(accepted, { timeoutMs: 100 }), cuebase.NotIngested);
});

test("a long query is sent in a body", async () => {
  const namespace = await fresh();
  const long = `${"The parcel came late and the rain did not stop. ".repeat(400)}Which colour does my bicycle have?`;
  await client.waitUntilIngested(await client.remember("My bicycle is green.", { namespace }));
  assert.match((await client.retrieve(long, { namespace, tiers: ["facts"], limit: 3 })).hits[0]?.content ?? "", /green/);
  assert.match((await client.context(long, { namespace, max_tokens: 200 })).text, /green/);
});

test("memories by path", async () => {
  const namespace = await fresh();
  const path = "facts/noor/seat.md";
  const text = "# Seats\n\nThe aisle.\n\n## Trains\n\nThe window.\n";
  const expires_at = new Date("2999-01-01T00:00:00Z");
  const written = await client.write(path, text, { namespace, tags: ["x"], cues: ["Which seat?"], occurred_at: "2026-05-04", expires_at });
  assert.equal(written.commit.length, 40);
  const memory = await client.get(path, { namespace, detail: "full" });
  assert.deepEqual([memory.occurred_at, memory.occurred_precision], [new Date("2026-05-04T12:00:00Z"), "day"]);
  assert.deepEqual([memory.expires_at, memory.cues, memory.sections], [expires_at, ["Which seat?"], ["Seats", "Trains"]]);
  assert.match((await client.get(`${path}#Trains`, { namespace })).content, /window/);
  await client.write(path, "# Seats\n\nNow the window.\n", { namespace });
  assert.match((await client.get(path, { namespace, revision: written.commit })).content, /aisle/);
  assert.deepEqual((await client.tree("facts", { namespace })).map((each) => each.path), ["facts/noor"]);
  assert.deepEqual((await client.topics({ namespace })).map((each) => [each.tier, each.topic, each.memories]), [["facts", "noor", 1]]);
  assert.equal((await client.graph({ namespace })).nodes[0]?.title, "Seats");
  await client.write(path, text, { namespace, cues: ["Which seat?"] });
  const answer = await client.answer("Which seat?", { namespace, tiers: ["facts"] });
  assert.deepEqual([answer.model, answer.citations[0]?.path], ["extractive", path]);
  await client.forget(path, { namespace });
  const gone = () => client.get(path, { namespace }).then(() => false, (error: unknown) => error instanceof cuebase.NotFound);
  await until(gone, Boolean);
  await assert.rejects(client.answer("Which seat?", { namespace }), { code: "no_answer", name: "NotFound" });
});

test("a query explains its hits and a path", async () => {
  const namespace = await fresh();
  const [price, hull] = ["facts/ferry/price.md", "facts/ferry/hull.md"];
  await client.write(price, "# Price\n\nThe ferry costs three crowns.\n", { namespace });
  await client.write(hull, "# Hull\n\nThe ferry is green.\n", { namespace, tags: ["paint"] });
  const query = "What does the ferry cost?";
  assert.equal((await client.retrieve(query, { namespace })).hits[0]?.explanation, undefined);
  const hit = (await client.retrieve(query, { namespace, explain: true })).hits[0];
  assert.ok(hit?.path === price && hit.explanation?.arms.length && hit.explanation.contributions.length);
  const best = await client.explain(query, price, { namespace });
  assert.deepEqual([best.found, best.rank, best.excluded_by, best.explanation], [true, 1, [], hit.explanation]);
  const last = await client.explain(query, hull, { namespace, limit: 1 });
  assert.deepEqual([last.found, last.rank, last.excluded_by, last.outranked_by], [false, 2, ["limit"], [price]]);
  assert.ok((await client.explain(query, price, { namespace, tags: ["paint"] })).excluded_by.includes("filter"));
  const unknown = await client.explain(query, "facts/no/such.md", { namespace });
  assert.deepEqual([unknown.excluded_by, unknown.rank, unknown.explanation], [["unknown_path"], null, null]);
});

test("the state of a write tells a write without memories from a queued one", async () => {
  const namespace = await fresh();
  const empty = await client.writeState((await client.remember("ok", { namespace })).id, { waitMs: 60_000 });
  assert.deepEqual([empty.status, empty.namespace, empty.made], ["ingested", namespace, []]);
  assert.deepEqual(empty.dropped.map((each) => each.message), [0]);
  assert.ok(empty.accepted_at instanceof Date && empty.finished_at instanceof Date);
  const full = await client.writeState((await client.remember(SAID, { namespace })).id, { waitMs: 60_000 });
  const texts = await Promise.all(full.made.map(async (path) => (await client.get(path, { namespace })).content));
  assert.ok(full.status === "ingested" && texts.join("").includes("Lisbon"));
  await assert.rejects(client.writeState("01HZZZZZZZZZZZZZZZZZZZZZZZ"), cuebase.NotFound);
});

test("metadata and validity", async () => {
  const namespace = await fresh();
  const [old, current] = ["facts/noor/desk-1.md", "facts/noor/desk-2.md"];
  await client.write(old, "# Noor sits at desk 1\n", { namespace, occurred_at: "2026-01-05", metadata: { floor: 1 } });
  const valid_from = new Date("2026-03-01T09:00:00Z");
  await client.write(current, "# Noor sits at desk 2\n", { namespace, metadata: { floor: 2 }, valid_from, supersedes: [old] });
  const { hits } = await client.retrieve("where does Noor sit", { namespace });
  assert.deepEqual(hits.map((hit) => [hit.path, hit.current]), [[current, true], [old, false]]);
  assert.deepEqual([hits[0]?.supersedes, hits[1]?.superseded_by, hits[0]?.metadata], [[old], [current], { floor: 2 }]);
  assert.deepEqual([hits[0]?.valid_from, hits[1]?.valid_until], [valid_from, valid_from]);
  const paths = async (filters: cuebase.Filters) => (await client.retrieve("where does Noor sit", filters)).hits.map((hit) => hit.path);
  assert.deepEqual(await paths({ namespace, current: "only" }), [current]);
  assert.deepEqual(await paths({ namespace, as_of: "2026-02-01" }), [old]);
  assert.deepEqual(await paths({ namespace, where: ["floor>=2"] }), [current]);
});

test("vocabulary and skills", async () => {
  const namespace = await fresh();
  await client.teach([{ term: "OKR", aliases: ["objective"], definition: "A goal." }], { namespace });
  const stored = await client.storeSkills([{ name: "Brew tea", description: "How to brew tea.", topic: "kitchen" }], { namespace });
  assert.deepEqual(stored.paths, ["skills/kitchen/brew-tea.md"]);
  await client.waitUntilIngested(stored);
  await until(() => client.resolve("objective", { namespace }), (term) => term?.term === "OKR");
  assert.equal((await client.vocabulary({ like: "ok", namespace }))[0]?.definition, "A goal.");
  assert.equal((await client.retrieve("what is our objective", { namespace })).defined[0]?.term, "OKR");
  assert.ok((await client.skills("brewing tea", { namespace }))[0]?.score);
  assert.equal((await client.skills(undefined, { namespace }))[0]?.score, null);
  await client.forgetTerms(["OKR"], { namespace });
  await until(() => client.resolve("OKR", { namespace }), (term) => term === null);
});

test("conversations", async () => {
  const namespace = await fresh();
  const { id } = await client.createConversation({ title: "Flights", namespace });
  const ids = await client.append(id, SAID);
  assert.deepEqual((await client.conversation(id)).messages?.map((each) => each.id), ids);
  const [first, second] = ids as [string, string];
  const branch = await client.edit(id, second, "A window seat.");
  assert.deepEqual(new Set((await client.branches(id)).map((each) => each.name)), new Set(["main", branch]));
  assert.ok((await client.editInPlace(id, first, "Which seat?")).edited_at instanceof Date);
  await client.updateConversation(id, { title: "Seats", branch: "main" });
  await client.rewind(id, first);
  assert.equal((await client.conversation(id)).messages?.length, 1);
  assert.deepEqual((await all(client.conversations({ namespace }))).map((each) => each.title), ["Seats"]);
  await client.deleteConversation(id);
  assert.deepEqual(await all(client.conversations({ namespace })), []);
});

/** Waits until a write is ingested and returns its kept conversation. */
async function kept({ id, namespace }: cuebase.Accepted): Promise<cuebase.SourceConversation> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
    try {
      return await client.source(id, { namespace });
    } catch (error) {
      if (!(error instanceof cuebase.NotFound)) throw error;
    }
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error(`write ${id} was not kept within 60 s`);
}

test("a memory names the write that it came from", async () => {
  const accepted = await client.remember(SAID, { namespace: await fresh(), session_id: "s" });
  const [memory] = await client.waitUntilIngested(accepted);
  assert.ok(memory?.sources?.length);
  for (const { write, session_id } of memory.sources) assert.deepEqual([write, session_id], [accepted.id, "s"]);
});

test("a kept conversation is returned as it was accepted", async () => {
  const namespace = await fresh();
  const said: Message[] = [SAID[0]!, { ...SAID[1]!, occurred_at: "2026-05-05T08:00:00Z" }];
  const sent = { namespace, session_id: "s", tags: ["travel"], occurred_at: "2026-05-04", timezone: "Europe/Paris" };
  const accepted = await client.remember(said, sent);
  const { accepted_at, memories, extracted, ...source } = await kept(accepted);
  assert.deepEqual(source, { ...sent, id: accepted.id, messages: said, metadata: {} });
  assert.deepEqual(extracted.map((each) => [each.path, each.messages, each.current]), [[memories[0], [0, 1], true]]);
  assert.ok(accepted_at instanceof Date);
  assert.match((await client.get(memories[0]!, { namespace })).content, /Lisbon/);
});

test("omitted fields of a kept conversation are null or empty", async () => {
  const source = await kept(await client.remember("ok", { namespace: await fresh() }));
  assert.deepEqual([source.session_id, source.occurred_at, source.timezone], [null, null, null]);
  assert.deepEqual([source.tags, source.memories], [[], []]);
});

test("kept conversations are listed by session, newest first", async () => {
  const namespace = await fresh();
  const ids: string[] = [];
  for (const [number, session_id] of ["a", "b", "a"].entries()) {
    const accepted = await client.remember(`ok ${number}`, { namespace, session_id, occurred_at: "2026-05-04" });
    ids.unshift((await kept(accepted)).id);
  }
  assert.deepEqual((await all(client.sources({ namespace }))).map((each) => each.id), ids);
  assert.deepEqual((await all(client.sources({ namespace, session_id: "a" }))).map((each) => each.id), [ids[0], ids[2]]);
  const [entry] = await all(client.sources({ namespace, session_id: "b" }));
  assert.ok(entry?.accepted_at instanceof Date);
  assert.deepEqual([entry.namespace, entry.session_id, entry.messages, entry.occurred_at], [namespace, "b", 1, "2026-05-04"]);
});

test("a deleted source is gone and its memories stay", async () => {
  const namespace = await fresh();
  const { id, memories } = await kept(await client.remember(SAID, { namespace }));
  await client.deleteSource(id, { namespace });
  await assert.rejects(client.source(id, { namespace }), cuebase.NotFound);
  assert.deepEqual(await all(client.sources({ namespace })), []);
  assert.ok((await client.get(memories[0]!, { namespace })).content);
});

test("long listings are read completely", async () => {
  const namespace = await fresh();
  const made: string[] = [];
  for (let number = 0; number < 205; number++) made.push((await client.createConversation({ title: `${number}`, namespace })).id);
  assert.deepEqual((await all(client.conversations({ namespace }))).map((each) => each.id), made.reverse());
  const names = Array.from({ length: 205 }, (_, number) => `many-${String(number).padStart(3, "0")}`);
  for (const name of names) await client.createNamespace(name);
  const listed = new Set((await all(client.namespaces())).map((each) => each.name));
  assert.ok(names.every((name) => listed.has(name)));
});

const GUIDE = "# Guide\n\n## Fuel\n\nThe ferry takes diesel at the east pier.\n\n## Berth\n\nThe berth has the number 14.\n";

/** Uploads a guide and waits until it is ingested. */
async function stored(content: string, namespace: string) {
  const accepted = await client.uploadDocument(new TextEncoder().encode(content), {
    filename: "Ferry Guide.md",
    namespace,
    tags: ["ferry"],
    metadata: { team: "dock" },
    occurred_at: "2026-05-04",
  });
  const state = await client.writeState(accepted.id, { waitMs: 60_000 });
  assert.deepEqual([state.status, state.progress], ["ingested", undefined]);
  return { accepted, state };
}

test("a document is stored as passages and retrieved", async () => {
  const namespace = await fresh();
  const { accepted, state } = await stored(GUIDE, namespace);
  assert.deepEqual([accepted.namespace, accepted.document_id, accepted.passages], [namespace, "ferry-guide-md", 2]);
  const { memories, created_at, updated_at, ...document } = await client.document("ferry-guide-md", { namespace });
  const expected = { namespace, document_id: "ferry-guide-md", name: "Ferry Guide.md", passages: 2, pages: null, tags: ["ferry"] };
  assert.deepEqual(document, expected);
  assert.ok(created_at instanceof Date && updated_at instanceof Date);
  const places = memories.map(({ titles, page, line }) => ({ titles, page, line }));
  assert.deepEqual(places, [
    { titles: ["Guide", "Fuel"], page: null, line: 5 },
    { titles: ["Guide", "Berth"], page: null, line: 9 },
  ]);
  const paths = memories.map((each) => each.path);
  assert.deepEqual([...state.made].sort(), [...paths].sort());
  assert.ok(paths.every((path) => path.startsWith("facts/documents/ferry-guide-md/")));
  const hit = (await client.retrieve("which fuel does the ferry take", { namespace })).hits[0]!;
  assert.ok(hit.path === paths[0] && hit.content.startsWith("# Guide › Fuel\n"));
  const place = { id: "ferry-guide-md", name: "Ferry Guide.md", titles: ["Guide", "Fuel"], position: 0, page: null, line: 5 };
  assert.deepEqual([hit.document, hit.metadata, hit.user_tags], [place, { team: "dock" }, ["ferry"]]);
  assert.deepEqual(hit.occurred_at, new Date("2026-05-04T12:00:00Z"));
  await client.write("facts/ferry/hull.md", "# Hull\n\nThe ferry is green.\n", { namespace });
  assert.equal((await client.get("facts/ferry/hull.md", { namespace })).document, undefined);
});

test("a new version of a document changes only what differs", async () => {
  const namespace = await fresh();
  await stored(GUIDE, namespace);
  const [fuel, berth] = (await client.document("ferry-guide-md", { namespace })).memories.map((each) => each.path) as [string, string];
  const { state: unchanged } = await stored(GUIDE, namespace);
  assert.deepEqual([unchanged.made, unchanged.rewritten], [[], []]);
  const { state: changed } = await stored(GUIDE.replace("number 14", "number 15"), namespace);
  assert.deepEqual([changed.made, changed.rewritten], [[], [berth]]);
  assert.equal((await client.get(berth, { namespace, detail: "full" })).revisions?.length, 2);
  assert.equal((await client.get(fuel, { namespace, detail: "full" })).revisions?.length, 1);
  await stored(GUIDE.split("## Berth")[0]!, namespace);
  assert.deepEqual((await client.document("ferry-guide-md", { namespace })).memories.map((each) => each.path), [fuel]);
  await assert.rejects(client.get(berth, { namespace }), cuebase.NotFound);
});

test("memories are listed in each order", async () => {
  const namespace = await fresh();
  for (const title of ["Crane", "Anchor", "Bollard"]) {
    const tags = title === "Crane" ? ["steel"] : [];
    await client.write(`facts/${title.toLowerCase()}.md`, `# ${title}\n`, { namespace, tags });
  }
  const paths = async (filters: cuebase.MemoriesFilters) =>
    (await all(client.memories({ namespace, ...filters }))).map((each) => each.path);
  assert.deepEqual(await paths({ order: "oldest" }), ["facts/crane.md", "facts/anchor.md", "facts/bollard.md"]);
  assert.deepEqual(await paths({ order: "title" }), ["facts/anchor.md", "facts/bollard.md", "facts/crane.md"]);
  assert.deepEqual(await paths({ tags: ["steel"] }), ["facts/crane.md"]);
});

test("documents are listed by id and forgotten", async () => {
  const namespace = await fresh();
  const anchor = new TextEncoder().encode("The anchor weighs 40 kg.");
  const named = await client.uploadDocument(anchor, { content_type: "text/plain", document_id: "anchor", namespace });
  await client.writeState(named.id, { waitMs: 60_000 });
  await stored(GUIDE, namespace);
  const listed = await all(client.documents({ namespace }));
  const expected = [["anchor", "anchor", 1], ["ferry-guide-md", "Ferry Guide.md", 2]];
  assert.deepEqual(listed.map((each) => [each.document_id, each.name, each.passages]), expected);
  const forgotten = await client.forgetDocument("ferry-guide-md", { namespace });
  assert.equal((await client.writeState(forgotten.id, { waitMs: 60_000 })).status, "ingested");
  await assert.rejects(client.document("ferry-guide-md", { namespace }), { name: "NotFound", code: "not_found" });
  assert.deepEqual((await all(client.documents({ namespace }))).map((each) => each.document_id), ["anchor"]);
});

test("a file that cannot be read is refused", async () => {
  const namespace = await fresh();
  const refused: [string | Uint8Array, cuebase.DocumentOptions, string][] = [
    [new Uint8Array([137, 80, 78, 71]), { filename: "dot.png" }, "invalid_document"],
    ["%PDF-1.7 damaged", { filename: "a.pdf" }, "invalid_document"],
    [new Uint8Array([255, 228]), { filename: "a.txt" }, "invalid_document"],
    [" \n", { filename: "a.md" }, "invalid_document"],
    ["x", { content_type: "text/plain" }, "invalid_id"],
    ["x", { filename: "a.txt", document_id: "A b" }, "invalid_id"],
  ];
  for (const [content, options, code] of refused) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const expected = { name: "InvalidRequest", status: 400, code };
    await assert.rejects(client.uploadDocument(bytes, { ...options, namespace }), expected, JSON.stringify(options));
  }
  const large = new TextEncoder().encode("word ".repeat(2 << 20));
  const expected = { name: "TooLarge", code: "payload_too_large" };
  await assert.rejects(client.uploadDocument(large, { filename: "a.txt", namespace }), expected);
  assert.deepEqual(await all(client.documents({ namespace })), []);
});

test("media, keys, usage and billing", async () => {
  const media = await client.upload(new Uint8Array([137, 80, 78, 71]), "image/png", { filename: "dot.png" });
  assert.deepEqual([media.bytes, media.content_type], [4, "image/png"]);
  const { url, expires_at } = await client.mediaUrl(media.id);
  assert.ok(url.startsWith(service.url) && expires_at > new Date());
  assert.ok(await client.health());
  assert.equal((await client.whoami()).env, "live");
  const scoped = await client.createKey({ name: "scoped", namespace: "default", env: "test" });
  assert.match(scoped.key, /^svc_test_/);
  assert.ok((await client.usage()).used.writes > 0 && (await client.billing()).transactions.length);
  const { dead_letters, model_unavailable_since, jobs } = await client.queue();
  assert.deepEqual([dead_letters, model_unavailable_since], [[], null]);
  assert.ok(jobs.some((job) => job.name === "ingestion"));
  const session = new Client({ url: service.url, key: service.session });
  assert.ok((await session.recharge(50_000)).payment_link.startsWith("http"));
  assert.ok((await session.subscribe("starter")).startsWith("http"));
  await session.revokeKey(scoped.id);
  assert.equal((await session.keys()).find((key) => key.id === scoped.id)?.revoked, true);
  await session.createNamespace("for-deletion");
  await session.deleteNamespace("for-deletion");
});

test("every refusal has its own error class", async () => {
  const stranger = new Client({ url: service.url, key: "svc_live_0123456789abcdef_x" });
  await assert.rejects(stranger.whoami(), { name: "Unauthorized", code: "unauthorized", status: 403 });
  await assert.rejects(client.keys(), { name: "Forbidden", code: "dashboard_only" });
  await assert.rejects(client.write("elsewhere/x.md", "x"), { name: "InvalidRequest", code: "invalid_path" });
  const missing = client.retrieve("x", { namespace: "never-made" });
  await assert.rejects(missing, (error: cuebase.NotFound) => error.code === "namespace_not_found" && Boolean(error.requestId));
  const terms = Array.from({ length: 201 }, (_, number) => ({ term: `t${number}`, aliases: [], definition: "d" }));
  await assert.rejects(client.teach(terms), { name: "TooLarge", code: "too_many_terms" });
  const nowhere = new Client({ url: "http://127.0.0.1:9", key: "key", maxRetries: 0 });
  await assert.rejects(nowhere.health(), { name: "Unreachable", message: /no response from http:\/\/127\.0\.0\.1:9: / });
});
