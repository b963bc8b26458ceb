"""What kind of answer a question wants, and whether words hold one."""

import pytest

from memory.llm.providers.offline_fit import fits_type, lacks_focus, tells_plainly
from memory.llm.providers.offline_questions import ParsedQuestion


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("how much was my flight home", "FLIGHT HOME BOOKED 2 july with qatar"),
        ("how old is biscuit", "biscuit is at the vet for her jabs on 14 june"),
        ("which shoulder did hemi hurt", "hemi did his shoulder in on a site"),
        ("con quien se casa la macarena", "El 22 de junio se casa tu sobrina Macarena"),
        ("whats mrs kaurs cat called", "mrs kaur next door has the nice tabby cat"),
        ("cómo se llama la banda de Beto", "Mi novio se llama Beto, toca en una banda de covers"),
        ("como se llama la casa rural", "hemos alquilado una casa rural con piscina"),
        ("Who won at cribbage?", "Our cribbage is on Friday mornings at the fire hall"),
        ("¿Quién me hace los controles?", "El control a Sam se lo hacen en el ambulatorio"),
        ("what size boots does hemi take", "Im a size 9 in work boots"),
        ("how much was the dentist", "dentist 4 june 2.15 with dr okafor"),
        ("en cuanto compre la honda", "te compraste una honda negra que ta nitida"),
        ("en cual hotel ta wilkin", "wilkin ta en la romana trabajando en un hotel"),
        ("who stitched up my thumb", "shes rad she stitched up my thumb on the table"),
        ("how old is priti", "you live with 3 others niamh ollie and priti"),
        ("how much is the school trip", "school trip to MOTAT is the 26th"),
        ("what tablets do i take", "terrys tablets are amlodipine one every morning"),
        ("cómo se llama la banda de esteban", "toca el bajo en una banda de punk y es de pereira"),
        ("como se llama la banda del gonza", "el gonza toca en una banda d cumbia"),
        ("where did neil move to", "neil moved out"),
        ("¿Adónde se fue Neil?", "Neil se fue"),
        ("how much does Steve earn", "big steve says from june I'm on 15.80 an hour"),
        ("a quien le pagamos el arriendo", "Subieron el arriendo a 465 desde el mes que viene"),
        ("What are Mel's pets called?", "We've got a pup and a kitty. There's our cat!"),
        ("What is Ana's choir called?", "Ana just joined a new gospel choir last Tuesday"),
        ("¿Cómo se llama mi madre?", "Mi madre tiene 84 años y toma Sintrom."),
        ("que dia pago la renta", "pago 4200 de renta y mi casero es don chucho"),
        ("cuando es mi cumpleaños", "mi sobrina ximena cumple 6 años en agosto"),
        ("que no puedo comer", "mi comida favorita es el mole"),
        ("what did i borrow from stosh", "lent my impact driver to Stosh from work"),
        ("What did I lend to Mr Vaipulu?", "I borrowed a ladder from Mr Vaipulu next door"),
        ("qué me prestó Doris", "le presté la olla arrocera a Doris"),
        ("¿Cómo se llamaba mi padre?", "Me llamo Eusebio Arrieta"),
        ("what age is me dad", "me mam and dad live in oranmore"),
        ("cuanto pago de alquiler", "El alquiler del local lo pago el 10 de cada mes al gallego"),
    ],
)
def test_words_without_what_is_asked_for_are_never_the_answer(question, said):
    assert fits_type(ParsedQuestion(question, "Sam"), said) == -3


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("how much was my flight home", "flight home is booked, 612 quid, 2 july"),
        ("how old is raewyn turning", "going to rarotonga for raewyns 50th"),
        ("which shoulder did hemi hurt", "hemi did his left shoulder in"),
        ("con quien se casa la macarena", "La Macarena se casa con Iker"),
        ("whats mrs kaurs cat called", "mrs kaur has a cat called tabitha"),
        ("What is my cat called?", "Rex is my cat"),
        ("whats our quiz team called", "i do the pub quiz with dee, were called the bendy buses"),
        ("Who has a key to my house?", "My neighbour is Mrs Hext. She has a key to my house"),
        ("¿Quién tiene la llave?", "La llave la tiene Sam"),
        ("what is it called", "the new place in northcote is called pomelo"),
        ("¿Cómo se llama mi perro?", "El perro de Sam se llama Rex"),
        ("Who won at cribbage?", "Wilfred won at cribbage again"),
        ("what size boots does hemi take", "I know hemi takes a 10 in boots"),
        ("cómo se llama la banda de Ana", "la banda de punk de Ana se llama Los Bu"),
        ("where did neil move to", "neil moved to York"),
        ("how much does Steve earn", "Steve earns 20 an hour"),
        ("a quien le pagamos el arriendo", "El arriendo se lo pagamos a Lucho"),
        ("¿Cómo se llama mi madre?", "Mi madre, Rosa, tiene 84 años y toma Sintrom."),
        ("cuando es mi cumpleaños", "mi cumpleaños es el 14 de noviembre"),
        ("que no puedo comer", "no como mariscos porque me hacen daño"),
        ("who borrowed my impact driver", "lent my impact driver to Stosh from work"),
        ("what did I lend to Beverley", "I lent my pressure canner to Beverley"),
        ("what is my sister called", "My name is Ann and my sister is called Bea"),
    ],
)
def test_words_that_hold_it_may_be(question, said):
    assert fits_type(ParsedQuestion(question, "Sam"), said) >= 0


@pytest.mark.parametrize(
    ("question", "said", "leaves"),
    [
        ("what size hoodie should i get", "hoodie fits in xl", False),
        ("What color is the kitchen going to be?", "the painter comes with blue", False),
        ("what position does malia play", "malia does netball on saturdays", True),
        ("¿De qué marca es la lavadora?", "la garantia de la lavadora esta en la carpeta", True),
    ],
)
def test_a_word_of_its_kind_stands_for_what_is_asked_for(question, said, leaves):
    assert lacks_focus(ParsedQuestion(question, "Sam"), said) == leaves


@pytest.mark.parametrize(
    ("question", "said", "plainly"),
    [
        ("what does Ines study?", "Ines studies law in Leeds", True),
        ("what does Ines study?", "Ines studies in Leeds", False),
        ("How old is Rory?", "We have two grandchildren, Isla and Rory", False),
        ("How old is Rory?", "Rory is seven", True),
        ("what do I like?", "I hate olives", False),
        ("What breed is Tiger?", "Tiger is a Labrador", True),
        ("¿De qué raza es Rufo?", "El perro de Ana, Rufo, tiene nueve años", False),
        ("What are my sisters called?", "My sister Nell works in Hull", False),
        ("where am I going?", "I live in Dundee", False),
        ("What's my name?", "My name is Margaret", True),
        ("como se llama mi esposo", "mi esposo wilson maneja taxi", True),
        ("como se llama mi esposo", "mi esposo maneja taxi", False),
    ],
)
def test_plain_words_tell_just_what_is_asked_for(question, said, plainly):
    asked = ParsedQuestion(question, "Ana", frozenset({"ines", "rory", "tiger", "rufo"}))
    assert (fits_type(asked, said) >= 0 and tells_plainly(asked, said)) == plainly


def test_whose_it_is_needs_no_apostrophe():
    asked = ParsedQuestion("whos arohas form teacher", "Sam", known=frozenset({"aroha", "niko"}))
    assert asked.names == {"aroha"}


def test_who_runs_with_somebody_tells_no_job():
    hassan = ParsedQuestion("What does Hassan do for a living?", "Sam", frozenset({"hassan"}))
    assert fits_type(hassan, "I run 5km on Saturdays with my neighbour Hassan") < 0
    assert fits_type(hassan, "Hassan runs a small salon") > 0


def test_a_verb_is_nobodys_name():
    assert (
        fits_type(ParsedQuestion("who is my wife?", "Sam"), "i love beans, my wife prefers fish")
        <= 0
    )
    assert (
        fits_type(ParsedQuestion("who is my wife?", "Sam"), "my wife wanjiru runs a small salon")
        > 0
    )
