// API keys: creation, which shows a key once, revocation after a confirmation, and the usage of the account.

import { useState } from "preact/hooks";
import { namespaces } from "../../account";
import { call, type ResponseOf, type Schemas } from "../../api";
import {
    Card,
    CopyButton,
    Dialog,
    Empty,
    Field,
    FormDialog,
    Loaded,
    PageHeading,
    Table,
    Tag,
    Time,
    confirmAction,
    toast,
    toastError,
    type Column,
} from "../../parts";
import { invalidate, useRequest } from "../../request";
import { UsageMeters } from "../activity/usage";

type Key = Schemas["Key"];
type Created = ResponseOf<"post", "/v1/keys">;
type Environment = "live" | "test";

const ENVIRONMENTS: readonly Environment[] = ["live", "test"];

const COLUMNS: readonly Column<Key>[] = [
    { title: "Name", cell: (key) => (key.name ? <bdi>{key.name}</bdi> : <span class="dim">no name</span>) },
    { title: "Id", cell: (key) => <code>{key.id}</code> },
    { title: "Environment", cell: (key) => key.env },
    { title: "Namespace", cell: (key) => key.namespace ?? "all" },
    { title: "Created", cell: (key) => <Time at={key.created_at} /> },
    {
        title: "Actions",
        cell: (key) =>
            key.revoked ? (
                <Tag>revoked</Tag>
            ) : (
                <button
                    type="button"
                    class="danger"
                    aria-label={`Revoke ${key.name || key.id}`}
                    onClick={() => void revoke(key)}
                >
                    Revoke
                </button>
            ),
    },
];

export default function Keys() {
    const [isCreating, setCreating] = useState(false);
    const [created, setCreated] = useState<Created | null>(null);
    const request = useRequest("get", "/v1/keys", {});
    const usage = useRequest("get", "/v1/usage", {});

    function show(key: Created): void {
        setCreating(false);
        setCreated(key);
        invalidate();
    }
    return (
        <>
            <PageHeading title="Keys">
                <button type="button" class="primary" onClick={() => setCreating(true)}>
                    New key
                </button>
            </PageHeading>
            <Loaded request={request}>{({ keys }) => <KeyList keys={keys} />}</Loaded>
            {/* Shown below the list, whose size is not known before. */}
            {(request.data || request.error) && (
                <Card title={usage.data ? `Used by all keys and sessions in ${usage.data.period}` : "Usage"}>
                    <Loaded request={usage}>{(data) => <UsageMeters usage={data} />}</Loaded>
                </Card>
            )}
            {isCreating && <CreateDialog onDone={show} onClose={() => setCreating(false)} />}
            {created && <CreatedDialog created={created} onClose={() => setCreated(null)} />}
        </>
    );
}

/** The keys that can be used, oldest first, and then the revoked ones. */
function KeyList({ keys }: { keys: readonly Key[] }) {
    if (keys.length === 0) {
        return (
            <Empty title="No keys yet">
                <p>An application needs a key to call the API.</p>
            </Empty>
        );
    }
    const sorted = [...keys.filter((key) => !key.revoked), ...keys.filter((key) => key.revoked)];
    return (
        <Card>
            <Table caption="Keys" columns={COLUMNS} rows={sorted} rowKey={(key) => key.id} />
        </Card>
    );
}

function CreateDialog({ onDone, onClose }: { onDone: (created: Created) => void; onClose: () => void }) {
    const [name, setName] = useState("");
    const [env, setEnv] = useState<Environment>("live");
    const [namespace, setNamespace] = useState("");
    return (
        <FormDialog
            title="New key"
            action="Create"
            submit={() => call("post", "/v1/keys", { body: { name: name.trim(), env, namespace } })}
            onDone={onDone}
            onClose={onClose}
        >
            <Field label="Name" hint="what the key is for">
                {(field) => (
                    <input
                        {...field}
                        autocomplete="off"
                        autoFocus
                        dir="auto"
                        value={name}
                        onInput={(event) => setName(event.currentTarget.value)}
                    />
                )}
            </Field>
            <Field label="Environment" hint="shown in the prefix of the key; does not separate data">
                {(field) => (
                    <select
                        {...field}
                        value={env}
                        onChange={(event) => setEnv(event.currentTarget.value as Environment)}
                    >
                        {ENVIRONMENTS.map((each) => (
                            <option key={each} value={each}>
                                {each}
                            </option>
                        ))}
                    </select>
                )}
            </Field>
            <Field label="Restricted to" hint="a restricted key cannot read or write other namespaces">
                {(field) => (
                    <select {...field} value={namespace} onChange={(event) => setNamespace(event.currentTarget.value)}>
                        <option value="">All namespaces</option>
                        {namespaces.value.map((each) => (
                            <option key={each.name} value={each.name}>
                                {each.name}
                            </option>
                        ))}
                    </select>
                )}
            </Field>
        </FormDialog>
    );
}

/** Shows a new key. Nothing keeps it: closing the dialog removes it from the page. */
function CreatedDialog({ created, onClose }: { created: Created; onClose: () => void }) {
    return (
        <Dialog title="Your new key" onClose={onClose}>
            <p>The key cannot be shown again. Store it in a safe place.</p>
            <pre class="secret" tabIndex={0} dir="ltr">
                {created.key}
            </pre>
            <div class="row end">
                <CopyButton text={created.key} />
                <button type="button" class="primary" onClick={onClose}>
                    Done
                </button>
            </div>
        </Dialog>
    );
}

async function revoke(key: Key): Promise<void> {
    const isConfirmed = await confirmAction({
        title: `Revoke ${key.name || key.id}?`,
        text: "Requests with this key are rejected from now on. This cannot be undone.",
        action: "Revoke",
    });
    if (!isConfirmed) return;
    const result = await call("delete", "/v1/keys/{key_id}", { path: { key_id: key.id } });
    if (result.ok) toast("Revoked");
    else toastError(result.error.message);
    invalidate();
}
