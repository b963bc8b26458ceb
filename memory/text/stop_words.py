"""Words that carry no topic, English and Spanish, and the words that give a language away."""


def _listed(block: str) -> frozenset[str]:
    return frozenset(block.split())


_EN = """
a about above after again all almost also although always am an and any are aren't as at be
because been before being below between both but by can can't cannot could couldn't did didn't
do does doesn't doing don't done down during each either else enough etc even ever every few for
from further get gets getting give go goes going gonna got had hadn't has hasn't have haven't
having he he'd he'll he's her here here's hers herself him himself his how how's however i i'd
i'll i'm i've if in into is isn't it it's its itself just let let's like lot made make many may
maybe me might mine more most much must my myself need never no nor not now of off often ok okay
on once one only or other our ours ourselves out over own please quite rather really same say
says shall she she'd she'll she's should shouldn't since so some something still such sure take
tell than thanks that that's the their theirs them themselves then there there's these they
they'd they'll they're they've thing things this those though through to too under until up upon
us use used very was wasn't way we we'd we'll we're we've well were weren't what what's when
when's where where's which while who who's whom whose why will with without won't would wouldn't
yes yet you you'd you'll you're you've your yours yourself yourselves
"""

_ES = """
a acá ahí al algo alguien algún alguna algunas alguno algunos allá allí ambos ante antes aquel
aquella aquellas aquello aquellos aquí así aún aunque bajo bastante bien cada casi como cómo con
conmigo contigo contra cual cuál cuales cuáles cualquier cuando cuándo cuanto cuánto cuya cuyo
da dar de debe deben debo del dentro desde después di dice dicen digo donde dónde dos durante e
él el ella ellas ello ellos embargo en entonces entre era eran eras eres es esa esas ese eso
esos esta está están estaba estaban estado estamos estar estas estás este esto estos estoy etc
fue fueron fui gracias ha había habían haber hace hacer hacia hago han has hasta hay he hemos
hola hoy incluso jamás junto la las le les lo los luego mas más me mejor menos mi mí mía mías
mientras mío míos mis misma mismas mismo mismos mucha muchas mucho muchos muy nada nadie ni
ningún ninguna ninguno no nos nosotras nosotros nuestra nuestras nuestro nuestros nunca o os
otra otras otro otros para pero poca poco pocos podemos poder podría por porque porqué pues
puede pueden puedes puedo que qué quien quién quienes quiere quieres quiero quizá quizás sabe se
sea según ser será si sí sido siempre sin sino sobre sois solamente solo sólo somos son soy su
sus suya suyo tal también tampoco tan tanta tanto te tengo ti tiene tienen tienes toda todas
todavía todo todos tras tu tú tus tuya tuyo u un una unas uno unos usted ustedes va vamos van
vas ver vez vosotros voy y ya yo
"""

STOP_WORDS = {"en": _listed(_EN), "es": _listed(_ES)}

# Words of both languages, or of a third one as well, say nothing about the language.
_SHARED = (STOP_WORDS["en"] & STOP_WORDS["es"]) | _listed("in an so do am os u e da me")

TELLTALE = {
    "en": (STOP_WORDS["en"] - _SHARED)
    | _listed(
        """
        prefer prefers love loves hate work works live lives want wants name favourite
        favorite remember friend user new today yesterday time
        """
    ),
    "es": (STOP_WORDS["es"] - _SHARED)
    | _listed(
        """
        prefiero prefiere llamo llama vivo vive trabajo trabaja gusta gustan encanta odio
        odia recuerda nombre favorita favorito usuario amigo amiga nuevo nueva ayer mañana
        buenos buenas días tarde noche año años hijo hija
        """
    ),
    # Neighbours that would otherwise pass for one of the two.
    "": _listed(
        """
        não você uma umas uns isso meu minha seu sua dos das pelo pela são obrigado obrigada
        je il elle nous vous ils des une est et dans pas avec pour mais sur c'est j'ai mon
        ma être où ich du er sie wir ihr der die das und nicht ist ein eine einen auf für
        mit von zu wie habe bin auch dem den gli che è sono non per ho mia mio anche della
        nel questo ik je het een niet voor van zijn maar ook em eu
        """
    )
    - STOP_WORDS["es"]
    - STOP_WORDS["en"],
}

# The point behind these ends no sentence.
TITLES = ("Dr", "Dra", "Sr", "Sra", "Srta", "Mr", "Mrs", "Ms", "St", "Ing", "Lic")

# After these a word names a thing: what a tag may be.
BEFORE_NOUN = _listed(
    """
    the a an my our your his her their this that these those some any every each of in on at for
    with from about by into el la los las un una unos unas mi mis tu tus su sus nuestro nuestra
    nuestros nuestras este esta estos estas ese esa esos esas cada de del al en con por para sobre
    otro otra
    """
)

# They name nothing in particular, or how something is and not what.
VAGUE = _listed(
    """
    thing things stuff lot lots bit kind sort way time times day days week weeks weekend month
    months year years today tomorrow yesterday tonight morning evening afternoon night nights
    moment while one ones someone everyone anyone everything anything nothing something people
    person guy guys man woman folks rest part end start point case side place idea question
    answer reason number couple few little big new old good great nice best last next first
    second third other same whole long short right left sure amazing awesome cool fun love
    lovely beautiful perfect happy sad glad proud sorry thank thanks keno know think feel look
    looking looks make making made want wanted need needed keep kept went come came coming going
    gone tell told said talk talking hear heard see seen saw try trying tried work works working
    help helps hope wish guess mind matter sense deal stop start started happen happened really
    actually maybe always never still even ever just yet too also then here there back monday
    tuesday wednesday thursday friday saturday sunday january february march april june july
    august september october november december hour hours minute minutes later early soon
    different recently finished finally together extra special important interesting hard easy
    half two three four five six seven eight nine ten hundred thousand error somewhere anywhere
    nowhere cosa cosas tipo vez veces
    rato día dias semana semanas fin mes meses año años hoy mañana ayer noche noches tarde
    tardes momento gente persona personas alguien nadie algo nada todo parte lado lugar idea
    pregunta respuesta razón número par poco mucho bien mal mejor peor nuevo nueva nuevos nuevas
    viejo vieja bueno buena buen gran grande pequeño último última primer primero primera
    segundo próximo siguiente otro otra mismo misma verdad vida mundo favor culpa ganas caso
    tema forma manera medio mitad resto único lunes martes miércoles jueves viernes sábado
    domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre
    diciembre hora horas minuto minutos luego pronto temprano dos tres cuatro cinco seis siete
    ocho nueve diez cien mil creo sabes digo dijo dice hacer hecho decir saber tener poder ir
    venir dar ver querer
    """
)
