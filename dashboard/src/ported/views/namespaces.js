// Namespaces: hard boundaries between memories.

import { h, number, time, notice, copy } from "../dom.js";
import { post, remove } from "../api.js";
import { heading, card, table, ask, dialog, field, to } from "../parts.js";

export default async function show({ namespaces, refresh }) {
  return [
    heading("Namespaces", h("button", { class: "primary", onclick: () => create(refresh) }, "New namespace")),
    card(
      null,
      table(
        "Namespaces",
        ["Name", "Memories", "Head", "Changed", "Created", "", ""],
        namespaces.map((each) => [
          h("a", { href: to.memories(each.name) }, each.name),
          number(each.memories),
          h("code", {}, each.head?.slice(0, 8) ?? "—"),
          time(each.updated_at),
          time(each.created_at),
          h("button", { "aria-label": `Copy the command that clones ${each.name}`, onclick: () => copy(clone(each.name)) }, "Clone"),
          h("button", { class: "danger", "aria-label": `Delete ${each.name}`, onclick: () => destroy(each, refresh) }, "Delete"),
        ]),
      ),
    ),
  ];
}

// git asks for a password, which is an API key.
const clone = (name) => `git clone ${location.protocol}//git@${location.host}/v1/git/${name}`;

async function create(refresh) {
  const name = h("input", { required: true, pattern: "[a-z0-9\\-]{1,64}", autocomplete: "off", autofocus: true });
  const made = await ask("New namespace", field("Name", name, "1 to 64 characters of a-z, 0-9 and -"), "Create", () => post("/v1/namespaces", { name: name.value }));
  if (made) notice(`${made.name} is created`), refresh();
}

// The name must be typed, because only a backup can restore a deleted namespace.
async function destroy({ name, memories }, refresh) {
  const done = await dialog(`Delete ${name}?`, (close) => {
    const typed = h("input", { autocomplete: "off", autofocus: true });
    const button = h("button", { class: "danger", disabled: true }, "Delete permanently");
    typed.addEventListener("input", () => (button.disabled = typed.value !== name));
    const problem = h("p", { class: "bad", role: "alert" });
    const submit = async (event) => {
      event.preventDefault();
      try {
        close(await remove(`/v1/namespaces/${name}`));
      } catch (error) {
        problem.textContent = error.message;
      }
    };
    return h(
      "form",
      { onsubmit: submit },
      h("p", {}, `Its ${number(memories)} memories, their history and its vocabulary are deleted permanently.`),
      field(`Type ${name} to confirm`, typed),
      problem,
      h("div", { class: "row end" }, h("button", { type: "button", onclick: () => close() }, "Cancel"), button),
    );
  });
  if (done) notice(`${name} is deleted`), refresh();
}
