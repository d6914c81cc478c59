"""The HTML page: a folder that opens in a browser without a server and shows every unit of runs.

| module | content |
|---|---|
| `command` | `vlm-eval view` |
| `write` | writes the folder, one run in memory at a time, once or again; data as safe scripts |
| `sheets` | the runs that share a declaration, with their summary and comparison |
| `points` | the list of units with their outcome in each run |
| `detail` | everything about one unit in one run; details of unknown kinds unchanged |
| `parts` | what a kind of unit brings, as data |
| `pictures` | downscaled screenshots, what models were sent of them, blobs of the run |
| `figures` | its plots |
| `serving` | serves a folder on localhost, or an index of runs and the page of each |

`templates/` holds the document, `assets/` its scripts and styles. The scripts are classic ones,
because neither modules nor fetch work from `file:`. Texts of pages and models are inserted as text
only; the content security policy forbids scripts and styles from outside the folder.
"""

from __future__ import annotations

POLICY = "default-src 'none'; script-src 'self'; img-src 'self' data:; style-src 'self'"
"""The content security policy, in the document and in the headers of `--serve`."""
