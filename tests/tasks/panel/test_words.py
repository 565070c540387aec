import pytest

from tasks.panel.words import age, amount


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-1, "0 s"),
        (0.4, "0 s"),
        (42, "42 s"),
        (60, "1 min"),
        (185, "3 min 5 s"),
        (3600, "1 h"),
        (7850, "2 h 10 min"),
        (86_400, "1 day"),
        (349_200, "4 days 1 h"),
    ],
)
def test_an_age_has_its_two_largest_units(seconds: float, said: str) -> None:
    assert age(seconds) == said


def test_an_amount_that_goes_on_has_a_plus() -> None:
    assert (amount(10_000), amount(10_000, more=True)) == ("10,000", "10,000+")
