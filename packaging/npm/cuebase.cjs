#!/usr/bin/env node
// The command `cuebase` of the npm package: runs the binary of the package for this platform. Input and output are
// those of the caller, signals are passed on, and the exit status is that of the binary.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const PACKAGES = { "linux-x64": "@cuebase/linux-x64" };
const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];

/** Returns the path of the binary, or ends the process with what to do. */
function binaryPath() {
  const platform = `${process.platform}-${process.arch}`;
  const name = PACKAGES[platform];
  if (name === undefined) {
    fail(
      `no binary for ${platform}: npm has binaries for ${Object.keys(PACKAGES).join(", ")} (glibc) only. ` +
        "Build the server from its repository or run its container image. The client works here without it.",
    );
  }
  try {
    return require.resolve(`${name}/bin/cuebase`);
  } catch {
    fail(
      `the package ${name} is not installed: install again without --omit=optional or --no-optional. ` +
        "npm skips it on systems without glibc, such as Alpine Linux; there, build the server from its repository.",
    );
  }
}

function fail(message) {
  process.stderr.write(`cuebase: ${message}\n`);
  process.exit(1);
}

/** Replaces this process by the binary. Only newer versions of Node can do so. */
function replace(path, parameters) {
  process.execve(path, [path, ...parameters], process.env);
}

/** Runs the binary as a child, and ends with its exit status. Ctrl-C reaches it twice, which changes nothing. */
function run(path, parameters) {
  const child = spawn(path, parameters, { stdio: "inherit" });
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(`${path} does not start: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(signal === null ? code : 128 + constants.signals[signal]));
}

const parameters = process.argv.slice(2);
if (typeof process.execve === "function") replace(binaryPath(), parameters);
else run(binaryPath(), parameters);
