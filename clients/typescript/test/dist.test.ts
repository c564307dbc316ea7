// The compiled files are in the repository, so that `npm install` of the folder needs no build.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

test("dist is what the sources compile to", () => {
  const compiled = readdirSync("build/src").sort();
  assert.deepEqual(readdirSync("dist").sort(), compiled, "run: npm run build");
  for (const file of compiled) {
    assert.equal(readFileSync(`dist/${file}`, "utf8"), readFileSync(`build/src/${file}`, "utf8"), `dist/${file} is old, run: npm run build`);
  }
});
