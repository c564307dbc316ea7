// The view `memory`, ported from the first dashboard.

import { port, type Build } from "../../ported/port";
import build from "../../ported/views/memory.js";

export default port(build as Build);
