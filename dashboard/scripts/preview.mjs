// Serves the built page with the server's security headers, and forwards every other request to a running server. The
// page can therefore be tried and tested without compiling the server.
//
// node scripts/preview.mjs <address of the dashboard listener> [port]

import { createServer, request as forward } from "node:http";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const PAGE = join(ROOT, "src/dashboard/page");
const MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
};

const [target, port = "0"] = process.argv.slice(2);
if (!target) {
    console.error("usage: node scripts/preview.mjs <address of the dashboard listener> [port]");
    process.exit(2);
}
const server = new URL(target);
const policy = readPolicy();

/** Returns the content security policy of the server, so that the two cannot differ. */
function readPolicy() {
    const source = readFileSync(join(ROOT, "src/server/dashboard.rs"), "utf8");
    const found = /const POLICY: &str = "([^"]*)"/.exec(source);
    if (!found) throw new Error("src/server/dashboard.rs: POLICY not found");
    return found[1].replace(/\\\s+/g, "");
}

/** Returns the path of a file of the page; undefined for other paths. */
function findFile(url) {
    const path = normalize(new URL(url, "http://localhost").pathname);
    const file = join(PAGE, path === "/" ? "index.html" : path);
    return file.startsWith(PAGE) && existsSync(file) && statSync(file).isFile() ? file : undefined;
}

function respond(request, response) {
    const file = request.method === "GET" ? findFile(request.url) : undefined;
    if (file) {
        response.writeHead(200, {
            "content-type": MEDIA_TYPES[extname(file)],
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cache-control": "no-cache",
        });
        response.end(readFileSync(file));
        return;
    }
    const headers = { ...request.headers, host: server.host };
    if (headers.origin) headers.origin = server.origin;
    const options = { host: server.hostname, port: server.port, method: request.method, path: request.url, headers };
    const sent = forward(options, (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
    });
    // A broken connection looks to the page like a stopped server.
    sent.on("error", () => response.destroy());
    request.pipe(sent);
}

const listener = createServer(respond);
listener.listen(Number(port), "127.0.0.1", () => {
    console.log(`preview at http://127.0.0.1:${listener.address().port}`);
});
