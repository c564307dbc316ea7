// The view `vocabulary`, ported from the first dashboard.

import { port, type Build } from "../../ported/port";
import build from "../../ported/views/vocabulary.js";

export default port(build as Build);
