// The view `namespaces`, ported from the first dashboard.

import { port, type Build } from "../../ported/port";
import build from "../../ported/views/namespaces.js";

export default port(build as Build);
