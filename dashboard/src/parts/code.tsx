// Code to copy: a button, and a request of the API as curl, Python and TypeScript.

import { useState } from "preact/hooks";
import { address, type Method } from "../api";
import { Dialog } from "./dialog";
import { Icon } from "./icon";
import { toast } from "./toasts";

/** Copies a text with the clipboard API, or with a text area where the browser does not offer it (plain HTTP). */
export async function copyText(text: string): Promise<void> {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const area = document.createElement("textarea");
        area.value = text;
        area.className = "visually-hidden";
        // Everything outside of an open dialog is inert.
        (document.querySelector("dialog[open]") ?? document.body).append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
    toast("Copied");
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
    return (
        <button type="button" onClick={() => void copyText(text)}>
            <Icon name="copy" />
            {label}
        </button>
    );
}

type Value = string | number | boolean | readonly string[];

/** A request, and the same as a call of a method that the clients for Python and TypeScript have. */
export interface CodeRequest {
    method: Method;
    path: string;
    query?: Record<string, Value>;
    body?: Record<string, unknown>;
    client: {
        method: string;
        positional: readonly string[];
        options: Record<string, Value>;
        /** Whether the method returns an iterator over memories. */
        isList?: boolean;
    };
}

/** A button that shows a request as curl, Python and TypeScript. */
export function CopyAsCode({ request }: { request: CodeRequest }) {
    const [isOpen, setOpen] = useState(false);
    return (
        <>
            <button type="button" onClick={() => setOpen(true)}>
                <Icon name="copy" />
                Copy as code
            </button>
            {isOpen && (
                <Dialog title="Copy as code" class="wide" onClose={() => setOpen(false)}>
                    <p class="dim">
                        Set <code>CUEBASE_KEY</code> to an API key and <code>CUEBASE_URL</code> to{" "}
                        <code>{location.origin}</code>.
                    </p>
                    <Snippet title="curl" code={toCurl(request)} />
                    <Snippet title="Python" code={toPython(request)} />
                    <Snippet title="TypeScript" code={toTypeScript(request)} />
                    <div class="row end">
                        <button type="button" onClick={() => setOpen(false)}>
                            Close
                        </button>
                    </div>
                </Dialog>
            )}
        </>
    );
}

/** A piece of code with a button that copies it. */
export function Snippet({ title, code }: { title: string; code: string }) {
    return (
        <section class="snippet">
            <header>
                <h3>{title}</h3>
                <CopyButton text={code} label={`Copy ${title}`} />
            </header>
            <pre tabIndex={0} dir="ltr">
                {code}
            </pre>
        </section>
    );
}

export function toCurl({ method, path, query, body }: CodeRequest): string {
    const parts = [`curl -H "authorization: Bearer $CUEBASE_KEY"`];
    if (method !== "get" && !(method === "post" && body)) parts.push(`-X ${method.toUpperCase()}`);
    if (body) parts.push(`-H "content-type: application/json"`, `-d ${quoteShell(JSON.stringify(body))}`);
    parts.push(quoteShell(location.origin + address(path, {}, query)));
    return parts.join(" \\\n  ");
}

export function toPython({ client }: CodeRequest): string {
    const options = Object.entries(client.options).map(([name, value]) => `${name}=${toPythonLiteral(value)}`);
    const values = [...client.positional.map((value) => JSON.stringify(value)), ...options];
    const start = "from cuebase import Client\n\nmemory = Client()\n";
    const call = `memory.${client.method}(${wrap(values)})`;
    return client.isList
        ? `${start}for each in ${call}:\n    print(each.path, each.content)`
        : `${start}print(${call})`;
}

export function toTypeScript({ client }: CodeRequest): string {
    const options = Object.entries(client.options).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
    const values = client.positional.map((value) => JSON.stringify(value));
    if (options.length > 0) values.push(`{ ${options.join(", ")} }`);
    const start = `import { Client } from "cuebase";\n\nconst memory = new Client();\n`;
    const call = `memory.${toCamelCase(client.method)}(${wrap(values)})`;
    if (client.isList) return `${start}for await (const each of ${call}) {\n  console.log(each.path, each.content);\n}`;
    return `${start}console.log(await ${call});`;
}

function toCamelCase(name: string): string {
    return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function toPythonLiteral(value: Value): string {
    if (typeof value === "boolean") return value ? "True" : "False";
    return JSON.stringify(value);
}

function quoteShell(text: string): string {
    return `'${text.replaceAll("'", `'\\''`)}'`;
}

function wrap(values: string[]): string {
    const line = values.join(", ");
    return line.length <= 60 ? line : `\n  ${values.join(",\n  ")},\n`;
}
