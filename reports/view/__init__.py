"""The HTML page: a folder that opens in a browser without a server and shows every unit of runs.

| module | content |
|---|---|
| `command` | `vlm-eval view` |
| `write` | writes the folder, one run in memory at a time, once or again |
| `sheets` | the runs that share the declaration of their benchmarks |
| `points` | the list of units with their outcome in each run |
| `detail` | everything about one unit in one run; details of unknown kinds unchanged |
| `parts` | what a kind of unit brings, as data |
| `pictures` | downscaled screenshots, what models were sent of them, blobs of the run |
| `tables`, `figures` | the summary and the comparison |
| `folder` | the output folder, data as scripts that no text can break out of |
| `serving` | serves a folder on localhost, and has it written again as runs go on |
| `browse` | serves an index of runs, and the page of each when it is asked for |

`templates/` holds the document, `assets/` its scripts and styles. The scripts are classic ones,
because neither modules nor fetch work from `file:`. Texts of pages and models are inserted as text
only; the content security policy forbids scripts and styles from outside the folder.
"""

from __future__ import annotations

POLICY = "default-src 'none'; script-src 'self'; img-src 'self' data:; style-src 'self'"
"""The content security policy, in the document and in the headers of `--serve`."""
