"""The words of the translation grammar: English beside German, in the few forms from which the others follow."""

from __future__ import annotations

from dataclasses import dataclass

VOWELS = "aeiou"
IRREGULAR = {  # English forms on -s
    "man": "men",
    "woman": "women",
    "child": "children",
    "wife": "wives",
    "thief": "thieves",
    "mouse": "mice",
    "goose": "geese",
    "wolf": "wolves",
    "sheep": "sheep",
    "fish": "fish",
    "knife": "knives",
    "scarf": "scarves",
    "leaf": "leaves",
    "loaf": "loaves",
    "fisherman": "fishermen",
    "policeman": "policemen",
    "hero": "heroes",
    "potato": "potatoes",
    "go": "goes",
}


@dataclass(frozen=True, slots=True)
class Noun:
    """English singular and plural; German singular, gender (m, f, n) and plural. `weak`: its plural serves for all
    cases but the nominative."""

    en: str
    ens: str
    de: str
    gender: str
    des: str
    weak: bool

    def german(self, case: str, plural: bool) -> str:
        """The noun in a case (nom, acc, dat, gen)."""
        if plural:
            return self.des + ("n" if case == "dat" and self.des[-1] not in "ns" else "")
        if self.weak and case != "nom":
            return self.des
        if case == "gen" and self.gender != "f":
            if self.de.endswith("nis"):
                return self.de + "ses"
            return self.de + ("es" if self.de[-1] in "sßxz" else "s")
        return self.de


@dataclass(frozen=True, slots=True)
class Verb:
    """English base, third person, past, participle; German infinitive, third person, past, participle. A separable verb
    has its `prefix` apart from present and past; `sein`: its perfect is made with that."""

    en: tuple[str, str, str, str]
    infinitive: str
    present: str
    past: str
    participle: str
    prefix: str = ""
    sein: bool = False

    def finite(self, past: bool, plural: bool) -> str:
        """The form that agrees with a third person, without its prefix."""
        if not past:
            return self.infinitive.removeprefix(self.prefix) if plural else self.present
        return self.past + (("n" if self.past.endswith("e") else "en") if plural else "")

    def zu(self) -> str:
        """The infinitive with zu."""
        stem = self.infinitive.removeprefix(self.prefix)
        return f"{self.prefix}zu{stem}" if self.prefix else f"zu {stem}"


def plural_of(en: str) -> str:
    """The plural of an English noun."""
    if en in IRREGULAR:
        return IRREGULAR[en]
    if en.endswith("y") and en[-2] not in VOWELS:
        return en[:-1] + "ies"
    return en + ("es" if en.endswith(("s", "x", "ch", "sh", "z")) else "s")


def forms_of(words: str) -> tuple[str, str, str, str]:
    """Base, third person, past and participle of an English verb: "see/saw/seen", or "paint" where it is regular."""
    base, *rest = words.split("/")
    third = base[:-1] + "ies" if base.endswith("y") and base[-2] not in VOWELS else plural_of(base)
    if rest:
        return base, third, rest[0], rest[-1]
    stem = base[:-1] + "i" if base.endswith("y") and base[-2] not in VOWELS else base
    past = stem + ("d" if stem.endswith("e") else "ed")
    return base, third, past, past


def nouns(table: str) -> tuple[Noun, ...]:
    """Rows of `english german gender plural`, with a `w` behind weak ones, parted by semicolons."""
    found = []
    for row in filter(None, (part.split() for part in table.replace("\n", " ").split(";"))):
        en, de, gender, des, *weak = row
        found.append(Noun(en, plural_of(en), de, gender, des, bool(weak)))
    return tuple(found)


def verbs(table: str, sein: bool = False) -> dict[str, tuple[Verb, ...]]:
    """Rows of `english infinitive present past participle` by the English base, parted by semicolons.

    A prefix is parted from the infinitive by a bar; further German verbs of the same meaning follow after commas."""
    found: dict[str, tuple[Verb, ...]] = {}
    for row in filter(None, (part.strip() for part in table.replace("\n", " ").split(";"))):
        en, rest = row.split(maxsplit=1)
        forms = forms_of(en)
        made = []
        for german in rest.split(","):
            infinitive, present, past, participle = german.split()
            prefix = infinitive.split("|")[0] if "|" in infinitive else ""
            made.append(Verb(forms, infinitive.replace("|", ""), present, past, participle, prefix, sein))
        found[forms[0]] = tuple(made)
    return found


PEOPLE = nouns("""
man Mann m Männer; woman Frau f Frauen; child Kind n Kinder; teacher Lehrer m Lehrer; friend Freund m Freunde;
doctor Arzt m Ärzte; girl Mädchen n Mädchen; boy Junge m Jungen w; sister Schwester f Schwestern;
brother Bruder m Brüder; neighbour Nachbar m Nachbarn w; baker Bäcker m Bäcker; queen Königin f Königinnen;
king König m Könige; father Vater m Väter; mother Mutter f Mütter; son Sohn m Söhne; daughter Tochter f Töchter;
uncle Onkel m Onkel; aunt Tante f Tanten; grandfather Großvater m Großväter; grandmother Großmutter f Großmütter;
student Student m Studenten w; pupil Schüler m Schüler; gardener Gärtner m Gärtner; farmer Bauer m Bauern w;
painter Maler m Maler; singer Sängerin f Sängerinnen; writer Schriftsteller m Schriftsteller;
judge Richter m Richter; lawyer Anwalt m Anwälte; driver Fahrer m Fahrer; pilot Pilot m Piloten w;
soldier Soldat m Soldaten w; customer Kunde m Kunden w; guest Gast m Gäste; host Gastgeber m Gastgeber;
cook Koch m Köche; waiter Kellner m Kellner; tailor Schneider m Schneider; butcher Metzger m Metzger;
carpenter Tischler m Tischler; engineer Ingenieur m Ingenieure; scientist Forscher m Forscher;
nurse Krankenschwester f Krankenschwestern; dentist Zahnarzt m Zahnärzte; patient Patient m Patienten w;
thief Dieb m Diebe; hunter Jäger m Jäger; fisherman Fischer m Fischer; sailor Matrose m Matrosen w;
captain Kapitän m Kapitäne; prince Prinz m Prinzen w; princess Prinzessin f Prinzessinnen; knight Ritter m Ritter;
witch Hexe f Hexen; magician Zauberer m Zauberer; dancer Tänzerin f Tänzerinnen; actor Schauspieler m Schauspieler;
director Direktor m Direktoren; secretary Sekretärin f Sekretärinnen; colleague Kollege m Kollegen w;
boss Chef m Chefs; partner Partner m Partner; mayor Bürgermeister m Bürgermeister; minister Minister m Minister;
president Präsident m Präsidenten w; poet Dichter m Dichter; priest Priester m Priester; monk Mönch m Mönche;
nun Nonne f Nonnen; orphan Waise f Waisen; twin Zwilling m Zwillinge; cousin Cousin m Cousins;
nephew Neffe m Neffen w; niece Nichte f Nichten; widow Witwe f Witwen; stranger Fremdling m Fremdlinge;
hero Held m Helden w; giant Riese m Riesen w; dwarf Zwerg m Zwerge; policeman Polizist m Polizisten w;
postman Briefträger m Briefträger; trader Händler m Händler; worker Arbeiter m Arbeiter; expert Experte m Experten w;
witness Zeuge m Zeugen w; athlete Sportler m Sportler; tourist Tourist m Touristen w;
musician Musiker m Musiker; trainer Trainer m Trainer; author Autorin f Autorinnen; photographer Fotograf m Fotografen
w
""")
ANIMALS = nouns("""
dog Hund m Hunde; cat Katze f Katzen; horse Pferd n Pferde; cow Kuh f Kühe; bird Vogel m Vögel; mouse Maus f Mäuse;
goose Gans f Gänse; duck Ente f Enten; wolf Wolf m Wölfe; bear Bär m Bären w; lion Löwe m Löwen w; fox Fuchs m Füchse;
rabbit Kaninchen n Kaninchen; goat Ziege f Ziegen; donkey Esel m Esel; elephant Elefant m Elefanten w;
monkey Affe m Affen w; snake Schlange f Schlangen; frog Frosch m Frösche; spider Spinne f Spinnen; bee Biene f Bienen;
tiger Tiger m Tiger; parrot Papagei m Papageien; turtle Schildkröte f Schildkröten; hedgehog Igel m Igel;
squirrel Eichhörnchen n Eichhörnchen; owl Eule f Eulen; eagle Adler m Adler; hen Henne f Hennen; pig Schwein n Schweine
""")
THINGS = nouns("""
book Buch n Bücher; letter Brief m Briefe; lamp Lampe f Lampen; table Tisch m Tische; flower Blume f Blumen;
apple Apfel m Äpfel; picture Bild n Bilder; bottle Flasche f Flaschen; chair Stuhl m Stühle; car Auto n Autos;
clock Uhr f Uhren; key Schlüssel m Schlüssel; knife Messer n Messer; bag Tasche f Taschen; ball Ball m Bälle;
bed Bett n Betten; cup Tasse f Tassen; plate Teller m Teller; fork Gabel f Gabeln; spoon Löffel m Löffel;
glass Glas n Gläser; mirror Spiegel m Spiegel; curtain Vorhang m Vorhänge; carpet Teppich m Teppiche;
rack Gestell n Gestelle; drawer Schublade f Schubladen; box Kiste f Kisten; basket Korb m Körbe; bucket Eimer m Eimer;
rope Seil n Seile; hammer Hammer m Hämmer; nail Nagel m Nägel; saw Säge f Sägen; ladder Leiter f Leitern;
wheel Rad n Räder; bicycle Fahrrad n Fahrräder; boat Boot n Boote; ship Schiff n Schiffe; ticket Fahrkarte f
Fahrkarten; suitcase Koffer m Koffer; umbrella Regenschirm m Regenschirme; coat Mantel m Mäntel; shirt Hemd n Hemden;
dress Kleid n Kleider; skirt Rock m Röcke; hat Hut m Hüte; shoe Schuh m Schuhe; glove Handschuh m Handschuhe;
scarf Schal m Schals; ring Ring m Ringe; necklace Kette f Ketten; coin Münze f Münzen; wallet Geldbeutel m Geldbeutel;
pen Stift m Stifte; notebook Heft n Hefte; newspaper Zeitung f Zeitungen; map Karte f Karten; photo Foto n Fotos;
camera Kamera f Kameras; phone Telefon n Telefone; computer Computer m Computer; piano Klavier n Klaviere;
violin Geige f Geigen; drum Trommel f Trommeln; flute Flöte f Flöten; song Lied n Lieder; poem Gedicht n Gedichte;
story Geschichte f Geschichten; question Frage f Fragen; answer Antwort f Antworten; word Wort n Wörter;
idea Idee f Ideen; plan Plan m Pläne; secret Geheimnis n Geheimnisse; gift Geschenk n Geschenke; cake Kuchen m Kuchen;
egg Ei n Eier; loaf Brot n Brote; cheese Käse m Käse; sausage Wurst f Würste; potato Kartoffel f Kartoffeln;
carrot Karotte f Karotten; onion Zwiebel f Zwiebeln; pear Birne f Birnen; plum Pflaume f Pflaumen;
cherry Kirsche f Kirschen; strawberry Erdbeere f Erdbeeren; lemon Zitrone f Zitronen; nut Nuss f Nüsse;
mushroom Pilz m Pilze; tree Baum m Bäume; leaf Blatt n Blätter; rose Rose f Rosen; stone Stein m Steine;
candle Kerze f Kerzen; match Streichholz n Streichhölzer; towel Handtuch n Handtücher; soap Seife f Seifen;
brush Bürste f Bürsten; comb Kamm m Kämme; needle Nadel f Nadeln; button Knopf m Knöpfe; blanket Decke f Decken;
pillow Kissen n Kissen; hatch Luke f Luken; window Fenster n Fenster; roof Dach n Dächer; wall Wand f Wände;
fence Zaun m Zäune; gate Tor n Tore; machine Maschine f Maschinen; engine Motor m Motoren; tool Werkzeug n Werkzeuge;
weapon Waffe f Waffen; sword Schwert n Schwerter; shield Schild m Schilde; crown Krone f Kronen; flag Fahne f Fahnen;
medal Medaille f Medaillen; prize Preis m Preise; contract Vertrag m Verträge; report Bericht m Berichte;
bill Rechnung f Rechnungen; list Liste f Listen; recipe Rezept n Rezepte; treasure Schatz m Schätze;
toy Spielzeug n Spielzeuge; doll Puppe f Puppen; puzzle Rätsel n Rätsel; card Spielkarte f Spielkarten;
tent Zelt n Zelte; backpack Rucksack m Rucksäcke; kettle Kessel m Kessel; pot Topf m Töpfe; pan Pfanne f Pfannen;
oven Ofen m Öfen; sofa Sofa n Sofas; desk Schreibtisch m Schreibtische; cupboard Schrank m Schränke;
vase Vase f Vasen; statue Statue f Statuen; painting Gemälde n Gemälde; film Film m Filme; novel Roman m Romane
""")
PLACES = nouns("""
garden Garten m Gärten; kitchen Küche f Küchen; house Haus n Häuser; school Schule f Schulen; village Dorf n Dörfer;
park Park m Parks; city Stadt f Städte; hotel Hotel n Hotels; forest Wald m Wälder; church Kirche f Kirchen;
castle Schloss n Schlösser; museum Museum n Museen; library Bibliothek f Bibliotheken; hospital Krankenhaus n
Krankenhäuser; office Büro n Büros; shop Laden m Läden; factory Fabrik f Fabriken; theatre Theater n Theater;
cinema Kino n Kinos; restaurant Restaurant n Restaurants; room Zimmer n Zimmer; cellar Keller m Keller;
garage Garage f Garagen; stable Stall m Ställe; barn Scheune f Scheunen; harbour Hafen m Häfen; valley Tal n Täler;
cave Höhle f Höhlen; desert Wüste f Wüsten; prison Gefängnis n Gefängnisse; tower Turm m Türme; palace Palast m
Paläste; temple Tempel m Tempel; hut Hütte f Hütten; camp Lager n Lager; hall Saal m Säle; bathroom Badezimmer n
Badezimmer; bedroom Schlafzimmer n Schlafzimmer; classroom Klassenzimmer n Klassenzimmer; laboratory Labor n Labore
""")
ADJECTIVES = dict(
    pair.split()
    for pair in """
old alt;new neu;small klein;big groß;red rot;green grün;good gut;young jung;beautiful schön;cheap billig;heavy schwer;
strange seltsam;blue blau;yellow gelb;black schwarz;white weiß;brown braun;grey grau;long lang;short kurz;thick dick;
thin dünn;wide breit;narrow eng;deep tief;flat flach;round rund;warm warm;cold kalt;hot heiß;wet nass;dry trocken;
clean sauber;dirty schmutzig;full voll;empty leer;rich reich;poor arm;happy glücklich;sad traurig;angry wütend;
tired müde;hungry hungrig;thirsty durstig;sick krank;healthy gesund;strong stark;weak schwach;fast schnell;
slow langsam;loud laut;quiet leise;bright hell;clever klug;stupid dumm;lazy faul;busy fleißig;
brave mutig;shy schüchtern;polite höflich;rude unhöflich;friendly freundlich;honest ehrlich;famous berühmt;
unknown unbekannt;important wichtig;useful nützlich;dangerous gefährlich;safe sicher;easy einfach;
difficult schwierig;interesting interessant;boring langweilig;funny lustig;serious ernst;modern modern;
simple schlicht;broken kaputt;lost verloren;hidden versteckt;open offen;closed geschlossen;wooden hölzern;
golden golden;silver silbern;sweet süß;bitter bitter;salty salzig;fresh frisch;ripe reif;soft weich;hard hart;
sharp scharf;smooth glatt;rough rau;precious wertvoll;pretty hübsch;ugly hässlich;elegant elegant;colourful bunt;
curious neugierig;careful vorsichtig;patient geduldig;proud stolz;jealous eifersüchtig;lonely einsam;nervous nervös;
calm ruhig;cheerful fröhlich;gloomy düster;mysterious geheimnisvoll;wonderful wunderbar;terrible schrecklich;
tiny winzig;huge riesig;slim schlank;bald kahl;blind blind;deaf taub;foreign fremd;
local einheimisch;official offiziell;secret geheim;wild wild;tame zahm
""".replace("\n", "").split(";")
)
ON_THINGS = verbs("""
see/saw/seen sehen sieht sah gesehen, erblicken erblickt erblickte erblickt; buy/bought kaufen kauft kaufte gekauft,
erwerben erwirbt erwarb erworben; find/found finden findet fand gefunden, entdecken entdeckt entdeckte entdeckt;
seek/sought suchen sucht suchte gesucht; carry tragen trägt trug getragen; take/took/taken nehmen nimmt nahm genommen;
paint malen malt malte gemalt; sell/sold verkaufen verkauft verkaufte verkauft;
forget/forgot/forgotten vergessen vergisst vergaß vergessen; need brauchen braucht brauchte gebraucht,
benötigen benötigt benötigte benötigt; clean putzen putzt putzte geputzt, reinigen reinigt reinigte gereinigt;
hide/hid/hidden verstecken versteckt versteckte versteckt, verbergen verbirgt verbarg verborgen;
steal/stole/stolen stehlen stiehlt stahl gestohlen; break/broke/broken zerbrechen zerbricht zerbrach zerbrochen;
repair reparieren repariert reparierte repariert; build/built bauen baut baute gebaut;
open auf|machen macht machte aufgemacht, öffnen öffnet öffnete geöffnet;
close zu|machen macht machte zugemacht, schließen schließt schloss geschlossen;
wash waschen wäscht wusch gewaschen; use benutzen benutzt benutzte benutzt, verwenden verwendet verwendete verwendet;
throw/threw/thrown werfen wirft warf geworfen; catch/caught fangen fängt fing gefangen;
lift auf|heben hebt hob aufgehoben; hang/hung auf|hängen hängt hängte aufgehängt; pack ein|packen packt packte
eingepackt; unpack aus|packen packt packte ausgepackt; order bestellen bestellt bestellte bestellt;
pay/paid bezahlen bezahlt bezahlte bezahlt; choose/chose/chosen wählen wählt wählte gewählt,
aus|suchen sucht suchte ausgesucht; collect sammeln sammelt sammelte gesammelt; lose/lost verlieren verliert verlor
verloren; keep/kept behalten behält behielt behalten; describe beschreiben beschreibt beschrieb beschrieben;
understand/understood verstehen versteht verstand verstanden, begreifen begreift begriff begriffen;
read/read lesen liest las gelesen; write/wrote/written schreiben schreibt schrieb geschrieben;
draw/drew/drawn zeichnen zeichnet zeichnete gezeichnet; cut/cut schneiden schneidet schnitt geschnitten;
burn verbrennen verbrennt verbrannte verbrannt; bury vergraben vergräbt vergrub vergraben;
count zählen zählt zählte gezählt; measure messen misst maß gemessen; weigh wiegen wiegt wog gewogen;
touch berühren berührt berührte berührt, an|fassen fasst fasste angefasst; push schieben schiebt schob geschoben;
pull ziehen zieht zog gezogen; turn drehen dreht drehte gedreht; move bewegen bewegt bewegte bewegt;
polish polieren poliert polierte poliert; decorate schmücken schmückt schmückte geschmückt,
dekorieren dekoriert dekorierte dekoriert; destroy zerstören zerstört zerstörte zerstört;
admire bewundern bewundert bewunderte bewundert; praise loben lobt lobte gelobt; test prüfen prüft prüfte geprüft,
testen testet testete getestet; mention erwähnen erwähnt erwähnte erwähnt; want wollen will wollte gewollt;
love lieben liebt liebte geliebt; hate hassen hasst hasste gehasst; share teilen teilt teilte geteilt;
borrow aus|leihen leiht lieh ausgeliehen; return zurück|geben gibt gab zurückgegeben;
bake backen backt backte gebacken; cook kochen kocht kochte gekocht; eat/ate/eaten essen isst aß gegessen;
taste kosten kostet kostete gekostet, probieren probiert probierte probiert; plant pflanzen pflanzt pflanzte gepflanzt;
translate übersetzen übersetzt übersetzte übersetzt; sign unterschreiben unterschreibt unterschrieb unterschrieben;
print drucken druckt druckte gedruckt; sketch skizzieren skizziert skizzierte skizziert
""")
ON_PEOPLE = verbs("""
visit besuchen besucht besuchte besucht; meet/met treffen trifft traf getroffen; know/knew/known kennen kennt kannte
gekannt; hear/heard hören hört hörte gehört; invite ein|laden lädt lud eingeladen; call an|rufen ruft rief angerufen;
ask fragen fragt fragte gefragt; wake/woke/woken wecken weckt weckte geweckt; greet grüßen grüßt grüßte gegrüßt,
begrüßen begrüßt begrüßte begrüßt; kiss küssen küsst küsste geküsst; marry heiraten heiratet heiratete geheiratet;
warn warnen warnt warnte gewarnt; save retten rettet rettete gerettet; disturb stören stört störte gestört;
teach/taught unterrichten unterrichtet unterrichtete unterrichtet; photograph fotografieren fotografiert fotografierte
fotografiert; protect schützen schützt schützte geschützt, beschützen beschützt beschützte beschützt;
chase verfolgen verfolgt verfolgte verfolgt; recognise erkennen erkennt erkannte erkannt; miss vermissen vermisst
vermisste vermisst; comfort trösten tröstet tröstete getröstet; fear fürchten fürchtet fürchtete gefürchtet;
watch beobachten beobachtet beobachtete beobachtet; insult beleidigen beleidigt beleidigte beleidigt;
surprise überraschen überrascht überraschte überrascht; convince überzeugen überzeugt überzeugte überzeugt;
introduce vor|stellen stellt stellte vorgestellt; fetch ab|holen holt holte abgeholt; punish bestrafen bestraft
bestrafte bestraft; examine untersuchen untersucht untersuchte untersucht
""")
TO_PEOPLE = verbs("""
help helfen hilft half geholfen; thank danken dankt dankte gedankt; answer antworten antwortet antwortete geantwortet;
believe glauben glaubt glaubte geglaubt; congratulate gratulieren gratuliert gratulierte gratuliert;
obey gehorchen gehorcht gehorchte gehorcht; forgive/forgave/forgiven verzeihen verzeiht verzieh verziehen,
vergeben vergibt vergab vergeben; trust vertrauen vertraut vertraute vertraut; serve dienen dient diente gedient;
threaten drohen droht drohte gedroht; advise raten rät riet geraten; listen zu|hören hört hörte zugehört
""")
GIVING = verbs("""
give/gave/given geben gibt gab gegeben; show/showed/shown zeigen zeigt zeigte gezeigt; bring/brought bringen bringt
brachte gebracht; send/sent schicken schickt schickte geschickt, senden sendet sandte gesandt;
lend/lent leihen leiht lieh geliehen; offer an|bieten bietet bot angeboten; promise versprechen verspricht versprach
versprochen; explain erklären erklärt erklärte erklärt, erläutern erläutert erläuterte erläutert;
tell/told erzählen erzählt erzählte erzählt; hand reichen reicht reichte gereicht;
recommend empfehlen empfiehlt empfahl empfohlen; deliver liefern liefert lieferte geliefert
""")
GOING = verbs(
    """
go/went/gone gehen geht ging gegangen; travel reisen reist reiste gereist; run/ran/run rennen rennt rannte gerannt,
laufen läuft lief gelaufen; drive/drove/driven fahren fährt fuhr gefahren; hurry eilen eilt eilte geeilt;
wander wandern wandert wanderte gewandert; climb klettern klettert kletterte geklettert;
flee/fled fliehen flieht floh geflohen; sneak schleichen schleicht schlich geschlichen; come/came/come kommen kommt kam
gekommen
""",
    sein=True,
)
RESTING = verbs("""
sleep/slept schlafen schläft schlief geschlafen; work arbeiten arbeitet arbeitete gearbeitet; wait warten wartet
wartete gewartet; sit/sat sitzen sitzt saß gesessen; stand/stood stehen steht stand gestanden; sing/sang/sung singen
singt sang gesungen; dance tanzen tanzt tanzte getanzt; laugh lachen lacht lachte gelacht; cry weinen weint weinte
geweint; play spielen spielt spielte gespielt; live wohnen wohnt wohnte gewohnt, leben lebt lebte gelebt;
learn lernen lernt lernte gelernt; dream träumen träumt träumte geträumt; speak/spoke/spoken sprechen spricht sprach
gesprochen, reden redet redete geredet; rest aus|ruhen ruht ruhte ausgeruht; smoke rauchen raucht rauchte geraucht;
fight/fought kämpfen kämpft kämpfte gekämpft; shout schreien schreit schrie geschrien, rufen ruft rief gerufen
""")
# German wordings of a meaning, the commonest first.
OPENERS = {
    "perhaps": ("vielleicht", "möglicherweise", "eventuell", "womöglich"),
    "now": ("jetzt", "nun", "gerade", "momentan"),
    "surely": ("sicherlich", "bestimmt", "gewiss", "zweifellos"),
    "suddenly": ("plötzlich", "unerwartet", "schlagartig", "auf einmal"),
    "later": ("später", "danach", "hinterher", "anschließend"),
    "today": ("heute",),
    "yesterday": ("gestern",),
    "tomorrow": ("morgen",),
    "on Monday": ("am Montag", "montags"),
    "in summer": ("im Sommer",),
    "in winter": ("im Winter",),
    "in the evening": ("am Abend", "abends"),
    "in the morning": ("am Morgen", "morgens"),
    "at night": ("in der Nacht", "nachts"),
    "at last": ("endlich", "schließlich", "zuletzt"),
    "unfortunately": ("leider", "bedauerlicherweise", "unglücklicherweise"),
    "fortunately": ("glücklicherweise", "zum Glück"),
    "apparently": ("anscheinend", "offenbar", "scheinbar"),
}
MIDDLES = {
    "often": ("oft", "häufig", "regelmäßig", "vielfach"),
    "always": ("immer", "stets", "jederzeit", "ständig"),
    "gladly": ("gern", "freudig", "bereitwillig", "mit Freude"),
    "probably": ("wahrscheinlich", "vermutlich", "wohl", "voraussichtlich"),
    "never": ("nie", "niemals"),
    "secretly": ("heimlich", "im Geheimen"),
    "sometimes": ("manchmal", "gelegentlich", "ab und zu", "mitunter"),
    "quickly": ("schnell", "rasch", "flink"),
    "quietly": ("leise", "still"),
    "immediately": ("sofort", "gleich", "umgehend", "unverzüglich"),
    "carefully": ("vorsichtig", "sorgfältig", "behutsam"),
    "really": ("wirklich", "tatsächlich"),
}
JOINING = {
    "because": ("weil", "da"),
    "although": ("obwohl", "obgleich", "obschon"),
    "while": ("während",),
    "before": ("bevor", "ehe"),
    "after": ("nachdem",),
    "if": ("wenn", "falls"),
    "as soon as": ("sobald",),
    "until": ("bis",),
}
SAYING = verbs("""
say/said sagen sagt sagte gesagt; know/knew/known wissen weiß wusste gewusst; think/thought denken denkt dachte
gedacht, meinen meint meinte gemeint; hope hoffen hofft hoffte gehofft; believe glauben glaubt glaubte geglaubt;
claim behaupten behauptet behauptete behauptet; notice merken merkt merkte gemerkt, bemerken bemerkt bemerkte bemerkt;
report berichten berichtet berichtete berichtet; suspect vermuten vermutet vermutete vermutet,
ahnen ahnt ahnte geahnt; fear befürchten befürchtet befürchtete befürchtet; dream träumen träumt träumte geträumt
""")
TRYING = verbs("""
try versuchen versucht versuchte versucht, probieren probiert probierte probiert; plan/planned planen plant plante
geplant, vor|haben hat hatte vorgehabt; hope hoffen hofft hoffte gehofft; promise versprechen verspricht versprach
versprochen; decide beschließen beschließt beschloss beschlossen; begin/began/begun beginnen beginnt begann
begonnen, an|fangen fängt fing angefangen; forget/forgot/forgotten vergessen vergisst vergaß vergessen
""")
MODALS = {
    "can": ("kann", "können"),
    "must": ("muss", "müssen"),
    "should": ("soll", "sollen"),
    "may": ("darf", "dürfen"),
    "will": ("wird", "werden"),
}
