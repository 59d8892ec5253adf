"""The grammar that encoder-decoders learn: word order, cases, several right wordings; reports and what matters in them."""

from random import Random

import pytest

from engine.tasks import load_problems
from engine.tasks.inflection import PRONOUNS, Phrase, Pronoun
from engine.tasks.problem import Writer, accent
from engine.tasks.summaries import KINDS
from engine.tasks.translation import Clause, Sentence, draw, equivalent, generate, score
from engine.tasks.vocabulary import (
    GIVING,
    GOING,
    ON_THINGS,
    PEOPLE,
    PLACES,
    RESTING,
    SAYING,
    THINGS,
    TRYING,
    Noun,
    forms_of,
    plural_of,
)


def noun(en: str, table: tuple[Noun, ...] = PEOPLE) -> Noun:
    return next(found for found in table if found.en == en)


def both(sentence: Sentence) -> tuple[str, str]:
    writer = Writer(None)
    sentence.write(writer)
    return sentence.english(), writer.text


MAN, BOY = Phrase(noun("man"), "the", ("old",)), Phrase(noun("boy"), "a")
GATE, BOOK = Phrase(noun("gate", THINGS), "the"), Phrase(noun("book", THINGS), "this", ("new",), plural=True)
GARDEN = Phrase(noun("garden", PLACES), "the")
OPENS = Clause(MAN, ON_THINGS["open"], "present", thing=GATE)


@pytest.mark.parametrize(
    ("sentence", "english", "german"),
    [
        (Sentence(OPENS), "The old man opens the gate.", "Der alte Mann macht das Tor auf."),
        (
            Sentence(OPENS, opener="on Monday"),
            "On Monday the old man opens the gate.",
            "Am Montag macht der alte Mann das Tor auf.",
        ),
        (
            Sentence(OPENS, speaker=BOY, saying=SAYING["think"]),
            "A boy thinks that the old man opens the gate.",
            "Ein Junge denkt, dass der alte Mann das Tor aufmacht.",
        ),
        (
            Sentence(
                Clause(BOY, RESTING["sleep"], "past", place=GARDEN),
                joining="because",
                other=Clause(PRONOUNS[0], GIVING["give"], "must", thing=BOOK, receiver=MAN),
                first=True,
            ),
            "Because he must give the old man these new books, a boy slept in the garden.",
            "Weil er dem alten Mann diese neuen Bücher geben muss, schlief ein Junge im Garten.",
        ),
        (
            Sentence(OPENS, trying=TRYING["try"]),
            "The old man tries to open the gate.",
            "Der alte Mann versucht, das Tor aufzumachen.",
        ),
        (
            Sentence(Clause(MAN, GOING["go"], "perfect", adverb="often", place=GARDEN, into=True)),
            "The old man has often gone into the garden.",
            "Der alte Mann ist oft in den Garten gegangen.",
        ),
        (
            Sentence(
                Clause(
                    Phrase(noun("sister"), "no", plural=True, owner=Phrase(noun("boy"), "the")),
                    ON_THINGS["see"],
                    "perfect",
                    thing=Phrase(noun("secret", THINGS), "his"),
                )
            ),
            "No sisters of the boy have seen his secret.",
            "Keine Schwestern des Jungen haben sein Geheimnis gesehen.",
        ),
        (
            Sentence(Clause(MAN, ON_THINGS["read"], "present", thing=BOOK, relative=OPENS)),
            "The old man who opens the gate reads these new books.",
            "Der alte Mann, der das Tor aufmacht, liest diese neuen Bücher.",
        ),
    ],
)
def test_word_order_and_cases(sentence: Sentence, english: str, german: str) -> None:
    assert both(sentence) == (english, german)


def test_english_forms() -> None:
    assert [plural_of(x) for x in ("city", "boy", "box", "wolf", "hero")] == [
        "cities",
        "boys",
        "boxes",
        "wolves",
        "heroes",
    ]
    assert forms_of("carry") == ("carry", "carries", "carried", "carried")
    assert forms_of("see/saw/seen") == ("see", "sees", "saw", "seen")
    assert forms_of("bake") == ("bake", "bakes", "baked", "baked")


def test_weak_nouns_and_genitives() -> None:
    bear, secret, house = (
        Noun(x, x, de, g, des, w)
        for x, de, g, des, w in (
            ("bear", "Bär", "m", "Bären", True),
            ("secret", "Geheimnis", "n", "Geheimnisse", False),
            ("house", "Haus", "n", "Häuser", False),
        )
    )
    assert bear.german("acc", False) == "Bären" and bear.german("nom", False) == "Bär"
    assert secret.german("gen", False) == "Geheimnisses" and house.german("gen", False) == "Hauses"
    assert house.german("dat", True) == "Häusern" and bear.german("dat", True) == "Bären"


def test_several_wordings_are_right_and_the_canonical_one_comes_first() -> None:
    sentence = Sentence(
        Clause(MAN, ON_THINGS["see"], "past", thing=Phrase(noun("gate", THINGS), "the", owner=BOY)), opener="perhaps"
    )
    rng, found = Random(0), list[str]()
    for writer in (Writer(None), *(Writer(rng) for _ in range(60))):
        sentence.write(writer)
        found.append(writer.text)
    assert found[0] == "Vielleicht sah der alte Mann das Tor eines Jungen."
    assert {"Vielleicht hat der alte Mann das Tor von einem Jungen gesehen.", found[0]} <= set(found) and len(
        set(found)
    ) > 8


@pytest.mark.parametrize("split", ["train", "heldout"])
def test_problems_that_were_drawn_before_have_no_other_accent(split: str) -> None:
    def solutions() -> list[str]:
        return [p.solution for p in load_problems("translation", split, 6, seed=99)]

    plain = solutions()
    with accent(1):
        rotated = solutions()
    assert solutions() == plain != rotated


def test_an_accent_changes_the_wordings_alone() -> None:
    plain = load_problems("translation", "train", 30)
    with accent(1):
        other = load_problems("translation", "train", 30)
    assert [p.answer for p in plain] == [p.answer for p in other]
    assert [p.solution for p in plain] != [p.solution for p in other]


def test_solutions_are_sentences_and_their_choices_words() -> None:
    for problem in load_problems("translation", "heldout", 60):
        text = problem.solution
        assert (
            text[0].isupper()
            and text.endswith(".")
            and not {"  ", " ,", ",,", ",."} & {text[i : i + 2] for i in range(len(text))}
        )
        assert all(text[a:b] == text[a:b].strip() != "" for a, b in problem.choices)
    best = load_problems("translation", "heldout", 1)[0]
    assert score(best, best.answer) == pytest.approx(1.0) and score(best, "Nein.") < 0.2
    assert equivalent(" a  b", "a b") and not equivalent(None, "a")


@pytest.mark.slow
def test_there_are_three_thousand_word_forms() -> None:
    rng, english, german = Random("forms/0"), set[str](), set[str]()
    for _ in range(20_000):
        problem = generate(rng)
        english |= set(problem.key.lower().replace(",", "").strip(".").split())
        german |= set(problem.solution.lower().replace(",", "").strip(".").split())
    assert len(english) + len(german) > 3000


def test_a_summary_names_the_weightiest_effect() -> None:
    """What a summary tells is the effect that stands first among the kind's, of those that the report holds."""
    for problem in load_problems("summaries", "heldout", 40):
        kind = next(k for k in KINDS if any(_like(text, problem.prompt) for text in k.told))
        held = [summed for told, summed in kind.effects if _like(told, problem.prompt)]
        assert len(held) > 1 and _like(held[0], problem.answer), problem
        assert not any(_like(other, problem.answer) for other in held[1:] if other.split()[-2:] != held[0].split()[-2:])


def _like(pattern: str, text: str) -> bool:
    """Whether a text holds a pattern's words in their order, whatever its fields are."""
    pieces = [piece for part in pattern.split("{") for piece in part.split("}")[-1:] if piece.strip()]
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def test_a_relative_pronoun_stands_for_the_subject() -> None:
    writer = Writer(None)
    Pronoun("", "").write(writer, "nom")
    assert writer.text == "" and MAN.who() == "der"
    assert draw(Random(3)).english() == draw(Random(3)).english()
