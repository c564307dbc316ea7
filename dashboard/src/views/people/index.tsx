// People and things: the subjects of the memories, the profile of each, and the graph of subjects and memories.

import type { ViewProps } from "..";
import "./people.css";
import { Profile } from "./profile";
import { Subjects } from "./subjects";

/** Shows the profile of the subject in the address, or the list of subjects. */
export default function People({ namespace, rest, query }: ViewProps) {
    if (rest) return <Profile namespace={namespace} subject={rest} query={query} />;
    return <Subjects namespace={namespace} query={query} />;
}
