// The first visit of an empty namespace: the three things to do next, with the right address and key.

import { useState } from "preact/hooks";
import { call } from "../../api";
import { Card, Snippet, toastError } from "../../parts";
import { session } from "../../session";

const KEY_NAME = "First steps";
/** Environment variable that the snippets read until a key is created. The clients read it by themselves. */
const VARIABLE = "CUEBASE_KEY";

export function Welcome({ namespace }: { namespace: string }) {
    const [key, setKey] = useState<string | null>(null);
    async function createKey(): Promise<void> {
        // MCP tools use the namespace of their key, and `default` with a key for all namespaces.
        const made = await call("post", "/v1/keys", { body: { name: KEY_NAME, env: "live", namespace } });
        if (made.ok) setKey(made.value.key);
        else toastError(made.error.message);
    }
    return (
        <div class="stack">
            <p>Nothing is remembered in “{namespace}” yet. Three things to do next:</p>
            <Card title="1. Create a key">
                {key ? (
                    <>
                        <p>Store this key in a safe place; it cannot be shown again. The snippets below contain it.</p>
                        <p>It is restricted to “{namespace}”.</p>
                        <pre class="secret" tabIndex={0} dir="ltr">
                            {key}
                        </pre>
                    </>
                ) : session.value?.kind === "jwt" ? (
                    <div class="row">
                        <button type="button" class="primary" onClick={() => void createKey()}>
                            Create a key
                        </button>
                    </div>
                ) : (
                    <p>You are signed in with a key, which the snippets below can use.</p>
                )}
            </Card>
            <Card title="2. Remember something">
                {!key && (
                    <p>
                        The snippets read the key from the environment variable <code>{VARIABLE}</code>. MCP tools use
                        the namespace of the key, or “default” if the key is for all namespaces.
                    </p>
                )}
                <Snippet title="curl" code={curlCode(namespace, key)} />
                <Snippet title="Python" code={pythonCode(namespace, key)} />
                <Snippet title="TypeScript" code={typescriptCode(namespace, key)} />
                <Snippet title="MCP" code={mcpCode(key)} />
            </Card>
            <Card title="3. Ask for it">
                <p>Enter “Where does Noor live?” in the field above. A hit shows why it came back.</p>
            </Card>
        </div>
    );
}

const FACT = "I moved to Lisbon last week.";

function curlCode(namespace: string, key: string | null): string {
    const body = JSON.stringify({ namespace, messages: [{ role: "user", name: "Noor", content: FACT }] });
    return `curl -H "authorization: Bearer ${key ?? `$${VARIABLE}`}" \\\n  -d '${body}' \\\n  ${location.origin}/v1/memories`;
}

function pythonCode(namespace: string, key: string | null): string {
    const credential = key ? `key="${key}", ` : "";
    const client = `Client(url="${location.origin}", ${credential}namespace="${namespace}")`;
    const message = `{"role": "user", "name": "Noor", "content": "${FACT}"}`;
    return `from cuebase import Client\n\nmemory = ${client}\nmemory.remember([${message}])`;
}

function typescriptCode(namespace: string, key: string | null): string {
    const credential = key ? `key: "${key}", ` : "";
    const client = `new Client({ url: "${location.origin}", ${credential}namespace: "${namespace}" })`;
    const message = `{ role: "user", name: "Noor", content: "${FACT}" }`;
    return `import { Client } from "cuebase";\n\nconst memory = ${client};\nawait memory.remember([${message}]);`;
}

function mcpCode(key: string | null): string {
    const headers = { Authorization: `Bearer ${key ?? `\${${VARIABLE}}`}` };
    const server = { type: "http", url: `${location.origin}/v1/mcp`, headers };
    return JSON.stringify({ mcpServers: { cuebase: server } }, null, 2);
}
