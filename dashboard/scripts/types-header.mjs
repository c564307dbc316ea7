// Prepends the header to the types that openapi-typescript generates.

import { readFileSync, writeFileSync } from "node:fs";

const FILE = "src/api-types.ts";
const HEADER = "// Types of the API. Generated from docs/reference/openapi.json by `npm run types`; do not edit.\n\n";
writeFileSync(FILE, HEADER + readFileSync(FILE, "utf8"));
