// The view `memories`, ported from the first dashboard.

import { port, type Build } from "../../ported/port";
import build from "../../ported/views/memories.js";

export default port(build as Build);
