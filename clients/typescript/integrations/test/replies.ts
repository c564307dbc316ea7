// Scripted replies of a fake model, and functions that read the prompts that it received.

export interface Reply {
  text?: string;
  tool?: { name: string; input: Record<string, string> };
  finish?: "stop" | "error" | "content-filter" | "length";
}

/** What all versions of the language model specification have in common. */
export type Prompt = readonly {
  role: string;
  content: string | readonly { type: string; text?: string; toolName?: string; output?: object }[];
}[];

interface ToolResult {
  tool: string | undefined;
  type: unknown;
  value: unknown;
}

/** Returns a function that gives each reply once, in order, and throws afterwards. */
export function inOrder(replies: readonly Reply[]): () => Reply {
  const remaining = [...replies];
  return () => {
    const reply = remaining.shift();
    if (!reply) throw new Error("the model has no more replies");
    return reply;
  };
}

export const finishReason = (reply: Reply): NonNullable<Reply["finish"]> | "tool-calls" =>
  reply.finish ?? (reply.tool ? "tool-calls" : "stop");

/** Returns the content of a generated reply. */
export function content(reply: Reply) {
  const text = reply.text === undefined ? [] : [{ type: "text" as const, text: reply.text }];
  return [...text, ...toolCalls(reply)];
}

/** Returns the parts of a streamed reply, without `finish`. The text arrives in two parts. */
export function streamParts(reply: Reply) {
  const start = { type: "stream-start" as const, warnings: [] };
  if (reply.text === undefined) return [start, ...toolCalls(reply)];
  const middle = Math.ceil(reply.text.length / 2);
  const deltas = [reply.text.slice(0, middle), reply.text.slice(middle)];
  return [
    start,
    { type: "text-start" as const, id: "1" },
    ...deltas.map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
    { type: "text-end" as const, id: "1" },
    ...toolCalls(reply),
  ];
}

/** Returns a stream that stops after the first part of a text, and ends with an error when the call is aborted. */
export function unfinished(text: string, abortSignal: AbortSignal | undefined) {
  return new ReadableStream<ReturnType<typeof streamParts>[number]>({
    start(controller) {
      for (const part of streamParts({ text }).slice(0, 3)) controller.enqueue(part);
      abortSignal?.addEventListener("abort", () => controller.error(abortSignal.reason));
    },
  });
}

function toolCalls(reply: Reply) {
  if (!reply.tool) return [];
  const { name, input } = reply.tool;
  return [{ type: "tool-call" as const, toolCallId: `call-${name}`, toolName: name, input: JSON.stringify(input) }];
}

/** Returns the prompts of all calls of a model. */
export function prompts(model: { doGenerateCalls: { prompt: Prompt }[]; doStreamCalls: { prompt: Prompt }[] }): Prompt[] {
  return [...model.doGenerateCalls, ...model.doStreamCalls].map((call) => call.prompt);
}

/** Returns the texts of the messages of a role. The parts of a message are separated by `|`. */
export function texts(prompt: Prompt | undefined, role: "system" | "user" | "assistant"): string[] {
  const found: string[] = [];
  for (const message of prompt ?? []) {
    if (message.role !== role) continue;
    if (typeof message.content === "string") found.push(message.content);
    else found.push(message.content.map((part) => part.text ?? "").join("|"));
  }
  return found;
}

/** Returns the results of tools in a prompt. */
export function toolResults(prompt: Prompt | undefined): ToolResult[] {
  const found: ToolResult[] = [];
  for (const message of prompt ?? []) {
    if (message.role !== "tool" || typeof message.content === "string") continue;
    for (const { toolName, output } of message.content) {
      const { type, value } = { type: undefined, value: undefined, ...output };
      found.push({ tool: toolName, type, value });
    }
  }
  return found;
}
