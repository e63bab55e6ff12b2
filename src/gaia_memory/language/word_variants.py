"""Variants of words that a stemmer does not unite."""

from __future__ import annotations

from collections.abc import Iterator

from gaia_memory.language.homoglyphs import compose

_FAMILIES = """
act actor actress acting | adopt adoption adoptive | advise advice advisor | allergic allergy allergies | answer reply
apply application applicant | argue argument | arrive arrival | attend attendance | bake baked baker bakery
bear born birth birthday | become became | begin began begun start started beginning | behave behaviour behavior
bite bit bitten | blow blew blown | break broke broken | bring brought | build built building | burn burnt burned
buy bought purchase purchased | catch caught | celebrate celebration | child children kid kids
choose chose chosen choice | collect collection collector | come came | compete competition competitor competitive
complain complaint | cook cooked cooking | create creation creative creator | dad father daddy | dance dancer dancing
decide decision decided | describe description | develop development developer | die died death dead dying
diagnose diagnosis | differ difference different | discuss discussion | dive dove diving | draw drew drawn drawing
drink drank drunk | drive drove driven driver | eat ate eaten meal food | educate education educational
employ employer employment employee | encourage encouragement | engage engaged engagement
enjoy enjoyed enjoyable enjoyment | excite excited exciting excitement | exercise workout | explain explanation
fall fell fallen | feel felt feeling | fight fought | film movie | find found | fly flew flown flight | foot feet
forget forgot forgotten | forgive forgave forgiven | freeze froze frozen | garden gardening gardener
give gave given gift | graduate graduated graduation | grow grew grown growth | hear heard | hide hid hidden
hike hiking hiker | hold held | hurt injury injured injure | imagine imagination | improve improvement
inform information | inspire inspired inspiration inspiring | invite invitation invited
job career occupation profession | keep kept | know knew known knowledge | lead led leader leadership
learn learnt learned | leave left | lend lent loan | lose lost loss | make made maker | man men
manage manager management | marry married marriage wedding | mean meant meaning | meet met meeting meetup
mom mother mum mommy | mouse mice | move moved moving | music musical musician | nervous anxious anxiety
operate operation | organise organize organisation organization organised organized
paint painted painter painting paintings | pay paid payment | people person | perform performance performer
photo photograph photography photographer picture | plan planned planning | play played player | pottery pot pots
prepare preparation | present presented presentation | produce production producer | promote promotion promoted
propose proposal | publish publication publisher published | read reading reader
recommend recommendation recommended | relax relaxing relaxation | religion religious | research researched researcher
ride rode ridden rider | ring rang rung | rise rose risen | run ran running runner | say said | see saw seen
sell sold sale seller | send sent | shake shook shaken | shoot shot shooting | sick ill illness sickness
sing sang sung song singer singing | sit sat | sleep slept asleep | speak spoke spoken speech | spend spent
stand stood | steal stole stolen theft | strong strength | study studied student | succeed success successful
suggest suggestion | support supported supportive | swear swore sworn | swim swam swum swimmer swimming
take took taken | teach taught teacher teaching | tear tore torn | tell told | think thought | throw threw thrown
tooth teeth | train trained trainer training | travel travelled traveled traveling travelling trip | treat treatment
understand understood understanding | vet veterinarian veterinary | visit visited visitor
volunteer volunteered volunteering | wake woke woken | wear wore worn | wife wives | win won winner | wolf wolves
woman women | worry worried | write wrote written writer writing author
"""


def _parse_families() -> Iterator[tuple[str, frozenset[str]]]:
    for family in _FAMILIES.replace("\n", "|").split("|"):
        words = frozenset(family.split())
        for word in words:
            yield word, words


WORD_FAMILIES = dict(_parse_families())
"""The family of each word: irregular forms, the noun of a verb, and common synonyms."""

_UMLAUTS = {"ae": "\u00e4", "oe": "\u00f6", "ue": "\u00fc"}
_MIN_NAME_CHARACTERS = 5
_ARABIC_ARTICLE = "\u0627\u0644"
"""The Arabic article, a prefix that the stemmer does not remove from short words."""

_HEBREW_PREFIXES = "\u05d4\u05d1\u05dc\u05de\u05e9\u05db\u05d5"
"""Hebrew prefixes: the, in, to, from, that, as, and."""

_HEBREW_DOUBLE_PREFIXES = tuple(
    one + other
    for one, others in (
        ("\u05d5", "\u05d4\u05d1\u05dc\u05de\u05e9"),
        ("\u05e9", "\u05d4\u05d1\u05dc\u05de"),
        ("\u05de", "\u05d4"),
        ("\u05db", "\u05e9"),
    )
    for other in others
)
"""Pairs of Hebrew prefixes: "and the", "that in", "from the", "when"."""

_MIN_STEM_CHARACTERS = 3


def word_variants(word: str) -> frozenset[str]:
    """Return variants of a word: irregular forms, umlauts as two letters and back, with and without prefixes.

    Two letters become an umlaut only in longer capitalised words, which are names or German nouns: "poet" stays.
    """
    folded = compose(word).casefold()
    variants = {*WORD_FAMILIES.get(folded, ()), *_prefix_variants(folded)}
    transliterated = folded
    for letters, umlaut in _UMLAUTS.items():
        transliterated = transliterated.replace(umlaut, letters)
    if transliterated != folded:
        variants.add(transliterated)
    elif word[:1].isupper() and len(word) >= _MIN_NAME_CHARACTERS:
        with_umlauts = folded
        for letters, umlaut in _UMLAUTS.items():
            with_umlauts = with_umlauts.replace(letters, umlaut)
        variants.add(with_umlauts)
    return frozenset(variants - {folded})


def _prefix_variants(word: str) -> Iterator[str]:
    """Yield a Hebrew word with each prefix and without, an Arabic word with its article or without."""
    if "\u05d0" <= word[:1] <= "\u05ea":
        bare = word[1:] if word[0] in _HEBREW_PREFIXES and len(word) > _MIN_STEM_CHARACTERS else ""
        yield from (
            prefix + each
            for each in (word, bare)
            if each
            for prefix in ("", *_HEBREW_PREFIXES, *_HEBREW_DOUBLE_PREFIXES)
        )
    elif "\u0620" <= word[:1] <= "\u064a":
        bare = word.removeprefix(_ARABIC_ARTICLE)
        yield _ARABIC_ARTICLE + word if bare == word else bare
