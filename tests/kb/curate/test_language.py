from kb.curate.add import is_foreign


def test_other_languages_and_letters_are_foreign() -> None:
    texts = (
        "Der Falter hat orange Flügel mit schwarzer Spitze. Die Raupe ist schwarz und lebt auf Disteln.",
        "Les ailes sont orange avec une pointe noire. La chenille est noire.",
        "De vleugels zijn oranje met een zwarte punt en een witte rand.",
        "Vingarna är orange och spetsen är svart med en vit fläck.",
        "Крылья оранжевые с черным концом.",
        "翅は橙色で先端は黒い。",
    )
    assert [text for text in texts if not is_foreign(text)] == []
    for text in ("Wings orange, tip black.", "Common in El Salvador.", "", "12 mm"):
        assert not is_foreign(text)
