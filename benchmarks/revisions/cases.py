"""What both revisions do: named lists of command lines, without `vlm-eval`.

A case runs in a folder of its own; what it leaves there (run directories, parquet files, the JSON
that it prints) is compared. `RUNS` make runs; `READS` read them, as `../<name>/runs/*`, or print
something about steps. `{openai}`, `{anthropic}` and `{google}` are base URLs, `{tiny}` is a
checkpoint, `{predictions}` a file of somebody's predictions; `material` has `{config}` and others.

A family of cases is what stands behind `oracle-`: a hosted model in `openai-<family>...` gives its
right answers, and sometimes one of them in the wrong place.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping

Cases = Mapping[str, tuple[str, ...]]
CHROMIUM = any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
"""Without it there are no cases of live pages."""

DATA = "-b sample --split dev --limit 2"
QUIET = "--progress off --yes"
RANKED = (
    *("seeact-choice", "seeact-annotation", "mindact-choice", "mindact-generate", "classify"),
    "seq2seq",
)
PROTOCOLS = {
    "seeact-two-rounds": "--protocol seeact-two-rounds",
    "seeact-attributes": "--protocol seeact-attributes",
    "coordinates": "--protocol coordinates --protocol-option form=plain "
    "--protocol-option coordinates=per-mille",
    **{name: f"--protocol {name} --ranker lexical" for name in RANKED},
}
MODELS = {
    "openai": "-m openai:gpt-4o --base-url {openai}",
    "anthropic": "-m anthropic:claude-sonnet-5-5 --max-tokens 1024 --base-url {anthropic}",
    "google": "-m google:gemini-3.8-flash --max-tokens 1024 --base-url {google}",
}
SETTINGS = {
    "choices": "-k 5 --seed 7 --protocol-option none=first --benchmark-option order=2 "
    "--benchmark-option shown=original --benchmark-option positives=original",
    "filters": "-k 50 --benchmark-option exclude_related=yes "
    "--benchmark-option exclude_same_text=yes --protocol-option none=absent --history 1",
    "bnid": "--protocol-option form=bnid --protocol-option choice_tokens=15 --history none "
    "--image-policy viewport",
    "tiles": "--image-policy tiles --protocol-option none=last --protocol-option first_of_many=yes",
    "scoring": "--f1 cl100k-lc --invalid fail --benchmark-option exclude_status=none "
    "--benchmark-option step_rule=exact --benchmark-option none_zeroes_operation=yes "
    "--benchmark-option wrong_element_zeroes_operation=yes --benchmark-option bag=yes "
    "--benchmark-option mapped_operations=no",
    "text": "--image-policy none --benchmark-option lost_rows=yes "
    "--protocol-option value_style=seeact",
    "pixels": "--protocol seeact-attributes --image-policy full:pixels=400000",
    "candidates-shown": "--benchmark-option candidates=ranker --ranker lexical "
    "--image-policy candidates",
    "asked-all-the-same": "--protocol seeact-choice --ranker lexical "
    "--benchmark-option top_k=10 --benchmark-option missed=ask "
    "--protocol-option batch_size=6 --protocol-option cut=fixed --protocol-option final=no",
    "points": "--protocol coordinates --protocol-option form=qwen2.5-vl "
    "--benchmark-option point_rule=smallest",
    "generate": "--protocol mindact-generate --ranker lexical --benchmark-option top_k=20 "
    "--protocol-option group_size=4 --protocol-option seed=3",
    "selection": "--split test --only domain=Travel --repeats 2",
}


FAMILIES = {
    "grounding": "-b sample-grounding --limit 60",
    "questions": "-b sample-questions --limit 3",
    "screens": "-b sample-screens",
    "mt": "-b mt-sample --limit 1",
    "mt-mindact": "-b mt-sample --limit 1 --protocol mt-mindact --ranker lexical "
    "--benchmark-option top_k=10",
    "prompts": "-b autowebbench --data {finished}",
    # Pages that stand still: on others a picture depends on when it was taken.
    "miniwob": "-b miniwob --benchmark-option episodes=2 --only task=click-button "
    "--only task=enter-text --only task=click-option",
    "autowebglm": f"{DATA} --protocol autowebglm --ranker lexical --benchmark-option top_k=20",
    "actions": f"{DATA} --protocol action-strings",
    "repeats": "-b sample --limit 3 --only domain=Travel --repeats 3",
}
"""Other benchmarks, and protocols with actions of their own: oracle, `random`, a hosted model."""
POINTS = ("grounding", "screens", "miniwob")
"""Families in which a hosted model is told that points are in pixels."""


def run(options: str, data: str = DATA) -> str:
    return f"run {data} {QUIET} {options}"


def _families() -> dict[str, tuple[str, ...]]:
    openai, absolute = MODELS["openai"], "--protocol-option coordinates=absolute"
    cases: dict[str, tuple[str, ...]] = {}
    for name, data in FAMILIES.items():
        if name == "miniwob" and not CHROMIUM:
            continue
        cases[f"oracle-{name}"] = (run("-m oracle", data),)
        cases[f"random-{name}"] = (run("-m random", data),)
        if name != "repeats":
            cases[f"openai-{name}"] = (run(f"{openai} {absolute * (name in POINTS)}", data),)
    seeded = f"{openai} --temperature 0.7 --adapter-option model_seed=5"
    screens, grounding = FAMILIES["screens"], FAMILIES["grounding"]
    votes = "--samples 3 --protocol-option vote=majority"
    longer = f"run {QUIET} --redo truncated --redo-from runs/* --out longer --max-tokens 9000 "
    longer += "--base-url {openai}"
    cases |= {
        "centre-grounding": (run("-m centre", grounding),),
        "repeat-screens": (run("-m repeat", screens),),
        "openai-screens-turns": (run(f"{openai} {absolute} --history 2+turns:2", screens),),
        "openai-screens-web": (run(f"{openai} {absolute} --protocol coordinates", screens),),
        "openai-mt-mindact-car": (
            run(
                f"{openai} --protocol mt-mindact-car --ranker lexical --benchmark-option top_k=5",
                "-b mt-sample --limit 1 --only turn=2",
            ),
        ),
        "openai-repeats": (run(seeded, FAMILIES["repeats"]),),
        "openai-seeact-two-rounds-votes": (run(f"{seeded} {votes}"),),
        "openai-grounding-votes": (run(f"{seeded} {absolute} {votes}", grounding),),
        "openai-screens-votes": (run(f"{seeded} {absolute} {votes}", screens),),
        "openai-grounding-redo": (run(f"{openai} {absolute}", grounding), longer),
        "openai-seeact-two-rounds-judged": (
            run(f"{openai} --out judged"),
            f"run -b judgment:looks-done:judged {QUIET} {openai}",
        ),
        "lexical-whole": (run("-m lexical", "-b sample"),),
        "lexical-strict": (run("-m lexical --invalid fail", "-b sample"),),
    }
    for provider in ("openai", "anthropic"):
        again = (run(f"{MODELS[provider]} {PROTOCOLS['coordinates']} --tier batch"),) * 3
        cases[f"{provider}-coordinates-batch"] = again
    return cases


def _runs() -> dict[str, tuple[str, ...]]:
    cases: dict[str, tuple[str, ...]]
    cases = {f"oracle-{name}": (run(f"-m oracle {how}"),) for name, how in PROTOCOLS.items()}
    for name in ("random", "always-click", "lexical"):
        cases[name] = (run(f"-m {name}"),)
    cases["random-again"] = (run("-m random -k 5"),)
    cases["lexical-attributes"] = (run(f"-m lexical {PROTOCOLS['seeact-attributes']}"),)
    cases["lexical-mindact"] = (run(f"-m lexical {PROTOCOLS['mindact-choice']}"),)
    for name, how in SETTINGS.items():
        cases[f"random-{name}"] = (run(f"-m random {how}"),)
    for name, how in PROTOCOLS.items():
        if name != "classify":
            cases[f"openai-{name}"] = (run(f"{MODELS['openai']} {how}"),)
    for provider in ("anthropic", "google"):
        for name in ("seeact-two-rounds", "mindact-choice", "coordinates"):
            cases[f"{provider}-{name}"] = (run(f"{MODELS[provider]} {PROTOCOLS[name]}"),)
        cases[f"{provider}-mindact-generate-cached"] = (
            run(f"{MODELS[provider]} {PROTOCOLS['mindact-generate']}"),
        )
        cases[f"{provider}-seeact-choice-faults"] = (
            run(f"{MODELS[provider]} {PROTOCOLS['seeact-choice']}"),
        )
    openai = MODELS["openai"]
    return (
        cases
        | _families()
        | {
            "openai-seeact-two-rounds-faults": (run(openai),),
            "openai-seeact-two-rounds-cached": (run(openai),),
            "openai-seeact-two-rounds-text": (run(f"{openai} --image-policy none"),),
            "openai-seeact-choice-eager": (
                run(f"{openai} {PROTOCOLS['seeact-choice']} --protocol-option eager=true"),
            ),
            "openai-seeact-two-rounds-settings": (
                run(
                    f"{openai} --max-tokens 300,200 --adapter-option top_p=0.9 "
                    "--adapter-option model_seed=5 --concurrency 2 "
                    "--adapter-option preflight=no --protocol-option first_of_many=yes "
                    "--protocol-option value_style=seeact --adapter-option detail=low"
                ),
            ),
            "openai-mindact-choice-shuffles": (
                run(
                    f"{openai} {PROTOCOLS['mindact-choice']} --protocol-option shuffles=2",
                    "-b sample --limit 1",
                ),
            ),
            "shards": tuple(run(f"{openai} --shard {number}/2 --limit 3") for number in (1, 2)),
            "config": (f"run --config {{config}} --benchmark-option exclude_related=yes {QUIET}",),
            "scripted": (
                run("-m scripted:{script} --concurrency 1 --protocol-option prompts={prompts}"),
            ),
            "prices": (
                run(
                    f"{openai} --prices {{prices}} --max-cost 50 "
                    "--protocol-option prompts={prompts}"
                ),
            ),
            "tiny": (
                run(
                    "-m hf:{tiny} --adapter-option dtype=float32 --adapter-option max_pixels=40000 "
                    "--max-tokens 8 --adapter-option batch_size=4",
                    "-b sample --split dev --limit 1",
                ),
            ),
        }
    )


RUNS: Cases = _runs()


def family_of(case: str) -> str:
    """The family whose oracle has the right answers of a case."""
    families = [name.removeprefix("oracle-") for name in RUNS if name.startswith("oracle-")]
    rest = case.partition("-")[2]
    own = [family for family in families if rest.startswith(family)]
    return max(own, key=len, default="seeact-two-rounds")


JSON = "--format json"
STEP = "b5f9d3c4-14ee-572d-95c4-227cb2815da6_37773f5a"
"""The first step of the sample."""
HOSTED = "../openai-seeact-two-rounds"
ASKED = ("grounding", "questions", "screens", "mt", "prompts")
READS: Cases = {
    "merge": ("merge ../shards/runs/* -o merged", f"report merged {JSON}"),
    "score-other-rules": (
        "score ../random/runs/* --json",
        "score ../random/runs/* --f1 cl100k-lc --benchmark-option step_rule=exact --invalid fail "
        "--json",
        "score ../openai-seeact-two-rounds/runs/* --protocol-option first_of_many=yes "
        "--protocol-option value_style=seeact --json",
        "score ../openai-mindact-choice/runs/* --benchmark-option none_zeroes_operation=yes --json",
        "score ../openai-coordinates/runs/* --benchmark-option point_rule=smallest --json",
        "score ../openai-repeats/runs/* --benchmark-option exclude_status=parse_error --json",
    ),
    "score-predictions": (
        f"score --predictions {{predictions}} {DATA} --json",
        f"score --predictions {{predictions}} {DATA} --benchmark-option unattempted=fail "
        f"--benchmark-option point_rule=box --json",
    ),
    "report": (
        f"report ../random/runs/* ../lexical/runs/* ../oracle-seeact-two-rounds/runs/* {JSON}",
        f"report ../openai-seeact-two-rounds/runs/* ../random-*/runs/* {JSON} --table status",
        f"report ../openai-*/runs/* ../tiny/runs/* {JSON} --table cost",
        f"report ../openai-*/runs/* ../anthropic-*/runs/* {JSON} --average micro",
        f"report ../openai-mindact-choice/runs/* ../lexical/runs/* {JSON} --published",
        f"report ../random/runs/* ../openai-mindact-choice-shuffles/runs/* {JSON} --f1 cl100k-lc "
        "--invalid fail",
    ),
    "report-by": tuple(
        f"report ../openai-seeact-two-rounds/runs/* ../openai-repeats/runs/* --by {key} {JSON}"
        for key in ("website", "operation", "positives", "page_height", "step_index", "distractors")
    ),
    "compare": (
        f"compare ../lexical/runs/* ../random/runs/* ../openai-seeact-two-rounds/runs/* {JSON}",
        f"compare {HOSTED}/runs/* {HOSTED}-text/runs/* {JSON} --difference 5",
        f"compare ../openai-mindact-choice/runs/* ../lexical-mindact/runs/* {JSON} --invalid fail",
    ),
    "errors": (
        f"errors ../openai-seeact-two-rounds/runs/* ../openai-mindact-choice/runs/* {JSON}",
        f"errors ../openai-coordinates/runs/* {JSON} --by operation --examples 2",
        f"errors ../lexical/runs/* {JSON} --by website --no-pages",
    ),
    "analyse": (
        f"analyse ceiling ../openai-seeact-two-rounds/runs/* {JSON}",
        f"analyse ceiling ../openai-mindact-choice/runs/* {JSON}",
        f"analyse distractors ../random/runs/* ../random-again/runs/* {JSON}",
        f"analyse independence ../openai-seeact-two-rounds/runs/* {JSON}",
        f"analyse picture {HOSTED}/runs/* {HOSTED}-text/runs/* {JSON}",
        f"analyse positions ../openai-seeact-two-rounds/runs/* {JSON}",
        f"analyse published {JSON}",
    ),
    "show": (
        f"show {STEP} {DATA} -m openai:gpt-4o --protocol coordinates",
        f"show {STEP} {DATA} {PROTOCOLS['seeact-choice']} --answer",
        f"show {STEP} {DATA} {PROTOCOLS['mindact-generate']}",
    ),
    "estimate": tuple(
        run(f"{model} {how} --dry-run")
        for model, how in (
            (MODELS["openai"], ""),
            (MODELS["anthropic"], PROTOCOLS["mindact-choice"]),
            (MODELS["google"], "--repeats 2 --image-policy tiles"),
        )
    ),
    "report-families": (
        f"report ../oracle-grounding/runs/* ../openai-grounding/runs/* {JSON} --by size",
        f"report ../openai-questions/runs/* ../random-questions/runs/* {JSON} --by task",
        f"report ../openai-screens/runs/* ../repeat-screens/runs/* {JSON} --by action",
        f"report ../openai-mt/runs/* ../random-mt/runs/* {JSON} --by turn",
        f"report ../openai-prompts/runs/* ../random-prompts/runs/* {JSON}",
        f"report ../openai-repeats/runs/* ../random-repeats/runs/* {JSON}",
        f"report ../lexical-whole/runs/* {JSON} --cluster website",
    ),
    "compare-families": (
        f"compare ../openai-grounding/runs/* ../openai-grounding-votes/runs/* {JSON} "
        "--vary samples --vary vote",
        f"compare ../openai-questions/runs/* ../random-questions/runs/* {JSON}",
        f"compare ../openai-screens/runs/* ../openai-screens-turns/runs/* {JSON}",
        f"compare ../openai-repeats/runs/* ../random-repeats/runs/* {JSON}",
        f"compare ../lexical-whole/runs/* ../lexical-strict/runs/* {JSON} --invalid fail "
        "--cluster website",
    ),
    "errors-families": tuple(f"errors ../openai-{name}/runs/* {JSON}" for name in ASKED),
    "score-families": tuple(f"score ../openai-{name}/runs/* --json" for name in ASKED),
    "read-live": (
        f"report ../openai-miniwob/runs/* ../oracle-miniwob/runs/* {JSON}",
        f"compare ../openai-miniwob/runs/* ../oracle-miniwob/runs/* {JSON} "
        "--vary protocol_option.coordinates --vary protocol_option.form",
        f"errors ../openai-miniwob/runs/* {JSON}",
        "score ../openai-miniwob/runs/* --json",
    )
    * CHROMIUM,
    "list": (f"list ../openai-*/runs ../random/runs {JSON}",),
    "recall": (f"rankers recall --ranker lexical {DATA} {JSON}",),
}

CACHED = (
    "openai-seeact-two-rounds-cached",
    "anthropic-mindact-generate-cached",
    "google-mindact-generate-cached",
)
"""Runs whose reply cache is handed to the other revision, which then makes the first call alone."""

KILLED: Mapping[str, tuple[int, ...]] = {
    "openai-seeact-two-rounds": (3, 11, 21),
    "openai-mindact-choice": (5, 50, 110),
    "anthropic-seeact-choice-faults": (9, 20, 40),
    "openai-grounding": (25,),
    "openai-questions": (10,),
    "openai-screens": (20,),
    "openai-mt": (30,),
    "openai-prompts": (7,),
    "openai-seeact-two-rounds-votes": (30,),
    "openai-repeats": (40,),
}
"""Runs killed after so many calls of the server. No episodes: an interrupted one begins anew."""

AGAIN = (
    *("random", "random-scoring", "lexical-mindact", "openai-seeact-two-rounds", "openai-mt"),
    *("openai-coordinates", "openai-repeats", "openai-seeact-two-rounds-settings"),
    *("openai-grounding", "config"),
    *(
        "anthropic-seeact-choice-faults",
        "google-mindact-generate-cached",
        "shards",
        "openai-questions",
        "openai-screens",
    ),
    *("openai-prompts", "openai-miniwob", "scripted", "tiny"),
    *("openai-seeact-two-rounds-votes", "openai-seeact-two-rounds-judged"),
)
"""Complete runs that are started again, which makes no call."""

CUT = ("random", "lexical-mindact", "openai-repeats", "google-seeact-two-rounds", "tiny")
"""Runs whose files are cut off at three points, within a line."""
