"""The offline model applies rules to a single request."""

from __future__ import annotations

import time

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from gaia_memory.adk.models.offline import offline_model
from gaia_memory.adk.models.offline.offline_model import INTRODUCTION, OfflineModel
from gaia_memory.adk.tools.fact_framing import PRIVATE_INSTRUCTION
from gaia_memory.errors import InvalidInputError
from gaia_memory.learn.screen import screen_draft
from gaia_memory.models import Draft, NewFact

pytestmark = pytest.mark.heavy

BLOCK = "Be kind.\n\n<USER_PROFILE>\nWhat is known.\n- Name: Itay\n- Lives in Berlin\n</USER_PROFILE>"


def remember(fact: str) -> None:
    """Keep."""


def load_memory(query: str) -> None:
    """Look."""


def recall(category: str) -> None:
    """List."""


def words(text: str, *, role: str = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def asked(*contents: types.Content, tools: bool = True, system: str | None = None) -> LlmRequest:
    request = LlmRequest(contents=list(contents), config=types.GenerateContentConfig(system_instruction=system))
    if tools:
        request.append_tools([FunctionTool(remember), FunctionTool(load_memory)])
    return request


async def answers(request: LlmRequest, *, stream: bool = False) -> list[LlmResponse]:
    return [response async for response in OfflineModel().generate_content_async(request, stream=stream)]


async def part(request: LlmRequest) -> types.Part:
    [response] = await answers(request)
    assert response.content is not None
    assert response.content.parts is not None
    return response.content.parts[0]


async def text(request: LlmRequest) -> str:
    return (await part(request)).text or ""


def responded(name: str, **response: object) -> types.Content:
    return types.Content(role="user", parts=[types.Part.from_function_response(name=name, response=response)])


FOUND_NOTHING = responded("load_memory", status="success", memories=[])


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("Remember that I like teal", "User likes teal"),
        ("please remember: my sister is Noa", "User's sister is Noa"),
        ("Don't forget I am allergic to nuts.", "User is allergic to nuts."),
        ("Merk dir, dass ich dienstags Tee trinke", "Der Nutzer trinkt dienstags Tee"),
        ("Remember: locker 12", "locker 12"),
    ],
)
async def test_the_offline_model_remembers_on_request(said: str, fact: str) -> None:
    """As learning words it, which reads the same message later; words that state nothing stay as they are."""
    call = (await part(asked(words(said)))).function_call

    assert call is not None
    assert (call.name, call.args) == ("remember", {"fact": fact})


KEY = "AKIA" + "IOSFODNN7EXAMPLE"


@pytest.mark.parametrize(
    ("said", "draft", "reply"),
    [
        ("Remember that my key is AKIA…", KEY, "it contains a password, a code or a number"),
        ("Merk dir meinen Schlüssel AKIA…", KEY, "es enthält ein Passwort, einen Code oder eine Nummer"),
        ("Souviens-toi de ma clé AKIA…", KEY, "il y a un mot de passe, un code ou un numéro"),
        ("Recuerda que mi clave es AKIA…", KEY, "contiene una contraseña, un código o un número"),
        ("Merk dir, dass ich Tee mag", "tea " * 600, "es ist zu lang."),
    ],
)
async def test_why_a_fact_was_not_saved_is_said_in_the_language_of_the_reply(said: str, draft: str, reply: str) -> None:
    """The message of the tool is English, and for a model."""
    with pytest.raises(InvalidInputError) as refused:
        screen_draft(Draft(fact=NewFact(draft), source="remember"))
    told = await text(asked(words(said), responded("remember", status="error", message=str(refused.value))))
    other = await text(asked(words(said), responded("remember", status="error", message="tell the user about it")))

    assert reply in told
    assert "tell the user" not in other


async def test_the_offline_model_looks_up_questions_that_the_profile_does_not_answer() -> None:
    """The question is passed to `load_memory` unchanged."""
    call = (await part(asked(words("What can't I eat?"), system=BLOCK))).function_call

    assert call is not None
    assert (call.name, call.args) == ("load_memory", {"query": "What can't I eat?"})


@pytest.mark.parametrize("question", ["What's my job?", "Habe ich einen Hund?", "What do you know about me?"])
async def test_a_question_reads_all_facts_where_the_tool_recall_lists_them(question: str) -> None:
    """The fact that changed another one may have no word of the question; a toolset may lack `recall`."""
    request = asked(words(question))
    request.append_tools([FunctionTool(recall)])
    [response], [without] = await answers(request), await answers(asked(words(question)))
    calls, others = ([each.name for each in found.get_function_calls()] for found in (response, without))

    assert calls == [*others, *["recall"] * 2]
    assert [each.args["offset"] for each in response.get_function_calls()[-2:]] == [0, 75]


async def test_of_one_moment_the_list_of_facts_tells_which_was_said_later() -> None:
    """What was learned of one message has one time; a search returns the best first."""
    facts = [
        {"text": text, "timestamp": "2026-11-02T12:00:00"} for text in ("User's car is a Ford.", "User has no car.")
    ]
    hits = responded("load_memory", status="success", memories=facts[::-1])
    listed = responded("recall", status="success", memories=facts)
    found = types.Content(role="user", parts=[*(hits.parts or []), *(listed.parts or [])])
    request = asked(words("Do I have a car?"), found)

    assert await text(request) == "You have no car.\nYour car is a Ford."


NOT_ANSWERED = "I will not answer with this here: I like teal\n/forget WORDS removes what I have already learned."
NOT_FORGOTTEN = "I have not forgotten anything. Send /forget to forget everything, or /forget WORDS."


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        (
            ("My favourite band is Muse.", "Forget that."),
            f"I will not learn: My favourite band is Muse.\n{NOT_FORGOTTEN}",
        ),
        (("Remember that I like teal", "Forget that."), f"{NOT_ANSWERED}\n{NOT_FORGOTTEN}"),
        (("Remember that I like teal", "That's wrong."), NOT_ANSWERED),
        (("I like teal.", "That's wrong."), "I will not learn: I like teal."),
    ],
)
async def test_who_takes_back_what_is_saved_is_told_how_to_forget_it(said: tuple[str, ...], reply: str) -> None:
    """Learning takes the statement back, too; what the tool `remember` or an earlier conversation saved stays."""
    assert await text(asked(*map(words, said))) == reply


async def test_the_offline_model_answers_from_the_profile_too() -> None:
    """It quotes only the lines related to the question."""
    asks = asked(words("In which city, Berlin?"), FOUND_NOTHING, system=BLOCK)
    answer = await text(asks)

    assert "Lives in Berlin" in answer
    assert "Itay" not in answer


async def test_the_newest_of_the_profile_answers_first() -> None:
    """Of one topic it comes first there."""
    block = "<USER_PROFILE>\n- User lives in Lisbon\n- User lives in Berlin\n</USER_PROFILE>"

    answer = await text(asked(words("Where do I live?"), FOUND_NOTHING, system=block))
    assert answer == "You live in Lisbon.\nYou live in Berlin."


async def test_the_offline_model_describes_the_results_of_memory_tools() -> None:
    """Hits, no hits, unavailable, refused and saved give different replies."""
    asks, found = words("Who is my sister?"), [{"text": "User's sister is Noa"}, {"text": "User likes tea"}]
    hits = await text(asked(asks, responded("load_memory", status="success", memories=found)))
    none = await text(asked(asks, responded("load_memory", status="success", memories=found[1:])))
    down = await text(asked(asks, responded("load_memory", status="unavailable", memories=[])))
    failed = await text(asked(asks, responded("load_memory", status="error", message="memory is disabled")))
    kept = await text(asked(words("?"), responded("remember", status="success", text="tea")))
    refused = await text(asked(words("?"), responded("remember", status="error", message="it contains a credential")))

    assert hits == "Your sister is Noa."
    assert none.endswith("\nI found no answer to that in what I know about you.")
    assert "cannot answer" in down
    assert "memory is disabled" in failed
    assert "tea" in kept
    assert "it contains a password" in refused


async def test_memory_that_is_unavailable_does_not_hide_what_was_just_said() -> None:
    """The statement is part of the request."""
    down = responded("load_memory", status="unavailable", memories=[])
    assert (await text(asked(words("I live in Oslo"), words("Where do I live?"), down))).endswith("You live in Oslo.")


async def test_the_newer_fact_answers_first_where_two_fit() -> None:
    """Memory returns the best first, which may be the older one."""
    moved = [
        {"text": "User lives in Lisbon", "timestamp": "2026-11-09T10:00:00+00:00"},
        {"text": "User lives in Berlin", "timestamp": "2025-01-09T10:00:00+00:00"},
    ]
    for memories in (moved, moved[::-1]):
        found = responded("load_memory", status="success", memories=memories)
        assert (await text(asked(words("Where do I live?"), found))).startswith("You live in Lisbon.\n")


async def test_facts_of_the_same_second_are_told_apart() -> None:
    """Piped messages take milliseconds."""
    codes = [
        {"text": "User's locker code is 47", "timestamp": "2026-11-09T10:00:00.512+00:00"},
        {"text": "User's locker code is 12", "timestamp": "2026-11-09T10:00:00.345+00:00"},
    ]
    for memories in (codes, codes[::-1]):
        found = responded("load_memory", status="success", memories=memories)
        assert (await text(asked(words("What is my locker code?"), found))).startswith("Your locker code is 47.\n")


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("She lives in Oslo", "I found no fact in that, so I will not learn it."),
        ("Er wohnt in Oslo", "Darin habe ich keine Tatsache gefunden, also lerne ich es nicht."),
        ("Elle habite à Oslo", "Je n'y ai trouvé aucun fait, donc je ne l'apprends pas."),
        ("Ella vive en Oslo", "No he encontrado ningún dato en eso, así que no lo aprendo."),
        ("milk, eggs, bread", "I found no fact in that, so I will not learn it."),
        (
            "Mrs Weber wants a staircase, I promised her a quote by Friday",
            "I noted only this: Mrs Weber wants a staircase",
        ),
        ("I eat meat, my wife doesn't. Thanks!", "I noted only this: I eat meat"),
        ("Ich esse Fleisch. Er wohnt in Oslo bei Anna.", "Notiert habe ich nur das: Ich esse Fleisch."),
        ("Btw, I live in Oslo, no wait, Rome. Thanks!", "Noted."),
    ],
)
async def test_only_what_will_be_learned_is_noted(said: str, reply: str) -> None:
    """Nobody knows who "she" is."""
    assert (await text(asked(words(said)))).endswith(f"\n{reply}")
    assert (await text(asked(words("My sister Anna is a lawyer"), words("She lives in Oslo")))).endswith("\nNoted.")


@pytest.mark.parametrize(
    ("said", "introduction"),
    [
        ("Hello!", "a small set of fixed rules"),
        ("Hallo!", "wenige feste Regeln"),
        ("Bonjour !", "quelques règles fixes"),
    ],
)
async def test_the_first_reply_introduces_the_model_in_the_language_of_the_person(said: str, introduction: str) -> None:
    """Also the reply to what shall be remembered."""
    kept = responded("remember", status="success", text="tea")

    assert introduction in await text(asked(words(said)))
    assert INTRODUCTION in await text(asked(words("Remember that I like tea"), kept))


async def test_what_is_known_is_listed_once_and_at_most_ten_lines_long() -> None:
    """Facts and statements of this conversation that say the same are one line."""
    memories = [
        {"text": f"User likes tea number {number}", "timestamp": f"2026-01-{number:02}"} for number in range(1, 13)
    ]
    found = responded("load_memory", status="success", memories=memories)
    answer = await text(asked(words("I like tea number 12."), words("What do you know about me?"), found, system=BLOCK))
    lines = [line for line in answer.splitlines() if line.startswith("- ")]

    assert len(lines) == len(set(lines)) == 10
    assert "- You like tea number 12." in lines[:3]


@pytest.mark.parametrize(
    ("important", "likes", "asked_for", "last"),
    [
        (
            ["My name is Ben", "I'm allergic to nuts", "I live in Leeds"],
            "I like number {}",
            "What do you know about me?",
            "… and more. /memory lists what is learned.",
        ),
        (
            ["Ich heiße Ben", "Ich bin allergisch gegen Nüsse", "Ich wohne in Bonn"],
            "Ich mag Nummer {}",
            "Was weißt du über mich?",
            "… und noch mehr. /memory zeigt, was gelernt ist.",
        ),
        (
            ["Je m'appelle Ben", "Je suis allergique aux noix", "J'habite à Lyon"],
            "J'aime le numéro {}",
            "Que sais-tu de moi ?",
            "… et plus encore. /memory montre ce qui est appris.",
        ),
        (
            ["Me llamo Ben", "Soy alérgico a las nueces", "Vivo en Vigo"],
            "Me gusta el número {}",
            "¿Qué sabes de mí?",
            "… y más. /memory muestra lo aprendido.",
        ),
    ],
)
async def test_what_matters_most_is_listed_first(important: list[str], likes: str, asked_for: str, last: str) -> None:
    """A last line tells that there is more, if there is."""
    said = [words(each) for each in (*important, *(likes.format(number) for number in range(1, 9)))]
    whole = (await text(asked(*said[:-1], words(asked_for), FOUND_NOTHING))).splitlines()
    cut = (await text(asked(*said, words(asked_for), FOUND_NOTHING))).splitlines()

    assert whole[-1].startswith("- ")
    assert cut[-1] == last
    places = [
        line for line in cut if any(word in line for word in ("Ben", "aller", "alér", "Leeds", "Bonn", "Lyon", "Vigo"))
    ]
    assert places == cut[1:4]


async def test_a_private_message_is_not_noted() -> None:
    """The acknowledgement says what is true for it, in the language of the message."""
    public = await text(asked(words("I moved to Berlin")))
    private = await text(asked(words("I moved to Berlin"), system=f"Be kind.\n\n{PRIVATE_INSTRUCTION}"))
    german = await text(asked(words("Ich bin nach Berlin gezogen"), system=PRIVATE_INSTRUCTION))

    assert public.endswith("\nNoted.")
    assert private.endswith("\nThis stays between us: I do not learn this message.")
    assert german.endswith("\nDas bleibt unter uns: Diese Nachricht lerne ich nicht.")


async def test_a_long_conversation_is_answered_from_its_latest_messages_in_time() -> None:
    """Ten thousand messages cost little more than a thousand."""
    said = [words(f"I own the book number {number} about gardens") for number in range(10_000)]

    async def seconds(messages: int) -> float:
        question = asked(*said[:messages], words("I live in Oslo"), words("Where do I live?"), FOUND_NOTHING)
        started = time.process_time()
        assert (await text(question)).endswith("You live in Oslo.")
        return time.process_time() - started

    few, many = [min([await seconds(messages) for _ in range(3)]) for messages in (1_000, 10_000)]

    assert many < 3 * few


async def test_the_offline_model_introduces_itself_once_per_conversation_and_on_request() -> None:
    """Users must not mistake it for a real model; an answer from memory is not interrupted."""
    first = await text(asked(words("I moved to Berlin")))
    later = await text(asked(words("I moved to Berlin"), words(first, role="model"), words("It rains")))
    when_asked = await text(asked(words("hi"), words(first, role="model"), words("Who are you?")))

    answered = await text(asked(words("I live in Oslo"), words("Where do I live?"), FOUND_NOTHING))

    assert INTRODUCTION in first
    assert INTRODUCTION not in later
    assert answered == "You live in Oslo."
    assert INTRODUCTION in when_asked


async def test_an_unknown_answer_says_that_the_beginning_of_a_long_conversation_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once: the first turns are neither replayed nor learned yet. Before, and after /reset, nothing is hidden."""
    monkeypatch.setattr(offline_model, "current_conversation", lambda: "one")
    model = OfflineModel()
    filler = [words("It rains") for _ in range(20)]

    async def reply(*contents: types.Content) -> str:
        request = asked(*contents, words("What is my cat called?"), FOUND_NOTHING)
        [response] = [each async for each in model.generate_content_async(request)]
        assert response.content is not None
        assert response.content.parts is not None
        return response.content.parts[0].text or ""

    first = await reply()
    visible = await reply(words(first, role="model"), *filler)
    hidden = await reply(*filler)
    cleared = await reply(*filler[:3])
    again = await reply(*filler, words(hidden, role="model"))

    assert visible == cleared == again == "I don't know that yet."
    assert hidden.startswith("I don't know that yet.\nI see only the latest messages here.")


@pytest.mark.parametrize("said", ["my password is hunter22", "the PIN is 1234"])
async def test_a_credential_is_neither_noted_nor_quoted(said: str) -> None:
    """Memory refuses it, so the reply must not promise otherwise."""
    reply = await text(asked(words(said)))
    answer = await text(asked(words(said), words("What is my PIN or password?"), FOUND_NOTHING))

    assert reply.endswith("\nI do not keep passwords or other credentials.")
    assert answer.endswith("\nI don't know that yet.")


async def test_small_talk_is_not_listed_as_known() -> None:
    """The weather is not about the person."""
    listed = await text(
        asked(words("it's raining here"), words("I like tea"), words("what do you know about me"), FOUND_NOTHING)
    )

    assert "You like tea." in listed
    assert "raining" not in listed


async def test_without_tools_the_offline_model_calls_nothing() -> None:
    """Memory may be off."""
    assert "cannot answer" in await text(asked(words("Where do I live?"), tools=False))
    assert (await part(asked(words("remember that I like teal"), tools=False))).function_call is None


async def test_the_offline_model_streams_pieces_and_then_the_whole_answer() -> None:
    """The last response is complete and not partial."""
    responses = await answers(asked(words("It rains")), stream=True)

    texts = ["".join(part.text or "" for part in response.content.parts) for response in responses if response.content]
    assert [response.partial for response in responses] == [True] * (len(responses) - 1) + [False]
    assert len(responses) > 2
    assert "".join(texts[:-1]) == texts[-1]


async def test_the_offline_model_answers_an_empty_request() -> None:
    """The reply is not empty."""
    assert await text(asked())


async def test_a_general_question_gets_the_whole_profile() -> None:
    """An example is "What do you know about me?"."""
    answer = await text(asked(words("What do you know about me?"), FOUND_NOTHING, system=BLOCK))

    assert "Name: Itay" in answer
    assert "Lives in Berlin" in answer


GERMAN = ("Der Nutzer wohnt in Graz", "Die Schwester des Nutzers wohnt in Lille")
SPANISH = ("El usuario vive en Sevilla", "La hermana del usuario vive en Vigo")
FRENCH = ("L'utilisateur habite à Lyon", "La sœur de l'utilisateur habite à Lille")


@pytest.mark.parametrize(
    ("facts", "question", "answer"),
    [
        (GERMAN, "Wo wohne ich?", "Du wohnst in Graz."),
        (GERMAN, "Wo wohnt meine Schwester?", "Deine Schwester wohnt in Lille."),
        (SPANISH, "¿Dónde vivo?", "Vives en Sevilla."),
        (FRENCH, "Où j'habite ?", "Tu habites à Lyon."),
        (("User's colleague Ben hates dogs",), "Who hates dogs?", "Your colleague Ben hates dogs."),
    ],
)
async def test_facts_in_each_language_answer_whom_they_are_about(
    facts: tuple[str, ...], question: str, answer: str
) -> None:
    """The user's own facts begin with other words than those about relations."""
    found = responded("load_memory", status="success", memories=[{"text": fact} for fact in facts])

    assert await text(asked(words(question), found)) == answer


async def test_a_fact_in_doubt_is_told_as_one() -> None:
    """What has put it in doubt may not be among the facts that were found."""
    fact = {"text": "Der Nutzer fährt einen VW", "in_doubt": "something said later may have changed this"}
    answer = await text(asked(words("Was fahre ich?"), responded("load_memory", status="success", memories=[fact])))

    assert answer.startswith("Du fährst einen VW. (nicht mehr sicher")


async def test_a_doubt_of_the_profile_is_told_in_the_language_of_the_question() -> None:
    """Its mark is English, and is no part of the fact."""
    profile = "<USER_PROFILE>\n- (in doubt) Der Nutzer fährt einen VW\n</USER_PROFILE>"
    request = asked(words("Was weißt du über mich?"), FOUND_NOTHING, system=profile)

    assert "- Du fährst einen VW. (nicht mehr sicher" in await text(request)
