"""What a benchmark's table says."""

import pytest

from bench.figures import Figure, percentile


def test_the_percentile_is_the_smallest_value_that_so_many_do_not_exceed() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert percentile(values, 0.5) == 50
    assert percentile(values, 0.99) == 99
    assert percentile(values, 1) == 100
    assert percentile([7.0], 0.99) == 7


def test_the_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


@pytest.mark.parametrize(
    ("figure", "verdict"),
    [
        (Figure("a", 1.2, "", 1.2), "ok"),
        (Figure("a", 1.21, "", 1.2), "missed"),
        (Figure("a", 0.6, "", 0.6, at_most=False), "ok"),
        (Figure("a", 0.59, "", 0.6, at_most=False), "missed"),
        (Figure("a", 5, "s"), ""),
    ],
)
def test_a_figure_says_whether_it_met_its_target(figure: Figure, verdict: str) -> None:
    assert figure.verdict == verdict
