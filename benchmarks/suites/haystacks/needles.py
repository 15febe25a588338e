"""Facts that no essay holds, each with a question, which may share its words with the fact or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Needle:
    """A fact to hide, or several of one kind, and the question that only they answer.

    Parameters
    ----------
    name : short, unique
    texts : the facts, one sentence each; a question of several needs every one
    question : about all of them
    answers : words of each of `texts`, in their order
    shares_words : whether the question has content words of every fact; else they have to be found by what they mean
    """

    name: str
    texts: tuple[str, ...]
    question: str
    answers: tuple[str, ...]
    shares_words: bool


# the two kinds take turns, so that the first n hold half of each
NEEDLES: tuple[Needle, ...] = (
    Needle(
        "lighthouse",
        ("The lamp of the Skerravoe lighthouse is lit by a former violin maker called Tormod Haas.",),
        "Who lights the lamp of the Skerravoe lighthouse?",
        ("Tormod Haas",),
        shares_words=True,
    ),
    Needle(
        "ferry",
        ("The night boat from Kesselhavn to the island of Brae leaves at 21:40.",),
        "When does the late ferry sail?",
        ("21:40",),
        shares_words=False,
    ),
    Needle(
        "bakery",
        ("The bakery on Linden Street in Vellbruck proves its rye loaves for exactly 31 hours.",),
        "For how many hours does the bakery on Linden Street in Vellbruck prove its rye loaves?",
        ("31 hours",),
        shares_words=True,
    ),
    Needle(
        "doctor",
        ("Our village physician, Amparo Quist, only examines the sick on alternate Fridays.",),
        "On which weekday can one consult the local doctor?",
        ("alternate Fridays",),
        shares_words=False,
    ),
    Needle(
        "glacier",
        ("Surveyors found that the Orsund glacier retreated 214 metres between 1987 and 2003.",),
        "How far did the Orsund glacier retreat between 1987 and 2003?",
        ("214 metres",),
        shares_words=True,
    ),
    Needle(
        "cat",
        ("Madame Duvallier's tabby goes by the name of Vercingetorix.",),
        "What is the cat of the old lady called?",
        ("Vercingetorix",),
        shares_words=False,
    ),
    Needle(
        "chess",
        ("Inga Marlott won the 1962 Baltic correspondence chess title with the Budapest Gambit.",),
        "With which opening did Inga Marlott win the 1962 Baltic correspondence chess title?",
        ("Budapest Gambit",),
        shares_words=True,
    ),
    Needle(
        "tapestry",
        ("Thieves took the Vermandois tapestry out of the gallery in a laundry van.",),
        "How was the stolen wall hanging carried away from the museum?",
        ("laundry van",),
        shares_words=False,
    ),
    Needle(
        "orchid",
        ("The orchid Cattleya veldkampii opens its flowers only at temperatures below nine degrees.",),
        "Below which temperature does the orchid Cattleya veldkampii open its flowers?",
        ("nine degrees",),
        shares_words=True,
    ),
    Needle(
        "cowries",
        ("On the atoll of Nemua people pay for their fish with polished cowries.",),
        "Which currency do islanders use when buying seafood?",
        ("polished cowries",),
        shares_words=False,
    ),
    Needle(
        "tram",
        ("Tram line 17 in Port Essel was painted heliotrope after a petition by schoolchildren.",),
        "What colour was tram line 17 in Port Essel painted after a petition?",
        ("heliotrope",),
        shares_words=True,
    ),
    Needle(
        "automobile",
        ("Grandfather's automobile ran on a spirit distilled from beetroot.",),
        "What fuel did the old man burn in his car?",
        ("beetroot",),
        shares_words=False,
    ),
    Needle(
        "observatory",
        ("The Tarnhill observatory keeps its spare mirror in a disused salt mine near Wieliborg.",),
        "Where does the Tarnhill observatory keep its spare mirror?",
        ("salt mine near Wieliborg",),
        shares_words=True,
    ),
    Needle(
        "glassblower",
        ("Each apprentice glassblower at Rosnay earns 412 crowns a month.",),
        "What wage do trainees in the crystal workshop get?",
        ("412 crowns",),
        shares_words=False,
    ),
    Needle(
        "sauce",
        ("The secret of the Marchetti family's walnut sauce is a spoonful of pickled elderberries.",),
        "What is the secret of the Marchetti family's walnut sauce?",
        ("pickled elderberries",),
        shares_words=True,
    ),
    Needle(
        "buckwheat",
        ("Ilse Tandberg comes out in an itchy rash whenever she eats buckwheat.",),
        "To which food is the woman allergic?",
        ("buckwheat",),
        shares_words=False,
    ),
    Needle(
        "marathon",
        ("The Lofthus mountain marathon was shortened to 39 kilometres because of a nesting eagle.",),
        "Why was the Lofthus mountain marathon shortened?",
        ("nesting eagle",),
        shares_words=True,
    ),
    Needle(
        "rain",
        ("It rained in the valley of Ostrenka for 63 days without a pause.",),
        "How long did the wet weather last?",
        ("63 days",),
        shares_words=False,
    ),
    Needle(
        "brentafol",
        ("In the Harrow trial, patients given brentafol slept 52 minutes longer than those given a placebo.",),
        "How much longer did patients given brentafol sleep in the Harrow trial?",
        ("52 minutes",),
        shares_words=True,
    ),
    Needle(
        "viaduct",
        ("The viaduct at Cwm Hiraeth rests upon seventeen granite pillars.",),
        "How many stone columns hold up the bridge?",
        ("seventeen granite pillars",),
        shares_words=False,
    ),
    Needle(
        "opera",
        ("The opera The Clockmaker's Widow was first performed in the riding hall of Schloss Ehrenau.",),
        "Where was the opera The Clockmaker's Widow first performed?",
        ("riding hall of Schloss Ehrenau",),
        shares_words=True,
    ),
    Needle(
        "wedding",
        ("Captain Bodil Strand wed the painter Jonas Eik in the basket of a gas balloon.",),
        "Where did the naval officer get married to the artist?",
        ("basket of a gas balloon",),
        shares_words=False,
    ),
    Needle(
        "telegraph",
        ("The telegraph cable between Faial and Corvane broke on 14 February 1893.",),
        "On which day did the telegraph cable between Faial and Corvane break?",
        ("14 February 1893",),
        shares_words=True,
    ),
    Needle(
        "granary",
        ("The blaze at the Pellworm granary was started by a magnifying glass left upon a sill.",),
        "What caused the barn to burn down?",
        ("magnifying glass",),
        shares_words=False,
    ),
    Needle(
        "peacocks",
        ("A by-law of the town of Quillmouth forbids walking peacocks after sunset.",),
        "What does a by-law of the town of Quillmouth forbid after sunset?",
        ("walking peacocks",),
        shares_words=True,
    ),
    Needle(
        "chickpeas",
        ("Miss Okonjo-Bray taught her pupils long division with dried chickpeas.",),
        "What did the schoolmistress use to explain arithmetic to children?",
        ("dried chickpeas",),
        shares_words=False,
    ),
    Needle(
        "stamp",
        ("The rarest stamp of the Duchy of Ambria shows a heron printed upside down.",),
        "Which bird does the rarest stamp of the Duchy of Ambria show?",
        ("heron",),
        shares_words=True,
    ),
    Needle(
        "crown",
        ("King Aldous the Lame hid his crown inside a beehive.",),
        "Where did the monarch conceal the royal regalia?",
        ("beehive",),
        shares_words=False,
    ),
)

# More of the second kind: the calibrated scorer's hedge was chosen with these and those above in view.
PARAPHRASED: tuple[Needle, ...] = (
    Needle(
        "watchman",
        ("Old Fergus Tallow guards the timber yard with a trained goose.",),
        "Which animal helps the watchman protect the lumber depot?",
        ("trained goose",),
        shares_words=False,
    ),
    Needle(
        "soup",
        ("The canteen of the Brellin shipyard serves leek broth on the eve of a full moon.",),
        "When do the dock workers get soup?",
        ("eve of a full moon",),
        shares_words=False,
    ),
    Needle(
        "fiddle",
        ("Sister Perpetua pawned her fiddle to mend the convent's roof.",),
        "Why did the nun part with the violin?",
        ("mend the convent's roof",),
        shares_words=False,
    ),
    Needle(
        "comet",
        ("The comet Halvard-Ruiz swings past our sun once in 811 years.",),
        "How often does that celestial body return?",
        ("811 years",),
        shares_words=False,
    ),
    Needle(
        "boots",
        ("Cobbler Anselm Dray soles every boot with walrus hide.",),
        "Which skin does the shoemaker put under footwear?",
        ("walrus hide",),
        shares_words=False,
    ),
    Needle(
        "spy",
        ("Agent Lucienne Faro smuggled the blueprints across the frontier inside a hollow cheese.",),
        "In what did the spy carry the plans over the border?",
        ("hollow cheese",),
        shares_words=False,
    ),
    Needle(
        "dentist",
        ("Maelis Groot hums sea shanties while pulling the teeth of the nervous.",),
        "What music does the dentist make for frightened patients?",
        ("sea shanties",),
        shares_words=False,
    ),
    Needle(
        "toll",
        ("Crossing the Ardmoor causeway costs a carter six eggs.",),
        "What does a wagon driver pay to use the road through the marsh?",
        ("six eggs",),
        shares_words=False,
    ),
    Needle(
        "clock",
        ("The town hall clock of Zwickelburg runs eleven minutes fast on purpose.",),
        "By how much is the municipal timepiece deliberately ahead?",
        ("eleven minutes",),
        shares_words=False,
    ),
    Needle(
        "twins",
        ("The twins Osk and Orla Venn were born on board an airship above Lake Tahl.",),
        "Where did the mother give birth to her babies?",
        ("airship above Lake Tahl",),
        shares_words=False,
    ),
    Needle(
        "parrot",
        ("Admiral Quimby's parrot can recite the tide tables in Portuguese.",),
        "Which language does the bird aboard the flagship speak?",
        ("Portuguese",),
        shares_words=False,
    ),
    Needle(
        "bees",
        ("Rosamund Ilk winters her hives in the crypt of a chapel.",),
        "Where does the beekeeper house the swarms during the cold season?",
        ("crypt of a chapel",),
        shares_words=False,
    ),
    Needle(
        "hiccups",
        ("In Upper Savernay hiccups are treated by standing upon a cold anvil.",),
        "How do the mountain people get rid of spasms of the diaphragm?",
        ("standing upon a cold anvil",),
        shares_words=False,
    ),
    Needle(
        "duel",
        ("Count Iravin and the banker Holt settled their quarrel with fire hoses.",),
        "What weapons did the nobleman and the financier fight with?",
        ("fire hoses",),
        shares_words=False,
    ),
    Needle(
        "academy",
        ("Pupils of the Mirelle academy must swim a mile before they graduate.",),
        "What feat is required of students to get a diploma?",
        ("swim a mile",),
        shares_words=False,
    ),
    Needle(
        "jam",
        ("Gooseberry jam from Tiverley is thickened with powdered seaweed.",),
        "What makes the fruit preserve set?",
        ("powdered seaweed",),
        shares_words=False,
    ),
    Needle(
        "burglar",
        ("The burglar of Corvo Street was betrayed by a trail of peppermint wrappers.",),
        "What clue led the police to the thief?",
        ("peppermint wrappers",),
        shares_words=False,
    ),
    Needle(
        "lottery",
        ("Henrike Saal spent the whole of her lottery prize on a carousel.",),
        "What did the woman buy with the money she had won?",
        ("carousel",),
        shares_words=False,
    ),
    Needle(
        "inn",
        ("The inn at Pass Gralla charges snorers double.",),
        "Which guests have to pay more for a hotel bed?",
        ("snorers",),
        shares_words=False,
    ),
    Needle(
        "statue",
        ("The bronze statue of Governor Wick was melted down for church bells.",),
        "What became of the metal monument to the politician?",
        ("church bells",),
        shares_words=False,
    ),
)

# No constant of the calibrated scorer was chosen with these in view: what those above can no longer tell.
HELD_OUT: tuple[Needle, ...] = (
    Needle(
        "miller",
        ("The miller of Oxterby pays his rent in candied chestnuts.",),
        "With what does the grinder of grain settle the lease?",
        ("candied chestnuts",),
        shares_words=False,
    ),
    Needle(
        "submarine",
        ("The submarine Nereid carries a grand piano for its crew.",),
        "What musical furniture do sailors have in the diving boat?",
        ("grand piano",),
        shares_words=False,
    ),
    Needle(
        "surgeon",
        ("Surgeon Ottoline Brack lost her left thumb to a crocodile.",),
        "Which reptile maimed the hand of the woman who operates?",
        ("crocodile",),
        shares_words=False,
    ),
    Needle(
        "castle",
        ("Castle Drummagh was sold for a single barrel of herring.",),
        "What price did the fortress fetch?",
        ("single barrel of herring",),
        shares_words=False,
    ),
    Needle(
        "poet",
        ("Casimir Wynn only writes his sonnets while sitting in an empty bathtub.",),
        "In which place does the poet compose?",
        ("empty bathtub",),
        shares_words=False,
    ),
    Needle(
        "sleeper",
        ("The sleeper to Uppvik stops for an hour wherever wild reindeer block the rails.",),
        "Which creatures hold up the overnight train?",
        ("wild reindeer",),
        shares_words=False,
    ),
    Needle(
        "oven",
        ("Tomislav Prohaska heats his oven with dried lemon peel.",),
        "What does the baker burn under the loaves?",
        ("dried lemon peel",),
        shares_words=False,
    ),
    Needle(
        "judge",
        ("Judge Philomena Rusk sentences poachers to knit blankets.",),
        "What penalty do illegal hunters receive in court?",
        ("knit blankets",),
        shares_words=False,
    ),
    Needle(
        "volcano",
        ("Mount Tepuaka last spat lava in the autumn of 1741.",),
        "When was the most recent eruption of the volcano?",
        ("autumn of 1741",),
        shares_words=False,
    ),
    Needle(
        "vintner",
        ("The vintner of Castel Moro ages his reds in barrels sunk beneath a lake.",),
        "Where does the winemaker let the bottles mature?",
        ("beneath a lake",),
        shares_words=False,
    ),
    Needle(
        "goalkeeper",
        ("Goalkeeper Nils Abara trains by catching thrown lobsters.",),
        "What does the football player practise with?",
        ("thrown lobsters",),
        shares_words=False,
    ),
    Needle(
        "elephant",
        ("The circus elephant Bathsheba is afraid of umbrellas.",),
        "What frightens the big grey performer with the trunk?",
        ("umbrellas",),
        shares_words=False,
    ),
    Needle(
        "library",
        ("The Kestrel Hall library lends its folios against a deposit of three gold rings.",),
        "What security must readers leave to borrow old books?",
        ("three gold rings",),
        shares_words=False,
    ),
    Needle(
        "joiner",
        ("Joiner Evander Pohl glues his chairs with boiled hooves.",),
        "What adhesive does the furniture maker use?",
        ("boiled hooves",),
        shares_words=False,
    ),
    Needle(
        "isle",
        ("Nobody on the isle of Sorrel may own more than two pairs of scissors.",),
        "What is the limit of shears per inhabitant?",
        ("two pairs of scissors",),
        shares_words=False,
    ),
    Needle(
        "pilot",
        ("Aviator Celestine Mbeki found home by following a flock of storks.",),
        "How did the pilot navigate back?",
        ("flock of storks",),
        shares_words=False,
    ),
    Needle(
        "cabbages",
        ("In the dry year the abbey of Lindquell watered its cabbages with sour cider.",),
        "What liquid did the monks pour over the vegetables?",
        ("sour cider",),
        shares_words=False,
    ),
    Needle(
        "tailor",
        ("Tailor Ignaz Feld lined the mayor's coat with old theatre tickets.",),
        "What is hidden inside the garment of the head of the town?",
        ("old theatre tickets",),
        shares_words=False,
    ),
    Needle(
        "tremor",
        ("The tremor at Caldera Bay made every steeple ring for ninety seconds.",),
        "For what length of time did the earthquake sound the church bells?",
        ("ninety seconds",),
        shares_words=False,
    ),
    Needle(
        "florin",
        ("The hundred-florin note of Estmark bears the portrait of a beekeeper.",),
        "Whose face is printed on the paper money?",
        ("beekeeper",),
        shares_words=False,
    ),
)

NEEDLE_GROUPS: tuple[Needle, ...] = (
    Needle(
        "steamer",
        (
            "On Mondays the mail steamer Halcyra calls at Port Wexley.",
            "The mail steamer Halcyra also calls at Innisdoon to take on milk.",
            "In winter the mail steamer Halcyra calls at Sankt Brelle as well.",
            "Before turning back, the mail steamer Halcyra calls at Cape Morrow.",
        ),
        "At which four places does the mail steamer Halcyra call?",
        ("Port Wexley", "Innisdoon", "Sankt Brelle", "Cape Morrow"),
        shares_words=True,
    ),
    Needle(
        "animals",
        (
            "Nadia Corrin took a lemming along to the Antarctic.",
            "Nadia Corrin had a goshawk on her sledge in the Antarctic.",
            "In her Antarctic tent Nadia Corrin kept a mongoose.",
            "Nadia Corrin fed a tortoise by hand all through the Antarctic winter.",
        ),
        "Which pets accompanied the explorer on her journey to the South Pole?",
        ("lemming", "goshawk", "mongoose", "tortoise"),
        shares_words=False,
    ),
    Needle(
        "alloy",
        (
            "One ingredient of the alloy corvantium is ytterbium.",
            "The alloy corvantium owes its sheen to a second ingredient, gallium.",
            "A third ingredient of the alloy corvantium is bismuth.",
            "The ingredient that makes the alloy corvantium hard is niobium.",
        ),
        "What are the four ingredients of the alloy corvantium?",
        ("ytterbium", "gallium", "bismuth", "niobium"),
        shares_words=True,
    ),
    Needle(
        "instruments",
        (
            "Old Pieter Vanderloo plays the hurdy-gurdy at weddings.",
            "At christenings Pieter Vanderloo plays the nyckelharpa.",
            "Pieter Vanderloo only plays the crumhorn in church.",
            "Pieter Vanderloo plays the psaltery for his neighbours on Sundays.",
        ),
        "On which instruments does the elderly musician perform?",
        ("hurdy-gurdy", "nyckelharpa", "crumhorn", "psaltery"),
        shares_words=False,
    ),
    Needle(
        "prize",
        (
            "The Tessmer Prize of 1971 went to the botanist Olga Finchley.",
            "In 1974 the Tessmer Prize went to the potter Rui Sandoval.",
            "The jury of 1979 gave the Tessmer Prize to the diver Hekla Brandt.",
            "For 1983 the Tessmer Prize was awarded to the cellist Imre Szalay.",
        ),
        "Who got the Tessmer Prize in 1971, 1974, 1979 and 1983?",
        ("Olga Finchley", "Rui Sandoval", "Hekla Brandt", "Imre Szalay"),
        shares_words=True,
    ),
    Needle(
        "languages",
        (
            "Ambassador Leontine Achebe speaks fluent Basque.",
            "Ambassador Leontine Achebe learnt Faroese from a fisherman.",
            "With her cook, Ambassador Leontine Achebe chats in Quechua.",
            "Ambassador Leontine Achebe writes her private letters in Tagalog.",
        ),
        "Which languages has the diplomat mastered?",
        ("Basque", "Faroese", "Quechua", "Tagalog"),
        shares_words=False,
    ),
    Needle(
        "ale",
        (
            "The monks of Saint Orlan flavour their March ale with juniper.",
            "In June the monks of Saint Orlan flavour their ale with woodruff.",
            "The monks of Saint Orlan flavour the ale of September with bog myrtle.",
            "At Christmas the monks of Saint Orlan flavour their ale with spruce tips.",
        ),
        "With what do the monks of Saint Orlan flavour their ale?",
        ("juniper", "woodruff", "bog myrtle", "spruce tips"),
        shares_words=True,
    ),
    Needle(
        "crops",
        (
            "The farmers of Dunmarrow grow salsify in their lower fields.",
            "On the hillside the farmers of Dunmarrow grow sorghum.",
            "Since the drought the farmers of Dunmarrow have grown amaranth.",
            "The farmers of Dunmarrow grow fenugreek between the rows.",
        ),
        "Which crops are cultivated by the peasants?",
        ("salsify", "sorghum", "amaranth", "fenugreek"),
        shares_words=False,
    ),
)

SINGLE_NEEDLES: Mapping[str, Sequence[Needle]] = {
    "niah": NEEDLES,
    "niah_shuffled": NEEDLES,
    "niah_paraphrased": PARAPHRASED,
    "niah_held_out": HELD_OUT,
}
"""Facts of which one is hidden in each haystack, by the name of their sets."""
