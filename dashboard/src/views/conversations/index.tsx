// Conversations: everything that was ingested, and what each message became.

import type { ViewProps } from "..";
import "./conversations.css";
import { List } from "./list";
import { Managed } from "./managed";
import { SourcePage } from "./source";

/** Prefix in the path of the address of an ingested conversation; other paths are ids of managed conversations. */
const SOURCE = "source/";

export default function Conversations({ namespace, rest, query }: ViewProps) {
    if (rest.startsWith(SOURCE)) return <SourcePage namespace={namespace} id={rest.slice(SOURCE.length)} />;
    if (rest) return <Managed namespace={namespace} id={rest} branch={query.get("branch")} />;
    return <List namespace={namespace} query={query} />;
}
