// Which requests are retried and how long the waits are, tested with a fake server.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, ServerError, Unauthorized, Unreachable } from "../src/index.js";
import { BACKOFF_MS, waitBeforeRetry } from "../src/wire.js";

type Answer = () => Response;

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => () =>
  new Response(JSON.stringify(body), { status, headers });
const refusal = (status: number, code: string, headers: Record<string, string> = {}) =>
  json(status, { error: { code, message: "m" } }, headers);
const OK = json(200, { version: "1" });

function fakeServer(answers: Answer[], last: Answer) {
  const sentBodies: (string | undefined)[] = [];
  const waits: number[] = [];
  const client = new Client({
    key: "key",
    fetch: async (_, init) => {
      sentBodies.push(init?.body as string | undefined);
      return (answers.shift() ?? last)();
    },
    sleep: async (milliseconds) => void waits.push(milliseconds),
  });
  return { client, sentBodies, waits };
}

test("retries wait at least as long as retry-after", async () => {
  const busy = json(503, { message: "Service Unavailable" }, { "retry-after": "1" });
  const { client, waits } = fakeServer([refusal(429, "rate_limited", { "retry-after": "7" }), busy], OK);
  assert.equal(await client.health(), "1");
  assert.ok(waits[0]! > 7000 && waits[0]! <= 7250 && waits[1]! > 1000 && waits[1]! <= 1500, `${waits}`);
});

test("waits grow, have jitter, and are limited in number", async () => {
  const { client, sentBodies, waits } = fakeServer([], refusal(500, "internal"));
  await assert.rejects(client.health(), ServerError);
  assert.equal(sentBodies.length, 4);
  for (const [turn, waited] of waits.entries()) {
    assert.ok(waited >= (BACKOFF_MS * 2 ** turn) / 2 && waited <= BACKOFF_MS * 2 ** turn);
  }
  const spread = new Set(Array.from({ length: 20 }, () => waitBeforeRetry(new ServerError(""), true, 3)));
  assert.ok(spread.size > 10);
});

test("errors that a retry cannot fix are thrown at once", async () => {
  for (const [status, code] of [[429, "quota_exceeded"], [503, "merchant_not_live"], [400, "invalid_body"], [404, "not_found"]] as const) {
    const { client, sentBodies } = fakeServer([], refusal(status, code, { "retry-after": "1" }));
    await assert.rejects(client.usage(), { code });
    assert.equal(sentBodies.length, 1);
  }
});

test("a request that is not repeatable is not sent twice", async () => {
  const lost = fakeServer([], refusal(500, "internal"));
  await assert.rejects(lost.client.createConversation(), ServerError);
  assert.equal(lost.sentBodies.length, 1);
  // A refused request had no effect, and an identical write is the same write.
  const refused = fakeServer([refusal(429, "rate_limited")], json(201, { id: "1", created_at: "2026-01-01T00:00:00Z" }));
  assert.equal((await refused.client.createConversation()).id, "1");
  const written = fakeServer([refusal(500, "internal")], json(202, { id: "1", namespace: "n" }));
  assert.equal((await written.client.remember([{ role: "user", content: "x" }])).id, "1");
  assert.equal(written.sentBodies[0], written.sentBodies[1]);
});

test("a broken connection is retried, and a response without JSON is an error", async () => {
  const broken = () => {
    throw new TypeError("fetch failed");
  };
  const { client, sentBodies } = fakeServer([broken, broken], OK);
  assert.equal(await client.health(), "1");
  assert.equal(sentBodies.length, 3);
  await assert.rejects(fakeServer([], broken).client.health(), Unreachable);
  await assert.rejects(fakeServer([], () => new Response("teapot", { status: 418 })).client.health(), { status: 418 });
});

test("a rejected credential is Unauthorized with status 401 and 403", async () => {
  for (const status of [401, 403]) {
    const { client } = fakeServer([], json(status, { message: "Unauthorized" }));
    await assert.rejects(client.whoami(), (error: unknown) => error instanceof Unauthorized && error.status === status);
  }
});
