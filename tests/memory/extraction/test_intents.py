import pytest

from memory.extraction.intents import (
    is_formula,
    is_question,
    manners,
    mend,
    not_memory,
    read,
)

CASES = {
    "greeting": ["Hi!", "hello Keno", "Hola", "Buenos días, Keno", "¡Hola! :)"],
    "thanks": ["Thanks a lot", "muchas gracias", "Gracias, Keno!"],
    "bye": ["bye", "Hasta mañana", "See you tomorrow"],
    "help": ["help", "What can you do?", "¿Qué puedes hacer?", "ayuda", "¿Quién eres?"],
    "about_me": ["What do you know about me?", "¿Qué sabes de mí?"],
    "remember": [
        "Remember that my dog is called Rex",
        "please remember: the door code changed",
        "Recuerda que mi hermana vive en Quito",
        "No olvides que el jueves hay reunión",
        "Apunta: comprar leche",
        "Don’t forget that I am allergic to nuts",
    ],
    "forget": [
        "Forget that I like tea",
        "olvida lo de mi hermana",
        "Please forget my address",
        "Olvídate de eso",
    ],
    "correct": [
        "Actually, I live in Porto now",
        "No, es Marta",
        "En realidad trabajo en Bilbao",
        "I meant Tuesday",
        "no. it is Rex",
    ],
    "question": [
        "What is my dog called?",
        "¿Dónde vive mi hermana?",
        "do you remember my birthday",
        "Dime cuándo es la reunión",
        "Where do I live? And my sister?",
    ],
    "statement": [
        "My dog is called Rex",
        "Vivo en Lisboa",
        "I like hiking in the mountains",
        "Nobody answered the phone today",
        "I moved to Porto. Do you remember my old address?",
    ],
}


@pytest.mark.parametrize(
    ("said", "name"), [(said, name) for name, lines in CASES.items() for said in lines]
)
def test_what_a_message_wants(said, name):
    assert read(said).name == name


@pytest.mark.parametrize(
    ("said", "rest"),
    [
        ("Remember that my dog is called Rex.", "my dog is called Rex"),
        ("Por favor, recuerda que odio el cilantro", "odio el cilantro"),
        ("Actually, I live in Porto now.", "I live in Porto now"),
        ("No, es Marta", "es Marta"),
    ],
)
def test_what_it_is_about(said, rest):
    assert read(said).rest == rest


def test_a_statement_may_also_ask():
    intent = read("I moved to Porto. Do you remember my old address?")
    assert intent.questions == ("Do you remember my old address?",)


@pytest.mark.parametrize("said", ["I'm working on the tax return", "Tengo que llamar al banco"])
def test_plans_are_noticed(said):
    assert read(said).plans


@pytest.mark.parametrize("said", ["", "?", "…", "🙂", "a" * 32768, "remember " * 4000])
def test_odd_messages_are_read_quickly(said):
    assert read(said).name


@pytest.mark.parametrize(
    ("latest", "rest", "mended"),
    [
        ("La hermana de Ana se llama María", "es Marta", "La hermana de Ana se llama Marta"),
        ("La hermana de Ana vive en Quito", "vive en Lima", "La hermana de Ana vive en Lima"),
        ("Ana's dog is called Rex", "it's Max", "Ana's dog is called Max"),
        (
            "We expect our second in October",
            "September, not October",
            "We expect our second in September",
        ),
        (
            "Ana trabaja de fisio en Granada",
            "fisio no, osteópata",
            "Ana trabaja de osteópata en Granada",
        ),
        ("Ana is at the sea with her whole family", "the lake", ""),
        ("Ana's son is called Leo", "he's called Leon, typo", "Ana's son is called Leon"),
        ("The meeting is on Monday", "I meant Tuesday", "The meeting is on Tuesday"),
        ("Ana's dog is called Rex", "lives in Porto", ""),
        ("Ana's dog is called Rex", "the whole thing was quite different", ""),
        ("Ana's dog is called Rex", "Rex", ""),
        ("", "Max", ""),
    ],
)
def test_a_bare_value_mends_the_fact_of_a_moment_ago(latest, rest, mended):
    assert mend(latest, rest) == mended


@pytest.mark.parametrize(
    ("said", "wishes"),
    [
        ("Answer me in French. I live in Lyon.", ["Answer me in French"]),
        ("Respóndeme siempre en español.", ["Respóndeme siempre en español"]),
        ("Can you answer me?", []),
        ("I always answer in time", []),
    ],
)
def test_a_wish_about_how_keno_talks_is_told_from_a_fact(said, wishes):
    assert manners(said) == wishes


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("What is my job?", "question"),
        ("waht is my job?", "question"),
        ("where are we going on holiday", "question"),
        ("¿Dónde vivo?", "question"),
        ("tell me a joke", "small_talk"),
        ("Escríbeme un poema", "question"),
        ("/forget tom", "command"),
        ("forget that I hate coriander", "command"),
        ("Hola, ¿qué tal?", "small_talk"),
        ("gracias, eres un sol", "small_talk"),
        ("🎉🎉🎉", "small_talk"),
        ("asdfgh", "small_talk"),
        ("jklñ", "small_talk"),
        ("I moved to Porto, do you know a good dentist?", ""),
        ("Me mudé a Oporto, ¿conoces un buen dentista?", ""),
        ("My dog died. What should I do?", ""),
        ("Book club is on Tuesday", ""),
        ("remind me to call the dentist on Tuesday at 10", ""),
        ("Recuérdame comprar leche mañana", ""),
        ("I live in Rome", ""),
    ],
)
def test_what_is_said_to_keno_only_is_not_memory(said, why):
    assert not_memory(said) == why


def test_what_people_ask_each_other_is_memory():
    assert not_memory("Did you sell the boat?", to_keno=False) == ""
    assert not_memory("/why", to_keno=False) == "command"


@pytest.mark.parametrize(
    "said", ["Noted: you live in Rome.", "No recuerdo nada sobre eso.", "Sure!"]
)
def test_a_reply_that_only_agrees_or_refuses_is_a_formula(said):
    assert is_formula(said)


def test_a_reply_that_tells_something_is_not_a_formula():
    assert not is_formula(
        "Sure: the webhook wants its token in the address, and a second one in the header, "
        "because n8n reads both of them."
    )


@pytest.mark.parametrize(
    "said",
    [
        "whats my wife called",
        "do i still work there",
        "what foods dont i like",
        "does my aunt eat meat",
        "is tomas allergic to anything",
        "como se llama mi marido",
        "cuantos años tiene la niña",
        "en que planta está mi padre",
        "cuando tengo el dentista",
        "que grupo sanguineo tengo",
        "de cuánto es la cuota del banco",
        "hasta cuándo sigo en la fonda",
        "y ahora en qué ando para ir al trabajo",
        "cada cuánto le toca el remedio a la gata",
        "y la tarjeta sanitaria donde la deje",
        "cuando me miran la muela, q dia era al final",
        "el hermano de mi novio a q ciudad se muda",
        "la steffy todavia me debe plata o no",
        "can tess have crab",
        "que edad tiene la madre de la encarni",
        "q animales cria el pololo de mi hermana",
        "q dia pone el puesto mi señora ahora",
        "cuando me quedo la revision del auto al final",
        "cuando le operan el otro ojo a la mama",
        "como se va a llamar la guagua",
        "wat job does zuris dad do",
        "qué mariscos no puedo comer",
        "qué tengo que llevar al baby shower",
        "que le quito yo al gazpacho",
        "sigue la rocio con el iker",
        "le debo algo todavia al de la pesca",
        "pa cuando es la entrega final d serigrafia",
        "a cómo vendí la nmax",
        "q postre ya no le puedo llevar a mi abuela",
        "cuando esta d cumple mi abuelo",
        "where we sleeping on the way to karlas",
        "cuando tengo examen",
        "cuando vienen a arreglar la nevera",
        "q le voy a dar al hijo d mi hermano en navidad",
        "q remedio me toca tomar y cuando",
        "el papa de braylin donde es q trabaja",
        "hw much do i pay 4 accomodation",
        "wen am i presentin in dr adeyinka class",
        "whr is my boyfrend doin his service",
        "kien me checa los dientes",
        "d kien era la lap antes",
        "cuando me quitan los brackets",
        "cuando presento el extra",
        "a como da lupita los tamales",
        "no me acuerdo de a qué hora sale",
        "should i bring my neighbour a bottle of wine",
        "how'd i do in the practical",
        "is my nephew allowed chocolate",
        "antes q dias ensayaba",
        "puedo servirle queso a mi suegro",
    ],
)
def test_people_ask_without_a_question_mark_and_without_accents(said):
    assert is_question(said)
    assert read(said).name == "question"


@pytest.mark.parametrize(
    "said",
    [
        "ring size",
        "names of my nieces",
        "Shruti's ring size",
        "Medida de llantas",
        "teléfono de la canguro",
        "y la fecha de la boda",
    ],
)
def test_what_is_only_named_is_looked_up(said):
    assert read(said).name == "question"
    assert not_memory(said) == "question"


@pytest.mark.parametrize(
    "said",
    [
        "new phone number",
        "she forgot my birthday",
        "cambió el número de teléfono",
        "happy birthday",
        "save my address",
    ],
)
def test_what_is_told_of_it_is_not(said):
    assert not is_question(said)


@pytest.mark.parametrize(
    "said",
    [
        "when i was twelve we moved to Leeds",
        "What a day, my boss quit",
        "was born in Leeds",
        "did my taxes today",
        "como mucho pescado",
        "cuando era niña vivía en Vigo",
        "pa q me vayas conociendo: soy rocio y trabajo de noche",
        "ah q me he apuntao a ceramica los martes",
        "Que siempre no llega Meche el 18",
        "qué calorón está haciendo en Sevilla",
        "no sé si ir o no",
        "la mesa está donde la deje",
        "qué pesado es mi jefe",
        "sigue lloviendo en Vigo",
        "pa cuando llegues ya habré comido, tranqui",
        "where we went to school they had a pool and a gym",
        "cuando tengo hambre como pan",
        "cuando llueve no salgo",
        "should be grand",
        "can only do mornings",
        "antes ensayaba los jueves",
        "puedo dormir tranquila por fin",
    ],
)
def test_the_word_of_a_question_alone_does_not_ask(said):
    assert not is_question(said)
    assert not_memory(said) == ""


@pytest.mark.parametrize("said", ["ya no fumo", "Ya no cargo en Algeciras, ahora voy a Huelva"])
def test_what_is_no_longer_so_takes_nothing_back(said):
    assert read(said).name == "statement"


def test_what_somebody_wanted_and_asks_for_is_no_plan():
    assert not read("what did i want to buy?").plans
    assert read("I want to buy milk. Where?").plans


@pytest.mark.parametrize(
    ("fact", "said", "mended"),
    [
        ("vet thursday 3.30pm", "no wait, friday, not thursday", "vet friday 3.30pm"),
        ("Vet on Thursday at 3pm", "sorry, make it Friday", "Vet on Friday at 3pm"),
        ("Vet on Thursday at 3pm", "no, at 5pm", "Vet on Thursday at 5pm"),
        ("El martes Ana tiene cita", "perdon, el jueves, no el martes", "El jueves Ana tiene cita"),
        ("Ana tiene cita el martes a las 9", "no, mejor el lunes",
         "Ana tiene cita el lunes a las 9"),
        # Two days, and no word which of them is meant.
        ("Open on Monday and Friday", "no, Thursday", ""),
    ],
)  # fmt: skip
def test_a_correction_names_another_day_or_hour(fact, said, mended):
    assert read(said).name == "correct"
    assert mend(fact, read(said).rest) == mended


def test_only_a_named_value_mends_an_earlier_fact():
    assert mend("Vet on Thursday", "Friday, not Thursday", latest=False) == "Vet on Friday"
    assert mend("Vet on Thursday", "Friday", latest=False) == ""


@pytest.mark.parametrize(
    ("said", "name"),
    [("holaaa", "greeting"), ("youre the best", "praise"), ("hows it going", "how")],
)
def test_small_talk_may_be_stretched_or_lack_its_apostrophe(said, name):
    assert read(said).name == name


@pytest.mark.parametrize("said", ["cheers mate, you're a legend", "mil gracias, eres un crack"])
def test_thanks_in_the_words_of_a_friend_are_small_talk(said):
    assert read(said).name == "thanks"
