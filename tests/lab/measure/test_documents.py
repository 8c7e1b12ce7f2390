from lab.measure.documents import TokenSource, ordinary_ids


def test_documents_depend_on_seed_and_name_only() -> None:
    first, again = TokenSource(range(100, 1900), 0), TokenSource(range(100, 1900), 0)
    assert first.document("a", 50) == again.document("a", 50)
    assert first.document("a", 50) != first.document("b", 50)
    assert first.document("a", 50) != TokenSource(range(100, 1900), 1).document("a", 50)


def test_each_repeat_differs_from_the_first_token_on_and_keeps_its_length() -> None:
    source = TokenSource(range(100, 1900), 0)
    document = source.document("a", 1330)
    salted = [source.salted(document, repeat).token_ids for repeat in (1, 2)]
    assert salted[0][:16] != salted[1][:16]
    assert salted[0][16:] == salted[1][16:] == document.token_ids[16:]
    assert len(salted[0]) == 1330


def test_special_tokens_at_both_ends_of_the_vocabulary_are_left_out() -> None:
    ids = ordinary_ids(151_936)
    assert (ids[0], ids[-1]) == (7596, 144_339)
