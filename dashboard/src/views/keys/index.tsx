// The view `keys`, ported from the first dashboard.

import { port, type Build } from "../../ported/port";
import build from "../../ported/views/keys.js";

export default port(build as Build);
