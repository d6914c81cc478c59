"""Pages and actions on them as rows of Multimodal-Mind2Web.

The recorder and `benchmarks/sample` share the description of a page (`snapshot.js`) and the rows
with their candidates and words of actions (`columns`). The rest is the recorder of `vlm-eval
record`: a watched tab (`tab`, `listen.js`), gestures that become steps (`recorder`),
screenshots and the lines of text in them (`picture`), hidden secrets (`masking`), scripts, and the
command (`session`).
"""
