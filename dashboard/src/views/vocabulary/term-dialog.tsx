// The form of a term, with a preview of what a search returns for it.

import { useState } from "preact/hooks";
import { call, checkWrite, type Schemas } from "../../api";
import { Field, FormDialog, Tags, TextField, splitBy, toast } from "../../parts";
import { invalidate } from "../../request";

type Term = Schemas["Term"];

const WAIT = "10s";
const TERM_CHARACTERS_MAX = 120;
const DEFINITION_CHARACTERS_MAX = 2000;

/** `term` is null for a new term. `onDone` gets the name of the term. */
export function TermDialog(props: {
    namespace: string;
    term: Term | null;
    onDone: (term: string) => void;
    onClose: () => void;
}) {
    const { namespace, term, onDone, onClose } = props;
    const [name, setName] = useState(term?.term ?? "");
    const [aliasText, setAliasText] = useState(term?.aliases.join(", ") ?? "");
    const [definition, setDefinition] = useState(term?.definition ?? "");
    const aliases = [...new Set(splitBy(aliasText, ","))];

    async function submit() {
        const body = { namespace, terms: [{ term: name.trim(), aliases, definition: definition.trim() }] };
        return checkWrite(await call("post", "/v1/vocab", { query: { wait: WAIT }, body }));
    }
    function done(): void {
        toast("Taught");
        invalidate();
        onDone(name.trim());
    }
    return (
        <FormDialog
            title={term ? `Edit “${term.term}”` : "Teach a term"}
            action="Teach"
            submit={submit}
            onDone={done}
            onClose={onClose}
        >
            <Field label="Term" {...(term && { hint: "forget the term and teach another one to rename it" })}>
                {(field) => (
                    <input
                        {...field}
                        required
                        maxLength={TERM_CHARACTERS_MAX}
                        readOnly={term !== null}
                        autoFocus={term === null}
                        autocomplete="off"
                        dir="auto"
                        value={name}
                        onInput={(event) => setName(event.currentTarget.value)}
                    />
                )}
            </Field>
            <TextField
                label="Aliases"
                hint="comma-separated"
                value={aliasText}
                onInput={setAliasText}
                isFocused={term !== null}
            />
            <Field label="Definition">
                {(field) => (
                    <textarea
                        {...field}
                        required
                        rows={4}
                        maxLength={DEFINITION_CHARACTERS_MAX}
                        dir="auto"
                        value={definition}
                        onInput={(event) => setDefinition(event.currentTarget.value)}
                    />
                )}
            </Field>
            <section class="card" aria-label="Preview">
                <h3>Preview: what a search returns</h3>
                <dl>
                    <dt dir="auto">{[name.trim() || "…", ...aliases].join(", ")}</dt>
                    <dd dir="auto">{definition.trim() || "…"}</dd>
                </dl>
                <p class="dim">
                    A query that contains any of these names finds the memories that contain another:{" "}
                    <Tags values={[name.trim() || "…", ...aliases]} />
                </p>
            </section>
        </FormDialog>
    );
}
