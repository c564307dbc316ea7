// The view `overview`, ported from the first dashboard.

import { port, type Build } from "../../ported/port";
import build from "../../ported/views/overview.js";

export default port(build as Build);
