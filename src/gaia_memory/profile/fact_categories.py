"""What a fact is about, told by its words; in English, German, Spanish, French, Russian and Hebrew alike."""

# ruff: noqa: RUF001 - the words are in their own scripts

from __future__ import annotations

import re
import unicodedata

IDENTITY, PEOPLE, NEEDS, ACTIVITIES, TASTES, OTHER = range(6)
"""How much a fact counts in a profile, the first the most."""

_IDENTITY = r"""
name(?:d|\ is|'s)? | called | pronouns? | born | birthday | years\ old | age[ds]? | lives?\ (?:in|at|on)
| resid\w+ | moved\ to | (?:is|am|comes?)\ from | native | nationality | time\ ?zone | speaks? | languages?
| works?\ (?:as|at|for) | jobs? | profession | employ\w* | students? | studies | email | phone
| hei(?:ß|ss)(?:t|e|en) | geboren | geburtstag | jahre\ alt | wohn(?:t|e|en|haft) | leb(?:t|e)\ in | kommt?\ aus
| spricht
| spreche | beruf\w* | arbeitet?\ (?:als|bei) | studiert?
| llam[ao] | nombre | nacid[oa] | naci[óo] | cumplea[ñn]os | a[ñn]os | vive?\ en | vivo\ en | reside
| trabaj[ao]\ (?:como|en)
| habl[ao] | profesi[óo]n | estudia(?:nte)?
| s'appelle | m'appelle | pr[ée]nom | n[ée]e?\ (?:le|en|à) | anniversaire | habite | parle
| travaille\ (?:comme|chez) | m[ée]tier
| зовут | имя | родил\w* | рожден\w* | лет | год\ рождения | жив[её]т | живу | работа(?:ет|ю) | профессия
| говорит | учится
| (?:ב|ו|ה|ל)?(?:שמו | שמה | שמי | שם | קוראים | נולד\w* | יום\ הולדת | גר | גרה | מתגורר\w* | בן\ \d+ | בת\ \d+
| עובד
  | עובדת | דובר\w* | מקצוע\w*)
"""
_PEOPLE = r"""
wife | husband | spouse | partner | girlfriend | boyfriend | fianc\w+ | married | engaged | divorced | mother
| father | mom | mum | dad | parents? | brothers? | sisters? | siblings? | sons? | daughters? | child(?:ren)?
| kids? | baby | grand\w+ | uncle | aunt | cousins? | nephews? | nieces? | friends? | colleagues? | boss
| manager | roommate | neighbou?rs? | dogs? | cats? | pets?
| ehe(?:frau|mann) | frau | mann | freund(?:in|e|innen)? | verlobt\w* | verheiratet | geschieden | mutter | vater
| eltern
| br[üu]der | schwester\w* | sohn | söhne | t[oö]chter | kinder | oma | opa | gro(?:ß|ss)(?:mutter|vater|eltern)
| kolleg\w+ | chefin | hund | katze
| espos[oa] | marido | mujer | novi[oa] | casad[oa] | divorciad[oa] | madre | padres? | herman[oa]s? | hij[oa]s?
| abuel[oa]s?
| amig[oa]s? | jef[ea] | perr[oa]s? | gat[oa]s?
| femme | mari | [ée]pou(?:x|se) | m[èe]re | p[èe]re | fr[èe]res? | s(?:œ|oe)urs? | fils | filles? | enfants?
| amie?s?
| coll[èe]gues? | chien\w*
| жен[аоуы]й? | муж\w{0,3} | мат(?:ь|ери|ерью) | мам[аоуы]й? | отец | отц\w+ | пап[аоуы]й? | брат\w{0,4}
| с[её]стр\w+ | сын\w{0,4}
| доч\w+ | реб[её]н\w+ | дет(?:и|ей|ям) | бабушк\w+ | дедушк\w+ | друг\w{0,3} | подруг\w+ | коллег\w+ | собак\w+
| кошк\w+
| (?:ו|ה|ל|ש)?(?:אשתו | אשתי | אישה | בעלה | בעלי | אמא | אבא | אמו | אביו | אח | אחיו | אחי | אחות\w*
| בן\ זוג\w* | בת\ זוג\w*
  | בנו | בתו | בנה | בתה | ילד\w* | סבא | סבתא | חבר | חברה | חברים | חברתו | חברו | כלב\w* | חתול\w* | נשוי | נשואה)
"""
_NEEDS = r"""
allerg\w+ | intoleran\w+ | vegetarian | vegan | kosher | halal | gluten | diet\w* | medications? | diagnos\w+
| conditions? | disab\w+ | pregnan\w+ | never | always | must | cannot | can't | avoids? | hates? | refus\w+
| do(?:es)?n't | do(?:es)?\ not | prefer\w* | wants?\ (?:you|the\ assistant|to\ be) | insists? | requires?
| needs? | diabet\w+ | asthma\w*
| unvertr[äa]glich\w* | vertr[äa]gt | vegetarisch | vegetarier\w* | veganer\w* | koscher | di[äa]t\w*
| medikament\w* | schwanger\w*
| niemals | nie | immer | muss | m[öo]chte | bevorzug\w+ | braucht? | darf\ (?:nicht|kein\w*) | meidet
| al[ée]rgi\w+ | cel[íi]ac\w+ | vegetarian[oa] | vegan[oa] | dieta | medicamentos? | embarazada | nunca | siempre
| prefier\w+
| evita | necesit\w+ | no\ (?:puede|come|debe|tolera)
| intol[ée]ran\w+ | v[ée]g[ée]tari\w+ | v[ée]gan\w* | r[ée]gime | m[ée]dicaments? | enceinte | jamais | toujours
| pr[ée]f[èe]r\w+ | [ée]vite
| doit | besoin
| аллерг\w+ | непереносим\w+ | вегетариан\w+ | веган\w* | кошер\w* | диет\w* | лекарств\w+ | диабет\w*
| беременн\w+ | никогда
| всегда | должн\w+ | нельзя | предпочита\w+ | избега\w+ | не\ (?:ест|может|пь[её]т|переносит)
| (?:ו|ה|ל|ש)?(?:אלרג\w* | רגיש\w* | צמחוני\w* | טבעוני\w* | כשר\w* | גלוטן | דיאטה | תרופ\w* | סוכרת\w* | הריון
| תמיד
  | אף\ פעם | חייב\w* | אסור | מעדיפ\w* | מעדיף | נמנע\w* | לא\ (?:אוכל\w* | יכול\w* | שותה))
"""
_ACTIVITIES = r"""
projects? | working\ on | building | writing | learning | training | preparing | plan\w* | goals? | deadlines?
| launch\w* | currently | started | trips? | travel\w* | moving | looking\ for
| projekt\w* | baut | schreibt | lernt | trainiert | bereitet | arbeitet\ an | ziele? | gerade | zurzeit
| reise\w* | sucht
| proyectos? | est[áa]\ \w+ndo | aprend\w+ | prepara\w* | metas | viaj\w+ | busca
| projets? | apprend | pr[ée]pare | en\ train\ de | voyage\w* | cherche
| проект\w* | учит | изучает | готовится | планиру\w+ | цел[ьи] | сейчас | начал\w* | поездк\w+ | ищет
| (?:ו|ה|ל|ב|ש)?(?:פרויקט\w* | עובד\w*\ על | לומד\w* | מתאמנ\w* | מתכונ\w* | מתכננ\w* | מתכנן | מטר(?:ה|ות)
| כרגע | נוסע\w* | טיול\w*
  | מחפש\w*)
"""
_TASTES = r"""
likes? | loves? | enjoys? | favou?rites? | fan\ of | interested | hobb\w+ | dislikes? | plays? | reads?
| listens? | watch\w*
| mag | liebt | gern\w* | lieblings\w* | spielt | liest | h[öo]rt
| gust\w+ | encant\w+ | ama | favorit[oa]s? | aficion\w* | juega | escucha
| aime | adore | pr[ée]f[ée]r[ée]e?s? | passionn[ée]e? | joue | [ée]coute
| люб\w+ | нрав\w+ | обожа\w+ | увлека\w+ | хобби | игра(?:ет|ю) | читает | слуша(?:ет|ю)
| (?:ו|ה|ל|ש)?(?:אוהב\w* | נהנ\w* | תחביב\w* | אהוב\w* | מועדפ\w* | משחק\w* | קורא | קוראת | שומע\w* | מאזינ\w*)
"""


def _compile_words(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})(?!\w)", re.IGNORECASE | re.VERBOSE)


# People are looked for first: "her sister works at a bank" is about the sister.
_CATEGORY_PATTERNS = tuple(
    (kind, _compile_words(words))
    for kind, words in (
        (PEOPLE, _PEOPLE),
        (IDENTITY, _IDENTITY),
        (NEEDS, _NEEDS),
        (ACTIVITIES, _ACTIVITIES),
        (TASTES, _TASTES),
    )
)
_KNOWN_SCRIPTS = ("LATIN", "CYRILLIC", "HEBREW")


def categorize(text: str) -> int:
    """Return what a fact is about, as one of the six kinds.

    In a script that no words are listed for nobody can tell: it counts as a need, which an allergy is, so that it
    is never ranked below what is known to be small.
    """
    normalized = unicodedata.normalize("NFC", text).replace("’", "'")
    category = next((kind for kind, pattern in _CATEGORY_PATTERNS if pattern.search(normalized)), OTHER)
    return NEEDS if category == OTHER and _has_unknown_script(normalized) else category


def _has_unknown_script(text: str) -> bool:
    letters = [sign for sign in text if sign.isalpha()]
    known_count = sum(unicodedata.name(sign, "").startswith(_KNOWN_SCRIPTS) for sign in letters)
    return known_count * 2 < len(letters)
