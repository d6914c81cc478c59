"""The page: a folder that opens from a file and shows every point of one or more runs.

| module | what it does |
|---|---|
| `command` | `vlm-eval view` |
| `write` | puts the folder together, run by run |
| `points` | the list of steps with what each run made of them |
| `detail` | all of one step in one run |
| `sampling` | which steps a small page shows |
| `pictures` | downscaled screenshots |
| `tables`, `agreement`, `plots` | the summary and the comparison |
| `script` | values as scripts that no text can break out of |
| `folder` | where the page may be written |
| `serve` | the folder on localhost |

`templates/` is the document, `assets/` its own scripts and styles: classic scripts, because neither
modules nor fetch work from a file. Texts of pages and models are only ever put in as text; the
content security policy of the document forbids scripts and styles other than those of the folder.
"""

from __future__ import annotations

POLICY = "default-src 'none'; script-src 'self'; img-src 'self' data:; style-src 'self'"
"""The content security policy, in the document and in the headers of `--serve`."""
