import re

import pytest

from support import serve, stop


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    data = tmp_path_factory.mktemp("service") / "data"
    process, printed = serve(data)
    yield {
        "data": data,
        "url": re.search(r"listening on (\S+)", printed).group(1),
        "key": re.search(r"svc_live_\S+", printed).group(0),
    }
    stop(process)
