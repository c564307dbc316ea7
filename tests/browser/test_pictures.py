"""Snapshots: every view on a desktop and on a phone, in light and dark, compared with the files in `snapshots`.

A snapshot is the view in shades of grey with one pixel for each block of 8 × 8 pixels. It is written by
`CUEBASE_SNAPSHOTS=write pytest test_pictures.py`, which is needed after an intended change of a view. Look at the changed
files before you commit them. Text is shown in `block_font.ttf`, in which every character is the same box. The fonts of the
machine, and texts of the same length such as ids, therefore make no difference.
"""

import base64
import io
import os
import random
from pathlib import Path

import pictured_views as views
import pytest
import sample_namespace as sample
from PIL import Image, ImageChops, ImageDraw
from playwright.sync_api import Page

SNAPSHOTS = Path(__file__).parent / "snapshots"
IS_WRITING = os.environ.get("CUEBASE_SNAPSHOTS") == "write"
FONT = base64.b64encode((Path(__file__).parent / "block_font.ttf").read_bytes()).decode()
#: High enough that most of a view is visible without scrolling.
SIZES = {"desktop": (1440, 1400), "phone": (390, 2000)}
BLOCK = 8
#: Shades of grey in a snapshot, which makes its file small.
SHADES = 32
#: Difference of two blocks, of 255, that is more than the anti-aliasing of an edge makes.
BLOCK_DIFFERENCE_MIN = 24
#: Largest share of differing blocks. It is 31 of the 31,500 blocks of a desktop.
SHARE_MAX = 0.001
TOTAL_BYTES_MAX = 1_000_000

SHOW_BLOCKS = f"""addEventListener("DOMContentLoaded", () => {{
  const style = document.createElement("style");
  style.textContent = `
    @font-face {{ font-family: Blocks; src: url(data:font/ttf;base64,{FONT}); }}
    * {{ font-family: Blocks !important; font-weight: 400 !important; caret-color: transparent !important; }}`;
  document.head.append(style);
}});"""

# Replaces texts of different lengths: latencies, used units, the version of the server, and the month.
MAKE_EQUAL = """() => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const equal = text.data
      .replace(/\\d+(\\.\\d+)? m?s\\b/g, "9 ms")
      .replace(/^[\\d,]+ of (?=[\\d,]+$)/, "999 of ")
      .replace(/^version \\S+$/, "version 1.0.0")
      .replace(/^Used in \\d{4}-\\d{2}$/, "Used in 2026-11");
    if (equal !== text.data) text.data = equal;
  }
}"""


@pytest.fixture(params=SIZES, ids=list(SIZES))
def size(request) -> str:
    return request.param


@pytest.fixture(params=["light", "dark"])
def scheme(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def service(start):
    """A server with the sample namespace only."""
    service = start("serve")
    views.write_sample_to(service)
    return service


@pytest.fixture(scope="module")
def source(service) -> str:
    return views.find_source(service)


@pytest.fixture(scope="module")
def pages(service, browser):
    pages = BlockPages(browser, service, bypass_csp=True)
    yield pages
    pages.close()


class BlockPages(views.Pages):
    """Pages that show text in the font of boxes."""

    def new_page(self, width: int, height: int, scheme: str) -> Page:
        page = super().new_page(width, height, scheme)
        page.context.add_init_script(SHOW_BLOCKS)
        return page


def take(page: Page) -> Image.Image:
    """Takes a picture of a page once its font is loaded, in the form of a snapshot."""
    page.evaluate(MAKE_EQUAL)
    page.evaluate("document.fonts.ready")
    return reduce(Image.open(io.BytesIO(page.screenshot(animations="disabled"))))


def reduce(picture: Image.Image) -> Image.Image:
    """Returns a picture with one grey pixel for each block."""
    grey = picture.convert("L")
    small = grey.resize((grey.width // BLOCK, grey.height // BLOCK), Image.Resampling.BOX)
    step = 256 // SHADES
    return small.point(lambda shade: shade // step * step)


def differences(one: Image.Image, other: Image.Image) -> Image.Image:
    """Returns a picture that is white where the blocks of two snapshots of the same size differ."""
    difference = ImageChops.difference(one, other)
    return difference.point(lambda shade: 255 if shade >= BLOCK_DIFFERENCE_MIN else 0)


def differing_share(one: Image.Image, other: Image.Image) -> float:
    """Returns the share of differing blocks of two snapshots, which is 1 if their sizes differ."""
    if one.size != other.size:
        return 1.0
    return differences(one, other).histogram()[255] / (one.width * one.height)


@pytest.mark.parametrize("view", views.VIEWS, ids=lambda view: view.name)
def test_a_view_is_as_in_its_snapshot(view, size, scheme, service, source, pages, tmp_path):
    page = pages.open(*SIZES[size], scheme, view.is_signed_in)
    views.show(page, view, service, source)
    taken = take(page)
    file = SNAPSHOTS / f"{view.name}-{size}-{scheme}.png"
    if IS_WRITING:
        SNAPSHOTS.mkdir(exist_ok=True)
        taken.save(file, optimize=True)
        return
    assert file.exists(), f"{file.name} is missing: write it with CUEBASE_SNAPSHOTS=write"
    expected = Image.open(file).convert("L")
    share = differing_share(taken, expected)
    if share > SHARE_MAX:
        page.screenshot(path=tmp_path / "page.png")
        if taken.size == expected.size:
            differences(taken, expected).save(tmp_path / "difference.png")
    assert share <= SHARE_MAX, f"{share:.2%} of the view differ: see {tmp_path}"


CHANGES = {
    "a hidden card": "main .hits li:nth-child(2) { visibility: hidden }",
    "a hidden button": "main .search-form button.primary { visibility: hidden }",
    "a moved list": "main .hits { margin-block-start: 24px }",
    "another colour": "main .search-form { background: #888 }",
    "a hidden navigation": "#nav { display: none }",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_view_differs_from_its_snapshot(change, service, source, pages):
    page = pages.open(*SIZES["desktop"], "light", True)
    views.show(page, views.VIEWS[0], service, source)
    before = take(page)
    assert differing_share(before, take(page)) == 0
    page.add_style_tag(content=CHANGES[change])
    assert differing_share(before, take(page)) > SHARE_MAX


def test_the_sample_has_the_pictured_content(service):
    spaces = {each["name"]: each["memories"] for each in service.call("GET", "/v1/namespaces")["namespaces"]}
    assert spaces[sample.NAMESPACE] > 250 and spaces[sample.EMPTY_NAMESPACE] == 0
    claims = service.call("GET", f"/v1/profile?namespace={sample.NAMESPACE}&subject=ana")["claims"]
    homes = {claim["value"]: claim["current"] for claim in claims if claim["attribute"] == "home"}
    assert homes == {"lisbon": True, "porto": False}


def test_the_sample_is_the_same_at_every_run():
    assert sample.conversations() == sample.conversations()
    assert all(body["occurred_at"] < f"{sample.NOW:%Y-%m-%d}" for body in sample.conversations())


def page_of_boxes() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    picture = Image.new("RGB", SIZES["desktop"], "white")
    drawing = ImageDraw.Draw(picture)
    for top in range(40, 1300, 120):
        drawing.rectangle((300, top, 1300, top + 90), outline="black", fill="lightgrey")
    return picture, drawing


def test_noise_is_ignored():
    picture, _ = page_of_boxes()
    before = reduce(picture)
    numbers = random.Random(1)
    for _ in range(20_000):
        place = (numbers.randrange(picture.width), numbers.randrange(picture.height))
        picture.putpixel(place, tuple(max(0, shade - numbers.randrange(60)) for shade in picture.getpixel(place)))
    assert differing_share(before, reduce(picture)) == 0


def test_a_missing_box_of_the_size_of_a_button_differs():
    picture, drawing = page_of_boxes()
    drawing.rectangle((100, 96, 180, 131), fill="navy")
    before = reduce(picture)
    drawing.rectangle((100, 96, 180, 131), fill="white")
    assert differing_share(before, reduce(picture)) > SHARE_MAX


def test_a_moved_box_differs():
    picture, drawing = page_of_boxes()
    before = reduce(picture)
    drawing.rectangle((300, 40, 1300, 130), fill="white")
    drawing.rectangle((300, 52, 1300, 142), outline="black", fill="lightgrey")
    assert differing_share(before, reduce(picture)) > SHARE_MAX


def test_another_size_differs():
    picture, _ = page_of_boxes()
    assert differing_share(reduce(picture), reduce(picture.crop((0, 0, 1440, 1300)))) == 1


def test_each_snapshot_is_small_and_belongs_to_a_view():
    expected = {f"{view.name}-{size}-{scheme}.png" for view in views.VIEWS for size in SIZES for scheme in ("light", "dark")}
    files = list(SNAPSHOTS.glob("*"))
    assert {file.name for file in files} == expected
    assert sum(file.stat().st_size for file in files) < TOTAL_BYTES_MAX
