// The view `billing`, ported from the first dashboard.

import { port, type Build } from "../../ported/port";
import build from "../../ported/views/billing.js";

export default port(build as Build);
