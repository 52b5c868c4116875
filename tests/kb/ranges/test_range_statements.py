"""Reader of range statements: places, roles, months, negations, and names that are no places."""

from data.records import RangeFact
from kb.ranges.range_statements import range_facts

READINGS = {
    "It breeds in Sweden and winters in Spain.": "breeds Sweden, winters Spain",
    "A resident breeder in Nepal and north-east India.": "resident Nepal, resident northeastern India",
    "In Iceland it is a summer visitor.": "breeds Iceland",
    "It is found throughout Europe, except for Ireland.": "occurs Europe, absent Ireland",
    "The species does not occur in Iceland, but is common in Norway.": "absent Iceland, occurs Norway",
    "It is extinct in Tunisia.": "absent Tunisia",
    "It formerly bred in Denmark.": "absent Denmark",
    "It has been recorded as a vagrant in Japan and Alaska.": "vagrant Japan, vagrant Alaska",
    "Introduced populations live in New Zealand.": "introduced New Zealand",
    "Many migrate through Israel to winter in East Africa.": "passage Israel, winters Eastern Africa",
    "Widespread in northern and central India.": "occurs northern India, occurs central India",
    "Nests in the south of France and northern parts of Italy.": "breeds southern France, breeds northern Italy",
    "It winters from Mexico to Central America.": "winters Mexico, winters Central America",
    "Endemic to Tasmania.": "resident Tasmania",
    "T. e. minor Author, 1900 – south China to Vietnam": "occurs southern China, occurs Vietnam",
    "T. e. major Author, 1900 – Mongolia; wintering in Laos": "occurs Mongolia, winters Laos",
    "It lives on the eastern slopes of the Andes and in sub-Saharan Africa.": "occurs Andes, occurs Sub-Saharan Africa",
    "It is common in Alabama, Georgia and Florida.": "occurs Alabama, occurs Georgia (US state), occurs Florida",
    "It is common in Armenia and Georgia.": "occurs Armenia, occurs Georgia",
}
NO_RANGE = (
    "It is smaller than the Canada goose and the Tennessee warbler.",
    "A museum in London, United Kingdom, holds a specimen collected by a captain.",
    "The University of Texas studies its song.",
    "Smith, J. (1991) A field guide to the birds of Mexico.",
    'Smith, J. (1991) "Nests in Mexico", Journal, 7, 1–9.',
    "The head is black and the breast red.",
    "",
    "Fossils found in Bulgaria are from the Pleistocene.",
    "It is known in North America as the eared grebe.",
)


def read(text: str) -> str:
    return ", ".join(f"{fact.role} {fact.place}" for fact in range_facts(text))


def test_places_have_the_role_that_the_sentence_states() -> None:
    assert {sentence: read(sentence) for sentence in READINGS} == READINGS
    assert [read(sentence) for sentence in NO_RANGE] == [""] * len(NO_RANGE)


def test_months_are_read_where_they_are_stated() -> None:
    (fact,) = range_facts("The breeding season in Peru is from November to February.")
    assert fact.months == (1, 2, 11, 12)
    assert range_facts("It breeds in Peru.")[0].months == ()


def test_every_fact_has_its_sentence_once() -> None:
    text = "It breeds in Norway. Its bill is red.\nIt also breeds in Norway and Finland."
    assert range_facts(text) == (
        RangeFact(place="Norway", role="breeds", sentence="It breeds in Norway."),
        RangeFact(place="Finland", role="breeds", sentence="It also breeds in Norway and Finland."),
    )
