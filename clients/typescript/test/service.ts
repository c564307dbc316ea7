// Starts a real server for the tests. CUEBASE_BINARY is the path of the program.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Service {
  url: string;
  key: string;
  session: string;
  process: ChildProcess;
}

export async function start(): Promise<Service> {
  const binary = process.env["CUEBASE_BINARY"];
  if (!binary) throw new Error("CUEBASE_BINARY must be the path of the server program");
  const data = join(mkdtempSync(join(tmpdir(), "cuebase-client-")), "data");
  const settings = { PATH: process.env["PATH"], CUEBASE_PAYMENTS_PROVIDER: "sandbox", CUEBASE_PAYMENTS_SANDBOX_LISTEN: "127.0.0.1:0" };
  const options = ["serve", "--listen", "127.0.0.1:0", "--dashboard-listen", "off", "--data", data];
  const child = spawn(binary, options, { stdio: ["ignore", "pipe", "ignore"], env: settings as NodeJS.ProcessEnv });
  let said = "";
  for await (const line of createInterface({ input: child.stdout })) {
    said += `${line}\n`;
    const url = /^listening on (\S+)/.exec(line)?.[1];
    const key = /svc_live_\S+/.exec(said)?.[0];
    if (!url || !key) continue;
    const session = execFileSync(binary, ["token", "--data", data], { encoding: "utf8" }).trim();
    return { url, key, session, process: child };
  }
  throw new Error(`the server did not start: ${said}`);
}
