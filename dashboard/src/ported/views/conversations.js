// Conversations: trees of messages, of which one branch is shown at a time.

import { h, time, notice } from "../dom.js";
import { get, patch, post, remove } from "../api.js";
import { heading, card, table, empty, ask, confirmed, attempt, field, to } from "../parts.js";

export default async function conversations({ namespace, rest, query }) {
  if (rest) return one(namespace, rest, query.get("branch"));
  const before = query.get("before");
  const { conversations: list } = await get("/v1/conversations", { namespace, before, limit: 50 });
  const rows = list.map((each) => [h("a", { href: to.conversation(namespace, each.id) }, each.title || "Untitled"), h("code", {}, each.id), time(each.created_at)]);
  return [
    heading("Conversations"),
    card(null, list.length ? table("Conversations", ["Title", "Id", "Started"], rows) : empty("No managed conversations. Create one with POST /v1/conversations; messages appended to it are remembered.")),
    list.length === 50 && h("a", { class: "button", href: `#/n/${namespace}/conversations?before=${list.at(-1).id}` }, "Older"),
  ];
}

async function one(namespace, id, branch) {
  const address = `/v1/conversations/${encodeURIComponent(id)}`;
  const [shown, { branches }] = await Promise.all([get(address, { branch }), get(`${address}/branches`)]);
  const here = to.conversation(namespace, id);
  const again = () => window.dispatchEvent(new Event("hashchange"));
  const choice = h(
    "select",
    { "aria-label": "Branch", onchange: (event) => (location.hash = `${here}?branch=${encodeURIComponent(event.target.value)}`) },
    branches.map((each) => h("option", { value: each.name, selected: each.name === shown.branch }, `${each.name} (${each.messages})${each.active ? ", active" : ""}`)),
  );
  const active = branches.find((each) => each.name === shown.branch)?.active;
  const rename = async () => {
    const title = h("input", { value: shown.title ?? "", autofocus: true });
    if (await ask("Title", field("Title", title), "Save", () => patch(address, { title: title.value }))) again();
  };
  const activate = (event) => attempt(async () => (await patch(address, { branch: shown.branch }), again()), event.target);
  const destroy = async () => {
    if (!(await confirmed("Delete this conversation?", "Its messages are deleted. Memories extracted from it are kept.", "Delete"))) return;
    if (await attempt(() => remove(address))) location.hash = `#/n/${namespace}/conversations`;
  };
  const message = (each) =>
    h(
      "li",
      { class: `message ${each.role}` },
      h("p", { class: "dim" }, h("strong", {}, each.name ?? each.role), " ", time(each.created_at), each.edited_at && " · edited"),
      h("p", {}, textOf(each.content)),
      active && h("button", { onclick: () => rewind(address, each, again) }, "Rewind to here"),
    );
  return [
    heading(shown.title || "Untitled", h("button", { onclick: rename }, "Title"), h("button", { class: "danger", onclick: destroy }, "Delete")),
    h("div", { class: "row" }, choice, !active && h("button", { onclick: activate }, "Make active"), h("code", {}, id)),
    shown.messages.length ? h("ol", { class: "messages" }, shown.messages.map(message)) : empty("No messages yet."),
  ];
}

const textOf = (content) => (typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n"));

async function rewind(address, message, again) {
  if (!(await confirmed("Rewind to this message?", "Later messages are kept on a separate branch.", "Rewind"))) return;
  if (await attempt(() => post(`${address}/rewind`, { to: message.id }))) notice("Rewound"), again();
}
