// Runs each program of the pages in `../docs` with a real server, and compares its output with the block that follows it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { start } from "../../test/service.js";

interface Program {
  page: string;
  line: number;
  source: string;
  output: string;
}

const PAGES = "../docs";
// Below this folder, so that the programs find the packages.
const PROGRAMS = "build/programs";
const COMPILER_OPTIONS = ["--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022", "--types", "node"];

/** Returns the `ts` blocks of a page, each with the `text` block after it. */
function programs(page: string): Program[] {
  const text = readFileSync(join(PAGES, page), "utf8");
  const found: Program[] = [];
  for (const block of text.matchAll(/^```ts\n([^]*?)^```\n/gm)) {
    const following = text.slice(block.index + block[0].length);
    const output = /^\n```text\n([^]*?)^```$/m.exec(following);
    const line = text.slice(0, block.index).split("\n").length;
    assert.ok(output?.index === 0, `${page}:${line}: a program must be followed by its output in a text block`);
    found.push({ page, line, source: block[1]!, output: output[1]! });
  }
  assert.ok(found.length > 0, `${page} has no program`);
  return found;
}

for (const page of readdirSync(PAGES)) {
  for (const { line, source, output } of programs(page)) {
    test(`the program in ${page}:${line} prints what the page shows`, async (context) => {
      const service = await start();
      context.after(() => service.process.kill());
      mkdirSync(PROGRAMS, { recursive: true });
      const name = join(PROGRAMS, `${page.replace(".md", "")}-${line}`);
      writeFileSync(`${name}.mts`, source);
      execFileSync("node_modules/.bin/tsc", ["--ignoreConfig", ...COMPILER_OPTIONS, `${name}.mts`], { stdio: "inherit" });
      const environment = { ...process.env, CUEBASE_URL: service.url, CUEBASE_KEY: service.key };
      const printed = execFileSync(process.execPath, [`${name}.mjs`], { env: environment, encoding: "utf8" });
      assert.equal(printed, output);
    });
  }
}
