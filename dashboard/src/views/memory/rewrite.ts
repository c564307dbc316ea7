// Rewrites a memory: the body of `POST /v1/memories/{path}` that keeps what is not changed.

import type { Options, Schemas } from "../../api";

type Body = NonNullable<Options<"post", "/v1/memories/{path}">["body"]>;

/** Most paths that one memory replaces. */
const SUPERSEDES_MAX = 32;

/** What a rewrite may change. */
export interface Changes {
  content?: string;
  tags?: string[];
  cues?: string[];
}

/** Returns the body that writes a memory again, with changes. The memory needs `detail=full` for its cues. */
export function bodyOf(namespace: string, memory: Schemas["Hit"], changes: Changes = {}): Body {
  const happened = occurredAt(memory);
  const isEnded = memory.superseded_by.length > 0;
  return {
    namespace,
    content: changes.content ?? memory.content,
    tags: changes.tags ?? memory.user_tags,
    cues: changes.cues ?? memory.cues ?? [],
    metadata: memory.metadata,
    supersedes: memory.supersedes.slice(0, SUPERSEDES_MAX),
    ...(happened && { occurred_at: happened }),
    ...(memory.expires_at && { expires_at: memory.expires_at }),
    ...(memory.valid_from && { valid_from: memory.valid_from }),
    // The end that a successor brought is not the memory's own. It is gone once the successor is forgotten.
    ...(memory.valid_until && !isEnded && { valid_until: memory.valid_until }),
  };
}

/** Returns the time of the event; undefined if it is only the time of the write. */
function occurredAt(memory: Schemas["Hit"]): string | undefined {
  const { occurred_at: at, occurred_precision: precision, occurred_source: source } = memory;
  if (!at || source === "written") return undefined;
  return precision === "day" ? at.slice(0, 10) : at;
}
