// The adapter for Mastra, tested with the real package, a scripted model and a real server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import type { OutputProcessor } from "@mastra/core/processors";
import { RequestContext } from "@mastra/core/request-context";
import { convertArrayToReadableStream } from "ai/test";
import { Client } from "cuebase";
import { type CuebaseOptions, CuebaseProcessor, cuebaseTools } from "cuebase/mastra";
import { type Service, start } from "../../test/service.js";
import { type Recorder, exists, record, recordIn, stored, stoppedService, until } from "./memory.js";
import { type Prompt, type Reply, content, finishReason, inOrder, prompts, streamParts, texts, toolResults, unfinished } from "./replies.js";

const SAID = "My sister Noor moved to Lisbon last week.";
const ASKED = "Where does my sister Noor live?";
const INSTRUCTIONS = "Answer briefly.";

let service: Service;
let stopped: Service;

before(async () => {
  service = await start();
  stopped = await stoppedService();
});
after(() => service.process.kill());

const USAGE = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

type Model = Omit<ReturnType<typeof scripted>, "doStream"> & {
  doStream(options: { prompt: Prompt; abortSignal?: AbortSignal }): Promise<{ stream: ReadableStream }>;
};

/** Returns a model that gives each reply once, in order. The mocks of `ai` have newer types than Mastra accepts. */
function scripted(...replies: Reply[]) {
  const next = inOrder(replies);
  const end = (reply: Reply) => ({ finishReason: finishReason(reply), usage: USAGE });
  const doGenerateCalls: { prompt: Prompt }[] = [];
  const doStreamCalls: { prompt: Prompt }[] = [];
  return {
    specificationVersion: "v2" as const,
    provider: "fake",
    modelId: "scripted",
    supportedUrls: {},
    doGenerateCalls,
    doStreamCalls,
    async doGenerate({ prompt }: { prompt: Prompt }) {
      doGenerateCalls.push({ prompt });
      const reply = next();
      return { content: content(reply), ...end(reply), warnings: [] };
    },
    async doStream({ prompt }: { prompt: Prompt }) {
      doStreamCalls.push({ prompt });
      const reply = next();
      const parts = [...streamParts(reply), { type: "finish" as const, ...end(reply) }];
      return { stream: convertArrayToReadableStream(parts) };
    },
  };
}

/** Returns an agent with memory, tools, and a processor in both lists. */
function remembering(model: Model, options: CuebaseOptions): Agent {
  const processor = new CuebaseProcessor(options);
  return new Agent({
    id: "assistant",
    name: "Assistant",
    instructions: INSTRUCTIONS,
    model,
    memory: new MockMemory(),
    tools: { ...cuebaseTools(options) },
    inputProcessors: [processor],
    outputProcessors: [processor],
  });
}

const thread = (id: string) => ({ memory: { thread: id, resource: "noor" } });

/** Stores `SAID` in the thread `first`, and waits until it can be retrieved. */
async function firstThread(recorder: Recorder): Promise<void> {
  await remembering(scripted({ text: "How nice." }), recorder.options).generate(SAID, thread("first"));
  await stored(recorder);
}

test("a second thread recalls what the user said in the first", async () => {
  const recorder = await record(service);
  await firstThread(recorder);
  const model = scripted({ text: "In Lisbon." });
  const { text } = await remembering(model, recorder.options).generate(ASKED, thread("second"));
  assert.equal(text, "In Lisbon.");
  const [prompt] = prompts(model);
  const [instructions, memories] = texts(prompt, "system");
  assert.equal(instructions, INSTRUCTIONS);
  assert.match(memories!, /^Memories of earlier conversations.*\n<memories>\n[^]*Lisbon[^]*\n<\/memories>$/);
  assert.deepEqual(texts(prompt, "user"), [ASKED]);
  const [first, second] = await stored(recorder);
  assert.deepEqual([first!.session_id, second!.session_id], ["first", "second"]);
  assert.deepEqual(second!.messages, [
    { role: "user", content: ASKED },
    { role: "assistant", content: "In Lisbon." },
  ]);
  assert.deepEqual(recorder.warnings, []);
});

test("a later turn of a thread does not store earlier turns again", async () => {
  const recorder = await record(service);
  const agent = remembering(scripted({ text: "How nice." }, { text: "You said Lisbon." }), recorder.options);
  await agent.generate(SAID, thread("one"));
  await agent.generate("What did I say?", thread("one"));
  const turns = (await stored(recorder)).map((turn) => turn.messages.map((message) => message.content));
  assert.deepEqual(turns, [[SAID, "How nice."], ["What did I say?", "You said Lisbon."]]);
});

test("nothing is added to the prompt while nothing is relevant", async () => {
  const recorder = await record(service);
  const model = scripted({ text: "I do not know." });
  await remembering(model, recorder.options).generate(ASKED);
  assert.deepEqual(texts(prompts(model)[0], "system"), [INSTRUCTIONS]);
  const [turn] = await stored(recorder);
  assert.equal(turn!.session_id, null);
});

test("a stream ends before its turn is stored", { timeout: 60_000 }, async () => {
  let release = () => {};
  const released = new Promise<void>((done) => (release = done));
  const recorder = await record(service, async (input, init) => {
    if (init?.method === "POST") await released;
    return fetch(input, init);
  });
  const agent = remembering(scripted({ text: "How nice for her." }), recorder.options);
  const { textStream } = await agent.stream(SAID);
  const parts: string[] = [];
  for await (const part of textStream) parts.push(part);
  // The stream has ended, and the server has not received the write.
  assert.deepEqual(parts, ["How nice ", "for her."]);
  assert.deepEqual(recorder.requests, ["GET /v1/context", "POST /v1/memories"]);
  release();
  const [turn] = await stored(recorder);
  assert.deepEqual(turn!.messages.map((message) => message.content), [SAID, "How nice for her."]);
  const model = scripted({ text: "In Lisbon." });
  const second = await remembering(model, recorder.options).stream(ASKED);
  assert.equal(await second.text, "In Lisbon.");
  assert.match(texts(prompts(model)[0], "system")[1]!, /Lisbon/);
});

test("a turn with several steps recalls once, keeps the memories in each prompt, and is stored once", async () => {
  const recorder = await record(service);
  await firstThread(recorder);
  recorder.requests.length = 0;
  const model = scripted(
    { text: "Let me look.", tool: { name: "recall", input: { query: "Noor's home" } } },
    { text: "In Lisbon." },
  );
  await remembering(model, recorder.options).generate(ASKED, thread("second"));
  assert.deepEqual(recorder.requests.filter((request) => request !== "GET /v1/context"), ["POST /v1/memories"]);
  assert.deepEqual(recorder.queries.slice(-2), [ASKED, "Noor's home"]);
  const [first, second] = prompts(model);
  assert.match(texts(first, "system")[1]!, /Lisbon/);
  assert.deepEqual(texts(second, "system"), texts(first, "system"));
  const turn = (await stored(recorder))[1]!;
  assert.deepEqual(turn.messages.map((message) => message.content), [ASKED, "Let me look.\nIn Lisbon."]);
});

test("the scope of a request takes precedence over the options", async () => {
  const recorder = await record(service);
  const other = await record(service);
  const context = new RequestContext();
  context.set("tenant", other.namespace);
  const scope: CuebaseOptions["scope"] = (request) => {
    const namespace = request?.get("tenant");
    return typeof namespace === "string" ? { namespace, session_id: "call-7", user_name: "Mara" } : {};
  };
  const remember: Reply = { tool: { name: "remember", input: { text: "My desk is number 14." } } };
  const agent = remembering(scripted(remember, { text: "Stored." }, { text: "Hello." }), { ...recorder.options, scope });
  await agent.generate(SAID, { requestContext: context });
  await agent.generate(SAID);
  const [scoped, plain] = await Promise.all(recorder.writes);
  assert.deepEqual([scoped!.namespace, plain!.namespace], [other.namespace, recorder.namespace]);
  // The tool and the processor have both written.
  const sessions = new Map<string, string | null>();
  await until(async () => {
    for await (const { id, session_id } of other.client.sources({ namespace: other.namespace })) sessions.set(id, session_id);
    return sessions.size === 2;
  });
  assert.deepEqual([...sessions.values()], ["call-7", "call-7"]);
});

test("an error of the scope stops the run before a request", async () => {
  const recorder = await record(service);
  const scope = () => {
    throw new Error("no tenant");
  };
  const model = scripted({ text: "Hello." });
  await assert.rejects(remembering(model, { ...recorder.options, scope }).generate(SAID), /no tenant/);
  assert.deepEqual([recorder.requests, prompts(model)], [[], []]);
});

test("messages that reach a running agent as signals are words of the user", async () => {
  const recorder = await record(service);
  const agent = remembering(scripted({ text: "How nice." }), recorder.options);
  agent.sendMessage(SAID, { resourceId: "noor", threadId: "signals" });
  await until(async () => recorder.writes.length > 0);
  const [turn] = await stored(recorder);
  assert.deepEqual(turn!.messages.map((message) => message.content), [SAID, "How nice."]);
});

test("failed answers are not stored", async () => {
  const recorder = await record(service);
  const model = scripted({ text: "I cannot", finish: "content-filter" }, { text: "Error", finish: "error" });
  const agent = remembering(model, recorder.options);
  await agent.generate(SAID);
  await (await agent.stream(SAID)).consumeStream();
  assert.equal(prompts(model).length, 2);
  assert.deepEqual(recorder.writes, []);
});

test("a run that a guardrail blocks is not stored", async () => {
  const recorder = await record(service);
  const processor = new CuebaseProcessor(recorder.options);
  const guardrail: OutputProcessor = { id: "guardrail", processOutputResult: ({ abort }) => abort("blocked") };
  const agent = new Agent({
    id: "guarded",
    name: "Guarded",
    instructions: INSTRUCTIONS,
    model: scripted({ text: "I will say it." }),
    inputProcessors: [processor],
    outputProcessors: [guardrail, processor],
  });
  assert.equal((await agent.generate(SAID)).tripwire?.reason, "blocked");
  assert.deepEqual(recorder.writes, []);
});

test("a stream that the caller aborts is not stored", { timeout: 60_000 }, async () => {
  const recorder = await record(service);
  const caller = new AbortController();
  const doStream = async ({ abortSignal }: { abortSignal?: AbortSignal }) => ({ stream: unfinished("How nice for her.", abortSignal) });
  const agent = remembering({ ...scripted(), doStream }, recorder.options);
  const { textStream } = await agent.stream(SAID, { abortSignal: caller.signal });
  const parts: string[] = [];
  for await (const part of textStream) {
    parts.push(part);
    caller.abort();
  }
  assert.deepEqual([parts, recorder.writes], [["How nice "], []]);
});

test("the model is called although the server is stopped", async () => {
  const recorder = recordIn("any", stopped);
  const model = scripted({ text: "Hello." }, { text: "Hello again." });
  const agent = remembering(model, recorder.options);
  assert.equal((await agent.generate(SAID)).text, "Hello.");
  assert.equal(await (await agent.stream(SAID)).text, "Hello again.");
  assert.deepEqual(await Promise.all(recorder.writes), [undefined, undefined]);
  assert.deepEqual(recorder.warnings.map((warning) => warning.operation).sort(), ["recall", "recall", "store", "store"]);
  for (const { message } of recorder.warnings) assert.match(message, /: unreachable: no response from http:\/\/127\.0\.0\.1:\d+/);
  assert.deepEqual(texts(prompts(model)[0], "system"), [INSTRUCTIONS]);
});

test("an agent remembers, recalls and forgets with tools", async () => {
  const recorder = await record(service);
  const { namespace, client } = recorder;
  const tools = cuebaseTools({ ...recorder.options, session_id: "tools", user_name: "Mara" });
  const use = async (name: keyof typeof tools, input: Record<string, string>) => {
    const model = scripted({ tool: { name, input } }, { text: "Done." });
    const agent = new Agent({ id: "tools", name: "Tools", instructions: INSTRUCTIONS, model, tools: { ...tools } });
    await agent.generate("Use the tool.");
    return toolResults(prompts(model)[1])[0]!;
  };
  assert.equal((await use("recall", { query: ASKED })).value, "No memory matches this query.");
  assert.equal((await use("remember", { text: SAID })).value, "Stored. It can be recalled in a moment.");
  await until(async () => (await client.retrieve(ASKED, { namespace })).hits.length > 0);
  const [hit] = (await client.retrieve(ASKED, { namespace, detail: "full" })).hits;
  assert.equal(hit!.sources?.[0]?.session_id, "tools");
  assert.match(hit!.path, /mara/);
  const recalled = String((await use("recall", { query: ASKED })).value);
  assert.ok(recalled.includes("Lisbon") && recalled.includes(`[${hit!.path}]`), recalled);
  assert.equal((await use("forget", { path: hit!.path })).value, `Deleted ${hit!.path}.`);
  await until(async () => !(await exists(recorder, hit!.path)));
});

test("a failed tool tells the model what is wrong, and the run continues", async () => {
  const model = scripted({ tool: { name: "recall", input: { query: ASKED } } }, { text: "My memory is unavailable." });
  const { text } = await remembering(model, recordIn("any", stopped).options).generate(ASKED);
  assert.equal(text, "My memory is unavailable.");
  const [result] = toolResults(prompts(model)[1]);
  assert.equal(result!.type, "error-text");
  assert.match(String(result!.value), /unreachable: no response from http:\/\/127\.0\.0\.1:\d+/);
});

test("the types accept valid options only", () => {
  const client = new Client({ url: "http://127.0.0.1:9", key: "key" });
  // @ts-expect-error: the option is `session_id`
  new CuebaseProcessor({ client, sessionId: "s" });
  // @ts-expect-error: a scope is an object
  cuebaseTools({ client, scope: () => "noor" });
  const { forget } = cuebaseTools({ client });
  type Input = Parameters<NonNullable<typeof forget.execute>>[0];
  const input: Input = { path: "facts/a.md" };
  // @ts-expect-error: the field is `path`
  const wrong: Input = { id: "facts/a.md" };
  assert.notDeepEqual(input, wrong);
});
