// Checks the types, builds the page, and compares the result with the files in the tree. A difference means that the
// bundle was not rebuilt after a change of the sources: commit the files that this build wrote.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync, utimesSync } from "node:fs";
import { listFiles } from "./rust-table.mjs";

const PAGE = "../src/dashboard/page";
const SINGLE_FILES = ["../src/dashboard/bundle.rs", "src/api-types.ts"];

/** Returns the paths of all generated files. */
function listGenerated() {
    const paths = SINGLE_FILES.filter((path) => existsSync(path));
    if (existsSync(PAGE)) for (const file of listFiles(PAGE)) paths.push(`${PAGE}/${file}`);
    return paths;
}

/** Returns the contents of all generated files, by path. */
function readGenerated() {
    return new Map(listGenerated().map((path) => [path, readFileSync(path, "base64")]));
}

function run(...command) {
    execFileSync("npx", ["--no-install", ...command], { stdio: "inherit" });
}

const before = readGenerated();
const times = new Map(listGenerated().map((path) => [path, statSync(path)]));
execFileSync("npm", ["run", "--silent", "types"], { stdio: "inherit" });
run("tsc");
run("vite", "build", "--logLevel", "warn");
const after = readGenerated();

// An unchanged file keeps its time: otherwise Cargo would compile the server again.
for (const [path, { atime, mtime }] of times) {
    if (before.get(path) === after.get(path)) utimesSync(path, atime, mtime);
}

const stale = new Set();
for (const path of [...before.keys(), ...after.keys()]) if (before.get(path) !== after.get(path)) stale.add(path);
if (stale.size > 0) {
    console.error(
        `These files did not match their sources; this build rewrote them. Commit them:\n${[...stale].join("\n")}`,
    );
    process.exit(1);
}
console.log(`${after.size} generated files match their sources`);
