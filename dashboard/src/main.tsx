// The entry: applies the preferences, finds the session, signs in if the address holds a proof, and shows the page.

import { render } from "preact";
import "./style.css";
import { App } from "./app";
import { startPreferences } from "./preferences";
import { startRouter } from "./router";
import { startSession } from "./session";
import { signInFromAddress } from "./sign-in/proof";

startPreferences();
// Tabs that are open already may have a session, which a link must not replace without a question.
const sessionFound = startSession();
// The one-time code leaves the address before the first entry of the history is named.
const arrival = signInFromAddress(sessionFound) ?? sessionFound.then(() => null);
startRouter();
render(<App arrival={arrival} />, document.getElementById("app")!);
