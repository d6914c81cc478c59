"""Closed classes of words: replies name, deny, join and take back mentions with them.

English first; then, for plain sentences only, words of German, French, Spanish, Portuguese,
Italian, Dutch, the Scandinavian and some other languages. All are in lower case. Phrases are tokens
of their own (`wording`).
"""

from __future__ import annotations


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


NAMING = _words(
    "option options choice choices letter letters answer answers element elements candidate",
    "candidates selection solution verdict ans",
    "statement statements",
    "wahl auswahl antwort buchstabe buchstaben lösung choix réponse lettre élément opción opciones",
    "elección respuesta letra elemento opção escolha resposta opzione scelta risposta lettera",
    "optie keuze antwoord alternativ alternativet svar svaret valet opcja opcję odpowiedź",
    "odpowiedzi litera možnost odpověď volba seçenek cevap yanıt harf jawaban jawabannya opsi",
    "pilihan huruf án vastaus vaihtoehto válasz răspunsul opțiunea",
    "вариант ответ опция буква 选项 選項 选择 答案 選択肢 答え 정답 옵션",
)
"""Nouns for an option, right before its letter: "option H"."""

BEING = _words(
    "is was are be being been were would should must may might could seems looks appears matches",
    "sounds fits corresponds represents remains becomes works",
    "lautet luidt trifft",
    "ist seja muss würde está soit sia wäre sei passt stimmt est serait correspond es sería",
    "corresponde é seria è sarebbe zou är",
    "er jest je adalah là olur este",
)
"""Verbs that join a letter to what is said of it: "H is the right one", "the answer is H"."""

CHOOSING = _words(
    "choose chooses chose choosing chosen pick picks picked picking select selects selected",
    "selecting sagen click clicks clicked clicking go goes going opt opting settle use take press",
    "tap",
    "prefer favour favor lean leaning inclined bet reckon conclude say recommend suggest",
    "guess vote voting try want identify identified namely mark tick circle stick settled",
    "decided entscheide tippe dirais escolheria direi penso memilih chọn réponds denk choisirais",
    "quedo con fico com",
    "it's that's = \\boxed \\text \\mathbf",
    "wähle wählen nehme klicke klicken choisis choisir sélectionne sélectionner clique cliquer",
    "elijo elegir selecciono seleccionar clic escolho escolher clicar scelgo scegliere clicco",
    "cliccare kies klik väljer velger vælger wybieram volím pilih",
)
"""Verbs, and the like, that take a letter as their object: "click on H"."""

CONCLUDING = _words(
    "so therefore thus hence then thereby probably likely maybe perhaps possibly definitely",
    "whether",
    "course opinion aka please thanks imo way all alltså dlatego proto ezért yani jadi sanırım",
    "then",
    "clearly certainly surely think believe first either both between final finally correct best",
    "daher deshalb vermutlich donc entonces logo portanto quindi dunque dus więc",
)
"""Words that announce a letter: "therefore H"."""

INTRODUCING = NAMING | BEING | CHOOSING | CONCLUDING | {"not only", "not just"}

FILLING = _words(
    "the a an this that my our your on for with as to at of also just indeed really still only it",
    "he i we you i'd i'll we'd would should could will can do does did have has been be need like",
    "likely think believe us me them right correct best most one which going able any other",
    "user action here",
    "there next first second more very now really in down towards toward um well what then",
    "mich auf nach sein meinung meiner dat het sia agit zu",
    "der die das den dem ein eine auf mit für ich richtige le la les un une sur pour je bonne bon",
    "el los las una en con yo correcta correcto lo il gli su per io o um uma na em de het een op",
)
"""Words between a letter and the word that introduces or denies it."""

LABELLING = _words("labeled labelled marked lettered called named label mark marker")
"""Words for the letter of an element, or for its text: "the button labelled H"."""
CONTRASTING = _words("but yet sondern sino mais mas ma maar pero")
ANY = _words("any anything anyone all every everything")
"""Before "but" these make a denial of it: "anything but B"."""

NEGATING = _words(
    "☐",
    "hardly not neither nor never no isn't aren't",
    "wasn't don't doesn't didn't can't cannot couldn't won't",
    "wouldn't shouldn't mustn't needn't ain't except excluding avoid avoiding avoids exclude",
    "excludes excluded eliminate eliminated eliminating reject rejected rejecting ignore ignored",
    "ignoring skip skipped skipping discard discarding dismiss dismissing disregard forget drop",
    "beats strike scratch without than besides unlike",
    "nicht kein keine weder noch statt anstatt außer pas ni sauf excepto salvo non né tranne não",
    "nem exceto niet geen behalve nie ani kromě ikke inte değil bukan không не ни",
) | {
    *("instead of", "in place of", "rather than", "other than", "better than", "more than"),
    *("apart from", "aside from", "as opposed to", "rule out", "rules out", "ruled out"),
    "ruling out",
    *("cross out", "crossed out", "by no means", "under no circumstances"),
    *("❌", "✗", "✘", "🚫", "[ ]", "compared with", "compared to", "preferable to"),
}
"""Words before a mention that deny it."""
ALONE_IN = _words("none nothing no nobody only")
"""Before "except" and "other than" these leave but what follows: "nothing except B"."""
MISTAKEN = _words(
    "impossible least wrong incorrect excluded eliminated",
    "rejected invalid false implausible falsch faux",
)
"""Words of a label for what is not meant: "Excluded: B"."""
NEGATED_BEHIND = (
    *("ではありません", "ではない", "じゃない", "ではなく", "じゃなく", "違"),
    *("아닙니다", "아니다", "아니라", "아니고", "틀렸", "невер", "неправ"),
    *("不对", "不正确", "错"),
)
"""Parts of words behind a mention that deny it, in other scripts."""
NEGATING_ENDS = ("\u4e0d\u662f", "\u4e0d\u9009", "\u4e0d\u8981", "\u5e76\u975e")
"""The same in Chinese, which does not separate words."""

WRONG = _words(
    "wrong incorrect irrelevant unrelated invalid inappropriate unsuitable unlikely false bad",
    "least missing absent distractor distractors hardly unclear uncertain doubtful out disabled",
    "mistaken unclickable hidden unavailable unnecessary useless inactive not never no",
    "❌ ✗ ✘ 🚫 excluded eliminated avoided ignored skipped discarded dismissed rejected",
    "falsch faux incorrecta incorrecto errada errado sbagliata fout fel nicht pas niet non",
) | {"ruled out"}
FAILING = _words(
    "contradicts",
    "isn't aren't wasn't doesn't don't didn't can't cannot couldn't won't wouldn't shouldn't fails",
)
APPROVING = _words("✅ ✔ ✓ ☑ [x] yes true correct right ja sí oui sim да 对 正确")
HELPING = _words("do does did has have will can")
SOFTENING = _words(
    "to be clearly definitely obviously simply probably likely also both all therefore thus",
    "completely",
    "just a an the option choice",
)
"""Words between a mention and the words behind it that deny it: "C is clearly wrong"."""

JOINING = _words(
    "and or nor then also either alternatively possibly perhaps maybe even before after plus next",
    "first second third vs versus или 或 或者 还是 か または 또는 atau veya lub albo eller nebo",
    "finally else otherwise both too",
    "oppure ovvero como xor hoặc und oder ou o u et y e ed od en of lub i eller",
) | {"but also", "failing that", "followed by", "as well as", "if not"}
"""Words between two mentions that offer both."""
OFFERING = _words(
    "oppure ovvero xor or nor oder ou o u vel eller lub albo nebo veya atau или або 或 或者 还是",
    "か または 또는 / hoặc",
)
"""Words that offer what follows them as another possibility."""
CONDITIONING = _words(
    "if when unless where whenever provided assuming depending otherwise",
    "wenn falls sofern sonst si quand sinon cuando se quando als indien om jeśli если 如果 若",
)
"""Words of a condition under which something is meant: "B if it is red"."""
SHARING = _words("and or nor und oder ou et o y e en of noch ni né nem")
"""Those of them over which a denial reaches."""

CORRECTING = _words(
    "wait actually sorry correction oops hmm hm rather instead moment better nope",
    "nein warte attends perdón espera",
) | {
    *(
        "any more",
        "anymore",
        "doubt it",
        "hold on",
        "that is wrong",
        "that's wrong",
        "that was wrong",
        "that is incorrect",
    ),
    *("that's incorrect", "that was a mistake", "that is a mistake"),
    *("on second thought", "on second thoughts", "make that", "make it", "scratch that"),
    *("strike that", "i mean", "i meant", "changed my mind", "on reflection"),
}
"""Words that take back what was mentioned before them."""

REASONING = _words(
    "because since as which that with based for to due given when where while so in on at from",
    "if unless although though",
    "under below above near",
    "weil da denn car puisque parce porque pues perch\u00e9 omdat",
)
"""Words that may follow a letter, but neither an article nor the pronoun."""
CLAUSING = _words(
    "that so but because since and or therefore hence thus then while whereas think believe if",
    "dass que che",
)
"""Words behind which a clause begins."""
PRONOUNCED = _words(
    "cannot can't couldn't don't didn't won't wouldn't shouldn't mustn't needn't never avoid",
    "exclude eliminate reject ignore skip discard dismiss disregard forget drop",
) | {"rule out", "ruled out"}
"""Words of denial whose subject is a person: "I cannot tell" is about no letter."""
FINAL = _words(
    "end revised corrected updated therefore thus hence so final finally conclusion conclude"
)
ANSWERING = _words(
    "answer solution verdict ans response conclusion",
    "antwort lösung réponse respuesta resposta risposta antwoord svar svaret",
    "odpowiedź odpověď cevap yanıt jawaban jawabannya vastaus válasz răspunsul ответ",
    "答案 答え 正解 정답",
) | {"\\boxed"}
"""Words that declare a letter the answer to a question: "the answer is B"."""
BEST = _words(
    "best correct right final most better only true accurate closer precise valid proper suitable",
    "fitting",
    "logical convincing winner likeliest highest exact",
    "richtig richtige korrekt correcta correcto correcte bonne juste corretta corretto correta",
    "certa giusta",
    "juist juiste goed rätt riktig riktigt rigtig rigtige prawidłowa poprawna správná doğru benar",
    "đúng helyes oikea corect bene",
)
"""Words before "match", "one" and the like that make a conclusion: "the best match is C"."""
SEEMING = _words(
    "tempting look looks looked seem seems similar close would were mistaken confused plausible"
)
"""Words of a remark on something that could be taken for the answer, but is not."""
SPEAKERS = _words("i i'd i'll we we'll let's i'm we're i've ich je yo ik jag jeg eu saya tôi you")
CONSEQUENT = _words("so therefore thus hence")
LEADING = _words(
    "only it's that's leaves leave leaving left remaining makes make making means suggests points",
    "namely get gets give gives us supports confirms favours favors point comes boils down towards",
    "fällt depicts type typing tap hover got put write enter call return submit its corresponds",
    "confident sure arrive leads lead that's",
)
"""Words right before a mention that make it the answer: "which leaves B"."""
MATCHING = _words(
    "match matches fit fits describe describes hold holds apply applies wins win remains",
    "captures reflects suits works it matching corresponds makes beats confirmed trifft described",
) | {"preferable to"}
"""Verbs of the option that is right: "B fits best"."""
UNASSERTED = _words(
    "could might may maybe perhaps possibly alternatively either both unsure depending cannot",
    "was were had initially originally initial draft preliminary original tempted tempting",
    "says said claims claimed according they he she user someone people others some",
    "assume assuming suppose supposing imagine reads reading many odd worst least seemed chance",
    "possibility conceivably",
) | {"at first", "was going to", "would have"}
"""Words of a clause that asserts nothing: hedges, the past, what others say."""
SAME = _words("second secondly equally likewise alike also too both again well") | {"just as"}
"""Words that give two things the same standing."""
DOUBTING = _words(
    "unsure unclear uncertain doubt doubts doubtful disagree wrong incorrect used retract withdraw"
) | {
    *("not sure", "not certain", "i doubt", "doubt it"),
}
NOT_ASSERTED = (
    NEGATING
    | MISTAKEN
    | UNASSERTED
    | DOUBTING
    | WRONG
    | _words(
        "first second runner other others previous old candidates alternative alternatives",
        "distractors options",
    )
)
"""Words in the name of a key that is not the answer's: `not_answer`, `wrong_option`."""
OPEN_SCRIPT = (
    *(
        "不",
        "没",
        "非",
        "可能",
        "也许",
        "或",
        "如果",
        "若",
        "吗",
        "还是",
        "ない",
        "じゃ",
        "かも",
        "または",
        "違",
        "错",
        "錯",
    ),
    *(
        "아니",
        "아닌",
        "또는",
        "수도",
        "틀렸",
        "невер",
        "неправ",
        "возмож",
        "может",
        "или",
        "если",
        "بما",
        "ليس",
    ),
)
"""Parts of words of other scripts that keep a clause from asserting a letter."""
SPECIES = _words(
    "coli difficile diff elegans albicans aureus auris botulinum perfringens pylori sapiens",
    "subtilis cerevisiae pneumoniae tuberculosis burgdorferi melanogaster vulgaris",
)
"""Names of species behind the letter of their genus: "E. coli"."""
NONE_WORDS = _words("none null nil n/a na nothing")
