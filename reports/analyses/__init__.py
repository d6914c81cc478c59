"""Analyses beyond the table of scores.

| module | function | question |
|---|---|---|
| `paired` | `distractor_curve` | how do scores depend on the number of distractors? |
| `choices` | `option_positions` | does the model have a position bias? |
| `paired` | `picture_effect` | how much does the screenshot help? |
| `independence` | `task_independence` | is task success that of independent steps? |
| `choices` | `ceilings` | what could any model reach, given what it was shown? |

Each is a pure function from runs to a frame that `reports.render` writes, and a command of
`vlm-eval analyse`.
"""
