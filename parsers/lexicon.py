"""Closed classes of words: replies name, deny, join and take back mentions with them.

English first; then, for plain sentences only, words of German, French, Spanish, Portuguese,
Italian, Dutch, the Scandinavian and some other languages. All are in lower case. Phrases are tokens
of their own (`wording`).
"""

from __future__ import annotations


def _words(*lines: str) -> frozenset[str]:
    """Return words; "_" represents the blank of a phrase."""
    return frozenset(word.replace("_", " ") for line in lines for word in line.split())


ANSWERING = _words(
    "answer solution verdict ans response conclusion antwort lösung réponse respuesta resposta",
    "risposta antwoord svar odpowiedź odpověď cevap jawaban ответ 答案 答え 正解 정답 \\boxed",
)
"""Words that declare a letter the answer to a question: "the answer is B"."""

NAMING = ANSWERING | _words(
    "option options choice choices letter letters answers element elements candidate candidates",
    "selection statement statements lettre opción letra scelta 选项",
)
"""Nouns for an option, right before its letter: "option H"."""

BEING = _words(
    "sia is was are be being been were would should must may might could seems looks appears",
    "matches sounds fits corresponds represents remains becomes works lautet ist seja muss würde",
    "está est correspond es sería é è är jest je adalah là este",
)
"""Verbs that join a letter to what is said of it: "H is the right one", "the answer is H"."""

CHOOSING = _words(
    "choose chooses chose choosing chosen pick picks picked picking select selects selected",
    "selecting sagen click clicks clicked clicking go goes going opt opting settle use take press",
    "tap prefer favour favor lean leaning inclined bet reckon conclude confirm say recommend",
    "suggest guess vote voting try want identify identified namely mark tick circle stick settled",
    "decided entscheide tippe dirais diría escolheria direi memilih chọn réponds denk choisirais",
    "quedo con fico com it's that's = \\boxed \\text \\mathbf wähle wählen nehme choisis",
    "cliquer elijo clic scelgo kies väljer wybieram",
)
"""Verbs, and the like, that take a letter as their object: "click on H"."""

CONSEQUENT = _words("so therefore thus hence")
CONCLUDING = CONSEQUENT | _words(
    "then thereby probably likely maybe perhaps possibly definitely course opinion aka please",
    "thanks imo way all alltså dlatego proto ezért yani jadi sanırım clearly certainly surely",
    "think believe first either both between final finally correct best dus więc",
)
"""Words that announce a letter: "therefore H"."""

INTRODUCING = NAMING | BEING | CHOOSING | CONCLUDING | {"not only", "not just"}

FILLING = _words(
    "the a an this that my our your on for with as to at of also just indeed really still only it",
    "he i we you i'd i'll we'd would should could will can do does did have has been be need like",
    "likely think believe us me them right correct best most one which going able any other user",
    "action here there next first second more very now in down towards toward um well what then",
    "whether mich auf nach sein meinung meiner dat het agit die für la sur en il de een",
)
"""Words between a letter and the word that introduces or denies it."""

LABELLING = _words("labeled labelled marked lettered called named label mark marker")
"""Words for the letter of an element, or for its text: "the button labelled H"."""
CONTRASTING = _words("but yet sondern mais maar pero")
ANY = _words("any anything anyone all every everything")
"""Before "but" these make a denial of it: "anything but B"."""

CONTRACTED = _words(
    "isn't aren't wasn't don't doesn't didn't can't cannot couldn't won't wouldn't shouldn't",
    "mustn't needn't ain't",
)
NEGATING = CONTRACTED | _words(
    "☐ hardly not neither nor never no except excluding avoid avoiding avoids exclude excludes",
    "excluded eliminate eliminated eliminating reject rejected rejecting ignore ignored ignoring",
    "skip skipped skipping discard discarding dismiss dismissing disregard forget drop beats",
    "strike scratch without than besides unlike nicht kein keine weder noch statt anstatt außer",
    "pas ni sauf excepto salvo non né tranne não nem exceto niet geen behalve nie ani kromě ikke",
    "inte değil bukan không не ни instead_of in_place_of rather_than other_than better_than",
    "more_than apart_from aside_from as_opposed_to rule_out rules_out ruled_out ruling_out",
    "cross_out crossed_out by_no_means under_no_circumstances ❌ ✗ ✘ 🚫 [_] compared_with",
    "compared_to preferable_to",
)
"""Words before a mention that deny it."""
MISTAKEN = _words(
    "impossible least wrong incorrect excluded eliminated unlikely rejected invalid false",
    "implausible falsch faux",
)
"""Words of a label for what is not meant: "Excluded: B"."""
NEGATED_BEHIND = _words(
    "ではありません ではない じゃない ではなく じゃなく 違 아닙니다 아니다 아니라 아니고 틀렸",
    "невер неправ 不对 不正确 错",
)
"""Parts of words behind a mention that deny it, in other scripts."""
NEGATING_ENDS = ("不是", "不选", "不要", "并非")
"""The same in Chinese, which does not separate words."""

WRONG = MISTAKEN | _words(
    "irrelevant unrelated inappropriate unsuitable bad missing absent distractor distractors",
    "hardly unclear uncertain doubtful out disabled mistaken unclickable hidden unavailable",
    "unnecessary useless inactive not never no ❌ ✗ ✘ 🚫 avoided ignored skipped discarded",
    "dismissed incorrecta sbagliata fout fel nicht pas niet non ruled_out",
)
FAILING = CONTRACTED | {"contradicts", "fails"}
APPROVING = _words("✅ ✔ ✓ ☑ [x] yes true correct right ja sí oui sim да 对 正确")
HELPING = _words("do does did has have will can")
SOFTENING = _words(
    "to be clearly definitely obviously simply probably likely also both all therefore thus",
    "completely just a an the option choice",
)
"""Words between a mention and the words behind it that deny it: "C is clearly wrong"."""

JOINING = _words(
    "and or nor then also either alternatively possibly perhaps maybe even before after plus next",
    "first second third vs versus finally else otherwise both too und oder ou o but_also",
    "failing_that followed_by as_well_as if_not",
)
"""Words between two mentions that offer both."""
CONDITIONING = _words(
    "if whether once until when unless where whenever provided assuming depending otherwise ob",
    "wenn falls sofern sonst si quand sinon cuando se quando als indien om jeśli если 如果 若",
)
"""Words of a condition under which something is meant: "B if it is red"."""

CORRECTING = _words(
    "wait actually sorry correction oops hmm hm rather instead moment better nope nein warte",
    "attends perdón espera any_more anymore doubt_it hold_on that_is_wrong that's_wrong",
    "that_was_wrong that_is_incorrect that's_incorrect that_was_a_mistake that_is_a_mistake",
    "on_second_thought on_second_thoughts make_that make_it scratch_that strike_that i_mean",
    "i_meant changed_my_mind on_reflection",
)
"""Words that take back what was mentioned before them."""

REASONING = _words(
    "because since as which that with based for to due given when where while so in on at from if",
    "unless although though under below above near parce perché",
)
"""Words that may follow a letter, but neither an article nor the pronoun."""
CLAUSING = CONSEQUENT | _words("that but because since and or then while whereas think believe if")
"""Words behind which a clause begins."""
PRONOUNCED = CONTRACTED | _words(
    "never avoid exclude eliminate reject ignore skip discard dismiss disregard forget drop",
    "rule_out ruled_out",
)
"""Words of denial whose subject is a person: "I cannot tell" is about no letter."""
FINAL = CONSEQUENT | _words("end revised corrected updated final finally conclusion conclude")
BEST = _words(
    "best correct right final most better only true accurate closer closest precise valid proper",
    "suitable fitting logical convincing winner likeliest highest exact richtig richtige korrekt",
    "correcta corretta correta giusta juist",
)
"""Words before "match", "one" and the like that make a conclusion: "the best match is C"."""
SEEMING = _words(
    "tempting look looks looked seem seems similar close would were mistaken confused plausible"
)
"""Words of a remark on something that could be taken for the answer, but is not."""
SPEAKERS = _words("i i'd i'll we we'll let's i'm we're i've ich je yo ik jag jeg eu saya tôi you")
LEADING = _words(
    "only it's that's leaves leave leaving left remaining makes make making means suggests points",
    "namely get gets give gives us supports confirms favours favors point comes boils down",
    "towards fällt depicts type typing tap hover got put write enter call return submit its",
    "corresponds confident sure arrive leads lead",
)
"""Words right before a mention that make it the answer: "which leaves B"."""
MATCHING = _words(
    "match matches fit fits describe describes hold holds apply applies wins win remains captures",
    "reflects suits works it matching corresponds makes beats confirmed trifft passt stimmt",
    "described preferable_to",
)
"""Verbs of the option that is right: "B fits best"."""
HEDGING = _words(
    "could might may maybe perhaps possibly conceivably arguably supposedly allegedly possibility"
)
UNASSERTED = HEDGING | _words(
    "alternatively either both unsure depending was were had initially originally initial draft",
    "preliminary original tempted tempting says said claims claimed according they he she user",
    "someone people others some assume assuming suppose supposing imagine reads reading many odd",
    "worst least seemed chance nearly partly partially almost half barely e.g. example instance",
    "hint caption format mistake told few at_first was_going_to would_have as_for",
)
"""Words of a clause that asserts nothing: hedges, the past, what others say."""
SAME = _words("second secondly equally likewise alike also too both again well just_as")
"""Words that give two things the same standing."""
DOUBTING = _words(
    "unsure unclear uncertain doubt doubts doubtful disagree wrong incorrect used retract",
    "withdraw guessing not_sure not_certain i_doubt doubt_it",
)
NOT_ASSERTED = NEGATING | MISTAKEN | UNASSERTED | DOUBTING | WRONG
NOT_ASSERTED |= _words(
    "first second runner other others previous old candidates alternative alternatives distractors",
    "options",
)
"""Words in the name of a key that is not the answer's: `not_answer`, `wrong_option`."""
OPEN_SCRIPT = NEGATED_BEHIND | _words(
    "排除 不 没 非 可能 也许 或 如果 若 吗 还是 ない じゃ かも または 錯 아니 아닌 또는 수도",
    "возмож может или если بما ليس",
)
"""Parts of words of other scripts that keep a clause from asserting a letter."""
SPECIES = _words("coli difficile elegans")
"""Names of species behind the letter of their genus: "E. coli"."""
NONE_WORDS = _words("none null nil n/a na nothing")
