// The view `graph`, ported from the first dashboard.

import { port, type Build } from "../../ported/port";
import build from "../../ported/views/graph.js";

export default port(build as Build);
