"""Reads a payroll file (CSV as people have it) and finds everything that is wrong with it.

The reader guesses nothing: a decimal comma, a thousands separator, an unknown column or an address that
fails its checksum is refused with its row and column. It knows no database and may import nothing of
paylock outside this package; memory stays bounded by the number of distinct payees, never by the file's size.

    reader = PayrollReader(stream, organization=None, terms=None)
    for row in reader.rows():      # only rows without a problem of their own
        ...
    reader.problems                # all problems, each with its row and column
"""

from paylock.payroll_file.problems import Problem, ProblemList
from paylock.payroll_file.reader import PayrollReader
from paylock.payroll_file.row import PayrollRow
from paylock.payroll_file.terms import ScheduleTerms, TermsRefused, terms_from_words

__all__ = [
    "PayrollReader",
    "PayrollRow",
    "Problem",
    "ProblemList",
    "ScheduleTerms",
    "TermsRefused",
    "terms_from_words",
]
