// Error codes, tested with a fake server.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, ErrorCode, NotFound } from "../src/index.js";

test("the code of an error equals its constant", async () => {
  const body = { error: { code: "namespace_not_found", message: "namespace \"tea\" does not exist" } };
  const fetch = async () => new Response(JSON.stringify(body), { status: 404 });
  await assert.rejects(new Client({ key: "key", fetch }).retrieve("tea"), (error: unknown) => {
    assert.ok(error instanceof NotFound);
    assert.equal(error.code, ErrorCode.NamespaceNotFound);
    assert.notEqual(error.code, ErrorCode.NotFound);
    return true;
  });
});
