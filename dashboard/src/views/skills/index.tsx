// The view `skills`, ported from the first dashboard.

import { port, type Build } from "../../ported/port";
import build from "../../ported/views/skills.js";

export default port(build as Build);
