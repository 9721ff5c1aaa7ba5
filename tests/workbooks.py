"""Excel workbooks, written as Excel writes them, as far as a reader looks."""

from xml.sax.saxutils import escape

from zipping import zipped

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def workbook(sheets):
    """Return the bytes of an .xlsx.

    Args:
        sheets: Name -> rows of texts, numbers, booleans and None.
    """
    numbers = range(1, len(sheets) + 1)
    named = "".join(
        f'<sheet name="{escape(name)}" sheetId="{number}" r:id="rId{number}"/>'
        for number, name in enumerate(sheets, 1)
    )
    related = "".join(
        f'<Relationship Id="rId{number}" Type="{_RELATIONS}/worksheet" '
        f'Target="worksheets/sheet{number}.xml"/>'
        for number in numbers
    )
    types = "".join(
        f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{_SHEET}.worksheet+xml"/>'
        for number in numbers
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET}.sheet.main+xml"/>{types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}">'
        f"<sheets>{named}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f"{related}</Relationships>",
    }
    for number, rows in enumerate(sheets.values(), 1):
        lines = "".join(f'<row r="{line}">{_row(line, row)}</row>' for line, row in enumerate(rows, 1))
        sheet = f'<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>'
        parts[f"xl/worksheets/sheet{number}.xml"] = sheet
    return zipped({name: f'<?xml version="1.0"?>{text}'.encode() for name, text in parts.items()})


def _row(line, row):
    return "".join(_cell(f"{chr(ord('A') + place)}{line}", value) for place, value in enumerate(row))


def _cell(place, value):
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    kind = ' t="b"' if isinstance(value, bool) else ""
    return f'<c r="{place}"{kind}><v>{value if not isinstance(value, bool) else int(value)}</v></c>'
