// The repository contains the compiled files, so that `npm install` of the folder needs no build. The adapters need the
// frameworks; `integrations/test/dist.test.ts` compares them.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

test("dist matches the compiled sources", () => {
  const compiled = readdirSync("build/src").sort();
  const distributed = readdirSync("dist").filter((name) => name !== "adapters").sort();
  assert.deepEqual(distributed, compiled, "run: npm run build");
  for (const file of compiled) {
    assert.equal(readFileSync(`dist/${file}`, "utf8"), readFileSync(`build/src/${file}`, "utf8"), `dist/${file} is out of date, run: npm run build`);
  }
});
