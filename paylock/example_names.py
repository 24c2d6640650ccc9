"""Names of made-up people for the example payroll, in the scripts that payrolls really have."""

_LATIN = (
    ("Jürgen", "Müller"),
    ("Zoë", "O'Connor"),
    ("Léa", "Lefèvre"),
    ("Søren", "Kjærgaard"),
    ("Łukasz", "Wójcik"),
    ("Tõnu", "Õunapuu"),
    ("María José", "Núñez"),
    ("João", "Gonçalves"),
    ("Ifunanya", "Okonkwo"),
    ("Þórdís", "Jónsdóttir"),
    ("Nguyễn", "Thị Hồng"),
    ("Kübra", "Yılmaz"),
    ("Ane", "Etxeberria"),
    ("Siobhán", "Ní Bhriain"),
    ("Dávid", "Szőke"),
    ("Mari-Liis", "Kask"),
    ("Grace", "Hopkins"),
    ("Tomáš", "Dvořák"),
    ("Ionuț", "Ștefănescu"),
    ("Pedro", "da Silva"),
)
_OTHER_SCRIPTS = (
    ("Олена", "Шевченко"),
    ("山田", "太郎"),
    ("王", "小明"),
    ("김", "민준"),
    ("محمد", "العلي"),
    ("שרה", "כהן"),
    ("Ελένη", "Παπαδοπούλου"),
    ("प्रिया", "शर्मा"),
    ("นิดา", "สุขใจ"),
    ("Նարե", "Հակոբյան"),
)


def example_name(number: int) -> str:
    """The name of payee `number`, from 0 on; some as 'Family, Given', as exports like to have it."""
    pairs = _OTHER_SCRIPTS if number % 8 == 5 else _LATIN
    given = pairs[number * 7 % len(pairs)][0]
    family = pairs[(number * 3 + number // len(pairs)) % len(pairs)][1]
    return f"{family}, {given}" if number % 3 == 0 and pairs is _LATIN else f"{given} {family}"
