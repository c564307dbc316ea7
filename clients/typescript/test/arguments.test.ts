// Required and optional arguments, tested with a fake server.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Client, type Messages, MissingKey } from "../src/index.js";

interface Sent {
  url: string;
  authorization: string | null;
  body: { messages: unknown };
}

function recording(answer: unknown) {
  const sent: Sent[] = [];
  const record: typeof fetch = async (url, init) => {
    const authorization = new Headers(init?.headers).get("authorization");
    sent.push({ url: String(url), authorization, body: JSON.parse(String(init?.body ?? "null")) });
    return new Response(JSON.stringify(answer));
  };
  return { sent, fetch: record };
}

const ACCEPTED = { id: "1", namespace: "default", status: "accepted" };

afterEach(() => {
  delete process.env["CUEBASE_URL"];
  delete process.env["CUEBASE_KEY"];
});

test("a text, a message and a list of messages are the same conversation", async () => {
  const { sent, fetch } = recording(ACCEPTED);
  const client = new Client({ key: "key", fetch });
  const message = { role: "user", content: "I like tea" } as const;
  for (const messages of ["I like tea", message, [message]] satisfies Messages[]) {
    await client.remember(messages);
    assert.deepEqual(sent.at(-1)?.body.messages, [message]);
  }
});

test("invalid messages are rejected with the accepted forms", async () => {
  const { sent, fetch } = recording(ACCEPTED);
  const client = new Client({ key: "key", fetch });
  const wrong: [unknown, RegExp][] = [
    [17, /invalid messages of type number: .*a text, a message such as .*, or a list/],
    [null, /invalid messages of type null/],
    [["I like tea"], /invalid messages\[0\] of type string/],
  ];
  for (const [messages, expected] of wrong) {
    await assert.rejects(client.remember(messages as Messages), { name: "TypeError", message: expected });
    await assert.rejects(client.append("id", messages as Messages), { name: "TypeError", message: expected });
  }
  assert.equal(sent.length, 0);
});

test("url and key default to the environment", async () => {
  process.env["CUEBASE_URL"] = "http://memory.example:9000/";
  process.env["CUEBASE_KEY"] = "key of the environment";
  const { sent, fetch } = recording(ACCEPTED);
  await new Client({ fetch }).remember("I like tea");
  assert.equal(sent[0]?.url, "http://memory.example:9000/v1/memories");
  assert.equal(sent[0].authorization, "Bearer key of the environment");
  await new Client({ url: "http://other.example", key: "other", fetch }).remember("I like tea");
  assert.equal(sent[1]?.url, "http://other.example/v1/memories");
  assert.equal(sent[1].authorization, "Bearer other");
});

test("the default url is the default address of the server", async () => {
  const { sent, fetch } = recording(ACCEPTED);
  await new Client({ key: "key", fetch }).remember("I like tea");
  assert.equal(sent[0]?.url, "http://127.0.0.1:8080/v1/memories");
});

test("a client without a key says how to pass one", () => {
  for (const options of [{}, { key: "" }, { key: undefined }]) {
    assert.throws(() => new Client(options), (error: unknown) => {
      assert.ok(error instanceof MissingKey);
      assert.equal(error.code, "missing_key");
      assert.match(error.message, /pass "key", or set the environment variable CUEBASE_KEY/);
      return true;
    });
  }
});

test("an invalid url is rejected without showing a key", () => {
  assert.throws(() => new Client({ url: "localhost:8080", key: "key" }), /invalid url "localhost…": expected http:\/\//);
  const swapped = () => new Client({ url: "svc_live_0123456789abcdef_secret", key: "http://127.0.0.1:8080" });
  assert.throws(swapped, (error: Error) => error instanceof TypeError && !error.message.includes("0123456789abcdef"));
});

test("warnings of the server are returned, and absent when there are none", async () => {
  const warnings = ['unknown field "occured_at" ignored; did you mean "occurred_at"?'];
  const warned = new Client({ key: "key", ...recording({ ...ACCEPTED, commit: "c", path: "p", warnings }) });
  assert.deepEqual((await warned.remember("I like tea")).warnings, warnings);
  assert.deepEqual((await warned.retrieve("tea")).warnings, warnings);
  assert.deepEqual((await warned.write("facts/tea.md", "# Tea\n")).warnings, warnings);
  assert.equal("warnings" in (await new Client({ key: "key", ...recording(ACCEPTED) }).remember("I like tea")), false);
});

test("the queue shows the start of a model outage", async () => {
  const queue = { waiting: 0, waiting_since: null, dead_letters: [] };
  const outage = { ...queue, model_unavailable_since: "2026-05-04T09:00:00Z" };
  const { model_unavailable_since } = await new Client({ key: "key", ...recording(outage) }).queue();
  assert.deepEqual(model_unavailable_since, new Date("2026-05-04T09:00:00Z"));
  assert.equal((await new Client({ key: "key", ...recording(queue) }).queue()).model_unavailable_since, null);
});

test("the methods of sources use the namespace of the client", async () => {
  const { sent, fetch } = recording({ id: "1", namespace: "mine", messages: [], memories: [], sources: [] });
  const client = new Client({ key: "key", namespace: "mine", fetch });
  for await (const { id } of client.sources()) assert.fail(id);
  await client.source("1");
  await client.deleteSource("1");
  assert.deepEqual(sent.map(({ url }) => new URL(url).searchParams.get("namespace")), ["mine", "mine", "mine"]);
});

test("several namespaces are searched with one request", async () => {
  const hit = { path: "facts/tea.md", content: "# Tea\n", score: 0.5, namespace: "team" };
  const { sent, fetch } = recording({ hits: [hit], citations: [{ path: "facts/tea.md", quote: "Tea", namespace: "team" }] });
  const client = new Client({ key: "key", namespace: "mine", fetch });
  const namespace = ["mine", "team"];
  assert.equal((await client.retrieve("tea", { namespace })).hits[0]?.namespace, "team");
  assert.equal((await client.answer("tea", { namespace })).citations[0]?.namespace, "team");
  await client.retrieve("tea");
  const names = sent.map(({ url }) => new URL(url).searchParams.get("namespace"));
  assert.deepEqual(names, ["mine,team", null, "mine"]);
  assert.equal((sent[1]?.body as unknown as { namespace: string }).namespace, "mine,team");
});

test("an empty list of namespaces is rejected", async () => {
  const { sent, fetch } = recording({});
  const client = new Client({ key: "key", namespace: "mine", fetch });
  const expected = { name: "TypeError", message: /namespace is an empty list/ };
  await assert.rejects(client.retrieve("tea", { namespace: [] }), expected);
  await assert.rejects(client.answer("tea", { namespace: [] }), expected);
  assert.equal(sent.length, 0);
});

test("sources() reads every page", async () => {
  const ids = Array.from({ length: 205 }, (_, number) => String(1000 - number));
  const pages: typeof fetch = async (url) => {
    const { searchParams } = new URL(String(url));
    const before = searchParams.get("before");
    const start = before === null ? 0 : ids.indexOf(before) + 1;
    const page = ids.slice(start, start + Number(searchParams.get("limit")));
    return new Response(JSON.stringify({ sources: page.map((id) => ({ id })) }));
  };
  const listed: string[] = [];
  for await (const { id } of new Client({ key: "key", fetch: pages }).sources()) listed.push(id);
  assert.deepEqual(listed, ids);
});

const DOCUMENT = { document_id: "guide-pdf", name: "guide.pdf", passages: 2, pages: 7, tags: ["boat"] };
const DOCUMENT_TIMES = { created_at: "2026-05-04T09:00:00Z", updated_at: null };

test("an uploaded document is sent as bytes with its fields in the query", async () => {
  const requests: { url: URL; init: RequestInit }[] = [];
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) => {
    requests.push({ url: new URL(String(url)), init });
    return new Response(JSON.stringify({ ...ACCEPTED, document_id: "guide-pdf", passages: 2, warnings: ["w"] }));
  };
  const client = new Client({ key: "key", namespace: "mine", fetch });
  const content = new TextEncoder().encode("%PDF");
  const metadata = { team: "dock é", year: 2026, draft: false, at: "2026-05-04" };
  const accepted = await client.uploadDocument(content, {
    filename: "guide.pdf",
    content_type: "application/pdf",
    document_id: "guide",
    tags: ["boat", "fuel"],
    metadata,
    occurred_at: new Date("2026-05-04T00:00:00Z"),
  });
  const expected = { id: "1", namespace: "default", paths: [], document_id: "guide-pdf", passages: 2, warnings: ["w"] };
  assert.deepEqual(accepted, expected);
  await client.uploadDocument(content, { filename: "guide.md" });
  const [first, second] = requests;
  assert.deepEqual([first?.url.pathname, first?.init.method, first?.init.body], ["/v1/documents", "POST", content]);
  const types = requests.map(({ init }) => new Headers(init.headers).get("content-type"));
  assert.deepEqual(types, ["application/pdf", "application/octet-stream"]);
  const { metadata: text = "", ...sent } = Object.fromEntries(first?.url.searchParams ?? []);
  assert.deepEqual(JSON.parse(text), metadata);
  const named = { filename: "guide.pdf", document_id: "guide", namespace: "mine" };
  assert.deepEqual(sent, { ...named, tags: "boat,fuel", occurred_at: "2026-05-04T00:00:00.000Z" });
  assert.deepEqual(Object.fromEntries(second?.url.searchParams ?? []), { filename: "guide.md", namespace: "mine" });
});

test("only the upload of a document has a longer timeout", async ({ mock }) => {
  const timeouts = mock.method(AbortSignal, "timeout");
  const { fetch } = recording({ ...ACCEPTED, memories: [] });
  const client = new Client({ key: "key", timeoutMs: 5000, fetch });
  await client.uploadDocument(new Uint8Array([35]), { filename: "guide.md" });
  await client.document("guide-md");
  await new Client({ key: "key", timeoutMs: 300_000, fetch }).uploadDocument(new Uint8Array([35]), { filename: "guide.md" });
  assert.deepEqual(timeouts.mock.calls.map((call) => call.arguments), [[120_000], [5000], [300_000]]);
});

test("a document has its passages in order", async () => {
  const memories = [
    { path: "facts/documents/guide-pdf/guide.md", titles: ["Guide", "Fuel"], page: 3, line: null },
    { path: "facts/documents/guide-pdf/notes.md", titles: [], page: null, line: 9 },
  ];
  const { sent, fetch } = recording({ namespace: "mine", ...DOCUMENT, ...DOCUMENT_TIMES, memories });
  const found = await new Client({ key: "key", namespace: "mine", fetch }).document("a/b");
  const times = { created_at: new Date("2026-05-04T09:00:00Z"), updated_at: null };
  assert.deepEqual(found, { namespace: "mine", ...DOCUMENT, ...times, memories });
  assert.ok(sent[0]?.url.endsWith("/v1/documents/a%2Fb?namespace=mine"));
});

test("the methods of documents use the namespace of the client", async () => {
  const { sent, fetch } = recording({ ...ACCEPTED, documents: [], memories: [] });
  const client = new Client({ key: "key", namespace: "mine", fetch });
  for await (const { document_id } of client.documents()) assert.fail(document_id);
  await client.document("guide-md");
  await client.forgetDocument("guide-md");
  assert.deepEqual(sent.map(({ url }) => new URL(url).searchParams.get("namespace")), ["mine", "mine", "mine"]);
});

test("documents() reads every page", async () => {
  const ids = Array.from({ length: 205 }, (_, number) => `guide-${String(number).padStart(3, "0")}`);
  const pages: typeof fetch = async (url) => {
    const { searchParams } = new URL(String(url));
    const after = searchParams.get("after");
    const start = after === null ? 0 : ids.indexOf(after) + 1;
    const page = ids.slice(start, start + Number(searchParams.get("limit")));
    return new Response(JSON.stringify({ documents: page.map((document_id) => ({ document_id })) }));
  };
  const listed: string[] = [];
  for await (const { document_id } of new Client({ key: "key", fetch: pages }).documents()) listed.push(document_id);
  assert.deepEqual(listed, ids);
});

test("a hit has its place in a document", async () => {
  const place = { id: "guide-pdf", name: "guide.pdf", titles: ["Guide", "Fuel"], position: 4, page: 3, line: null };
  const { fetch } = recording({ hits: [{ path: "facts/a.md", document: place }, { path: "facts/b.md" }] });
  const { hits } = await new Client({ key: "key", fetch }).retrieve("fuel");
  assert.deepEqual(hits.map((hit) => hit.document), [place, undefined]);
});

test("conditions are repeated parameters of a query and a list in a body", async () => {
  const { sent, fetch } = recording({ skills: [] });
  const client = new Client({ key: "key", fetch });
  await client.retrieve(null, { where: ["team:a,b", "size>=2"] });
  await client.skills(undefined, { where: ["team:blue"] });
  await client.answer("tea?", { where: ["team:a,b"] });
  const conditions = sent.slice(0, 2).map(({ url }) => new URL(url).searchParams.getAll("where"));
  assert.deepEqual(conditions, [["team:a,b", "size>=2"], ["team:blue"]]);
  assert.deepEqual((sent[2]?.body as unknown as { where: unknown }).where, ["team:a,b"]);
});

test("metadata is not converted, and a memory of an older server is current", async () => {
  const metadata = { at: "2026-05-04", updated_at: 7 };
  const { fetch } = recording({ path: "facts/a.md", metadata, valid_from: "2026-05-04T09:00:00Z" });
  const memory = await new Client({ key: "key", fetch }).get("facts/a.md");
  assert.deepEqual([memory.metadata, memory.valid_from], [metadata, new Date("2026-05-04T09:00:00Z")]);
  const { fetch: older } = recording({ path: "facts/a.md" });
  const plain = await new Client({ key: "key", fetch: older }).get("facts/a.md");
  assert.deepEqual([plain.current, plain.valid_until, plain.supersedes, plain.metadata], [true, null, [], {}]);
});

test("a context is text with citations, and hits can be admitted", async () => {
  const citation = { path: "facts/tea.md", section: null, score: 0.5 };
  const context = { text: "- Tea", tokens: 3, citations: [citation], namespace: "mine,team" };
  const { sent, fetch } = recording({ ...context, hits: [] });
  const client = new Client({ key: "key", fetch });
  const found = await client.context("tea, and milk", { max_tokens: 100, standing: "off", admit: "strict", namespace: ["mine", "team"] });
  assert.deepEqual([found.text, found.tokens, found.citations, found.namespace], ["- Tea", 3, [citation], "mine,team"]);
  await client.retrieve("tea", { admit: "balanced" });
  const queries = sent.map(({ url }) => Object.fromEntries(new URL(url).searchParams));
  const first = { q: "tea, and milk", max_tokens: "100", standing: "off", admit: "strict", namespace: "mine,team" };
  assert.deepEqual(queries, [first, { q: "tea", admit: "balanced" }]);
});

const EXPLANATION = {
  arms: [{ arm: "lexical", rank: 1, score: 2.5 }],
  cue: { text: null, cosine: 0.5 },
  terms: [{ term: "tea", bm25: 2.5 }],
  relation: { from: "facts/milk.md", kind: "see" },
  base_log_odds: -3,
  contributions: [{ feature: "words", log_odds: 4 }],
};

test("hits can be explained", async () => {
  const { sent, fetch } = recording({ hits: [{ path: "facts/tea.md", explanation: EXPLANATION }, { path: "facts/milk.md" }] });
  const client = new Client({ key: "key", fetch });
  const { hits } = await client.retrieve("tea", { explain: true });
  assert.deepEqual(hits.map((hit) => hit.explanation), [EXPLANATION, undefined]);
  await client.retrieve("tea");
  assert.deepEqual(sent.map(({ url }) => new URL(url).searchParams.get("explain")), ["true", null]);
});

test("an explanation of a path says why it is not a hit", async () => {
  const place = { path: "facts/tea.md", found: false, excluded_by: ["filter", "limit"], repeats: null, rank: 2, score: 0.7 };
  const answer = { ...place, explanation: EXPLANATION, outranked_by: ["facts/a.md"] };
  const { sent, fetch } = recording(answer);
  const client = new Client({ key: "key", namespace: "mine", fetch });
  const since = new Date("2026-05-04T00:00:00Z");
  assert.deepEqual(await client.explain("tea", "facts/tea.md", { tags: ["hot"], since, where: ["size>=2"], limit: 1 }), answer);
  assert.ok(sent[0]?.url.endsWith("/v1/explain"));
  const filters = { tags: ["hot"], since: "2026-05-04T00:00:00.000Z", where: ["size>=2"], limit: 1 };
  assert.deepEqual(sent[0]?.body, { q: "tea", path: "facts/tea.md", namespace: "mine", ...filters });
});

test("the state of a write names what it changed", async () => {
  const changes = { made: ["facts/a.md"], rewritten: [], merged: [], ended: [], dropped: [{ message: 1, reason: "small_talk" }] };
  const write = { id: "1", namespace: "mine", status: "ingested", attempts: 1, error: null, ...changes };
  const { sent, fetch } = recording({ ...write, accepted_at: "2026-05-04T09:00:00Z", finished_at: "2026-05-04T09:00:01Z" });
  const state = await new Client({ key: "key", fetch }).writeState("a/b");
  const times = { accepted_at: new Date("2026-05-04T09:00:00Z"), finished_at: new Date("2026-05-04T09:00:01Z") };
  assert.deepEqual(state, { ...write, ...times });
  assert.ok(sent[0]?.url.endsWith("/v1/writes/a%2Fb"));
});

test("the state of a write shows its progress", async () => {
  const { fetch } = recording({ id: "1", status: "ingesting", finished_at: null, progress: { done: 64, total: 300 } });
  assert.deepEqual((await new Client({ key: "key", fetch }).writeState("1")).progress, { done: 64, total: 300 });
  const { fetch: ended } = recording({ id: "1", status: "ingested", finished_at: null });
  assert.equal((await new Client({ key: "key", fetch: ended }).writeState("1")).progress, undefined);
});

/** A client of a fake server whose write goes through the given states, one per request, and stays in the last one. */
function progress(...states: string[]) {
  const counts = { requests: 0, waits: 0 };
  const fetch = async () => {
    const status = states[Math.min(counts.requests++, states.length - 1)];
    return new Response(JSON.stringify({ id: "1", status, finished_at: null }));
  };
  const sleep = async () => void counts.waits++;
  return { client: new Client({ key: "key", fetch, sleep }), counts };
}

test("without waitMs the present state of a write is returned", async () => {
  const { client, counts } = progress("queued", "ingested");
  const { status, finished_at } = await client.writeState("1");
  assert.deepEqual([status, finished_at, counts], ["queued", null, { requests: 1, waits: 0 }]);
});

test("waiting for a write ends with its last state", async () => {
  for (const last of ["ingested", "dead", "dropped"]) {
    const { client, counts } = progress("queued", "ingesting", "retrying", last);
    assert.equal((await client.writeState("1", { waitMs: 60_000 })).status, last);
    assert.deepEqual(counts, { requests: 4, waits: 3 });
  }
});

test("waiting for a write ends when the time is up", async ({ mock }) => {
  let now = 0;
  mock.method(Date, "now", () => now);
  const fetch = async () => new Response(JSON.stringify({ id: "1", status: "queued" }));
  const sleep = async (milliseconds: number) => void (now += milliseconds);
  const { status } = await new Client({ key: "key", fetch, sleep }).writeState("1", { waitMs: 5000 });
  assert.deepEqual([status, now], ["queued", 5000]);
});

test("a profile has claims with times", async () => {
  const claim = { attribute: "home", value: "oslo", path: "facts/a.md", valid_from: "2026-05-04T09:00:00Z", valid_until: null, current: true };
  const { sent, fetch } = recording({ subject: "ana", claims: [claim], subjects: ["bob"] });
  const found = await new Client({ key: "key", namespace: "mine", fetch }).profile({ subject: "Ana", as_of: "2026-06-01" });
  assert.deepEqual(found.claims, [{ ...claim, valid_from: new Date("2026-05-04T09:00:00Z") }]);
  assert.deepEqual(found.subjects, ["bob"]);
  const query = Object.fromEntries(new URL(sent[0]?.url ?? "").searchParams);
  assert.deepEqual(query, { subject: "Ana", namespace: "mine", as_of: "2026-06-01" });
});

test("a response without hits has an empty list of them", async () => {
  const times = { vector_ms: 0.1, lexical_ms: 0.1, graph_ms: 0.1, cold_start: false };
  for (const hits of [{}, { hits: null }, { hits: [] }]) {
    const found = await new Client({ key: "key", fetch: recording({ ...times, ...hits }).fetch }).retrieve("Where is the ferry?");
    assert.deepEqual([found.hits, found.defined], [[], []]);
    const answered = recording({ answer: "At nine.", model: "m", ...hits });
    const answer = await new Client({ key: "key", fetch: answered.fetch }).answer("When does the ferry leave?");
    assert.deepEqual([answer.hits, answer.citations], [[], []]);
  }
});
