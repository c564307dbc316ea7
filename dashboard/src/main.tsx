// The entry: applies the preferences, restores the session, signs in if the address holds a proof, and shows the page.

import { render } from "preact";
import "./style.css";
import { App } from "./app";
import { startPreferences } from "./preferences";
import { startRouter } from "./router";
import { startSession } from "./session";
import { signInFromAddress } from "./sign-in/proof";

startPreferences();
startSession();
// The one-time code leaves the address before the first entry of the history is named.
const arrival = signInFromAddress();
startRouter();
render(<App arrival={arrival} />, document.getElementById("app")!);
