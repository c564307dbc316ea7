// Namespaces: hard boundaries between memories. They are created, cloned with git, and deleted after typing their name.

import { useState } from "preact/hooks";
import { loadAccount, namespaces } from "../../account";
import { call, type Schemas } from "../../api";
import {
    Bar,
    Card,
    Empty,
    Field,
    FormDialog,
    PageHeading,
    Table,
    Time,
    copyText,
    formatNumber,
    toast,
    type Column,
} from "../../parts";
import { invalidate } from "../../request";
import { link } from "../../router";
import "./namespaces.css";

type Namespace = Schemas["Namespace"];

export default function Namespaces() {
    const [isCreating, setCreating] = useState(false);
    const [deleted, setDeleted] = useState<Namespace | null>(null);
    const list = namespaces.value;
    return (
        <>
            <PageHeading title="Namespaces">
                <button type="button" class="primary" onClick={() => setCreating(true)}>
                    New namespace
                </button>
            </PageHeading>
            {list.length === 0 ? (
                <Empty title="No namespaces yet">
                    <p>The first write creates the namespace that it names.</p>
                </Empty>
            ) : (
                <Card>
                    <Table
                        caption="Namespaces"
                        columns={columnsOf(list, setDeleted)}
                        rows={list}
                        rowKey={(each) => each.name}
                    />
                </Card>
            )}
            {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
            {deleted && <DeleteDialog namespace={deleted} onClose={() => setDeleted(null)} />}
        </>
    );
}

function columnsOf(list: readonly Namespace[], onDelete: (namespace: Namespace) => void): Column<Namespace>[] {
    const most = Math.max(1, ...list.map((each) => each.memories));
    return [
        { title: "Name", cell: (each) => <a href={link.memories(each.name)}>{each.name}</a> },
        {
            title: "Memories",
            cell: (each) => (
                <span class="share">
                    <Bar share={each.memories / most} label={`${each.name}: ${formatNumber(each.memories)} memories`} />
                    <span>{formatNumber(each.memories)}</span>
                </span>
            ),
        },
        { title: "Head", cell: (each) => <code>{each.head?.slice(0, 8) ?? "—"}</code> },
        { title: "Changed", cell: (each) => <Time at={each.updated_at} /> },
        { title: "Created", cell: (each) => <Time at={each.created_at} /> },
        {
            title: "Actions",
            cell: (each) => (
                <div class="row namespace-actions">
                    <button
                        type="button"
                        aria-label={`Copy the command that clones ${each.name}`}
                        onClick={() => void copyText(cloneCommand(each.name))}
                    >
                        Clone
                    </button>
                    <button
                        type="button"
                        class="danger"
                        aria-label={`Delete ${each.name}`}
                        onClick={() => onDelete(each)}
                    >
                        Delete
                    </button>
                </div>
            ),
        },
    ];
}

/** Returns the command that clones a namespace. Git asks for a password, which is an API key. */
function cloneCommand(name: string): string {
    return `git clone ${location.protocol}//git@${location.host}/v1/git/${name}`;
}

function CreateDialog({ onClose }: { onClose: () => void }) {
    const [name, setName] = useState("");
    function done(made: Schemas["NamespaceMade"]): void {
        onClose();
        toast(`${made.name} is created`);
        void loadAccount();
    }
    return (
        <FormDialog
            title="New namespace"
            action="Create"
            submit={() => call("post", "/v1/namespaces", { body: { name: name.trim() } })}
            onDone={done}
            onClose={onClose}
        >
            <Field label="Name" hint="1 to 64 characters of a-z, 0-9 and -">
                {(field) => (
                    <input
                        {...field}
                        required
                        pattern="[a-z0-9\-]{1,64}"
                        autocomplete="off"
                        autoFocus
                        spellcheck={false}
                        value={name}
                        onInput={(event) => setName(event.currentTarget.value)}
                    />
                )}
            </Field>
        </FormDialog>
    );
}

/** Asks for the name of the namespace, because only a backup can restore a deleted one. */
function DeleteDialog({ namespace, onClose }: { namespace: Namespace; onClose: () => void }) {
    const { name, memories } = namespace;
    const [typed, setTyped] = useState("");
    function done(): void {
        onClose();
        toast(`${name} is deleted`);
        void loadAccount().then(invalidate);
    }
    return (
        <FormDialog
            title={`Delete ${name}?`}
            action="Delete permanently"
            isDanger
            isReady={typed === name}
            submit={() => call("delete", "/v1/namespaces/{name}", { path: { name } })}
            onDone={done}
            onClose={onClose}
        >
            <p>
                The {formatNumber(memories)} {memories === 1 ? "memory" : "memories"} of {name}, their history and its
                vocabulary are deleted permanently. Only a backup restores them.
            </p>
            <Field label={`Type ${name} to confirm`}>
                {(field) => (
                    <input
                        {...field}
                        autocomplete="off"
                        autoFocus
                        spellcheck={false}
                        value={typed}
                        onInput={(event) => setTyped(event.currentTarget.value)}
                    />
                )}
            </Field>
        </FormDialog>
    );
}
