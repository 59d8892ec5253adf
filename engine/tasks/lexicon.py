"""The words of the English to German grammar, as small typed tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun: English singular and plural, German singular and plural, gender m, f or n."""

    en: str
    ens: str
    de: str
    des: str
    gender: str
    dative_plural: str


@dataclass(frozen=True, slots=True)
class Verb:
    """A transitive verb: English (sees, see, seen), German (sieht, sehen, gesehen)."""

    en: str
    en_plural: str
    en_perfect: str
    de: str
    de_plural: str
    de_perfect: str


def _nouns(table: str) -> tuple[Noun, ...]:
    rows = (line.split() for line in table.strip().splitlines())
    return tuple(Noun(e, es, d, ds, g, ds if ds[-1] in "ns" else ds + "n") for e, es, d, ds, g in rows)


PEOPLE = _nouns("""
man men Mann Männer m
woman women Frau Frauen f
child children Kind Kinder n
teacher teachers Lehrer Lehrer m
friend friends Freund Freunde m
doctor doctors Arzt Ärzte m
girl girls Mädchen Mädchen n
sister sisters Schwester Schwestern f
brother brothers Bruder Brüder m
neighbour neighbours Nachbarin Nachbarinnen f
baker bakers Bäcker Bäcker m
queen queens Königin Königinnen f
""")
THINGS = _nouns("""
book books Buch Bücher n
letter letters Brief Briefe m
lamp lamps Lampe Lampen f
table tables Tisch Tische m
house houses Haus Häuser n
flower flowers Blume Blumen f
apple apples Apfel Äpfel m
picture pictures Bild Bilder n
bottle bottles Flasche Flaschen f
chair chairs Stuhl Stühle m
car cars Auto Autos n
clock clocks Uhr Uhren f
key keys Schlüssel Schlüssel m
knife knives Messer Messer n
bag bags Tasche Taschen f
ball balls Ball Bälle m
bed beds Bett Betten n
cup cups Tasse Tassen f
""")
PLACES = _nouns("""
garden gardens Garten Gärten m
kitchen kitchens Küche Küchen f
house houses Haus Häuser n
school schools Schule Schulen f
village villages Dorf Dörfer n
park parks Park Parks m
city cities Stadt Städte f
hotel hotels Hotel Hotels n
""")
ADJECTIVES = {
    "old": "alt",
    "new": "neu",
    "small": "klein",
    "big": "groß",
    "red": "rot",
    "green": "grün",
    "good": "gut",
    "young": "jung",
    "beautiful": "schön",
    "cheap": "billig",
    "heavy": "schwer",
    "strange": "seltsam",
}
VERBS = tuple(
    Verb(*row.split())
    for row in (
        "sees see seen sieht sehen gesehen",
        "buys buy bought kauft kaufen gekauft",
        "finds find found findet finden gefunden",
        "loves love loved liebt lieben geliebt",
        "seeks seek sought sucht suchen gesucht",
        "carries carry carried trägt tragen getragen",
        "takes take taken nimmt nehmen genommen",
        "paints paint painted malt malen gemalt",
        "sells sell sold verkauft verkaufen verkauft",
        "forgets forget forgotten vergisst vergessen vergessen",
        "needs need needed braucht brauchen gebraucht",
        "cleans clean cleaned putzt putzen geputzt",
    )
)
GIVING = tuple(
    Verb(*row.split())
    for row in (
        "gives give given gibt geben gegeben",
        "shows show shown zeigt zeigen gezeigt",
        "brings bring brought bringt bringen gebracht",
        "sends send sent schickt schicken geschickt",
    )
)
# English adverb -> four German wordings, the commonest first.
OPENERS = {
    "Perhaps": ("Vielleicht", "Möglicherweise", "Eventuell", "Womöglich"),
    "Now": ("Jetzt", "Nun", "Gerade", "Momentan"),
    "Surely": ("Sicherlich", "Bestimmt", "Gewiss", "Zweifellos"),
    "Suddenly": ("Plötzlich", "Unerwartet", "Jäh", "Schlagartig"),
    "Later": ("Später", "Danach", "Hinterher", "Anschließend"),
}
MIDDLES = {
    "often": ("oft", "häufig", "regelmäßig", "vielfach"),
    "always": ("immer", "stets", "jederzeit", "ständig"),
    "gladly": ("gern", "freudig", "bereitwillig", "mit Freude"),
    "probably": ("wahrscheinlich", "vermutlich", "wohl", "voraussichtlich"),
}
FIXED_OPENERS = {"Today": "Heute", "Tomorrow": "Morgen", "On Monday": "Am Montag", "In summer": "Im Sommer"}
SAYING = {"says": "sagt", "knows": "weiß", "thinks": "denkt", "hopes": "hofft"}
PRONOUNS = {"he": "er", "she": "sie", "it": "es"}
