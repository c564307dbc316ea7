// Checks the types, builds the page, and compares the result with the files in the tree. A difference means that the
// bundle was not rebuilt after a change of the sources: commit the files that this build wrote.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { listFiles } from "./rust-table.mjs";

const PAGE = "../src/dashboard/page";
const SINGLE_FILES = ["../src/dashboard/bundle.rs", "src/api-types.ts"];

/** Returns the contents of all generated files, by path. */
function readGenerated() {
    const paths = SINGLE_FILES.filter((path) => existsSync(path));
    if (existsSync(PAGE)) for (const file of listFiles(PAGE)) paths.push(`${PAGE}/${file}`);
    return new Map(paths.map((path) => [path, readFileSync(path, "base64")]));
}

function run(...command) {
    execFileSync("npx", ["--no-install", ...command], { stdio: "inherit" });
}

const before = readGenerated();
execFileSync("npm", ["run", "--silent", "types"], { stdio: "inherit" });
run("tsc");
run("vite", "build", "--logLevel", "warn");
const after = readGenerated();

const stale = new Set();
for (const path of [...before.keys(), ...after.keys()]) if (before.get(path) !== after.get(path)) stale.add(path);
if (stale.size > 0) {
    console.error(
        `These files did not match their sources; this build rewrote them. Commit them:\n${[...stale].join("\n")}`,
    );
    process.exit(1);
}
console.log(`${after.size} generated files match their sources`);
