// The view `conversations`, ported from the first dashboard.

import { port, type Build } from "../../ported/port";
import build from "../../ported/views/conversations.js";

export default port(build as Build);
