// The repository contains the compiled adapters. The other compiled files are compared by `../test/dist.test.ts`.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const COMPILED = "build/dist/adapters";
const DISTRIBUTED = "../dist/adapters";

test("dist matches the compiled adapters", () => {
  const files = readdirSync(COMPILED).sort();
  assert.ok(files.includes("aiSdk.js") && files.includes("mastra.js"));
  assert.deepEqual(readdirSync(DISTRIBUTED).sort(), files, "run: npm --prefix integrations run build");
  for (const file of files) {
    const isCurrent = readFileSync(`${DISTRIBUTED}/${file}`, "utf8") === readFileSync(`${COMPILED}/${file}`, "utf8");
    assert.ok(isCurrent, `dist/adapters/${file} is out of date, run: npm --prefix integrations run build`);
  }
});

test("the base client imports no package and no adapter", () => {
  for (const file of readdirSync("../dist")) {
    if (!file.endsWith(".js")) continue;
    for (const [, module] of readFileSync(`../dist/${file}`, "utf8").matchAll(/from "([^"]+)"/g)) {
      assert.match(module!, /^\.\/\w+\.js$/, `dist/${file} imports ${module}`);
    }
  }
});

test("the lock file names no registry", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Record<string, object> };
  assert.ok(Object.keys(packages).length > 100);
  for (const [name, entry] of Object.entries(packages)) assert.ok(!("resolved" in entry), name);
});
