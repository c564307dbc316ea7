// The adapter for the AI SDK with the oldest supported major version, which is the latest one for Node 20.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { generateText, stepCountIs, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV3, convertArrayToReadableStream } from "ai/test";
import { type AgentMemoryOptions, cuebaseMiddleware, cuebaseTools } from "cuebase/ai-sdk";
import { type Service, start } from "../../test/service.js";
import { record, recordIn, stored, stoppedService } from "../test/memory.js";
import { type Reply, content, finishReason, inOrder, prompts, streamParts, texts, toolResults } from "../test/replies.js";

const SAID = "My sister Noor moved to Lisbon last week.";
const ASKED = "Where does my sister Noor live?";
const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

let service: Service;

before(async () => {
  service = await start();
});
after(() => service.process.kill());

/** Returns a model that gives each reply once, in order. */
function scripted(...replies: Reply[]): MockLanguageModelV3 {
  const next = inOrder(replies);
  const end = (reply: Reply) => ({ finishReason: { unified: finishReason(reply), raw: undefined }, usage: USAGE });
  return new MockLanguageModelV3({
    doGenerate: async () => {
      const reply = next();
      return { content: content(reply), ...end(reply), warnings: [] };
    },
    doStream: async () => {
      const reply = next();
      return { stream: convertArrayToReadableStream([...streamParts(reply), { type: "finish", ...end(reply) }]) };
    },
  });
}

const remembering = (model: MockLanguageModelV3, options: AgentMemoryOptions) =>
  wrapLanguageModel({ model, middleware: cuebaseMiddleware(options) });

test("a second session recalls what the user said in the first, in each step", async () => {
  const recorder = await record(service);
  const first = streamText({ model: remembering(scripted({ text: "How nice." }), recorder.options), prompt: SAID });
  assert.equal(await first.text, "How nice.");
  const [turn] = await stored(recorder);
  assert.deepEqual(turn!.messages.map((message) => message.content), [SAID, "How nice."]);
  const model = scripted({ tool: { name: "recall", input: { query: "Noor's home" } } }, { text: "In Lisbon." });
  const tools = cuebaseTools(recorder.options);
  const wrapped = remembering(model, recorder.options);
  assert.equal((await generateText({ model: wrapped, tools, stopWhen: stepCountIs(2), prompt: ASKED })).text, "In Lisbon.");
  for (const prompt of prompts(model)) assert.match(texts(prompt, "user")[0]!, /<memories>[^]*Lisbon[^]*\|Where does/);
  assert.match(String(toolResults(prompts(model)[1])[0]!.value), /Lisbon/);
  assert.deepEqual((await stored(recorder))[1]!.messages.map((message) => message.content), [ASKED, "In Lisbon."]);
  assert.deepEqual(recorder.warnings, []);
});

test("the model is called although the server is stopped, and a tool tells the model what is wrong", async () => {
  const recorder = recordIn("any", await stoppedService());
  const model = scripted({ tool: { name: "recall", input: { query: ASKED } } }, { text: "My memory is unavailable." });
  const tools = cuebaseTools(recorder.options);
  const { text } = await generateText({ model: remembering(model, recorder.options), tools, stopWhen: stepCountIs(2), prompt: ASKED });
  assert.equal(text, "My memory is unavailable.");
  assert.deepEqual(await Promise.all(recorder.writes), [undefined]);
  assert.deepEqual(recorder.warnings.map((warning) => warning.operation), ["recall", "store"]);
  const [result] = toolResults(prompts(model)[1]);
  assert.equal(result!.type, "error-text");
  assert.match(String(result!.value), /unreachable: no response from/);
});
