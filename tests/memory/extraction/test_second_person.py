import pytest

from memory.extraction.second_person import told_to

TOLD = {
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
