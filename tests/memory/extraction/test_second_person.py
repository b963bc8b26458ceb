import pytest

from memory.extraction.wording import told_to

TOLD = {
    "El cumple de la madre de Ana es el 4 de mayo": "El cumple de tu madre es el 4 de mayo",
    "El coche del hermano de Ana es rojo": "El coche de tu hermano es rojo",
    "Ana's dog is called Rex": "Your dog is called Rex",
    "Ana lives in Madrid": "You live in Madrid",
    "Ana is allergic to nuts": "You are allergic to nuts",
    "Ana never watches TV with their son": "You never watch TV with your son",
    "Ana doesn't eat meat": "You don't eat meat",
    "Ana studies law": "You study law",
    "Ana moved to Porto": "You moved to Porto",
    "Ana made the cake": "You made the cake",
    "El perro de Ana se llama Toby": "Tu perro se llama Toby",
    "El color favorito de Ana es el azul": "Tu color favorito es el azul",
    "Los gatos de Ana duermen fuera": "Tus gatos duermen fuera",
    "Ana prefiere el té verde al café": "Prefieres el té verde al café",
    "Ana no vive con su hermana": "No vives con tu hermana",
    "A Ana le gusta el café sin azúcar": "Te gusta el café sin azúcar",
    "A Ana no le gustan las setas": "No te gustan las setas",
    "Ana se llama Anabel": "Te llamas Anabel",
    "Ana es médica": "Eres médica",
    "Ana está en Bilbao": "Estás en Bilbao",
    "Ana compró una casa": "Compraste una casa",
    "Ana nació en Lima": "Naciste en Lima",
    "Ana moved to Houston when they were 11": "You moved to Houston when you were 11",
    "On fridays Ana teaches pilates and has lunch": "On fridays you teach pilates and have lunch",
    "Ana's sister lives with Ana": "Your sister lives with you",
    "La hermana de Ana, Elena, vive con Ana": "Tu hermana Elena vive contigo",
    "A Ana su jefe le subió el sueldo": "Tu jefe te subió el sueldo",
    "Ana va a mudarse en mayo": "Vas a mudarte en mayo",
    "Falleció la abuelita de Ana el martes": "Falleció tu abuelita el martes",
}

OWN_WORDS = {
    "I work nights": "You work nights",
    "i'm 27 and I was born in Leeds": "You are 27 and you were born in Leeds",
    "my dog sleeps next to me": "Your dog sleeps next to you",
    "me operaron de la rodilla": "Te operaron de la rodilla",
    "vivo con mi madre": "Vives con tu madre",
    "a mi no me gustan las fiestas": "A ti no te gustan las fiestas",
    "handed in my notice this morning": "“handed in my notice this morning”",
    "we got engaged in May": "“we got engaged in May”",
    "I was sold and was raised": "“I was sold and was raised”",
    "nos mudamos en marzo": "“nos mudamos en marzo”",
    "la veterinaria me cobro 95 mil": "“la veterinaria me cobro 95 mil”",
    "los sábados trabajo en una cafetería": "Los sábados trabajas en una cafetería",
    "prefiero que me hables sin emojis": "“prefiero que me hables sin emojis”",
}


@pytest.mark.parametrize("fact", TOLD)
def test_what_is_known_of_somebody_is_told_to_them(fact):
    assert told_to("Ana", fact) == told_to("ana", fact) == TOLD[fact]


@pytest.mark.parametrize(
    "fact", ["Bo plays chess", "Anabel lives here", "The launch of Falcon is on 3 May", "Ana", ""]
)
def test_what_is_not_about_them_or_not_understood_stays_as_it_is(fact):
    assert told_to("Ana", fact) == fact
    assert told_to("", fact) == fact


@pytest.mark.parametrize("fact", OWN_WORDS)
def test_a_person_s_own_words_are_turned_round_or_quoted(fact):
    assert told_to("Ana", fact) == OWN_WORDS[fact]


@pytest.mark.parametrize("fact", OWN_WORDS)
def test_the_words_of_somebody_else_are_quoted(fact):
    assert told_to("", fact) == f"“{fact}”"


def test_a_question_and_its_answer_stand_as_they_are():
    fact = "Do you live in Austin? — Yes, since I was 12"
    assert told_to("Ana", fact) == fact
