"""Writes `block_font.ttf`, in which every character is the same box. The snapshots of `test_pictures.py` use it.

The file is checked in. To write it again: pip install fonttools==4.68.0 && python3 block_font.py
"""

from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

UNITS_PER_EM = 1000
ADVANCE = 520
#: Letters, punctuation, arrows and symbols. Other characters, such as emoji, come from a font of the machine.
CHARACTERS = [*range(0x21, 0x250), *range(0x2010, 0x2028), *range(0x2030, 0x2060), *range(0x20A0, 0x2300)]
SPACES = [0x20, 0xA0, 0x202F]


def draw_box() -> object:
    pen = TTGlyphPen(None)
    corners = [(60, 0), (60, 520), (ADVANCE - 60, 520), (ADVANCE - 60, 0)]
    pen.moveTo(corners[0])
    for corner in corners[1:]:
        pen.lineTo(corner)
    pen.closePath()
    return pen.glyph()


def main() -> None:
    glyphs = {".notdef": draw_box(), "space": TTGlyphPen(None).glyph(), "box": draw_box()}
    builder = FontBuilder(UNITS_PER_EM, isTTF=True)
    builder.setupGlyphOrder(list(glyphs))
    names = {character: "box" for character in CHARACTERS}
    names.update({character: "space" for character in SPACES})
    builder.setupCharacterMap(names)
    builder.setupGlyf(glyphs)
    builder.setupHorizontalMetrics({name: (ADVANCE if name != "space" else ADVANCE // 2, 0) for name in glyphs})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Blocks", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=800, sTypoDescender=-200, usWinAscent=800, usWinDescent=200)
    builder.setupPost()
    builder.setupHead(unitsPerEm=UNITS_PER_EM, created=0, modified=0)
    builder.save(Path(__file__).with_suffix(".ttf"))


if __name__ == "__main__":
    main()
