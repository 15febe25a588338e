"""Words that keys are made of, as in "amber-lantern".

RULER takes its words from the package wonderwords, whose last release is older than we allow a dependency to be. These
lists are our own; a key is an adjective and a noun, as there.
"""

from __future__ import annotations

import random

_ADJECTIVES_TEXT = (
    "able absent acid agile airy alert amber ample angry antique apt arctic arid ashen astute autumn awake balmy "
    "bare bashful beige bitter blank bleak blithe blond blue blunt bold bony brash brave brief bright brisk brittle "
    "broad bronze brown bulky busy calm candid careful casual cheery chilly civic civil classy clean clear clever "
    "close cloudy coarse coastal cold comic common copper coral cosy costly crimson crisp crooked cubic curious "
    "curly curved damp dapper daring dark dear deep deft dense dim distant dizzy docile drab dreamy dry dull dusky "
    "dusty eager early earnest earthy eastern easy elated elder empty equal exact fabled faint fair famous fancy "
    "fast feral festive fierce fine firm fiscal flat fleet floral fluent fluffy foggy fond formal fragile frank "
    "free fresh frosty frugal funny gentle giant gifted glad gleaming glossy golden grand grateful green grey "
    "gritty gruff handy happy hardy hasty hazy hearty heavy hidden hollow honest huge humble hungry husky icy idle "
    "ivory jade jaunty jolly jovial keen kind lanky large late lavish lazy lean level light lilac limber lively "
    "local lofty lone long loud lucid lucky lunar magic major marble marine mellow merry mighty mild minor misty "
    "modest moist mossy mottled muddy murky muted narrow native neat nimble noble noisy northern novel oaken odd "
    "olive open orange orderly oval pale patient peaceful placid plain pleasant plump polar polite proud prudent "
    "purple quaint quick quiet rapid rare ready regal remote rich rigid ripe robust rosy rough round royal rugged "
    "rural rustic rusty sable salty sandy scarlet serene shady sharp shiny short shy silent silken silver simple "
    "sleek slender slow smart smoky smooth snowy sober soft solar solid sombre sour southern spare spicy spry "
    "square stable stark steady steep stern still stout strict sturdy subtle sudden sunny supple sweet swift tall "
    "tame tangy tart tender tepid terse thick thin thorny tidy tiny tranquil trim true twin upper urban vague valid "
    "vast velvet verbal vivid wary warm wavy weary western whimsical white whole wide wild wily wintry wise witty "
    "wooden woolly worthy young zesty "
)
_NOUNS_TEXT = (
    "abacus acorn actor airport album alcove almond anchor ankle antler anvil apple apron arbour arcade archer "
    "arena armour arrow atlas attic autumn avenue awning badge badger bagel bakery balcony ballad bamboo banjo "
    "banner barge barley barn barrel basin basket beacon beaker beaver bedrock beetle bell bench berry bicycle "
    "birch biscuit blanket blossom bobbin bonnet border bottle boulder bouquet bracket brass bread breeze brick "
    "bridge broom brush bucket buckle bugle burrow bushel butter button cabin cable cactus camel camera canal "
    "candle canoe canvas canyon captain caravan cargo carpet carrot castle cedar cellar cello chain chalk chapel "
    "cherry chestnut chimney chisel cinder circus citrus clamp clarinet cliff cloak clock clover coach cobbler "
    "cocoa coffee collar comet compass copse cork cottage cotton cousin cradle crane crater crayon cricket crown "
    "crystal cupboard current curtain cushion dairy dancer desert diary dolphin domino donkey doorway dragon drawer "
    "drum easel echo elbow ember engine estuary falcon farmer feather fence fennel ferry fiddle field finch flagon "
    "flask flute forest forge fossil fountain fox funnel galaxy gallery garden garlic garnet gate geyser ginger "
    "glacier glove goblet granary granite grape gravel grove guitar gully hamlet hammer hammock harbour harp "
    "harvest hatchet hazel hedge helmet heron hinge honey hornet island jacket jasmine jigsaw juniper kayak kettle "
    "kiln kitchen kite ladder ladle lagoon lantern larch lark lattice laurel lemon lentil leopard lettuce library "
    "lichen lizard locket loom lute lynx magnet magpie mallet mango mansion mantle maple market marsh mason meadow "
    "medal melon merchant meteor mill minnow mirror mitten monsoon mortar mosaic moth mountain muffin mural museum "
    "mustard napkin needle nettle notebook nutmeg oasis oboe ocean orchard orchid organ otter oven owl oyster "
    "paddle palace panther parade parcel parsley pasture pebble pelican pencil pepper pewter piano pigeon pillow "
    "pillar pioneer pistachio planet plaster plateau plaza plough plum pocket pond poplar poppy porch portrait "
    "potter prairie prism pulley pumpkin puppet quarry quartz quill quilt rabbit radish raft raisin raven reed "
    "reservoir ribbon ridge river robin rocket rudder saddle saffron sailor salmon sandal satchel saucer savannah "
    "scarf school scissors sculptor seashell shovel shuttle sickle signal sketch slate sleigh spade sparrow spindle "
    "spiral spoon spruce stable stadium statue steeple stirrup stove straw summit sundial swallow tablet tailor "
    "tambourine tapestry teapot temple thicket thimble thistle thunder timber tinder toffee topaz tower tractor "
    "trellis trombone trout trumpet tulip tunnel turbine turnip turtle tusk twig umbrella valley vase vessel "
    "viaduct village vine violin volcano waffle wagon walnut walrus warbler waterfall weaver whistle widget willow "
    "window winter wizard wrench yacht zipper "
)

ADJECTIVES = tuple(_ADJECTIVES_TEXT.split())
NOUNS = tuple(_NOUNS_TEXT.split())


def keys(count: int, rng: random.Random) -> list[str]:
    """Return different keys.

    Parameters
    ----------
    count : how many, at most as many as there are pairs of an adjective and a noun
    rng : chooses

    Examples
    --------
    >>> made = keys(1000, random.Random("keys"))
    >>> len(set(made)), all(key.count("-") == 1 for key in made)
    (1000, True)
    """
    chosen = rng.sample(range(len(ADJECTIVES) * len(NOUNS)), count)
    return [f"{ADJECTIVES[number % len(ADJECTIVES)]}-{NOUNS[number // len(ADJECTIVES)]}" for number in chosen]
