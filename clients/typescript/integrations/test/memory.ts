// A real server with a client that records requests, and adapter options that collect writes and warnings.

import { randomUUID } from "node:crypto";
import { type Accepted, Client, NotFound } from "cuebase";
import type { AgentMemoryOptions, MemoryWarning } from "cuebase/ai-sdk";
import { type Service, start } from "../../test/service.js";

export interface Recorder {
  options: AgentMemoryOptions & { client: Client; namespace: string };
  client: Client;
  namespace: string;
  /** Method and path of each request, such as `GET /v1/context`. */
  requests: string[];
  /** The `q` of each request that has one. */
  queries: string[];
  writes: Promise<Accepted | undefined>[];
  warnings: MemoryWarning[];
}

/** Returns a recorder with a new namespace. */
export async function record(service: Service, send: typeof fetch = fetch): Promise<Recorder> {
  const namespace = (await new Client(service).createNamespace(`n-${randomUUID().slice(0, 12)}`)).name;
  return recordIn(namespace, service, send);
}

/** Returns the query of a request that has it in its body because it is long. */
function queryOfBody(url: URL, body: unknown): string | null {
  if (!["/v1/context", "/v1/retrieve"].includes(url.pathname) || typeof body !== "string") return null;
  return (JSON.parse(body) as { q?: string }).q ?? null;
}

/** Returns a recorder for an existing namespace. */
export function recordIn(namespace: string, service: Service, send: typeof fetch = fetch): Recorder {
  const requests: string[] = [];
  const queries: string[] = [];
  const recordingFetch: typeof fetch = (input, init) => {
    const url = new URL(String(input));
    requests.push(`${init?.method} ${url.pathname}`);
    const query = url.searchParams.get("q") ?? queryOfBody(url, init?.body);
    if (query !== null) queries.push(query);
    return send(input, init);
  };
  const client = new Client({ url: service.url, key: service.key, fetch: recordingFetch, sleep: async () => {} });
  const writes: Promise<Accepted | undefined>[] = [];
  const warnings: MemoryWarning[] = [];
  const options = {
    client,
    namespace,
    // Only a test of the limit may reach it, however slow the machine is.
    recallTimeoutMs: 60_000,
    waitUntil: (write: Promise<Accepted | undefined>) => void writes.push(write),
    onWarning: (warning: MemoryWarning) => void warnings.push(warning),
  };
  return { options, client, namespace, requests, queries, writes, warnings };
}

/** Waits until the writes can be retrieved, and returns the messages of each. */
export async function stored({ client, writes, namespace }: Recorder) {
  const conversations = [];
  for (const write of writes) {
    const accepted = await write;
    if (!accepted) throw new Error("the turn was not stored");
    const { status } = await client.writeState(accepted.id, { waitMs: 60_000 });
    if (status !== "ingested") throw new Error(`the write is ${status}`);
    conversations.push(await client.source(accepted.id, { namespace }));
  }
  return conversations;
}

/** Starts a server and stops it. */
export async function stoppedService(): Promise<Service> {
  const service = await start();
  const exited = new Promise((done) => service.process.once("exit", done));
  service.process.kill();
  await exited;
  return service;
}

export async function exists({ client, namespace }: Recorder, path: string): Promise<boolean> {
  try {
    await client.get(path, { namespace });
    return true;
  } catch (error) {
    if (error instanceof NotFound) return false;
    throw error;
  }
}

/** Waits until a condition holds. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error("the condition did not become true");
}
