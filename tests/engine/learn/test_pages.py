"""Pages as titles and sections."""

from engine.learn.pages import parse


def test_sections_reach_from_heading_to_heading_and_a_page_may_have_none() -> None:
    made = parse("some", "# Some page\n\nBefore all sections.\n\n## One\n\nfirst\n\n### Two\n\nsecond\n")
    assert made.title == "Some page"
    assert [(part.title, part.text) for part in made.sections] == [("One", "first"), ("Two", "second")]
    bare = parse("bare", "# Bare\n\nA title and a text.\n")
    assert (bare.title, bare.sections) == ("Bare", ())
