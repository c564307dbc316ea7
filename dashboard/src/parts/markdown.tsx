// Rendering of untrusted markdown.
//
// The parser's tokens become nodes of the page one kind at a time, and every text becomes a text node. Markup in a memory
// is therefore shown as text: no string is ever parsed as HTML into the page. Pictures are shown
// as their description, since a picture of another server would report the reader.

import { Marked, type Token, type Tokens } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { useMemo } from "preact/hooks";
import { decode, link } from "../router";

const SCHEMES = ["http", "https", "mailto"];
const ROOTED = /^\/?(facts|incidents|rules|skills)\//;
const HEADINGS = ["h2", "h3", "h4", "h5", "h6", "h6"] as const;

const parser = new Marked({ gfm: true }).use({
    extensions: [
        {
            name: "wikilink",
            level: "inline",
            start: (source) => source.indexOf("[["),
            tokenizer(source) {
                const found = /^\[\[([^\]|]+)(?:\|([^\]]+))?\]\]/.exec(source);
                return found
                    ? { type: "wikilink", raw: found[0], href: found[1], text: found[2] ?? found[1] }
                    : undefined;
            },
        },
    ],
});

/** What the nodes of a text depend on. */
interface Context {
    namespace: string;
    path: string;
    mark: RegExp | null;
}

export interface MarkdownProps {
    text: string;
    namespace: string;
    /** Path of the memory, from which relative links start. */
    path: string;
    /** Words to mark. */
    words?: readonly string[];
}

export function Markdown({ text, namespace, path, words = [] }: MarkdownProps) {
    const shown = useMemo(() => {
        const context = { namespace, path, mark: markExpression(words) };
        return renderAll(parser.lexer(text), context);
    }, [text, namespace, path, words.join(" ")]);
    return (
        <div class="prose" dir="auto">
            {shown}
        </div>
    );
}

/** Longest title that is made of a line of text. */
const TITLE_CHARACTERS_MAX = 100;

/**
 * Separates the first heading of a memory from the rest of its content. Without one, the first line is the title, and
 * the body is the whole content. The path is the title of a memory without text.
 */
export function splitTitle(content: string, path: string): { title: string; body: string } {
    const found = /^\s*#{1,6}[ \t]+(.*)\n*([^]*)$/.exec(content);
    const heading = found ? plainText(found[1]!) : "";
    if (heading) return { title: heading, body: found![2]! };
    for (const line of content.split("\n")) {
        const text = plainText(line);
        if (text) return { title: shorten(text, TITLE_CHARACTERS_MAX), body: content };
    }
    return { title: path, body: content };
}

/** Returns a line of markdown without its marks at the start, its emphasis and the targets of its links. */
export function plainText(line: string): string {
    const withoutStart = line.replace(/^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+|\d+[.)]\s+|```.*$|-{3,}\s*$)+/, "");
    const withoutLinks = withoutStart
        .replace(/\[\[(?:[^\]|]+\|)?([^\]]+)\]\]/g, "$1")
        .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1");
    return withoutLinks.replace(/(\*\*|~~|`)/g, "").trim();
}

/** Cuts a text at a word, and marks the cut with an ellipsis. */
export function shorten(text: string, charactersMax: number): string {
    if (text.length <= charactersMax) return text;
    const cut = text.slice(0, charactersMax);
    const space = cut.lastIndexOf(" ");
    return `${space > charactersMax / 2 ? cut.slice(0, space) : cut.trimEnd()}…`;
}

/** Returns a text with words marked. */
export function MarkedText({ text, words }: { text: string; words: readonly string[] }) {
    return <>{markText(text, markExpression(words))}</>;
}

function renderAll(tokens: readonly Token[] | undefined, context: Context): ComponentChildren {
    return (tokens ?? []).map((token, index) => render(token, index, context));
}

/** Renders one token. A kind that is not listed is shown as its source. */
function render(token: Token, key: number, context: Context): VNode | string | null {
    const inner = () => renderAll((token as Tokens.Generic).tokens, context);
    switch (token.type) {
        case "space":
        case "def":
            return null;
        case "paragraph":
            return <p key={key}>{inner()}</p>;
        case "heading": {
            const Heading = HEADINGS[(token as Tokens.Heading).depth - 1] ?? "h6";
            return <Heading key={key}>{inner()}</Heading>;
        }
        case "strong":
            return <strong key={key}>{inner()}</strong>;
        case "em":
            return <em key={key}>{inner()}</em>;
        case "del":
            return <del key={key}>{inner()}</del>;
        case "blockquote":
            return <blockquote key={key}>{inner()}</blockquote>;
        case "br":
            return <br key={key} />;
        case "hr":
            return <hr key={key} />;
        case "code":
            return (
                <pre key={key} tabIndex={0} dir="ltr">
                    <code>{(token as Tokens.Code).text}</code>
                </pre>
            );
        case "codespan":
            return <code key={key}>{(token as Tokens.Codespan).text}</code>;
        case "list":
            return renderList(token as Tokens.List, key, context);
        case "checkbox":
            return <span key={key}>{(token as Tokens.Generic)["checked"] ? "☑ " : "☐ "}</span>;
        case "table":
            return renderTable(token as Tokens.Table, key, context);
        case "link":
            return renderLink((token as Tokens.Link).href, inner(), key, context);
        case "wikilink":
            return renderLink(
                (token as Tokens.Generic)["href"] as string,
                markText(textOf(token), context.mark),
                key,
                context,
            );
        case "text":
            if ((token as Tokens.Text).tokens) return <span key={key}>{inner()}</span>;
            return <span key={key}>{markText(decodeEntities(textOf(token)), context.mark)}</span>;
        case "escape":
        case "image":
            return <span key={key}>{markText(textOf(token), context.mark)}</span>;
        default:
            return <span key={key}>{markText(token.raw, context.mark)}</span>;
    }
}

function textOf(token: Token): string {
    return (token as Tokens.Generic)["text"] as string;
}

function renderList(list: Tokens.List, key: number, context: Context): VNode {
    const items = list.items.map((item, index) => (
        <li key={index}>
            {item.task && !item.tokens.some((token) => token.type === "checkbox") && (item.checked ? "☑ " : "☐ ")}
            {renderAll(item.tokens, context)}
        </li>
    ));
    if (!list.ordered) return <ul key={key}>{items}</ul>;
    return (
        <ol key={key} start={list.start === "" ? 1 : list.start}>
            {items}
        </ol>
    );
}

function renderTable(table: Tokens.Table, key: number, context: Context): VNode {
    return (
        <div key={key} class="scroll" tabIndex={0}>
            <table>
                <thead>
                    <tr>
                        {table.header.map((cell, index) => (
                            <th key={index} scope="col">
                                {renderAll(cell.tokens, context)}
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {table.rows.map((row, index) => (
                        <tr key={index}>
                            {row.map((cell, column) => (
                                <td key={column}>{renderAll(cell.tokens, context)}</td>
                            ))}
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

/** Renders a link: to the web in a new tab, to another memory in this page. An unsafe one is text. */
function renderLink(target: string, children: ComponentChildren, key: number, context: Context): VNode {
    if (!isSafeTarget(target)) return <span key={key}>{children}</span>;
    if (/^[a-z]+:/i.test(target)) {
        return (
            <a key={key} href={target} target="_blank" rel="noopener noreferrer">
                {children}
            </a>
        );
    }
    return (
        <a key={key} href={link.memory(context.namespace, resolvePath(target, context.path))}>
            {children}
        </a>
    );
}

/** Returns whether a target is the path of a memory or has an allowed scheme. */
export function isSafeTarget(target: string): boolean {
    // A browser ignores these characters before and inside a scheme, so they could hide one.
    if (!target || /[\u0000-\u0020\u007f-\u00a0]/.test(target) || target.startsWith("//") || target.startsWith("#")) {
        return false;
    }
    const scheme = /^([^/?#]*?):/.exec(target)?.[1];
    return scheme === undefined || SCHEMES.includes(scheme.toLowerCase());
}

/** Returns the target of a link in a memory as a path from the root. */
export function resolvePath(target: string, from: string): string {
    const path = decode(target.split("#")[0]!);
    const parts = ROOTED.test(path) ? [] : from.split("/").slice(0, -1);
    for (const part of path.split("/")) {
        if (part === "..") parts.pop();
        else if (part && part !== ".") parts.push(part);
    }
    const joined = parts.join("/");
    return joined.endsWith(".md") ? joined : `${joined}.md`;
}

/** Replaces entities such as `&amp;`. The document of the parser is never shown and runs nothing. */
function decodeEntities(text: string): string {
    if (!text.includes("&")) return text;
    const document = new DOMParser().parseFromString(text.replaceAll("<", "&lt;"), "text/html");
    return document.documentElement.textContent ?? text;
}

/** Returns an expression that finds words with any ending; null without words. */
function markExpression(words: readonly string[]): RegExp | null {
    const stems: string[] = [];
    for (const word of words) {
        const stem = word.length > 4 ? word.replace(/(ing|ed|es|e|s)$/i, "") : word;
        if (stem) stems.push(stem.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    }
    if (stems.length === 0) return null;
    return new RegExp(`(?<![\\p{L}\\p{N}])((?:${stems.join("|")})\\p{L}{0,4})(?![\\p{L}\\p{N}])`, "giu");
}

function markText(text: string, mark: RegExp | null): ComponentChildren {
    if (!mark) return text;
    // Every second part is a match, since the expression has one group.
    return text.split(mark).map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part));
}
