// Saves memories as a file: JSON Lines with all fields, or Markdown for reading.

import { call, type ApiError } from "../../api";
import type { Hit } from "./listing";
import type { ListingFilters } from "./params";

export type ExportFormat = "jsonl" | "markdown";

const FORMATS = {
  jsonl: { write: toJsonLine, type: "application/jsonl", ending: "jsonl" },
  markdown: { write: toMarkdown, type: "text/markdown", ending: "md" },
} as const;

/** Most memories of a response. */
const PAGE_MAX = 200;

/** Reads memories with all fields, and saves them. Returns the error that stopped it; null after the download. */
export async function exportMemories(
  namespace: string,
  source: { paths: readonly string[] } | { filters: ListingFilters },
  format: ExportFormat,
  onProgress: (done: number) => void,
): Promise<ApiError | null> {
  const { write, type, ending } = FORMATS[format];
  const parts: string[] = [];
  if ("paths" in source) {
    for (const path of source.paths) {
      const read = await call("get", "/v1/memories/{path}", { path: { path }, query: { namespace, detail: "full" } });
      if (!read.ok) return read.error;
      parts.push(write(read.value));
      onProgress(parts.length);
    }
  } else {
    for (let total = 1; parts.length < total;) {
      const query = { namespace, ...source.filters, detail: "full" as const, offset: parts.length, limit: PAGE_MAX };
      const page = await call("get", "/v1/memories", { query });
      if (!page.ok) return page.error;
      total = page.value.total;
      // Fewer than the total said, if memories were forgotten in the meantime.
      if (page.value.memories.length === 0) break;
      for (const memory of page.value.memories) parts.push(write(memory));
      onProgress(parts.length);
    }
  }
  saveFile(`${namespace}-memories.${ending}`, type, parts);
  return null;
}

function toJsonLine(memory: Hit): string {
  // The score is a number of the search, not of the memory.
  const { score: _score, matched: _matched, via: _via, ...kept } = memory;
  return `${JSON.stringify(kept)}\n`;
}

/** Returns a memory as a file with front matter. The values are JSON, which YAML includes. */
function toMarkdown(memory: Hit): string {
  const { path, tags, cues, occurred_at, created_at, updated_at, valid_from, valid_until, metadata } = memory;
  const fields = { path, tags, cues, occurred_at, created_at, updated_at, valid_from, valid_until, metadata };
  const lines: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    const isEmpty = value === null || value === undefined || Object.keys(Object(value)).length === 0;
    if (!isEmpty) lines.push(`${name}: ${JSON.stringify(value)}`);
  }
  return `---\n${lines.join("\n")}\n---\n\n${memory.content.trim()}\n\n`;
}

function saveFile(name: string, type: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the address after the click.
  window.setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
