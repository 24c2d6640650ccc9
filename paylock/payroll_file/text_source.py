"""Turns a payroll file's bytes into lines of text, whatever encoding the spreadsheet chose.

UTF-8 (with or without byte order mark) and UTF-16 (either order) are read; everything else is refused. A byte
that is not text becomes a lone surrogate (U+DC80…U+DCFF carries the byte's value), so that the field's check
can name its row and column instead of the whole reading ending there.
"""

import codecs
import io
import unicodedata
from collections.abc import Iterator
from typing import BinaryIO

from paylock.payroll_file.problems import FieldRefused

MAX_LINE_CHARACTERS = 1 << 20
_SNIFFED_BYTES = 64
_WORKBOOKS = {
    b"PK\x03\x04": "an Excel or LibreOffice workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF document",
    b"{\\rtf": "a word processor's document",
    b"\x1f\x8b": "a compressed archive",
}
JOINERS = "\u200c\u200d"
"""Invisible, but part of how some languages are written."""
_UTF16_DAMAGE = "paylock_utf16_damage"


class NotTheRightFile(ValueError):
    """The bytes are no CSV text at all, or in an encoding that is not read."""


class LineTooLong(ValueError):
    """A line passed MAX_LINE_CHARACTERS: a quote that never closes, or no line breaks at all."""


def _mark_damaged_utf16(error: UnicodeError) -> tuple[str, int]:
    if isinstance(error, UnicodeDecodeError):
        return "\udcff", error.end
    raise error


codecs.register_error(_UTF16_DAMAGE, _mark_damaged_utf16)


class _WithHead(io.RawIOBase):
    """A stream that first gives back the bytes already read, so that pipes can be sniffed too."""

    def __init__(self, head: bytes, rest: BinaryIO, on_read: "ByteCounter") -> None:
        self._head = head
        self._rest = rest
        self._on_read = on_read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        chunk = self._head[: len(view)] or self._rest.read(len(view))
        self._head = self._head[len(view) :]
        view[: len(chunk)] = chunk
        self._on_read.count += len(chunk)
        return len(chunk)


class ByteCounter:
    """How many bytes of the file were consumed so far, for a progress bar."""

    def __init__(self) -> None:
        self.count = 0


def open_text(stream: BinaryIO, counter: ByteCounter) -> io.TextIOWrapper:
    """A text stream over `stream`; raises NotTheRightFile for what is no text file."""
    head = b""
    while len(head) < _SNIFFED_BYTES:
        more = stream.read(_SNIFFED_BYTES - len(head))
        if not more:
            break
        head += more
    for magic, kind in _WORKBOOKS.items():
        if head.startswith(magic):
            raise NotTheRightFile(
                f"this is {kind}, not a CSV file; save the sheet as 'CSV UTF-8' and import that"
            )
    encoding = _encoding_of(head)
    errors = "surrogateescape" if encoding.startswith("utf-8") else _UTF16_DAMAGE
    raw = io.BufferedReader(_WithHead(head, stream, counter))
    return io.TextIOWrapper(raw, encoding=encoding, errors=errors, newline="")


def _encoding_of(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise NotTheRightFile("the file is in UTF-32; save it as UTF-8 ('CSV UTF-8')")
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Without a mark: every header that we know is ASCII, and ASCII in UTF-16 has a zero in each pair.
    pairs = len(head) // 2
    if pairs >= 4:
        if not any(head[1 : 2 * pairs : 2]) and all(head[0 : 2 * pairs : 2]):
            return "utf-16-le"
        if not any(head[0 : 2 * pairs : 2]) and all(head[1 : 2 * pairs : 2]):
            return "utf-16-be"
    return "utf-8"


def lines_of(text: io.TextIOWrapper) -> Iterator[str]:
    """Lines with their line breaks; raises LineTooLong rather than holding an endless line in memory."""
    while line := text.readline(MAX_LINE_CHARACTERS):
        if len(line) >= MAX_LINE_CHARACTERS:
            raise LineTooLong
        yield line


def refuse_unreadable(value: str) -> None:
    """Raises FieldRefused if the value holds bytes that were no text, or characters that nobody can see."""
    for character in value:
        point = ord(character)
        if 0xDC80 <= point <= 0xDCFE:
            raise FieldRefused(
                f"holds the byte 0x{point - 0xDC00:02X}, which is not UTF-8 text; the file was probably saved"
                " in an older encoding (such as Windows-1252): save it as 'CSV UTF-8'"
            )
        if 0xD800 <= point <= 0xDFFF:
            raise FieldRefused("holds a damaged character; save the file again as 'CSV UTF-8'")
        if point == 0xFFFD:
            raise FieldRefused(
                "holds the replacement character U+FFFD: the text was damaged before; type it anew"
            )
        if point == 0:
            raise FieldRefused("holds a NUL byte; save the file again as 'CSV UTF-8'")
        if point in (0x0A, 0x0D):
            raise FieldRefused("holds a line break; write it on one line")
        if point < 0x20 or 0x7F <= point <= 0x9F:
            raise FieldRefused(f"holds the control character U+{point:04X}; delete it")
        if unicodedata.category(character) == "Cf" and character not in JOINERS:
            raise FieldRefused(f"holds the invisible character U+{point:04X}; type it anew")
